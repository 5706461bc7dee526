// Attention, row by row:
//
//   s_j = score of the query row with key j, for the keys j that it attends
//   m   = max of the s_j and the sink
//   p_j = exp(s_j - m)
//   l   = exp(sink - m) + sum of the p_j
//   out = (sum of p_j * v_j) / l          lse = m + ln(l)
//
// A row without anything to attend has l = 0: its out is 0 and its lse -inf. NaN and infinities take their way through
// these lines by the rules of IEEE arithmetic, and that is what the contract asks for.
#include <cmath>
#include <limits>
#include <vector>

#include "attended.hpp"
#include "heed/reference.hpp"
#include "score.hpp"
#include "sequence.hpp"

namespace heed::reference {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

// The keys and values of one head, as doubles: row j holds slot begin + j. Rows of keys that do not exist stay zero and
// are not used.
struct HeadCache {
  std::vector<double> k, v;
  std::vector<double> k_scale, v_scale;  // 1 unless the type is int8
};

HeadCache load(const Sequence& sequence, std::int64_t kv_head) {
  const heed_attention_args& args = sequence.args;
  const std::int64_t n = sequence.end > sequence.begin ? sequence.end - sequence.begin : 0;
  HeadCache cache{std::vector<double>(n * args.D), std::vector<double>(n * args.Dv), std::vector<double>(n, 1.0),
                  std::vector<double>(n, 1.0)};
  for (std::int64_t j = 0; j < n; ++j) {
    const std::int64_t slot = sequence.begin + j;
    if (!sequence.key_exists(slot)) continue;
    for (std::int64_t d = 0; d < args.D; ++d) cache.k[j * args.D + d] = sequence.key(kv_head, slot, d);
    for (std::int64_t d = 0; d < args.Dv; ++d) cache.v[j * args.Dv + d] = sequence.value(kv_head, slot, d);
    if (args.k.type == HEED_INT8) cache.k_scale[j] = sequence.scale(args.k_scales, kv_head, slot);
    if (args.v.type == HEED_INT8) cache.v_scale[j] = sequence.scale(args.v_scales, kv_head, slot);
  }
  return cache;
}

// (scale * q) . k for every key that exists.
void dot_products(const Sequence& sequence, const HeadCache& cache, std::int64_t head, std::int64_t i,
                  std::vector<double>& dots) {
  const heed_attention_args& args = sequence.args;
  const double scale = args.has_scale ? args.scale : 1 / std::sqrt(static_cast<double>(args.D));
  std::vector<double> q(args.D);
  for (std::int64_t d = 0; d < args.D; ++d) q[d] = scale * sequence.query(head, i, d);
  for (std::size_t j = 0; j < dots.size(); ++j) {
    const double* k = cache.k.data() + j * args.D;
    double sum = 0;
    for (std::int64_t d = 0; d < args.D; ++d) sum += q[d] * k[d];
    dots[j] = sum * cache.k_scale[j];
  }
}

double stage_shown(heed_inspect what, const Stages& s) {
  return what == HEED_SCORES_SCALED ? s.scaled : what == HEED_SCORES_CAPPED ? s.capped : s.biased;
}

// One row of the inspection: scores after scale and after cap are shown for every key that exists, later ones for the
// keys that are attended. Other scores are -inf, other weights 0.
void show(const Sequence& sequence, std::int64_t head, std::int64_t i, const std::vector<double>& dots,
          const std::vector<char>& is_attended, const std::vector<double>& p, double l, double* view) {
  const heed_inspect what = sequence.args.inspect_what;
  for (std::int64_t slot = 0; slot < sequence.args.Lkv; ++slot) {
    const std::int64_t j = slot - sequence.begin;
    const bool exists = sequence.key_exists(slot);
    const bool shown = exists && (is_attended[j] || what == HEED_SCORES_SCALED || what == HEED_SCORES_CAPPED);
    if (what == HEED_WEIGHTS) {
      view[slot] = shown && l != 0 ? p[j] / l : 0;
    } else {
      view[slot] = shown ? stage_shown(what, stages(sequence, head, i, slot, dots[j])) + 0.0 : -kInf;
    }
  }
}

// One row of out; returns its lse.
double attention_row(const Sequence& sequence, const HeadCache& cache, std::int64_t head, std::int64_t i, double* out,
                     double* view) {
  const heed_attention_args& args = sequence.args;
  const std::size_t n = cache.k_scale.size();
  std::vector<double> dots(n), s(n), p(n);
  std::vector<char> is_attended(n);
  dot_products(sequence, cache, head, i, dots);

  const double sink = args.sinks ? args.sinks[head] : -kInf;
  double m = sink;
  for (std::size_t j = 0; j < n; ++j) {
    const std::int64_t slot = sequence.begin + static_cast<std::int64_t>(j);
    is_attended[j] = attended(sequence, head, i, slot);
    if (!is_attended[j]) continue;
    s[j] = stages(sequence, head, i, slot, dots[j]).score;
    if (s[j] > m) m = s[j];  // a NaN is passed over here; it makes l NaN
  }
  const double shift = m == -kInf ? 0 : m;  // -inf - -inf would be NaN

  double l = std::exp(sink - shift);
  for (std::int64_t d = 0; d < args.Dv; ++d) out[d] = 0;
  for (std::size_t j = 0; j < n; ++j) {
    if (!is_attended[j]) continue;
    p[j] = std::exp(s[j] - shift);
    l += p[j];
    const double weight = p[j] * cache.v_scale[j];
    for (std::int64_t d = 0; d < args.Dv; ++d) out[d] += weight * cache.v[j * args.Dv + d];
  }
  for (std::int64_t d = 0; d < args.Dv; ++d) out[d] = (l == 0 ? out[d] : out[d] / l) + 0.0;  // -0 becomes +0
  if (view) show(sequence, head, i, dots, is_attended, p, l, view);
  return l == 0 ? -kInf : m + std::log(l);
}

}  // namespace

void attention(const heed_attention_args& args, double* out, double* lse, double* inspect) noexcept {
  for (std::int64_t b = 0; b < args.B; ++b) {
    const Sequence sequence(args, b);
    for (std::int64_t kv_head = 0; kv_head < args.Hkv; ++kv_head) {
      const HeadCache cache = load(sequence, kv_head);
      const std::int64_t group = args.Hq / args.Hkv;  // query heads that share this key/value head
      for (std::int64_t head = kv_head * group; head < (kv_head + 1) * group; ++head) {
        for (std::int64_t i = 0; i < sequence.queries; ++i) {
          const std::int64_t row = (b * args.Hq + head) * args.Lq + i;
          double* view = inspect ? inspect + row * args.Lkv : nullptr;
          const double row_lse = attention_row(sequence, cache, head, i, out + row * args.Dv, view);
          if (lse) lse[row] = row_lse;
        }
      }
    }
  }
}

}  // namespace heed::reference

// Attention of one kv head's query rows over at most 16 keys, from tensors to results: what a call of a few tokens is.
//
//   q'_d = q_d * scale     s_j = fma(q'_d, k_jd, s_j) for d = 0 ... D-1, from +0                        (steps 1, 2)
//   m = max(s_j)           mu = m, or 0 if m = -inf
//   p_j = 2^((s_j - mu) * log2e)                  l = tree(p)                                           (steps 5, 6)
//   o = fma(p_j, v_j, o) over attended j in order, from +0
//   out = o / l + 0        lse = m + ln l                                                               (steps 7, 9)
//
// The bits are those of widen, scores, softmax_step, tile and finish one after the other: there is one panel, so the
// state before it is empty, whose a = 0 leaves p, and o but for the sign of a zero, which no result shows.
//
// Why a kernel of its own: what those five cost between their loads and stores, and in calls, is several times the
// arithmetic of a problem this small. Registers (8 lanes): 8 accumulators of scores (4 rows), 2 of keys, 1 broadcast;
// of values 4 accumulators, 1 broadcast. Bound: latency. One row is a chain of some 150 cycles: D multiply-adds,
// maximum, 2^x, sum, keys, division; the processor overlaps the rows.
//
// Excluded keys: their scores are selected away, their values not touched. A row without a key: out = +0, lse = -inf.
// Tails: the keys' panel is filled with +0, and so are the last columns of V, through a copy.
#include "simd/math.hpp"

namespace heed::HEED_ROW {
namespace {

constexpr int kRows = kLanes >= 8 ? 4 : 2;  // whose chains of scores run side by side

// The scores of R rows against the panel `keys`.
template <int R>
HEED_INLINE void panel_scores(const float* const* q, float scale, const float* keys, std::int64_t D,
                              float (*s)[kPanel]) {
  Floats chain[R][kVectors];
#pragma GCC unroll 4
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) chain[r][v] = broadcast(0.0f);
  }
  for (std::int64_t d = 0; d < D; ++d, keys += kPanel) {
#pragma GCC unroll 4
    for (int r = 0; r < R; ++r) {
      const Floats scaled = broadcast(q[r][d] * scale);
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) {
        chain[r][v] = fma(scaled, Floats::load_aligned(keys + v * kLanes), chain[r][v]);
      }
    }
  }
#pragma GCC unroll 4
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) chain[r][v].store_aligned(s[r] + v * kLanes);
  }
}

// C vectors of columns: the chains over keys [begin, end), divided.
template <int C>
HEED_INLINE void finish_columns(const float* p, const float* v, std::int64_t v_row, std::int64_t begin,
                                std::int64_t end, Floats divisor, float* out) {
  Floats chain[C];
#pragma GCC unroll 4
  for (int c = 0; c < C; ++c) chain[c] = broadcast(0.0f);
  for (std::int64_t j = begin; j < end; ++j) {
    const Floats weight = broadcast(p[j]);
#pragma GCC unroll 4
    for (int c = 0; c < C; ++c) chain[c] = fma(weight, load(v + j * v_row + c * kLanes), chain[c]);
  }
#pragma GCC unroll 4
  for (int c = 0; c < C; ++c) store(out + c * kLanes, canonical(chain[c] / divisor));
}

struct Query {
  std::int64_t head, token;

  HEED_INLINE void step(std::int64_t tokens) {
    if (++token < tokens) return;
    token = 0;
    ++head;
  }
};

// Steps 5 to 9 of a row.
HEED_INLINE void finish_row(const FewKeys& t, const Query& query, const float* s, const float* tail) {
  const std::int64_t first = query.token + t.first, last = query.token + t.last;
  const std::int64_t begin = first > 0 ? first : 0, end = last < t.keys ? last : t.keys;
  float* out = t.out + query.head * t.out_head + query.token * t.out_row;
  const std::uint32_t on = begin < end ? (1u << end) - (1u << begin) : 0;
  Mask attended[kVectors];
  Floats top = broadcast(-kInfinity);
  for (int v = 0; v < kVectors; ++v) {
    attended[v] = mask_of_bits(on, v);
    top = max(select(attended[v], Floats::load_aligned(s + v * kLanes), broadcast(-kInfinity)), top);
  }
  const float m = max_of_lanes(top), mu = m == -kInfinity ? 0.0f : m;
  alignas(64) float p[kPanel];
  Floats weights[kVectors];
  for (int v = 0; v < kVectors; ++v) {
    const Floats all = exp_nonpositive(Floats::load_aligned(s + v * kLanes) - broadcast(mu));
    weights[v] = select(attended[v], all, broadcast(0.0f));
    weights[v].store_aligned(p + v * kLanes);
  }
  const float l = sum_of_panel(weights);
  const Floats divisor = broadcast(l == 0.0f ? 1.0f : l);  // o / 1 is o

  std::int64_t d = 0;
  for (; d + 4 * kLanes <= t.Dv; d += 4 * kLanes) finish_columns<4>(p, t.v + d, t.v_row, begin, end, divisor, out + d);
  for (; d + 2 * kLanes <= t.Dv; d += 2 * kLanes) finish_columns<2>(p, t.v + d, t.v_row, begin, end, divisor, out + d);
  for (; d + kLanes <= t.Dv; d += kLanes) finish_columns<1>(p, t.v + d, t.v_row, begin, end, divisor, out + d);
  if (d < t.Dv) {
    float last[kLanes];
    finish_columns<1>(p, tail, kLanes, begin, end, divisor, last);
    store_tail(out + d, load(last), t.Dv - d);
  }
  if (t.lse != nullptr) {
    t.lse[query.head * t.lse_head + query.token * t.lse_row] = l == 0.0f ? -kInfinity : canonical(m + ln(l));
  }
}

}  // namespace

void few_keys_f32(const FewKeys& t) {
  alignas(64) float keys[kFewKeysD * kPanel], tail[kPanel * kLanes], s[kRows][kPanel];
  pack_keys_f32(t.k, t.k_row, t.keys, t.D, keys, {});
  const std::int64_t columns = t.Dv % kLanes;
  for (std::int64_t j = 0; j < t.keys && columns > 0; ++j) {
    load_tail(t.v + j * t.v_row + t.Dv - columns, columns).store_aligned(tail + j * kLanes);
  }
  // All heads' queries, one after the other.
  Query next{0, 0};
  for (std::int64_t left = t.heads * t.rows, rows = 0; left > 0; left -= rows) {
    rows = left >= kRows ? kRows : 1;
    Query query = next;
    const float* q[kRows];
    for (std::int64_t r = 0; r < rows; ++r, next.step(t.rows)) q[r] = t.q + next.head * t.q_head + next.token * t.q_row;
    if (rows == kRows) {
      panel_scores<kRows>(q, t.scale, keys, t.D, s);
    } else {
      panel_scores<1>(q, t.scale, keys, t.D, s);
    }
    for (std::int64_t r = 0; r < rows; ++r, query.step(t.rows)) finish_row(t, query, s[r], tail);
  }
}

}  // namespace heed::HEED_ROW

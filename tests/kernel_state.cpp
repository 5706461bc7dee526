// merge and finish.
#include <algorithm>
#include <cmath>

#include "support/everywhere.hpp"
#include "support/exact.hpp"

namespace heed::test::kernel {

using dispatch::f32;

namespace {

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

struct State {
  float m, l;
  Numbers o;
};

State state(Random& random, std::int64_t Dv) {
  const Kind kind = kKinds[random.between(0, 3)];
  State s{random.number(Kind::kTame) * 100, 1 + std::abs(random.number(Kind::kTame)) * 500, random.numbers(kind, Dv)};
  if (random.once_in(6)) s.m = random.once_in(2) ? kMost : -kMost;
  if (random.once_in(6)) s.m = -kInfinity, s.l = 0;  // attended keys, all scores -inf
  if (random.once_in(12)) s.m = s.l = float_of(0x7FC00000u);
  if (random.once_in(12)) s.m = kInfinity, s.l = float_of(0x7FC00000u);
  return s;
}

std::string merge_oracle(const State& a, const State& b, const Numbers& got) {
  const std::size_t Dv = a.o.size();
  if (is_nan(a.l) || is_nan(b.l)) return is_nan(got[1]) ? "" : "l is a number";
  const double larger = std::max(double{a.m}, double{b.m}), mu = std::isinf(larger) ? 0 : larger;
  if (double{got[0]} != larger) return "m";
  const double da = a.m - mu, db = b.m - mu, x = exact_weight(da), y = exact_weight(db);
  if (at_the_edge(da) || at_the_edge(db)) return {};
  const auto cost = [](double d, double w) { return w == 0 ? 0 : weight_roundings(d); };
  const double roundings = std::max(cost(da, x), cost(db, y)) + 3;
  Sum l;
  l.add(a.l * x);
  l.add(b.l * y);
  if (!l.allows(got[1], roundings, 2)) return "l";
  for (std::size_t d = 0; d < Dv; ++d) {
    Sum o;
    o.add(a.o[d] * x);
    o.add(b.o[d] * y);
    if (!o.allows(got[2 + d], roundings, 2)) return describe("o at d", d);
  }
  return {};
}

std::string finish_oracle(const State& s, float sink, bool has_lse, const Numbers& got) {
  const std::size_t Dv = s.o.size();
  for (const float x : got) {
    if (!is_canonical(x)) return "not canonical";
  }
  const float lse = has_lse ? got[Dv] : 0.0f;
  if (is_nan(s.l) || is_nan(sink) || sink == kInfinity) {
    for (const float x : got) {
      if (!is_nan(x)) return "a number in a NaN row";
    }
    return {};
  }
  const bool has_sink = sink != -kInfinity;
  const double larger = has_sink ? std::max(double{s.m}, double{sink}) : s.m;
  const double mu = std::isinf(larger) ? 0 : larger, dm = s.m - mu, ds = sink - mu;
  if (has_sink && (at_the_edge(dm) || at_the_edge(ds))) return {};
  const double x = has_sink ? exact_weight(dm) : 1, y = has_sink ? exact_weight(ds) : 0;
  const double l = s.l * x + y, divisor = l == 0 ? 1 : l;
  double roundings = 2;  // a division, and a sum that is exact
  if (x > 0 && has_sink) roundings += weight_roundings(dm);
  if (y > 0) roundings += weight_roundings(ds);
  for (std::size_t d = 0; d < Dv; ++d) {
    Sum out;
    out.add(s.o[d] * x / divisor);
    if (std::abs(s.o[d]) > kMost / 4) continue;  // scaled in another order it may overflow
    if (!out.allows(got[d], 2 * roundings + 2, 2)) return describe("out at d", d);
  }
  if (!has_lse) return {};
  if (l == 0) return lse == -kInfinity ? "" : "lse of an empty row";
  const double logarithm = std::log(l), right = larger + logarithm;
  const double allowed = (roundings + 2 * std::abs(logarithm) + std::abs(right)) * kUnit;
  return std::abs(right) > kMost || std::abs(lse - right) <= allowed ? "" : "lse";
}

}  // namespace

void check_merge_f32() {
  Random random(9);
  const auto check = [&](std::int64_t Dv) {
    const State a = state(random, Dv), b = state(random, Dv);
    check_everywhere(
        describe("Dv", Dv),
        [&](const Table& row, Arena& arena) {
          Numbers ml = {a.m, a.l};
          float* o = arena.inout(a.o);
          row.merge[f32](&ml[0], &ml[1], o, b.m, b.l, arena.input(b.o), Dv);
          const Numbers rest = arena.results();
          // In a NaN state all that counts is that l stays NaN.
          if (is_nan(a.l) || is_nan(b.l)) return Numbers{0.0f, ml[1]};
          ml.insert(ml.end(), rest.begin(), rest.end());
          return ml;
        },
        [&](const Numbers& got) { return merge_oracle(a, b, got); });
  };
  for (std::int64_t Dv = 0; Dv <= 49; ++Dv) {
    for (int i = 0; i < 8; ++i) check(Dv);
  }
  for (const std::int64_t Dv : head_sizes()) check(Dv);
}

namespace {

// The f32 result, converted once: anything else would round twice.
void check_finish(Random& random, heed_type type, std::int64_t Dv, float sink, bool has_lse, bool in_place) {
  const State s = state(random, Dv);
  check_everywhere(
      describe("type Dv has_lse in_place", type, Dv, has_lse, in_place) + ", sink " + std::to_string(sink),
      [&](const Table& row, Arena& arena) {
        float* plain = in_place ? arena.inout(s.o) : arena.output(Dv);
        const float* o = in_place ? plain : arena.input(s.o);
        void* out = nullptr;
        float* lse = has_lse ? arena.output(1) : nullptr;
        float same_lse = 0.0f;
        if (type != HEED_F32) {
          out = arena.output(type, 1, Dv, Dv);
          row.finish[type](s.m, s.l, o, sink, out, has_lse ? &same_lse : nullptr, Dv);
        }
        row.finish[f32](s.m, s.l, o, sink, plain, lse, Dv);
        Numbers results = arena.results();
        results.push_back(has_lse && type != HEED_F32 ? same_lse : has_lse ? *lse : 0.0f);
        return results;
      },
      [&](const Numbers& got) -> std::string {
        const std::size_t plain = at(Dv) + (has_lse ? 1 : 0);
        if (has_lse && bits_of(got.back()) != bits_of(got[at(Dv)])) return "lse";
        for (std::size_t d = 0; type != HEED_F32 && d < at(Dv); ++d) {
          if (got[plain + d] != static_cast<float>(output_code(type, got[d]))) return describe("the code at d", d);
        }
        return finish_oracle(s, sink, has_lse, Numbers(got.begin(), got.begin() + static_cast<std::ptrdiff_t>(plain)));
      });
}

void check_finish(heed_type type) {
  Random random(10);
  for (std::int64_t Dv = 1; Dv <= 49; ++Dv) {
    const float sinks[] = {-kInfinity, 0.0f, -0.0f, 100.0f, -kMost, kMost, kInfinity, float_of(0x7F800001u)};
    for (const float sink : sinks) check_finish(random, type, Dv, sink, random.once_in(2), random.once_in(2));
    for (int i = 0; i < 4; ++i) {
      check_finish(random, type, Dv, random.number(Kind::kTame) * 100, true, random.once_in(2));
    }
  }
  for (const std::int64_t Dv : head_sizes()) check_finish(random, type, Dv, -kInfinity, true, false);
}

}  // namespace

#define HEED_CHECK(op, type) \
  void check_##op##_##type() { check_##op(dispatch::type); }
HEED_FLOAT_TYPES(HEED_CHECK, finish)

}  // namespace heed::test::kernel

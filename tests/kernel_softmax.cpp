// softmax_step and softmax.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cmath>

#include "support/everywhere.hpp"
#include "support/exact.hpp"

namespace heed::test::kernel {

using dispatch::f32;

namespace {

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

// Which keys a row attends: the kinds that attention has, and any at all.
enum class Mask { kNone, kAll, kPrefix, kSuffix, kBand, kRandom, kOne, kCount };

std::vector<std::uint64_t> attended_words(Random& random, Mask mask, int keys) {
  std::vector<std::uint64_t> words(kAttendedWords);
  std::int64_t begin = 0, end = keys;
  if (mask == Mask::kNone) end = 0;
  if (mask == Mask::kPrefix || mask == Mask::kBand) end = random.between(1, keys);
  if (mask == Mask::kSuffix || mask == Mask::kBand) begin = random.between(0, end - 1);
  if (mask == Mask::kOne) end = (begin = random.between(0, keys - 1)) + 1;
  for (std::int64_t j = begin; j < end; ++j) {
    if (mask == Mask::kRandom && random.once_in(2)) continue;
    words[at(j / 64)] |= std::uint64_t{1} << (j % 64);
  }
  return words;
}

struct StepProblem {
  std::int32_t rows, panels;
  std::int64_t s_row;
  bool masked;                          // else every key is attended
  std::int64_t attended_row;            // 0: the first row's words serve all
  std::vector<std::uint64_t> attended;  // [rows or 1][kAttendedWords]
  Numbers s, m, lanes;
  Numbers v_scale;  // [keys], or empty

  std::int64_t keys() const { return panels * kPanel; }
  bool attends(std::int64_t r, std::int64_t j) const {
    return !masked || ((attended[at(r * attended_row + j / 64)] >> (j % 64)) & 1u) != 0;
  }
  // In a row that is NaN already, all that counts is that its sum stays NaN.
  bool is_nan_row(std::int64_t r) const {
    bool found = is_nan(m[at(r)]);
    for (std::int64_t x = 0; x < kPanel; ++x) found = found || is_nan(lanes[at(r * kPanel + x)]);
    for (std::int64_t j = 0; j < keys(); ++j) found = found || (attends(r, j) && is_nan(s[at(r * keys() + j)]));
    return found;
  }
};

StepProblem step_problem(Random& random, std::int32_t rows, std::int32_t panels, Mask mask, Kind kind) {
  StepProblem p{rows, panels, (panels + random.between(0, 2)) * kPanel, mask != Mask::kCount, 0, {}, {}, {}, {}, {}};
  if (p.masked) {
    const bool own = random.once_in(2);  // masks of any kind, row by row, or one for all
    p.attended_row = own ? kAttendedWords : 0;
    for (std::int32_t r = 0; r < (own ? rows : 1); ++r) {
      const Mask kind_of_row = r == 0 ? mask : static_cast<Mask>(random.between(0, static_cast<int>(Mask::kCount) - 1));
      for (const std::uint64_t word : attended_words(random, kind_of_row, panels * kPanel)) p.attended.push_back(word);
    }
  }
  p.s = random.numbers(kind, rows * p.keys());
  const float spread = static_cast<float>(random.between(1, 40));
  for (float& x : p.s) x *= spread;
  for (std::int32_t r = 0; r < rows; ++r) {
    if (random.once_in(8)) std::fill_n(p.s.begin() + r * p.keys(), p.keys(), -kInfinity);
    const bool fresh = random.once_in(3), poisoned = random.once_in(12);
    p.m.push_back(fresh ? -kInfinity : random.number(Kind::kTame) * spread);
    for (int x = 0; x < kPanel; ++x) {
      const float sum = poisoned ? __builtin_nanf("") : 30.0f * std::abs(random.number(Kind::kTame));
      p.lanes.push_back(fresh ? 0.0f : sum);
    }
  }
  return p;
}

// Scales of values: any size, and NaN at keys that no row attends.
void add_v_scale(Random& random, StepProblem& p) {
  const float sizes[] = {0.0f, -0.0f, 1.0f, -0.5f, 0x1p-149f, 0x1p-120f, 1e30f, kMost};
  for (std::int64_t j = 0; j < p.keys(); ++j) {
    bool attended = false;
    for (std::int64_t r = 0; r < p.rows; ++r) attended = attended || p.attends(r, j);
    const float scale = random.once_in(4) ? sizes[random.between(0, 7)] : random.number(Kind::kWide);
    p.v_scale.push_back(attended ? scale : float_of(0x7F800001u));
  }
}

std::string step_oracle(const StepProblem& p, const Numbers& got) {
  const std::int64_t keys = p.keys(), rows = p.rows;
  const auto s = [&](std::int64_t r, std::int64_t j) { return got[at(r * keys + j)]; };
  const auto m = [&](std::int64_t r) { return got[at(rows * keys + r)]; };
  const auto lane = [&](std::int64_t r, std::int64_t x) { return got[at(rows * (keys + 1) + r * kPanel + x)]; };
  const auto alpha = [&](std::int64_t r) { return got[at(rows * (keys + 1 + kPanel) + r)]; };
  const auto sum_is_nan = [&](std::int64_t r) { return got[at(rows * (keys + 2 + kPanel) + r)] == 1.0f; };
  for (std::int64_t r = 0; r < rows; ++r) {
    double larger = p.m[at(r)];
    bool any = false, infinite = false;
    for (std::int64_t j = 0; j < keys; ++j) {
      if (!p.attends(r, j)) continue;
      any = true;
      infinite = infinite || p.s[at(r * keys + j)] == kInfinity;
      larger = std::max(larger, double{p.s[at(r * keys + j)]});
    }
    if (p.is_nan_row(r) || infinite) {
      if (!sum_is_nan(r)) return describe("a finite sum in the NaN row", r);
      continue;
    }
    if (sum_is_nan(r)) return describe("NaN in row", r);
    if (!any) {
      if (alpha(r) != 1.0f || m(r) != p.m[at(r)]) return describe("an empty block changed row", r);
      for (std::int64_t x = 0; x < kPanel; ++x) {
        if (bits_of(lane(r, x)) != bits_of(p.lanes[at(r * kPanel + x)]))
          return describe("an empty block changed row", r);
      }
      for (std::int64_t j = 0; j < keys; ++j) {
        if (bits_of(s(r, j)) != 0) return describe("a weight in the empty row", r);
      }
      continue;
    }
    if (double{m(r)} != larger) return describe("wrong maximum of row", r);
    const double mu = std::isinf(larger) ? 0 : larger;
    const double d_alpha = p.m[at(r)] - mu, a = exact_weight(d_alpha);
    if (std::abs(alpha(r) - a) > a * weight_roundings(d_alpha) * kUnit + kEdge) return describe("alpha of row", r);
    double sum[kPanel], bound[kPanel];
    for (int x = 0; x < kPanel; ++x) {
      const double old = p.lanes[at(r * kPanel + x)];
      sum[x] = old * a;
      bound[x] = a == 0 ? old * kEdge : sum[x] * weight_roundings(d_alpha) * kUnit + old * kEdge;
    }
    for (std::int64_t j = 0; j < keys; ++j) {
      if (!p.attends(r, j)) {
        if (bits_of(s(r, j)) != 0) return describe("an excluded weight at r j", r, j);
        continue;
      }
      const double d = double{p.s[at(r * keys + j)]} - mu, w = exact_weight(d);
      const double allowed = w == 0 ? kEdge : w * weight_roundings(d) * kUnit + kEdge;
      if (std::isinf(d) ? bits_of(s(r, j)) != 0 : !(std::abs(s(r, j) - w) <= allowed)) {
        return describe("weight at r j", r, j);
      }
      sum[j % kPanel] += w;
      bound[j % kPanel] += allowed;
    }
    for (int x = 0; x < kPanel; ++x) {
      if (!(std::abs(lane(r, x) - sum[x]) <= bound[x] + sum[x] * (p.panels + 1) * kUnit)) {
        return describe("sum of row lane", r, x);
      }
    }
  }
  return {};
}

// What a step with scales must leave: the state of one without them, and its p times the scale, rounded once. Puts p in
// place of the products, for the checks that follow.
void demand_scaled(const StepProblem& p, const Table& row, const SoftmaxStep& scaled) {
  Numbers s = p.s, m = p.m, lanes = p.lanes, alpha(at(p.rows));
  SoftmaxStep t = scaled;
  t.s = s.data(), t.s_row = p.keys(), t.m = m.data(), t.lanes = lanes.data(), t.alpha = alpha.data();
  t.v_scale = nullptr;
  row.softmax_step[f32](t);
  Numbers is(lanes.size() + 2 * m.size() + s.size()), right;
  float* next = std::copy_n(scaled.m, p.rows, is.data());
  next = std::copy_n(scaled.alpha, p.rows, next);
  next = std::copy_n(scaled.lanes, p.rows * kPanel, next);
  for (const Numbers& of : {m, alpha, lanes}) right.insert(right.end(), of.begin(), of.end());
  for (std::int64_t r = 0; r < p.rows; ++r) {
    next = std::copy_n(scaled.s + r * p.s_row, p.keys(), next);
    for (std::int64_t j = 0; j < p.keys(); ++j) {
      const float weight = s[at(r * p.keys() + j)];
      right.push_back(p.attends(r, j) ? weight * p.v_scale[at(j)] : 0.0f);
    }
    std::copy_n(s.begin() + r * p.keys(), p.keys(), scaled.s + r * p.s_row);
  }
  const std::string difference = first_difference(right, is);
  if (!difference.empty()) FAIL("v_scale, row " << row.name << ": " << difference);
}

void check_step(const StepProblem& p, const std::string& what) {
  check_everywhere(
      what,
      [&](const Table& row, Arena& arena) {
        SoftmaxStep t{};
        t.s = arena.inout(p.s, p.rows, p.keys(), p.s_row);
        t.s_row = p.s_row;
        t.rows = p.rows;
        t.panels = p.panels;
        t.attended = p.masked ? arena.input(p.attended) : nullptr;
        t.attended_row = p.attended_row;
        t.m = arena.inout(p.m);
        t.lanes = arena.inout(p.lanes);
        t.alpha = arena.output(p.rows);
        if (!p.v_scale.empty()) t.v_scale = arena.input(p.v_scale);
        row.softmax_step[f32](t);
        if (!p.v_scale.empty()) demand_scaled(p, row, t);
        Numbers sums;
        for (std::int64_t r = 0; r < p.rows; ++r) {
          sums.push_back(is_nan(sum_lanes(t.lanes + r * kPanel)) ? 1.0f : 0.0f);
          t.m[r] += 0.0f;  // the maximum of zeros may have either sign
          if (!p.is_nan_row(r)) continue;
          std::fill_n(t.s + r * p.s_row, p.keys(), 0.0f);
          std::fill_n(t.lanes + r * kPanel, kPanel, 0.0f);
          t.m[r] = t.alpha[r] = 0.0f;
        }
        Numbers results = arena.results();
        results.insert(results.end(), sums.begin(), sums.end());
        return results;
      },
      [&](const Numbers& got) { return step_oracle(p, got); });
}

struct Row {
  double largest = -HUGE_VAL, sum = 0, mean_distance = 0;
  bool nan = false, infinite = false;
};

Row exact_row(const Numbers& x) {
  Row row;
  for (const float value : x) {
    row.nan = row.nan || is_nan(value);
    row.infinite = row.infinite || value == kInfinity;
    row.largest = std::max(row.largest, double{value});
  }
  if (row.nan || std::isinf(row.largest)) return row;
  for (const float value : x) {
    const double d = value - row.largest, w = exact_weight(d);
    row.sum += w;
    if (w > 0) row.mean_distance -= w * d;
  }
  row.mean_distance /= row.sum;
  return row;
}

std::string softmax_oracle(const Numbers& x, const Numbers& weights, float lse) {
  const Row row = exact_row(x);
  for (const float w : weights) {
    if (!is_canonical(w)) return "a weight is not canonical";
  }
  if (!is_canonical(lse)) return "lse is not canonical";
  if (row.nan || row.infinite) {
    for (const float w : weights) {
      if (!is_nan(w)) return "a number in a NaN row";
    }
    return (row.nan ? is_nan(lse) : lse == kInfinity) ? "" : "lse of a NaN row";
  }
  if (row.largest == -HUGE_VAL) {
    for (const float w : weights) {
      if (bits_of(w) != 0) return "a weight in an empty row";
    }
    return lse == -kInfinity ? "" : "lse of an empty row";
  }
  // On a weight's way into the sum: itself, 8 panels, 4 blocks, the tree, and a product and a sum per split; wherever
  // the maximum moves, a factor with the roundings of a weight.
  const auto splits = static_cast<double>((x.size() + kSplit - 1) / kSplit);
  const double of_sum = 4 + 8 + 4 * 5 + 4 + 6 * splits + 2.25 * row.mean_distance;
  for (std::size_t j = 0; j < x.size(); ++j) {
    const double d = x[j] - row.largest, w = exact_weight(d) / row.sum;
    const double allowed = w == 0 ? kEdge : w * (of_sum + 10 + 2.25 * std::abs(d)) * kUnit + kEdge;
    if (!(std::abs(weights[j] - w) <= allowed)) return describe("weight", j);
  }
  const double logarithm = std::log(row.sum), right = row.largest + logarithm;
  const double allowed = (of_sum + 2 * std::abs(logarithm) + std::abs(right)) * kUnit;
  return std::abs(lse - right) <= allowed ? "" : "lse";
}

void check_softmax(const Numbers& x, const std::string& what) {
  const auto n = static_cast<std::int64_t>(x.size());
  check_everywhere(
      what,
      [&](const Table& row, Arena& arena) {
        float* weights = arena.output(n);
        const float lse = row.softmax[f32](arena.input(x), weights, n);
        float* in_place = arena.inout(x);
        const float lse_in_place = row.softmax[f32](in_place, in_place, n);
        Numbers results = arena.results();
        results.push_back(lse);
        results.push_back(lse_in_place);
        return results;
      },
      [&](const Numbers& got) {
        const Numbers weights(got.begin(), got.begin() + n), in_place(got.begin() + n, got.begin() + 2 * n);
        if (bits_of(got[at(2 * n)]) != bits_of(got[at(2 * n + 1)])) return std::string("lse in place");
        const std::string difference = first_difference(weights, in_place);
        if (!difference.empty()) return "in place: " + difference;
        return softmax_oracle(x, weights, got[at(2 * n)]);
      });
}

}  // namespace

void check_softmax_step_f32() {
  Random random(7);
  for (int mask = 0; mask <= static_cast<int>(Mask::kCount); ++mask) {
    for (std::int32_t panels = 1; panels <= kBlock / kPanel; ++panels) {
      for (const Kind kind : kKinds) {
        const auto rows = static_cast<std::int32_t>(random.between(1, 19));  // taken in groups of up to 8
        StepProblem p = step_problem(random, rows, panels, static_cast<Mask>(mask), kind);
        check_step(p, describe("mask rows panels kind", mask, rows, panels, kind));
        add_v_scale(random, p);
        check_step(p, describe("with v_scale: mask rows panels kind", mask, rows, panels, kind));
      }
    }
  }
}

void check_softmax_f32() {
  Random random(8);
  for (const std::int64_t n : lengths()) {
    for (const Kind kind : kKinds) {
      Numbers x = random.numbers(kind, n);
      for (float& value : x) value *= static_cast<float>(random.between(1, 30));
      check_softmax(x, describe("n kind", n, kind));
    }
    check_softmax(Numbers(at(n), -kInfinity), describe("all -inf, n", n));
    if (n == 0) continue;
    Numbers one(at(n), -kInfinity);  // one number anywhere: its weight is 1
    one[at(random.between(0, n - 1))] = -kMost;
    check_softmax(one, describe("one above -inf, n", n));
    one[at(random.between(0, n - 1))] = kInfinity;
    check_softmax(one, describe("one +inf, n", n));
    one[at(random.between(0, n - 1))] = float_of(0x7F800001u);
    check_softmax(one, describe("one NaN, n", n));
  }
  // Around what one row keeps of its blocks; the last one's weights go past the caches where their address allows it.
  for (const std::int64_t n : {16385, 131071, 131072, 131073, 140011, 262283}) {
    Numbers x = random.numbers(Kind::kTame, n);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = x[i] * 10 + static_cast<float>(i) * 1e-3f;  // the maximum moves
    check_softmax(x, describe("rising, n", n));
    std::reverse(x.begin(), x.end());
    check_softmax(x, describe("falling, n", n));
  }
}

}  // namespace heed::test::kernel

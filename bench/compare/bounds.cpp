#include "bounds.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "numbers.hpp"
#include "problem.hpp"

namespace heed::compare {
namespace {

constexpr double kSmallest = std::numeric_limits<float>::denorm_min();
constexpr double kSmallestNormal = std::numeric_limits<float>::min();  // a weight below it may be flushed to 0
constexpr double kFarBelow = 200;  // a weight this far below the maximum is 0 in float

double root(std::int64_t n) { return std::sqrt(static_cast<double>(n)); }

std::vector<float> absolute_floats(heed_type type, const std::vector<std::byte>& data) {
  const auto n = static_cast<std::int64_t>(data.size() / type_bytes(type));
  std::vector<float> floats = to_floats(widen(type, data.data(), n));
  for (float& x : floats) x = std::fabs(x);
  return floats;
}

// The sum of |scale q_d k_d| for every pair: what rounding errors of a score are proportional to.
std::vector<double> score_magnitudes(const Problem& problem) {
  const std::vector<float> q = absolute_floats(problem.args.q.type, problem.q);
  const std::vector<float> k = absolute_floats(problem.args.k.type, problem.k);
  heed_attention_args args = problem.args;
  args.q.data = q.data();
  args.k.data = k.data();
  args.q.type = args.k.type = HEED_F32;
  args.scale = std::fabs(args.scale);
  args.softcap = 0;
  args.alibi_slopes = nullptr;
  args.bias = {};
  args.sinks = nullptr;
  args.inspect_what = HEED_SCORES_SCALED;
  return reference_result(args, true).view;
}

std::vector<double> view_of(const Problem& problem, heed_inspect what) {
  heed_attention_args args = problem.args;
  args.inspect_what = what;
  return reference_result(args, true).view;
}

}  // namespace

double dot_bound(std::int64_t n, double magnitude) {
  return static_cast<double>(n) * (kRounding * magnitude + kSmallest);
}

double weight_bound(std::int64_t n, double below_max, double weight) {
  return kRounding * (2 * root(n) + 16 + std::min(kFarBelow, below_max)) * weight + kSmallestNormal;
}

double lse_bound(std::int64_t n, double lse) { return kRounding * (2 * std::fabs(lse) + 2 * root(n) + 16); }

double sum_bound(std::int64_t n, double magnitude) {
  return static_cast<double>(n + 1) * (kRounding * magnitude + kSmallest);
}

double merge_bound(double difference, double o1, double o2) {
  const double distance = std::isnan(difference) ? 0 : std::min(kFarBelow, difference);  // both parts empty: NaN
  return kRounding * (8 + distance) * (std::fabs(o1) + std::fabs(o2));
}

double merge_lse_bound(double lse) { return kRounding * (8 + 2 * std::fabs(lse)); }

// A relative error e_j of each weight p_j moves out by sum of p_j e_j (v_j - out). Here e_j is the error of the score
// (its chain of D products, and one rounding for each option) and that of exp and of the sums.
Bounds bounds(const Problem& problem) {
  const heed_attention_args& args = problem.args;
  const std::vector<double> magnitude = score_magnitudes(problem);
  const std::vector<double> scores = view_of(problem, HEED_SCORES_BIASED);
  const std::vector<double> weights = view_of(problem, HEED_WEIGHTS);
  const ReferenceResult exact = reference_result(args, false);
  const std::vector<float> v = absolute_floats(args.v.type, problem.v);

  Bounds bound;
  bound.out.resize(exact.out.size());
  bound.lse.resize(exact.lse.size());
  bound.scores.resize(scores.size());
  bound.weights.resize(weights.size());
  const double chain = 1.5 * root(args.D) + 4;
  for (std::int64_t row = 0; row < problem.rows(); ++row) {
    const std::int64_t b = row / (args.Hq * args.Lq), kv_head = row / args.Lq % args.Hq / (args.Hq / args.Hkv);
    const auto first = static_cast<std::size_t>(row * args.Lkv);
    double largest = -std::numeric_limits<double>::infinity(), mean_error = 0;
    for (std::int64_t j = 0; j < args.Lkv; ++j)
      largest = std::max(largest, scores[first + static_cast<std::size_t>(j)]);

    for (std::int64_t j = 0; j < args.Lkv; ++j) {
      const std::size_t pair = first + static_cast<std::size_t>(j);
      const double options = 8 * (std::fabs(scores[pair]) + std::fabs(args.softcap));
      bound.scores[pair] = kRounding * (chain * magnitude[pair] + options) + dot_bound(args.D, 0);
      if (!(weights[pair] > 0)) continue;  // not attended, or without weight
      mean_error += weights[pair] * bound.scores[pair];
    }
    for (std::int64_t j = 0; j < args.Lkv; ++j) {
      const std::size_t pair = first + static_cast<std::size_t>(j);
      if (!(weights[pair] > 0)) continue;
      const double error = bound.scores[pair] + mean_error;
      bound.weights[pair] =
          weight_bound(args.Lkv, 1.25 * (largest - scores[pair]), weights[pair]) + weights[pair] * error;
      const float* value = v.data() + b * args.v.stride_batch + kv_head * args.v.stride_head + j * args.v.stride_token;
      for (std::int64_t d = 0; d < args.Dv; ++d)
        bound.out[static_cast<std::size_t>(row * args.Dv + d)] += 2 * bound.weights[pair] * value[d];
    }
    for (std::int64_t d = 0; d < args.Dv; ++d)
      bound.out[static_cast<std::size_t>(row * args.Dv + d)] += dot_bound(args.Lkv + 1, 0);
    const double lse = exact.lse[static_cast<std::size_t>(row)];
    bound.lse[static_cast<std::size_t>(row)] =
        lse_bound(args.Lkv, std::max(std::fabs(lse), std::fabs(largest))) + mean_error;
  }
  return bound;
}

}  // namespace heed::compare

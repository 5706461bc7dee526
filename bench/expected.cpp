// What a problem's results must be: sampled elements in double precision, each with a bound on the error that single
// precision may make. The bounds are worst cases, added up step by step; a wrong kernel misses them by far.
#include <algorithm>
#include <cmath>

#include "problems.hpp"

namespace heed::bench {
namespace {

constexpr double kRound = 0x1p-24;  // relative error of one rounded operation

// Error of a score per unit of sum |q_d k_d|: D multiplications and additions, and the scale's rounding.
double score_error(std::int64_t D) { return (2.0 * static_cast<double>(D) + 4.0) * kRound; }

// Relative error of a softmax weight besides that of the scores: exponentials of arguments down to -spread (their own
// bound is 4 + 1.25 spread, in the weight and in the sum), 16 lanes of partial sums, the factors of blocks, a division.
double weight_error(std::int64_t n, double spread) {
  return (2.0 * (4.0 + 1.25 * spread) + static_cast<double>(n) / 16.0 / 8.0 + 32.0) * kRound;
}

// Relative error of a weighted sum per unit of sum |p v|: a chain within a block, then one step per block.
double sum_error(std::int64_t n) { return (2.0 * 128.0 + static_cast<double>(n) / 128.0 + 8.0) * kRound; }

constexpr double kTiny = 0x1p-120;  // weights below the smallest normal number become zero
constexpr std::int64_t kSampledKeys = 512;

}  // namespace

// One query row's output: of attention, or of attend and weighted_sum, whose "scores" are given.
void Problem::expect_row(const Operands& x, std::int64_t head, std::int64_t i) {
  const bool from_scores = uses_threads(operation_.kind);
  const std::int64_t n = operation_.causal ? i + 1 : L_;
  const float* v = from_scores ? x.v : x.k;
  std::vector<double> p(static_cast<std::size_t>(n));
  double error = sum_error(n);
  if (operation_.kind == Kind::kWeightedSum) {
    std::copy_n(x.q, n, p.begin());
  } else {
    std::vector<double> s(p.size());
    if (from_scores) {
      const float* q = x.q + (head * queries_ + i) * D_;
      reference::scores(q, x.k, 1, n, D_, scale_, s.data());
      double largest = 0.0;  // sum |q k| of any key, by Cauchy and Schwarz
      for (std::int64_t j = 0; j < n; ++j) {
        largest = std::max(largest, reference::dot(x.k + j * D_, x.k + j * D_, D_));
      }
      error += 2.0 * score_error(D_) * scale_ * std::sqrt(largest * reference::dot(q, q, D_));
    } else {
      std::copy_n(x.q, n, s.begin());
    }
    const auto [least, most] = std::minmax_element(s.begin(), s.end());
    error += weight_error(n, *most - *least);
    reference::softmax(s.data(), p.data(), n);
  }
  std::vector<double> sum(static_cast<std::size_t>(D_)), size(sum.size());
  for (std::int64_t j = 0; j < n; ++j) {
    for (std::int64_t d = 0; d < D_; ++d) {
      const double term = p[static_cast<std::size_t>(j)] * v[j * D_ + d];
      sum[static_cast<std::size_t>(d)] += term;
      size[static_cast<std::size_t>(d)] += std::abs(term);
    }
  }
  for (std::size_t d = 0; d < sum.size(); ++d) {
    const auto at = static_cast<std::size_t>((head * queries_ + i) * D_) + d;
    expected_.push_back({at, sum[d], error * size[d] + kTiny});
  }
}

void Problem::expect() {
  const Operands x = operands(0);
  const std::int64_t step = std::max<std::int64_t>(1, L_ / kSampledKeys);
  switch (operation_.kind) {
    case Kind::kDot:
    case Kind::kScores: {
      const double scale = operation_.kind == Kind::kDot ? 1.0 : static_cast<double>(scale_);
      for (std::int64_t j = L_ - 1; j >= 0; j -= step) {
        double sum = 0.0, size = 0.0;
        for (std::int64_t d = 0; d < D_; ++d) {
          const double term = static_cast<double>(x.q[d]) * x.k[j * D_ + d];
          sum += term;
          size += std::abs(term);
        }
        expected_.push_back({static_cast<std::size_t>(j), scale * sum, scale * size * score_error(D_) + kTiny});
      }
      break;
    }
    case Kind::kSoftmax: {
      std::vector<double> p(static_cast<std::size_t>(L_));
      reference::softmax(x.k, p.data(), L_);
      const auto [least, most] = std::minmax_element(x.k, x.k + L_);
      const double error = weight_error(L_, static_cast<double>(*most) - *least);
      for (std::size_t j = 0; j < p.size(); ++j) expected_.push_back({j, p[j], error * p[j] + kTiny});
      break;
    }
    case Kind::kPrefill:
      for (const std::int64_t i : {std::int64_t{0}, L_ / 3, L_ / 2 + 1, L_ - 1}) expect_row(x, 0, i);
      break;
    default:
      for (int head = 0; head < operation_.group; head += 3) expect_row(x, head, 0);
  }
}

}  // namespace heed::bench

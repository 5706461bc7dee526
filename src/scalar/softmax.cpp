// Softmax of one row: weights and log-sum-exp.
//
//   (m, l) of the row by steps 5, 6 and 8, so that lse = m + ln l has the bits of attention's
//   weight_j = p_j * f      f = 2^((m_block - mu) * log2e) / l      m_block: the maximum that the block's p were taken
//   against
//
// l = 0: weights +0, lse -inf. A NaN makes everything NaN. +inf and no NaN: weights NaN (inf - inf), lse +inf.
// Two passes: the first finds (m, l), the second computes p again. A block's maximum is found before its weights are
// written, so weights may be x.
#include "scalar/scalar.hpp"

namespace heed::HEED_ROW {
namespace {

// The maximum up to and including one block.
float running_maximum(const float* x, std::int64_t keys, float m) {
  for (std::int64_t j = 0; j < keys; ++j) m = max(x[j], m);
  return m;
}

float finite_or_zero(float m) { return m == -kInfinity ? 0.0f : m; }

std::int64_t least(std::int64_t a, std::int64_t b) { return a < b ? a : b; }

}  // namespace

float softmax_f32(const void* x_data, float* weights, std::int64_t n) {
  const float* x = static_cast<const float*>(x_data);
  float m = -kInfinity, l = 0.0f;
  bool nan = false;
  for (std::int64_t begin = 0; begin < n; begin += kSplit) {
    const std::int64_t end = least(begin + kSplit, n);
    float split_m = -kInfinity;
    float lanes[kPanel] = {};
    for (std::int64_t j = begin; j < end; j += kBlock) {
      const std::int64_t keys = least(kBlock, end - j);
      const float larger = running_maximum(x + j, keys, split_m);
      const float mu = finite_or_zero(larger);
      const float alpha = exp_nonpositive(split_m - mu);
      float sums[kPanel] = {};
      for (std::int64_t i = 0; i < keys; ++i) {
        sums[i % kPanel] += exp_nonpositive(x[j + i] - mu);
        nan = nan || x[j + i] != x[j + i];
      }
      for (int lane = 0; lane < kPanel; ++lane) lanes[lane] = fma(lanes[lane], alpha, sums[lane]);
      split_m = larger;
    }
    if (begin == 0) {
      m = split_m;
      l = sum_lanes(lanes);
    } else {
      merge_f32(&m, &l, nullptr, split_m, sum_lanes(lanes), nullptr, 0);
    }
  }

  for (std::int64_t begin = 0; begin < n; begin += kSplit) {
    const std::int64_t end = least(begin + kSplit, n);
    float block_m = -kInfinity;
    for (std::int64_t j = begin; j < end; j += kBlock) {
      const std::int64_t keys = least(kBlock, end - j);
      block_m = running_maximum(x + j, keys, block_m);
      const float factor = exp_nonpositive(block_m - finite_or_zero(m)) / l;
      for (std::int64_t i = 0; i < keys; ++i) {
        const float p = exp_nonpositive(x[j + i] - finite_or_zero(block_m));
        weights[j + i] = l == 0.0f ? 0.0f : canonical(p * factor);
      }
    }
  }
  if (l == 0.0f) return -kInfinity;
  if (l != l && !nan) return kInfinity;
  return canonical(m + ln(l));
}

}  // namespace heed::HEED_ROW

// What attention's results must be: sampled rows in double precision.
#include <algorithm>
#include <cmath>

#include "attention_problem.hpp"
#include "error_bounds.hpp"

namespace heed::bench {
namespace {

// Most that a query's or a key's square may be: the sum of D squares of numbers with variance 1.
double largest_square(std::int64_t D) {
  const auto n = static_cast<double>(D);
  return std::min(n * kLargestNumber * kLargestNumber, n + 8.0 * std::sqrt(2.0 * n));
}

}  // namespace

// The row alone, as a decode that stands where it stands in the prefill.
void AttentionProblem::expect_row(std::int64_t b, std::int64_t head, std::int64_t i,
                                  std::vector<Expected>& expected) const {
  const Shape& s = shape_;
  const std::int64_t kv_head = head / (s.Hq / s.Hkv), offset = i + s.Lkv - s.Lq;
  const std::size_t row = static_cast<std::size_t>((b * s.Hq + head) * s.Lq + i);
  heed_attention_args one = args_;
  one.B = one.Hq = one.Hkv = one.Lq = 1;
  one.alignment = HEED_OFFSETS;
  one.offsets = &offset;
  one.q.data = q_.data() + row * static_cast<std::size_t>(s.D);
  const auto shifted = [&](const heed_tensor& tensor, std::int64_t bytes) -> const void* {
    const std::int64_t of_sequence = one.block_table.data != nullptr ? 0 : b * tensor.stride_batch;
    return tensor.data == nullptr
               ? nullptr
               : static_cast<const char*>(tensor.data) + (of_sequence + kv_head * tensor.stride_head) * bytes;
  };
  one.k.data = shifted(args_.k, bytes_of(s.type));
  one.v.data = shifted(args_.v, bytes_of(s.type));
  one.k_scales.data = shifted(args_.k_scales, sizeof(float));
  one.v_scales.data = shifted(args_.v_scales, sizeof(float));
  if (one.block_table.data != nullptr) one.block_table.data = pages_.data() + b * one.block_table_stride;
  if (s.alibi) one.alibi_slopes = slopes_.data() + head;
  if (s.bias) one.bias.data = bias_.data() + i * s.Lkv;
  if (s.bit_mask) one.mask = mask_.data() + i * args_.mask_stride_token;
  one.inspect_what = HEED_SCORES_BIASED;

  std::vector<double> out(static_cast<std::size_t>(s.Dv)), scores(static_cast<std::size_t>(s.Lkv));
  reference::attention(one, out.data(), nullptr, scores.data());
  double least = HUGE_VAL, most = -HUGE_VAL;
  std::int64_t attended = 0;
  for (const double score : scores) {
    if (score == -HUGE_VAL) continue;
    least = std::min(least, score);
    most = std::max(most, score);
    ++attended;
  }
  const double scale = 1.0 / std::sqrt(static_cast<double>(s.D));
  // Of the products, and of the steps after them: a quotient, tanh, its product, two sums.
  const double error_of_scores =
      score_error(s.D) * scale * largest_square(s.D) + 8.0 * kRound * std::max(std::abs(least), std::abs(most));
  const double error = 2.0 * error_of_scores + weight_error(attended, most - least) + sum_error(attended);
  for (std::size_t d = 0; d < out.size(); ++d) {
    expected.push_back({row * static_cast<std::size_t>(s.Dv) + d, out[d], error * kLargestNumber + kTiny});
  }
}

std::vector<Problem::Expected> AttentionProblem::expect() {
  constexpr std::int64_t kLong = 16384;  // keys of a row that takes tens of milliseconds in double
  const Shape& s = shape_;
  point_to(0);
  std::vector<Expected> expected;
  expect_row(s.B - 1, s.Hq - 1, s.Lq - 1, expected);
  if (s.Lkv >= kLong) return expected;
  expect_row(0, 0, 0, expected);
  if (s.Lq > 2) {
    expect_row(0, s.Hq / 2, s.Lq / 3, expected);
    expect_row(s.B / 2, 0, s.Lq / 2 + 1, expected);
  }
  return expected;
}

}  // namespace heed::bench

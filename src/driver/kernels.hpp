// The loops around single kernels that a caller may use one by one.
#pragma once

#include <cstdint>

#include "dispatch/table.hpp"
#include "plan/problem.hpp"

namespace heed {

struct Rows {
  const void* data;
  std::int64_t rows, cols, stride;
  heed_type type;

  const char* at(std::int64_t r, std::int64_t c) const {
    return static_cast<const char*>(data) + (r * stride + c) * element_bytes(type);
  }
};

struct MutableRows {
  float* data;
  std::int64_t rows, cols, stride;
};

// s = (scale * q) . k^T. scratch: `scores_floats(q)` floats.
std::int64_t scores_floats(const Rows& q);
// Scores as results are: one NaN, and +0 for -0. A division by 1 changes nothing else.
inline void show_scores(const dispatch::Table& table, float* s, std::int64_t n) {
  table.finish[dispatch::f32](0.0f, 1.0f, s, -__builtin_inff(), s, nullptr, n);
}

void run_scores(const dispatch::Table& table, const Rows& q, const Rows& k, float scale, const MutableRows& s,
                float* scratch);

// out = accumulator + weights . v; accumulator.data may be null, or out.data. scratch: kWeightedSumFloats floats.
inline constexpr std::int64_t kWeightedSumRows = 24;
inline constexpr std::int64_t kWeightedSumFloats = kBlock * kPanel + kWeightedSumRows * (kPanel + 1) + kPanel;
void run_weighted_sum(const dispatch::Table& table, const Rows& weights, const Rows& v, const Rows& accumulator,
                      const MutableRows& out, float* scratch);

// to = from, element by element, through float.
void run_convert(const dispatch::Table& table, const Rows& from, void* to, heed_type to_type, std::int64_t to_stride);

// codes[r][c] = round(x[r][c] / scales[r]), scales[r] = largest |x[r]| / 127; all 0 where that is below the smallest
// normal number.
void quantize_rows(const Rows& x, std::int8_t* codes, std::int64_t codes_stride, float* scales);

}  // namespace heed

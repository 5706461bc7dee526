// The loops around single kernels that a caller may use one by one.
#pragma once

#include <cstdint>

#include "dispatch/table.hpp"

namespace heed {

struct Rows {
  const float* data;
  std::int64_t rows, cols, stride;
};

struct MutableRows {
  float* data;
  std::int64_t rows, cols, stride;
};

// s = (scale * q) . k^T. scratch: `scores_floats(q)` floats.
std::int64_t scores_floats(const Rows& q);
void run_scores(const dispatch::Table& table, const Rows& q, const Rows& k, float scale, const MutableRows& s,
                float* scratch);

// out = accumulator + weights . v; accumulator.data may be null, or out.data. scratch: kWeightedSumFloats floats.
inline constexpr std::int64_t kWeightedSumRows = 24;
inline constexpr std::int64_t kWeightedSumFloats = kBlock * kPanel + kWeightedSumRows * (kPanel + 1) + kPanel;
void run_weighted_sum(const dispatch::Table& table, const Rows& weights, const Rows& v, const Rows& accumulator,
                      const MutableRows& out, float* scratch);

}  // namespace heed

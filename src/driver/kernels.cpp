#include "driver/kernels.hpp"

#include <cstring>

namespace heed {
namespace {

using dispatch::f32;

constexpr std::int64_t kScoreRows = 4;  // what the scores kernel keeps in registers

std::int64_t least(std::int64_t a, std::int64_t b) { return a < b ? a : b; }

}  // namespace

std::int64_t scores_floats(const Rows& q) { return least(q.rows, kScoreRows) * q.cols; }

void run_scores(const dispatch::Table& table, const Rows& q, const Rows& k, float scale, const MutableRows& s,
                float* scratch) {
  for (std::int64_t r = 0; r < q.rows; r += kScoreRows) {
    const std::int64_t rows = least(kScoreRows, q.rows - r);
    for (std::int64_t i = 0; i < rows; ++i) {
      table.scale_row[f32](q.data + (r + i) * q.stride, scale, scratch + i * q.cols, q.cols);
    }
    table.scores[f32]({scratch, q.cols, k.data, k.stride, s.data + r * s.stride, s.stride, rows, k.rows, q.cols});
  }
}

void run_weighted_sum(const dispatch::Table& table, const Rows& weights, const Rows& v, const Rows& accumulator,
                      const MutableRows& out, float* scratch) {
  const std::int64_t Dv = v.cols, whole = Dv / kPanel * kPanel, tail = Dv - whole;
  float* ones = scratch;
  float* tail_values = scratch + (kWeightedSumRows + kPanel - 1) / kPanel * kPanel;
  float* tail_sums = tail_values + kBlock * kPanel;
  for (std::int64_t i = 0; i < kWeightedSumRows; ++i) ones[i] = 1.0f;

  for (std::int64_t r = 0; r < weights.rows; r += kWeightedSumRows) {
    const std::int64_t rows = least(kWeightedSumRows, weights.rows - r);
    for (std::int64_t i = 0; i < rows; ++i) {
      float* o = out.data + (r + i) * out.stride;
      const std::size_t bytes = static_cast<std::size_t>(Dv) * sizeof(float);
      if (accumulator.data == nullptr) {
        std::memset(o, 0, bytes);
      } else if (accumulator.data + (r + i) * accumulator.stride != o) {
        std::memcpy(o, accumulator.data + (r + i) * accumulator.stride, bytes);
      }
      std::memset(tail_sums + i * kPanel, 0, kPanel * sizeof(float));
      std::memcpy(tail_sums + i * kPanel, o + whole, static_cast<std::size_t>(tail) * sizeof(float));
    }

    // The accumulator is what step 7 calls o, and the maximum never moves: alpha is 1.
    Tile tile{};
    tile.a_row = weights.stride;
    tile.rows = static_cast<std::int32_t>(rows);
    tile.mode = Tile::kUpdate;
    tile.alpha = ones;
    for (std::int64_t j = 0; j < v.rows; j += kBlock) {
      tile.a = weights.data + r * weights.stride + j;
      tile.depth = static_cast<std::int32_t>(least(kBlock, v.rows - j));
      if (whole > 0) {
        tile.b = v.data + j * v.stride;
        tile.b_row = v.stride;
        tile.b_panel = kPanel;
        tile.c = out.data + r * out.stride;
        tile.c_row = out.stride;
        tile.panels = static_cast<std::int32_t>(whole / kPanel);
        table.tile[f32](tile);
      }
      if (tail > 0) {
        table.pack_values[f32](v.data + j * v.stride + whole, v.stride, tile.depth, tail, tail_values, 0);
        tile.b = tail_values;
        tile.b_row = kPanel;
        tile.c = tail_sums;
        tile.c_row = kPanel;
        tile.panels = 1;
        table.tile[f32](tile);
      }
    }
    for (std::int64_t i = 0; i < rows; ++i) {
      float* o = out.data + (r + i) * out.stride;
      std::memcpy(o + whole, tail_sums + i * kPanel, static_cast<std::size_t>(tail) * sizeof(float));
      table.finish[f32](0.0f, 1.0f, o, -__builtin_inff(), o, nullptr, Dv);  // a division by 1: +0 for -0, one NaN
    }
  }
}

}  // namespace heed

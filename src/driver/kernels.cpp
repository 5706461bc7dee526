#include "driver/kernels.hpp"

#include <cstring>

#include "integers.hpp"

namespace heed {
namespace {

using dispatch::f32;

constexpr std::int64_t kScoreRows = 4;  // what the scores kernel keeps in registers

}  // namespace

std::int64_t scores_floats(const Rows& q) { return least(q.rows, kScoreRows) * q.cols; }

void run_scores(const dispatch::Table& table, const Rows& q, const Rows& k, float scale, const MutableRows& s,
                float* scratch) {
  for (std::int64_t r = 0; r < q.rows; r += kScoreRows) {
    const std::int64_t rows = least(kScoreRows, q.rows - r);
    for (std::int64_t i = 0; i < rows; ++i) {
      table.widen[q.type](q.at(r + i, 0), scale, scratch + i * q.cols, q.cols);
    }
    table.scores[k.type]({scratch, q.cols, k.data, k.stride, s.data + r * s.stride, s.stride, rows, k.rows, q.cols});
    for (std::int64_t i = 0; i < rows; ++i) show_scores(table, s.data + (r + i) * s.stride, k.rows);
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
      } else if (static_cast<const void*>(accumulator.at(r + i, 0)) != o) {
        std::memcpy(o, accumulator.at(r + i, 0), bytes);
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
      tile.a = static_cast<const float*>(weights.data) + r * weights.stride + j;
      tile.depth = static_cast<std::int32_t>(least(kBlock, v.rows - j));
      if (whole > 0) {
        tile.b = v.at(j, 0);
        tile.b_row = v.stride;
        tile.b_panel = kPanel;
        tile.c = out.data + r * out.stride;
        tile.c_row = out.stride;
        tile.panels = static_cast<std::int32_t>(whole / kPanel);
        table.tile[v.type](tile);
      }
      if (tail > 0) {
        table.pack_values[v.type](v.at(j, whole), v.stride, tile.depth, tail, tail_values, 0);
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

void run_convert(const dispatch::Table& table, const Rows& from, void* to, heed_type to_type, std::int64_t to_stride) {
  constexpr std::int64_t kPiece = 512;
  alignas(64) float piece[kPiece];
  if (from.cols == 0) return;
  for (std::int64_t r = 0; r < from.rows; ++r) {
    char* out = static_cast<char*>(to) + r * to_stride * element_bytes(to_type);
    // The arithmetic of widen would flush subnormals if the caller does: bf16 has them, so what can pass it by does.
    if (from.type == to_type) {
      std::memcpy(out, from.at(r, 0), static_cast<std::size_t>(from.cols * element_bytes(to_type)));
      continue;
    }
    if (from.type == HEED_F32) {
      table.narrow[to_type](reinterpret_cast<const float*>(from.at(r, 0)), out, from.cols);
      continue;
    }
    for (std::int64_t c = 0; c < from.cols; c += kPiece) {
      const std::int64_t n = least(kPiece, from.cols - c);
      table.widen[from.type](from.at(r, c), 1.0f, piece, n);
      table.narrow[to_type](piece, out + c * element_bytes(to_type), n);
    }
  }
}

void quantize_rows(const Rows& x, std::int8_t* codes, std::int64_t codes_stride, float* scales) {
  // The largest scale is the largest whose product with 127 is finite: infinities and FLT_MAX become 127 of it.
  constexpr float kSmallestScale = 0x1p-126f, kLargestScale = 0x1.020406p+121f, kLargestCode = 127.0f;
  for (std::int64_t r = 0; r < x.rows; ++r) {
    const float* row = reinterpret_cast<const float*>(x.at(r, 0));
    float largest = 0.0f;
    for (std::int64_t c = 0; c < x.cols; ++c) {
      const float magnitude = row[c] < 0.0f ? -row[c] : row[c];
      if (magnitude > largest) largest = magnitude;
    }
    float scale = largest / kLargestCode;
    if (scale < kSmallestScale) scale = 0.0f;
    if (scale > kLargestScale) scale = kLargestScale;
    scales[r] = scale;
    for (std::int64_t c = 0; c < x.cols; ++c) {
      // 1.5 * 2^23 rounds to the nearest integer, ties to even.
      const float code = scale == 0.0f ? 0.0f : row[c] / scale + 0x1.8p23f - 0x1.8p23f;
      codes[r * codes_stride + c] = static_cast<std::int8_t>(code > kLargestCode    ? kLargestCode
                                                             : code < -kLargestCode ? -kLargestCode
                                                             : code == code         ? code
                                                                                    : 0.0f);
    }
  }
}

}  // namespace heed

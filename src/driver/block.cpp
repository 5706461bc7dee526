#include "driver/block.hpp"

#include <cstring>

namespace heed {
namespace {

using dispatch::f32;

std::int64_t least(std::int64_t a, std::int64_t b) { return a < b ? a : b; }

}  // namespace

// A block that crosses from one page to another is gathered: its rows are copied to where they follow each other.
Block::Source Block::locate(const heed_tensor& tensor, const Sequence& sequence, std::int64_t kv_head,
                            std::int64_t columns, float* gathered) {
  const std::int64_t first = sequence.begin + begin_;
  std::int64_t run = 0;
  const char* data = problem_.slot(tensor, sequence, kv_head, first, &run);
  if (run >= keys_count_ && data != nullptr) return {data, tensor.stride_token, tensor.type};

  const std::int64_t row_bytes = columns * element_bytes(tensor.type);
  char* out = reinterpret_cast<char*>(gathered);
  for (std::int64_t j = 0; j < keys_count_; j += run) {
    data = problem_.slot(tensor, sequence, kv_head, first + j, &run);
    run = least(run, keys_count_ - j);
    if (data == nullptr) {
      const Attended gone = range(j, j + run);
      for (int w = 0; w < kAttendedWords; ++w) present_.words[w] &= ~gone.words[w];
      all_present_ = false;
    }
    for (std::int64_t i = 0; i < run; ++i) {
      char* to = out + (j + i) * row_bytes;
      if (data == nullptr) {
        std::memset(to, 0, static_cast<std::size_t>(row_bytes));
      } else {
        std::memcpy(to, data + i * tensor.stride_token * element_bytes(tensor.type),
                    static_cast<std::size_t>(row_bytes));
      }
    }
  }
  return {out, columns, tensor.type};
}

void Block::load_scales(const heed_tensor& scales, const Sequence& sequence, std::int64_t kv_head, float* out) {
  std::int64_t run = 0;
  for (std::int64_t j = 0; j < keys_count_; j += run) {
    const char* data = problem_.slot(scales, sequence, kv_head, sequence.begin + begin_ + j, &run);
    run = least(run, keys_count_ - j);
    for (std::int64_t i = 0; i < run; ++i) {
      out[j + i] = data == nullptr ? 0.0f : reinterpret_cast<const float*>(data)[i * scales.stride_token];
    }
  }
  for (std::int64_t j = keys_count_; j % kPanel != 0; ++j) out[j] = 0.0f;
}

void Block::load(const Sequence& sequence, std::int64_t kv_head, std::int64_t begin, std::int64_t end, bool pack) {
  begin_ = begin;
  keys_count_ = static_cast<std::int32_t>(end - begin);
  packed_ = pack;
  finite_known_ = tail_packed_ = false;
  all_present_ = true;
  present_ = range(0, keys_count_);
  if (problem_.scores == nullptr) {
    keys_ = locate(args_.k, sequence, kv_head, args_.D, memory_ + at_.gathered_keys);
    if (args_.k.type == HEED_INT8) load_scales(args_.k_scales, sequence, kv_head, memory_ + at_.k_scale);
    if (pack) table_.pack_keys[keys_.type](keys_.data, keys_.row, keys_count_, args_.D, memory_ + at_.keys);
  }
  values_ = locate(args_.v, sequence, kv_head, args_.Dv, memory_ + at_.gathered_values);
  if (args_.v.type == HEED_INT8) load_scales(args_.v_scales, sequence, kv_head, memory_ + at_.v_scale);
  if (pack) {
    finite_ = table_.pack_values[values_.type](values_.data, values_.row, keys_count_, args_.Dv, memory_ + at_.values,
                                               at_.values_panel);
    finite_known_ = true;
  }
}

void Block::scores(const float* q, std::int64_t q_row, std::int32_t rows, const std::int32_t* begin,
                   const std::int32_t* end, float* s) const {
  if (packed_) {
    table_.tile[f32]({q, q_row, memory_ + at_.keys, kPanel, args_.D * kPanel, s, at_.s_row, rows, panels(),
                      static_cast<std::int32_t>(args_.D), Tile::kStore, nullptr, begin, end, true});
  } else {
    table_.scores[keys_.type]({q, q_row, keys_.data, keys_.row, s, at_.s_row, rows, keys_count_, args_.D});
  }
}

// Runs a tile over all value columns, key `first` on: whole panels where they lie or packed, the last partial one
// through a copy that is filled up.
void Block::run_tile(Tile tile, std::int32_t first) {
  float* scratch = memory_ + at_.values;
  if (packed_) {
    tile.b = scratch + first * kPanel;
    tile.b_row = kPanel;
    tile.b_panel = at_.values_panel;
    tile.panels = static_cast<std::int32_t>(at_.o_row / kPanel);
    table_.tile[f32](tile);
    return;
  }
  const std::int64_t whole = args_.Dv / kPanel;
  if (whole > 0) {
    tile.b = value(first, 0);
    tile.b_row = values_.row;
    tile.b_panel = kPanel;
    tile.panels = static_cast<std::int32_t>(whole);
    table_.tile[values_.type](tile);
  }
  if (whole * kPanel == args_.Dv) return;
  if (!tail_packed_) {
    table_.pack_values[values_.type](value(0, whole * kPanel), values_.row, keys_count_, args_.Dv - whole * kPanel,
                                     scratch, at_.values_panel);
    tail_packed_ = true;
  }
  tile.b = scratch + first * kPanel;
  tile.b_row = kPanel;
  tile.b_panel = 0;
  tile.c += whole * kPanel;
  tile.panels = 1;
  table_.tile[f32](tile);
}

void Block::add_values(const float* p, std::int32_t rows, const std::int32_t* begin, const std::int32_t* end,
                       const float* alpha, float* o) {
  run_tile({p, at_.s_row, nullptr, 0, 0, o, at_.o_row, rows, 0, keys_count_, Tile::kUpdate, alpha, begin, end, false},
           0);
}

void Block::add_attended_values(const float* p, const Attended& attended, float alpha, float* o, float* scratch) {
  std::memset(scratch, 0, static_cast<std::size_t>(at_.o_row) * sizeof(float));
  for (std::int32_t j = 0; j < keys_count_;) {
    const auto on = [&](std::int32_t key) { return ((attended.words[key / 64] >> (key % 64)) & 1u) != 0; };
    std::int32_t run = 0;
    while (j + run < keys_count_ && on(j + run)) ++run;
    if (run > 0) {
      run_tile({p + j, at_.s_row, nullptr, 0, 0, scratch, at_.o_row, 1, 0, run, Tile::kExtend, nullptr, nullptr,
                nullptr, false},
               j);
    }
    j += run > 0 ? run : 1;
  }
  const float one = 1.0f;  // o = fma(o, alpha, 1 * scratch)
  table_.tile[f32]({&one, 1, scratch, at_.o_row, kPanel, o, at_.o_row, 1, static_cast<std::int32_t>(at_.o_row / kPanel),
                    1, Tile::kUpdate, &alpha, nullptr, nullptr, false});
}

bool Block::values_finite() {
  if (finite_known_) return finite_;
  finite_ = true;
  tail_packed_ = false;  // the scratch panel is used here
  for (std::int64_t d = 0; d < args_.Dv && finite_; d += kPanel) {
    for (std::int64_t j = 0; j < keys_count_ && finite_; j += kPanel) {
      finite_ = table_.pack_values[values_.type](value(j, d), values_.row, least(kPanel, keys_count_ - j),
                                                 least(kPanel, args_.Dv - d), memory_ + at_.values, 0);
    }
  }
  finite_known_ = true;
  return finite_;
}

}  // namespace heed

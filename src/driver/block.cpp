#include "driver/block.hpp"

#include <cstring>

#include "integers.hpp"

namespace heed {
namespace {

using dispatch::f32;

}  // namespace

// A block that crosses from one page to another, and whose rows can't be used where they lie, is gathered: they are
// copied to where they follow each other. So is one in a page that is absent.
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
    if (data == nullptr) exclude(static_cast<std::int32_t>(j), static_cast<std::int32_t>(j + run));
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

void Block::exclude(std::int32_t begin, std::int32_t end) {
  const Attended gone = range(begin, end);
  for (int w = 0; w < kAttendedWords; ++w) present_.words[w] &= ~gone.words[w];
  all_present_ = false;
}

// Rows of a block that crosses pages are used where they lie if each 16 keys are in one page and values need no room
// for their last columns; copying them to one place took as long as the work itself.
bool Block::lies_in_pieces(const Sequence& sequence) const {
  if (args_.kv_panels != 0) return true;
  if (packed_ || args_.page_size == 0 || args_.page_size % kPanel != 0 || args_.Dv % kPanel != 0) return false;
  const std::int64_t first = sequence.begin + begin_;
  return first % kPanel == 0 && first % args_.page_size + keys_count_ > args_.page_size;
}

void Block::load_pieces(const Sequence& sequence, std::int64_t kv_head) {
  const std::int64_t k_step = kPanel * key_step() * element_bytes(args_.k.type);
  const std::int64_t v_step = kPanel * value_step() * element_bytes(args_.v.type);
  std::int64_t run = 0;
  for (std::int64_t j = 0; j < keys_count_; j += run) {
    const std::int64_t slot = sequence.begin + begin_ + j, within = slot % args_.page_size;
    const std::int64_t page = problem_.page_of(sequence, slot);
    run = least(args_.page_size - within, keys_count_ - j);
    if (page < 0) exclude(static_cast<std::int32_t>(j), static_cast<std::int32_t>(j + run));
    const char* k = page < 0 ? nullptr : in_page(args_.k, key_step(), page, kv_head, within);
    const char* v = page < 0 ? nullptr : in_page(args_.v, value_step(), page, kv_head, within);
    for (std::int64_t x = 0; x < run; x += kPanel) {
      key_pieces_[(j + x) / kPanel] = k == nullptr ? nullptr : k + x / kPanel * k_step;
      value_pieces_[(j + x) / kPanel] = v == nullptr ? nullptr : v + x / kPanel * v_step;
    }
  }
}

// For many rows: as packing leaves them, floats and in one piece, so that numbers are converted once.
void Block::widen_panels() {
  const std::int64_t D = args_.D;
  for (std::int64_t j = 0; j < keys_count_; j += kPanel) {
    float* keys = memory_ + at_.keys + j * D;
    const std::int64_t here = least(kPanel, keys_count_ - j);
    const char* v = static_cast<const char*>(value_pieces_[j / kPanel]);
    if (key_pieces_[j / kPanel] != nullptr) {
      table_.widen[args_.k.type](key_pieces_[j / kPanel], 1.0f, keys, kPanel * D);
    } else {
      std::memset(keys, 0, static_cast<std::size_t>(kPanel * D) * sizeof(float));
    }
    for (std::int64_t d = 0; d < at_.o_row; d += kPanel) {
      float* values = memory_ + at_.values + d / kPanel * at_.values_panel + j * kPanel;
      if (v == nullptr) {
        std::memset(values, 0, static_cast<std::size_t>(here * kPanel) * sizeof(float));
      } else {
        table_.widen[args_.v.type](v + d * args_.page_size * element_bytes(args_.v.type), 1.0f, values, here * kPanel);
      }
    }
  }
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
  values_ahead_ = next_keys_ahead_ = {};
  in_pieces_ = lies_in_pieces(sequence);
  if (in_pieces_) {
    load_pieces(sequence, kv_head);
    if (args_.k.type == HEED_INT8) load_scales(args_.k_scales, sequence, kv_head, memory_ + at_.k_scale);
    if (args_.v.type == HEED_INT8) load_scales(args_.v_scales, sequence, kv_head, memory_ + at_.v_scale);
    if (pack) widen_panels();
    return;
  }
  if (problem_.scores == nullptr) {
    keys_ = locate(args_.k, sequence, kv_head, args_.D, memory_ + at_.gathered_keys);
    if (args_.k.type == HEED_INT8) load_scales(args_.k_scales, sequence, kv_head, memory_ + at_.k_scale);
    if (pack) table_.pack_keys[keys_.type](keys_.data, keys_.row, keys_count_, args_.D, memory_ + at_.keys, {});
  }
  values_ = locate(args_.v, sequence, kv_head, args_.Dv, memory_ + at_.gathered_values);
  if (args_.v.type == HEED_INT8) load_scales(args_.v_scales, sequence, kv_head, memory_ + at_.v_scale);
  if (pack) {
    finite_ = table_.pack_values[values_.type](values_.data, values_.row, keys_count_, args_.Dv, memory_ + at_.values,
                                               at_.values_panel);
    finite_known_ = true;
  }
}

// The spans of a tile's rows, as the part sees them that has `keys` keys from `first` on.
void Block::set_spans(const Tile& tile, std::int32_t first, std::int32_t keys, Tile& part) const {
  if (tile.end == nullptr) return;
  std::int32_t* begin = reinterpret_cast<std::int32_t*>(memory_ + at_.part_begin);
  std::int32_t* end = reinterpret_cast<std::int32_t*>(memory_ + at_.part_end);
  for (std::int32_t r = 0; r < tile.rows; ++r) {
    begin[r] = static_cast<std::int32_t>(least(most(tile.begin[r] - first, 0), keys));
    end[r] = static_cast<std::int32_t>(least(most(tile.end[r] - first, 0), keys));
  }
  part.begin = begin;
  part.end = end;
}

void Block::scores(const float* q, std::int64_t q_row, std::int32_t rows, const std::int32_t* begin,
                   const std::int32_t* end, float* s) const {
  Tile tile{q,
            q_row,
            memory_ + at_.keys,
            kPanel,
            args_.D * kPanel,
            s,
            at_.s_row,
            rows,
            panels(),
            static_cast<std::int32_t>(args_.D),
            Tile::kStore,
            nullptr,
            begin,
            end,
            true};
  if (packed_) {
    table_.tile[f32](tile);
    return;
  }
  tile.ahead = values_ahead_;
  if (!in_pieces_) return score_keys(tile, 0, keys_count_);
  for (std::int32_t p = 0, run = 1; p < panels(); p += run, run = 1) {
    if (key_pieces_[p] == nullptr) continue;
    while (p + run < panels() && follows(p + run)) ++run;
    score_keys(tile, p * kPanel, static_cast<std::int32_t>(least(run * kPanel, keys_count_ - p * kPanel)));
    tile.ahead = {};
  }
}

// Whether a piece can be worked on together with the one before it: rows if both are there, panels if they follow it.
bool Block::follows(std::int32_t p) const {
  const char* before = static_cast<const char*>(key_pieces_[p - 1]);
  if (args_.kv_panels == 0) return key_pieces_[p] != nullptr;
  return key_pieces_[p] == before + kPanel * key_step() * element_bytes(args_.k.type);
}

// The scores of `count` keys from `first` on, all of which are there. What `tile` says of keys is that of the block.
void Block::score_keys(const Tile& tile, std::int32_t first, std::int32_t count) const {
  const void* const* pieces = in_pieces_ ? key_pieces_ + first / kPanel : nullptr;
  Tile part = tile;
  part.c += first;
  part.panels = (count + kPanel - 1) / kPanel;
  if (args_.kv_panels != 0) {
    part.b = pieces[0];
    set_spans(tile, first, part.panels * kPanel, part);
    table_.tile[args_.k.type](part);
    return;
  }
  const std::int64_t k_row = in_pieces_ ? args_.k.stride_token : keys_.row;
  if (tile.rows <= kFewRows) {
    table_.scores[args_.k.type](
        {tile.a, tile.a_row, keys_.data, k_row, part.c, tile.c_row, tile.rows, count, args_.D, tile.ahead, pieces});
    return;
  }
  // What is fetched ahead is dealt out by time: packing takes about as long as so many rows' scores.
  constexpr std::int64_t kRowsLikePacking = 4;
  float* packed = memory_ + at_.keys;
  part.b = packed;
  for (std::int32_t j = 0; j < count; j += kPackedAtOnce) {
    const std::int64_t here = least(kPackedAtOnce, count - j);
    const std::int64_t first_ahead = tile.ahead.rows * j / count;
    const std::int64_t ahead = tile.ahead.rows * (j + here) / count - first_ahead;
    const std::int64_t during_packing = ahead * kRowsLikePacking / (kRowsLikePacking + tile.rows);
    part.ahead = part_of(tile.ahead, first_ahead, during_packing);
    for (std::int64_t x = 0, keys = 0; x < here; x += keys, part.ahead = {}) {
      keys = in_pieces_ ? least(kPanel, here - x) : here;
      const void* k = in_pieces_ ? pieces[(j + x) / kPanel] : keys_.data + j * k_row * element_bytes(args_.k.type);
      table_.pack_keys[args_.k.type](k, k_row, keys, args_.D, packed + x * args_.D, part.ahead);
    }
    part.c = tile.c + first + j;
    part.panels = static_cast<std::int32_t>((here + kPanel - 1) / kPanel);
    part.ahead = part_of(tile.ahead, first_ahead + during_packing, ahead - during_packing);
    set_spans(tile, first + j, part.panels * kPanel, part);
    table_.tile[f32](part);
  }
}

// Runs a tile over all value columns, key `first` on: whole panels where they lie or packed, the last partial one
// through a copy that is filled up.
void Block::run_tile(Tile& tile, std::int32_t first) {
  float* scratch = memory_ + at_.values;
  if (packed_) {
    tile.b = scratch + first * kPanel;
    tile.b_row = kPanel;
    tile.b_panel = at_.values_panel;
    tile.panels = static_cast<std::int32_t>(at_.o_row / kPanel);
    table_.tile[f32](tile);
    return;
  }
  if (tile.depth == keys_count_) tile.ahead = next_keys_ahead_;
  if (in_pieces_) {
    tile.b_row = value_step();
    tile.b_panel = args_.kv_panels != 0 ? args_.page_size * kPanel : kPanel;
    tile.panels = static_cast<std::int32_t>(at_.o_row / kPanel);
    if (first == 0) {
      tile.b_pieces = value_pieces_;
    } else {  // within one piece
      tile.b = static_cast<const char*>(value_pieces_[first / kPanel]) +
               first % kPanel * value_step() * element_bytes(args_.v.type);
    }
    table_.tile[args_.v.type](tile);
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
  tile.ahead = {};
  table_.tile[f32](tile);
}

void Block::add_values(const float* p, std::int32_t rows, const std::int32_t* begin, const std::int32_t* end,
                       const float* alpha, float* o) {
  Tile tile;
  tile.a = p;
  tile.a_row = at_.s_row;
  tile.c = o;
  tile.c_row = at_.o_row;
  tile.rows = rows;
  tile.depth = keys_count_;
  tile.mode = alpha == nullptr ? Tile::kStore : Tile::kUpdate;
  tile.alpha = alpha;
  tile.begin = begin;
  tile.end = end;
  tile.keys_are_columns = false;
  run_tile(tile, 0);
}

// o = fma(o, alpha, chain)
void Block::update(const float* chain, float alpha, float* o) {
  const float one = 1.0f;
  table_.tile[f32]({&one, 1, chain, at_.o_row, kPanel, o, at_.o_row, 1, static_cast<std::int32_t>(at_.o_row / kPanel),
                    1, Tile::kUpdate, &alpha, nullptr, nullptr, false});
}

void Block::add_attended_values(const float* p, const Attended& attended, float alpha, float* o, float* scratch) {
  std::memset(scratch, 0, static_cast<std::size_t>(at_.o_row) * sizeof(float));
  for (std::int32_t j = 0; j < keys_count_;) {
    const auto on = [&](std::int32_t key) { return ((attended.words[key / 64] >> (key % 64)) & 1u) != 0; };
    std::int32_t run = 0;  // within 16 keys, since values may lie in pieces
    while (j + run < keys_count_ && on(j + run) && (run == 0 || (j + run) % kPanel != 0)) ++run;
    if (run > 0) {
      Tile tile{p + j, at_.s_row, nullptr,       0,       0,       scratch, at_.o_row, 1,
                0,     run,       Tile::kExtend, nullptr, nullptr, nullptr, false};
      run_tile(tile, j);
    }
    j += run > 0 ? run : 1;
  }
  update(scratch, alpha, o);
}

bool Block::values_finite() {
  if (finite_known_) return finite_;
  finite_ = true;
  finite_known_ = true;
  for (std::int64_t j = 0; j < keys_count_ && finite_ && in_pieces_; j += kPanel) {
    const char* v = static_cast<const char*>(value_pieces_[j / kPanel]);
    for (std::int64_t d = 0; d < args_.Dv && finite_ && v != nullptr; d += kPanel) {
      const std::int64_t element = args_.kv_panels != 0 ? d * args_.page_size : d;
      finite_ = table_.pack_values[args_.v.type](v + element * element_bytes(args_.v.type), value_step(),
                                                 least(kPanel, keys_count_ - j), least(kPanel, args_.Dv - d),
                                                 memory_ + at_.scratch_o, 0);
    }
  }
  if (in_pieces_) return finite_;
  tail_packed_ = false;  // the scratch panel is used here
  for (std::int64_t d = 0; d < args_.Dv && finite_; d += kPanel) {
    for (std::int64_t j = 0; j < keys_count_ && finite_; j += kPanel) {
      finite_ = table_.pack_values[values_.type](value(j, d), values_.row, least(kPanel, keys_count_ - j),
                                                 least(kPanel, args_.Dv - d), memory_ + at_.values, 0);
    }
  }
  return finite_;
}

}  // namespace heed

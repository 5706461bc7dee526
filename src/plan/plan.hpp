// Decides how a problem is worked on: how many rows an item has and where a worker's buffers lie (the plan, once per
// shape), and how the rows and keys of one call are cut into items (the schedule, once per call). Nothing here changes
// a bit of the result.
#pragma once

#include <cstddef>
#include <cstdint>

#include "arithmetic.hpp"
#include "plan/problem.hpp"

namespace heed {

// Where a worker's buffers lie in its workspace, in floats from its start.
struct Layout {
  std::int64_t q_row, s_row, o_row, values_panel;  // strides
  std::int64_t q, s, keys, values, gathered_keys, gathered_values, k_scale, v_scale;
  std::int64_t part_m, part_lanes, part_o, all_m, all_l, all_o, alpha, scratch_o, slope;
  // Of other types, still counted in floats.
  std::int64_t attended, begin, end, part_begin, part_end, row, part_any, all_any, distance, bias;
  std::int64_t floats;  // in all
};

// What a plan looks at: the shape of a problem, or the largest of many.
struct Shape {
  std::int64_t B, Hq, Hkv, Lq, Lkv, D, Dv;
  std::int64_t page_size;  // 0: not paged
  heed_type k_type, v_type;
  std::int32_t threads;
};
Shape shape_of(const heed_attention_args& args);

struct Plan {
  Shape shape;
  std::int64_t rows;       // of one item at most: query rows, those of all heads that share a kv head stacked
  std::int64_t tile_rows;  // rows whose score tile is worked on at a time
  std::int64_t in_place;   // items of more rows than these pack whole blocks
  Layout layout;
  std::int64_t state_row;     // floats of one stored state: m, l, empty or not, o
  std::int64_t worker_bytes;  // of one worker's buffers
  std::int64_t shares_bytes;  // of the schedule's table, where a sequence's share is not the same for all
  std::int64_t state_bytes;   // of the split states, at most
  bool too_large;             // these or their sum are no size that memory can have

  std::int64_t bytes() const { return shares_bytes + shape.threads * worker_bytes + state_bytes; }
};

// How an item's rows come to row-major keys and values. Few: the keys are transposed in registers, as they are used. As
// many as a tile of scores has: two panels of keys at a time are packed, right before their use, and stay in the
// first-level cache; values are used where they lie. More (Plan::in_place): whole blocks of both are packed, or
// widened if they are panels already, and serve all tiles. Numbers of e4m3 take so long to convert that this pays from
// fewer rows on.
inline constexpr std::int64_t kFewRows = 4;
inline constexpr std::int64_t kTileRows = 48;  // a score tile of 27 KiB
inline constexpr std::int64_t kTileRowsOfE4M3 = 8;
inline constexpr std::int64_t kPackedAtOnce = 2 * kPanel;

inline constexpr std::int64_t kMostBytes = std::int64_t{1} << 60;

void make_plan(const Shape& shape, Plan& plan);  // in place: it is large, and small calls count their nanoseconds

// A sequence's part of the work: its items, its folds and the room for its states follow those of the sequences before.
struct Share {
  std::int64_t first_item, first_fold, first_state;
  std::int64_t parts;  // ranges of splits that are separate items; 1: an item runs to the end of its rows
};

// What one item, or one fold, is about.
struct Item {
  std::int64_t b, kv_head;
  std::int64_t row_begin, row_end;  // of the stacked rows: row r is query token r / group, head r % group of the group
  std::int64_t part, parts;
  std::int64_t first_state;  // of the sequence
};

struct Schedule {
  std::int64_t sequences;
  std::int64_t rows;  // of an item: plan.rows, or fewer while threads would be idle
  std::int64_t items, folds;
  std::int64_t states;         // stored ones, if sequences are cut
  Share uniform;               // without shares: every sequence's, and how many items each has
  std::int64_t uniform_tiles;  // per kv head
  const Share* shares;         // [sequences + 1], or null

  Item item(const Problem& problem, std::int64_t index) const;
  Item fold(const Problem& problem, std::int64_t index) const;

 private:
  std::int64_t share_with(std::int64_t index, std::int64_t Share::*first) const;
};

// shares: room for B + 1 of them if needs_shares.
bool needs_shares(const Problem& problem, const Plan& plan);
Schedule make_schedule(const Problem& problem, const Plan& plan, Share* shares);

}  // namespace heed

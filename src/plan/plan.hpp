// Decides once per problem: how the rows are cut into work items, and how much memory a worker needs. Nothing here
// changes a bit of the result.
#pragma once

#include <cstddef>
#include <cstdint>

#include "plan/problem.hpp"

namespace heed {

// Where a worker's buffers lie in its workspace, in floats from its start.
struct Layout {
  std::int64_t q_row, s_row, o_row;  // row strides
  std::int64_t q, s, keys, values, values_panel;
  std::int64_t part_m, part_lanes, part_o, all_m, all_l, all_o, alpha;
  std::int64_t attended, begin, end, row_keys, all_empty;  // of other types, still counted in floats
  std::int64_t floats;                                     // in all
};

struct Plan {
  std::int64_t rows;         // query rows (of all heads of a group) that share one pass over K and V
  std::int64_t tile_rows;    // rows whose score tile is worked on at a time
  std::int64_t query_tiles;  // per sequence and kv head
  std::int64_t splits;       // of the keys
  std::int64_t parts;        // ranges of splits that are separate work items; 1: an item runs to the end of its rows
  std::int64_t workers;
  bool packed;  // K and V are copied to panels first; otherwise used where they lie
  Layout layout;
  std::int64_t state_row;                 // floats of one stored state: m, l, empty or not, o
  std::size_t worker_bytes, state_bytes;  // state_bytes: of all split states, only if parts > 1
  std::int64_t items() const { return sequences * query_tiles * parts; }
  std::int64_t sequences;  // (sequence, kv head) pairs
};

Plan make_plan(const Problem& problem);

}  // namespace heed

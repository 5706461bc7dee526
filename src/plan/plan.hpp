// Decides once per problem: how the rows are cut into work items, and how much memory a worker needs. Nothing here
// changes a bit of the result.
#pragma once

#include <cstddef>
#include <cstdint>

#include "plan/problem.hpp"

namespace heed {

// Where a worker's buffers lie in its workspace, in floats from its start.
struct Layout {
  std::int64_t q_row, s_row, o_row, values_panel;  // strides
  std::int64_t q, s, keys, values, gathered_keys, gathered_values, k_scale, v_scale;
  std::int64_t part_m, part_lanes, part_o, all_m, all_l, all_o, alpha, scratch_o, slope;
  // Of other types, still counted in floats.
  std::int64_t attended, begin, end, row_keys, part_any, all_any, distance, bias;
  std::int64_t floats;  // in all
};

struct Plan {
  std::int64_t sequences;  // B
  std::int64_t queries;    // query tokens of one item at most: all heads of a group share one pass over K and V
  std::int64_t rows;       // queries * group
  std::int64_t tile_rows;  // rows whose score tile is worked on at a time
  std::int64_t tiles;      // (sequence, kv head, query tile) triples
  std::int64_t splits;     // of the longest sequence's keys
  std::int64_t parts;      // ranges of splits that are separate work items; 1: an item runs to the end of its rows
  std::int64_t workers;
  Layout layout;
  std::int64_t state_row;                 // floats of one stored state: m, l, empty or not, o
  std::size_t worker_bytes, state_bytes;  // state_bytes: of all split states, only if parts > 1

  std::int64_t items() const { return tiles * parts; }
  std::int64_t tiles_of(const Sequence& s) const { return (s.queries + queries - 1) / queries; }  // per kv head
};

// K and V of an item with more rows than these are copied into panels first; fewer rows use them where they lie.
inline constexpr std::int64_t kFewRows = 8;

Plan make_plan(const Problem& problem);

}  // namespace heed

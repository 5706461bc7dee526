#include "plan/plan.hpp"

#include "arithmetic.hpp"

namespace heed {
namespace {

constexpr std::int64_t kRows =
    256;  // o and q' of so many rows at D = 128 are 256 KiB: they stay in the second-level cache
constexpr std::int64_t kTileRows = 48;  // a score tile of 27 KiB
constexpr std::int64_t kFewRows = 8;    // up to here the copies into panels cost more than they save
constexpr std::int64_t kAlign = 16;     // floats in a cache line

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }
std::int64_t round_up(std::int64_t a, std::int64_t b) { return ceil_div(a, b) * b; }
std::int64_t least(std::int64_t a, std::int64_t b) { return a < b ? a : b; }

// Rows of a power of two's length fall into few sets of the first-level cache: one more line apart, they don't.
std::int64_t padded_row(std::int64_t n) {
  const std::int64_t whole = round_up(n, kPanel);
  return whole % 64 == 0 ? whole + kAlign : whole;
}

Layout make_layout(const Problem& problem, const Plan& plan) {
  Layout at{};
  std::int64_t next = 0;
  const auto take = [&](std::int64_t floats) {
    const std::int64_t here = next;
    next += round_up(floats, kAlign);
    return here;
  };
  const std::int64_t D = problem.args.D, Dv = problem.args.Dv;
  const std::int64_t value_columns = round_up(Dv, kPanel);
  const std::int64_t block = least(kBlock, round_up(problem.args.Lkv, kPanel));
  const bool value_tail = Dv % kPanel != 0;
  at.q_row = plan.rows > 1 ? padded_row(D) : round_up(D, kPanel);
  at.s_row = plan.tile_rows > 1 ? block + kAlign : block;
  at.o_row = value_columns;
  at.values_panel = block * kPanel;
  at.q = take(plan.rows * at.q_row);
  at.s = take(plan.tile_rows * at.s_row);
  at.keys = take(plan.packed ? block * D : 0);
  at.values = take(plan.packed || value_tail ? block * (plan.packed ? value_columns : kPanel) : 0);
  at.part_m = take(plan.rows);
  at.part_lanes = take(plan.rows * kPanel);
  at.part_o = take(plan.rows * at.o_row);
  at.all_m = take(plan.rows);
  at.all_l = take(plan.rows);
  at.all_o = take(plan.splits > 1 ? plan.rows * at.o_row : 0);
  at.alpha = take(plan.tile_rows);
  at.attended = take(plan.tile_rows * kAttendedWords * 2);
  at.begin = take(plan.tile_rows);
  at.end = take(plan.tile_rows);
  at.row_keys = take(plan.rows * 4);
  at.all_empty = take(plan.rows);
  at.floats = next;
  return at;
}

}  // namespace

Plan make_plan(const Problem& problem) {
  Plan plan{};
  const std::int64_t threads = problem.args.executor.threads > 1 ? problem.args.executor.threads : 1;
  const std::int64_t group = problem.group;
  const std::int64_t all_rows = problem.args.Lq * group;
  plan.sequences = problem.args.B * problem.args.Hkv;
  plan.splits = ceil_div(problem.args.Lkv, kSplit);

  // Whole query tokens per tile, so that the heads of a group stay together.
  std::int64_t queries = least(problem.args.Lq, group < kRows ? kRows / group : 1);
  while (queries * group > kTileRows && queries > 1 &&
         plan.sequences * ceil_div(problem.args.Lq, queries) < 2 * threads) {
    queries = ceil_div(queries, 2);
  }
  plan.rows = queries * group;
  plan.query_tiles = queries > 0 ? ceil_div(problem.args.Lq, queries) : 0;
  plan.tile_rows = least(plan.rows, kTileRows);
  plan.packed = all_rows > kFewRows;

  // Too few items for the threads: cut the keys as well, and fold the splits' states afterwards.
  plan.parts = 1;
  const std::int64_t items = plan.sequences * plan.query_tiles;
  if (items > 0 && items < 2 * threads && threads > 1) plan.parts = least(plan.splits, ceil_div(4 * threads, items));
  if (plan.parts < 1) plan.parts = 1;
  plan.workers = least(threads, items * plan.parts);

  plan.layout = make_layout(problem, plan);
  plan.worker_bytes = static_cast<std::size_t>(plan.layout.floats) * sizeof(float);
  plan.state_row = kAlign + plan.layout.o_row;
  plan.state_bytes =
      plan.parts > 1 ? static_cast<std::size_t>(items * plan.rows * plan.splits * plan.state_row) * sizeof(float) : 0;
  return plan;
}

}  // namespace heed

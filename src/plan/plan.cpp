#include "plan/plan.hpp"

#include "arithmetic.hpp"

namespace heed {
namespace {

constexpr std::int64_t kRows =
    256;  // o and q' of so many rows at D = 128 are 256 KiB: they stay in the second-level cache
constexpr std::int64_t kTileRows = 48;  // a score tile of 27 KiB
constexpr std::int64_t kAlign = 16;     // floats in a cache line

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }
std::int64_t round_up(std::int64_t a, std::int64_t b) { return ceil_div(a, b) * b; }
std::int64_t least(std::int64_t a, std::int64_t b) { return a < b ? a : b; }
std::int64_t most(std::int64_t a, std::int64_t b) { return a > b ? a : b; }

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
  const heed_attention_args& args = problem.args;
  const std::int64_t D = args.D, Dv = args.Dv, rows = plan.rows, tile_rows = plan.tile_rows;
  const std::int64_t value_columns = round_up(Dv, kPanel);
  const std::int64_t block = least(kBlock, round_up(args.Lkv, kPanel));
  const bool packed = rows > kFewRows;
  const bool gathered = problem.paged();
  at.q_row = packed ? padded_row(D) : round_up(D, kPanel);
  at.s_row = packed ? block + kAlign : block;
  at.o_row = value_columns;
  at.values_panel = block * kPanel;
  at.q = take(rows * at.q_row);
  at.s = take(tile_rows * at.s_row);
  at.keys = take(packed ? block * D : 0);
  at.gathered_keys = take(gathered ? block * D : 0);
  at.gathered_values = take(gathered ? block * Dv : 0);
  at.k_scale = take(args.k.type == HEED_INT8 ? block : 0);
  at.v_scale = take(args.v.type == HEED_INT8 ? block : 0);
  at.part_m = take(rows);
  at.part_lanes = take(rows * kPanel);
  at.part_o = take(rows * at.o_row);
  at.all_m = take(rows);
  at.all_l = take(rows);
  at.all_o = take(plan.splits > 1 ? rows * at.o_row : 0);
  at.alpha = take(tile_rows);
  at.scratch_o = take(most(at.o_row, kPanel * kPanel));
  // Values that are used where they lie need room for their last columns, if those don't fill a panel, and for the
  // search for infinities, which is over before scratch_o is used.
  at.values = packed || Dv % kPanel != 0 ? take(block * (packed ? value_columns : kPanel)) : at.scratch_o;
  at.slope = take(args.alibi_slopes != nullptr ? tile_rows : 0);
  at.attended = take(tile_rows * kAttendedWords * 2);
  at.begin = take(tile_rows);
  at.end = take(tile_rows);
  at.row_keys = take(rows * 4);
  at.part_any = take(rows);
  at.all_any = take(rows);
  at.distance = take(args.alibi_slopes != nullptr ? tile_rows * 2 : 0);
  at.bias = take(args.bias.data != nullptr ? tile_rows * 2 : 0);
  at.floats = next;
  return at;
}

std::int64_t count_tiles(const Problem& problem, const Plan& plan) {
  if (plan.queries == 0) return 0;
  if (problem.args.q_indptr.data == nullptr) {
    return problem.args.B * problem.args.Hkv * ceil_div(problem.args.Lq, plan.queries);
  }
  std::int64_t tiles = 0;
  for (std::int64_t b = 0; b < problem.args.B; ++b) tiles += problem.args.Hkv * plan.tiles_of(problem.sequence(b));
  return tiles;
}

}  // namespace

Plan make_plan(const Problem& problem) {
  Plan plan{};
  const heed_attention_args& args = problem.args;
  const std::int64_t threads = args.executor.threads > 1 ? args.executor.threads : 1;
  const std::int64_t group = problem.group;
  plan.sequences = args.B;
  plan.splits = ceil_div(args.Lkv, kSplit);

  // Whole query tokens per tile, so that the heads of a group stay together; smaller tiles while threads would be idle.
  plan.queries = least(args.Lq, group < kRows ? kRows / group : 1);
  plan.tiles = count_tiles(problem, plan);
  while (plan.queries * group > kTileRows && plan.queries > 1 && plan.tiles < 2 * threads) {
    plan.queries = ceil_div(plan.queries, 2);
    plan.tiles = count_tiles(problem, plan);
  }
  plan.rows = plan.queries * group;
  plan.tile_rows = least(plan.rows, kTileRows);

  // Still too few items for the threads: cut the keys as well, and fold the splits' states afterwards.
  plan.parts = 1;
  if (threads > 1 && plan.tiles > 0 && plan.tiles < 2 * threads) {
    plan.parts = most(1, least(plan.splits, ceil_div(4 * threads, plan.tiles)));
  }
  plan.workers = least(threads, most(1, plan.items()));

  plan.layout = make_layout(problem, plan);
  plan.worker_bytes = static_cast<std::size_t>(plan.layout.floats) * sizeof(float);
  plan.state_row = kAlign + plan.layout.o_row;
  if (plan.parts > 1) {
    plan.state_bytes = static_cast<std::size_t>(plan.tiles * plan.rows * plan.splits * plan.state_row) * sizeof(float);
  }
  return plan;
}

}  // namespace heed

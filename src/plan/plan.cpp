#include "plan/plan.hpp"

#include "arithmetic.hpp"
#include "integers.hpp"

namespace heed {
namespace {

// o and q' of so many rows at D = 128 are 256 KiB: they stay in the second-level cache.
constexpr std::int64_t kRows = 256;
constexpr std::int64_t kAlign = 16;  // floats in a cache line

// Of counts: as unsigned ones, whose division by a power of two is a shift.
std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a + b - 1) / static_cast<std::uint64_t>(b));
}
std::int64_t round_up(std::int64_t a, std::int64_t b) { return ceil_div(a, b) * b; }

std::int64_t in_place(const Shape& shape) {
  return shape.k_type == HEED_FP8_E4M3 || shape.v_type == HEED_FP8_E4M3 ? kTileRowsOfE4M3 : kTileRows;
}

// Rows of a power of two's length fall into few sets of the first-level cache: one more line apart, they don't.
std::int64_t padded_row(std::int64_t n) {
  const std::int64_t whole = round_up(n, kPanel);
  return whole % 64 == 0 ? whole + kAlign : whole;
}

void make_layout(Plan& plan) {
  Layout& at = plan.layout;
  std::int64_t next = 0;
  const auto take = [&](std::int64_t floats, std::int64_t align = kAlign) {
    const std::int64_t here = next;
    next += round_up(floats, align);
    return here;
  };
  const std::int64_t D = plan.shape.D, Dv = plan.shape.Dv, rows = plan.rows, tile_rows = plan.tile_rows;
  const std::int64_t value_columns = round_up(Dv, kPanel);
  const std::int64_t block = least(kBlock, round_up(plan.shape.Lkv, kPanel));
  const bool packed = rows > plan.in_place, gathered = plan.shape.page_size > 0;
  at.q_row = rows > kFewRows ? padded_row(D) : round_up(D, kPanel);
  at.s_row = rows > kFewRows ? block + kAlign : block;
  at.o_row = value_columns;
  at.values_panel = block * kPanel;
  at.q = take(rows * at.q_row);
  at.s = take(tile_rows * at.s_row);
  at.keys = take(packed ? block * D : rows > kFewRows ? least(kPackedAtOnce, block) * D : 0);
  at.gathered_keys = take(gathered ? block * D : 0);
  at.gathered_values = take(gathered ? block * Dv : 0);
  at.k_scale = take(plan.shape.k_type == HEED_INT8 ? block : 0);
  at.v_scale = take(plan.shape.v_type == HEED_INT8 ? block : 0);
  at.part_lanes = take(rows * kPanel);
  at.part_o = take(rows * at.o_row);
  at.all_o = take(rows * at.o_row);
  at.scratch_o = take(most(at.o_row, kPanel * kPanel));
  // Values that are used where they lie need room for their last columns, if those don't fill a panel, and for the
  // search for infinities, which is over before scratch_o is used.
  at.values = packed || Dv % kPanel != 0 ? take(block * (packed ? value_columns : kPanel)) : at.scratch_o;

  // One number or a few per row: close together, so that a small problem's workspace fits on the stack.
  constexpr std::int64_t kClose = 4;
  at.part_m = take(rows, kClose);
  at.all_m = take(rows, kClose);
  at.all_l = take(rows, kClose);
  at.alpha = take(tile_rows, kClose);
  at.slope = take(tile_rows, kClose);
  at.attended = take(tile_rows * kAttendedWords * 2, kClose);
  at.begin = take(tile_rows, kClose);
  at.end = take(tile_rows, kClose);
  at.part_begin = take(tile_rows, kClose);
  at.part_end = take(tile_rows, kClose);
  at.row = take(rows * 8, kClose);
  at.part_any = take(rows, kClose);
  at.all_any = take(rows, kClose);
  at.distance = take(tile_rows * 2, kClose);
  at.bias = take(tile_rows * 2, kClose);
  at.floats = round_up(next, kAlign);
}

// Sizes that a caller's numbers may drive beyond what a machine has.
bool multiply(std::int64_t a, std::int64_t b, std::int64_t* product) { return __builtin_mul_overflow(a, b, product); }

// The stacked rows of one kv head's queries are cut into tiles; later rows come first, since under a causal mask they
// have the most keys.
std::int64_t tiles_of(std::int64_t stacked, std::int64_t rows) { return rows == 0 ? 0 : ceil_div(stacked, rows); }

std::int64_t stacked_rows(const Problem& problem, std::int64_t b) {
  return problem.sequence(b).queries * problem.group;
}

bool alike(const heed_attention_args& args) {  // all sequences have the same lengths
  return args.q_indptr.data == nullptr && args.kv_indptr.data == nullptr && args.kv_lengths.data == nullptr &&
         args.key_begin.data == nullptr;
}

std::int64_t count_tiles(const Problem& problem, std::int64_t rows) {
  const heed_attention_args& args = problem.args;
  if (args.q_indptr.data == nullptr) return args.B * args.Hkv * tiles_of(args.Lq * problem.group, rows);
  std::int64_t tiles = 0;
  for (std::int64_t b = 0; b < args.B; ++b) tiles += args.Hkv * tiles_of(stacked_rows(problem, b), rows);
  return tiles;
}

std::int64_t splits_of(std::int64_t keys) { return ceil_div(keys, kSplit); }

Item tile_item(const Problem& problem, std::int64_t rows, std::int64_t b, std::int64_t tile, const Share& share) {
  const std::int64_t stacked = stacked_rows(problem, b), tiles = tiles_of(stacked, rows);
  Item item{};
  item.b = b;
  item.kv_head = tile / tiles;
  item.row_begin = (tiles - 1 - tile % tiles) * rows;
  item.row_end = least(item.row_begin + rows, stacked);
  item.parts = share.parts;
  item.first_state = share.first_state;
  return item;
}

}  // namespace

Shape shape_of(const heed_attention_args& args) {
  return {args.B,
          args.Hq,
          args.Hkv,
          args.Lq,
          args.Lkv,
          args.D,
          args.Dv,
          args.page_size,
          args.k.type,
          args.v.type,
          args.executor.threads > 1 ? args.executor.threads : 1};
}

void make_plan(const Shape& shape, Plan& plan) {
  plan.shape = shape;
  const std::int64_t group = shape.Hkv > 0 ? shape.Hq / shape.Hkv : 0;

  // Whole query tokens per item, so that the heads of a group stay together, unless they are too many.
  plan.rows = group == 0 ? 0 : group < kRows ? least(shape.Lq, kRows / group) * group : kRows;
  plan.tile_rows = least(plan.rows, kTileRows);
  plan.in_place = in_place(shape);
  make_layout(plan);
  plan.state_row = kAlign + plan.layout.o_row;
  plan.worker_bytes = plan.layout.floats * static_cast<std::int64_t>(sizeof(float));
  std::int64_t states = 0, workers_bytes = 0;
  plan.state_bytes = 0;
  plan.too_large = multiply(shape.threads, plan.worker_bytes, &workers_bytes) ||
                   multiply(shape.B + 1, static_cast<std::int64_t>(sizeof(Share)), &plan.shares_bytes);
  plan.shares_bytes = round_up(plan.shares_bytes, 64);
  if (shape.threads > 1) {  // no more than 2 * threads tiles are cut
    plan.too_large =
        plan.too_large ||
        multiply(least(2 * shape.threads * plan.rows, shape.B * shape.Hq * shape.Lq), splits_of(shape.Lkv), &states) ||
        multiply(states, plan.state_row * static_cast<std::int64_t>(sizeof(float)), &plan.state_bytes);
  }
  std::int64_t bytes = 0;
  plan.too_large = plan.too_large || __builtin_add_overflow(workers_bytes, plan.state_bytes, &bytes) ||
                   __builtin_add_overflow(bytes, plan.shares_bytes, &bytes) || bytes > kMostBytes;
}

bool needs_shares(const Problem& problem, const Plan& plan) {
  return problem.args.q_indptr.data != nullptr || (plan.shape.threads > 1 && !alike(problem.args));
}

Schedule make_schedule(const Problem& problem, const Plan& plan, Share* shares) {
  const heed_attention_args& args = problem.args;
  const std::int64_t threads = plan.shape.threads, group = problem.group;
  Schedule schedule{};
  schedule.sequences = args.B;
  schedule.shares = shares;

  // Smaller items while threads would be idle.
  schedule.rows = plan.rows;
  std::int64_t tiles = count_tiles(problem, schedule.rows);
  while (schedule.rows > kTileRows && tiles < 2 * threads) {
    const std::int64_t half = ceil_div(schedule.rows, 2);
    const std::int64_t rows = half > group ? round_up(half, group) : half;
    if (rows >= schedule.rows) break;
    schedule.rows = rows;
    tiles = count_tiles(problem, rows);
  }

  // Still too few, or some longer than a thread's share: their keys are cut as well, and the splits' states folded
  // afterwards. 4 items per thread leave little waiting at the end.
  const bool cut = threads > 1 && tiles > 0;
  const auto parts_of = [&](std::int64_t keys, double all_splits) {
    const std::int64_t splits = splits_of(keys);
    const double share = static_cast<double>(splits) * static_cast<double>(4 * threads) / all_splits;
    return share < 2.0 ? 1 : most(1, least(splits, static_cast<std::int64_t>(share)));
  };
  if (!needs_shares(problem, plan)) {
    schedule.uniform_tiles = tiles_of(args.Lq * group, schedule.rows);
    schedule.uniform.parts =
        cut && tiles <= 2 * threads && args.Lkv > 0
            ? parts_of(args.Lkv, static_cast<double>(tiles) * static_cast<double>(splits_of(args.Lkv)))
            : 1;
    schedule.items = tiles * schedule.uniform.parts;
    if (schedule.uniform.parts > 1) {
      schedule.folds = tiles;
      schedule.states = args.B * args.Hq * args.Lq * splits_of(args.Lkv);
    }
    return schedule;
  }

  double all_splits = 0.0;
  for (std::int64_t b = 0; b < args.B && cut; ++b) {
    const Sequence sequence = problem.sequence(b);
    all_splits += static_cast<double>(args.Hkv * tiles_of(sequence.queries * group, schedule.rows)) *
                  static_cast<double>(splits_of(sequence.keys));
  }
  std::int64_t cut_tiles = 0;
  Share next{};
  for (std::int64_t b = 0; b < args.B; ++b) {
    const Sequence sequence = problem.sequence(b);
    const std::int64_t stacked = sequence.queries * group, here = args.Hkv * tiles_of(stacked, schedule.rows);
    next.parts = cut && here > 0 && sequence.keys > 0 ? parts_of(sequence.keys, all_splits) : 1;
    if (next.parts > 1 && cut_tiles + here > 2 * threads) next.parts = 1;  // rounding
    if (shares != nullptr) shares[b] = next;
    next.first_item += here * next.parts;
    if (next.parts > 1) {
      cut_tiles += here;
      next.first_fold += here;
      next.first_state += args.Hkv * stacked * splits_of(sequence.keys);
    }
  }
  if (shares != nullptr) shares[args.B] = next;
  schedule.items = next.first_item;
  schedule.folds = next.first_fold;
  schedule.states = next.first_state;
  return schedule;
}

Item Schedule::item(const Problem& problem, std::int64_t index) const {
  if (shares == nullptr) {
    const std::int64_t tile = index / uniform.parts, per_sequence = problem.args.Hkv * uniform_tiles;
    Share share = uniform;
    share.first_state = tile / per_sequence * problem.args.Hq * problem.args.Lq * splits_of(problem.args.Lkv);
    Item item = tile_item(problem, rows, tile / per_sequence, tile % per_sequence, share);
    item.part = index % uniform.parts;
    return item;
  }
  const std::int64_t b = share_with(index, &Share::first_item);
  Item item = tile_item(problem, rows, b, (index - shares[b].first_item) / shares[b].parts, shares[b]);
  item.part = (index - shares[b].first_item) % shares[b].parts;
  return item;
}

Item Schedule::fold(const Problem& problem, std::int64_t index) const {
  if (shares == nullptr) return item(problem, index * uniform.parts);
  const std::int64_t b = share_with(index, &Share::first_fold);
  return tile_item(problem, rows, b, index - shares[b].first_fold, shares[b]);
}

// The last sequence that begins at or before `index`: those after it begin later, and those without any begin where
// their successor does.
std::int64_t Schedule::share_with(std::int64_t index, std::int64_t Share::*first) const {
  std::int64_t low = 0, high = sequences;  // shares[low].*first <= index < shares[high].*first
  while (high - low > 1) {
    const std::int64_t middle = low + (high - low) / 2;
    (shares[middle].*first <= index ? low : high) = middle;
  }
  return low;
}

}  // namespace heed

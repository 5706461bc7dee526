// tile: every mode, register shape, layout of B and kind of range.
#include <algorithm>
#include <cmath>

#include "support/everywhere.hpp"

namespace heed::test::kernel {

namespace {

enum class Ranges { kNone, kColumns, kDepth };

struct Problem {
  heed_type type;
  std::int64_t rows, panels, depth;
  Tile::Mode mode;
  bool packed;  // B in panels, or row-major
  Ranges ranges;
  Kind kind;
};

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

// With `b` given, that is B; otherwise it is random.
void check_tile(Random& random, const Problem& p, const Stored& given = Stored(HEED_F32)) {
  const std::int64_t columns = p.panels * kPanel, keys = p.ranges == Ranges::kColumns ? columns : p.depth;
  const std::int64_t a_row = p.depth + random.between(0, 3), c_row = columns + random.between(0, 5);
  const std::int64_t b_row = p.packed ? kPanel : columns + random.between(0, 5);
  const std::int64_t b_panel = p.packed ? (p.depth + random.between(0, 2)) * kPanel : kPanel;
  Numbers a = random.numbers(p.kind, p.rows * p.depth);
  // A step of depth that some row leaves out needs finite B and a weight of +0.
  const Kind b_kind = p.ranges == Ranges::kDepth && p.kind == Kind::kHostile ? Kind::kFinite : p.kind;
  const Stored b = given.values.empty() ? random_stored(random, p.type, b_kind, columns * p.depth)
                                        : given;  // [panel][k][16], or [k][column]
  const Numbers c = random.numbers(p.kind, p.rows * columns), alpha = random.numbers(p.kind, p.rows);
  std::vector<std::int32_t> begin, end;
  for (std::int64_t r = 0; r < p.rows; ++r) {
    std::int64_t low = random.between(0, keys), high = random.between(0, keys);
    if (low > high) std::swap(low, high);
    if (random.once_in(3)) low = 0;
    if (random.once_in(4)) high = keys;
    begin.push_back(static_cast<std::int32_t>(low));
    end.push_back(static_cast<std::int32_t>(high));
    if (p.ranges != Ranges::kDepth) continue;
    for (std::int64_t k = 0; k < p.depth; ++k) {
      if (k < low || k >= high) a[at(r * p.depth + k)] = 0.0f;
    }
  }
  const Ahead ahead = random_ahead(random);
  const auto any_row = static_cast<std::int64_t>(random.next());  // of a single row
  // B in pieces of 16 steps anywhere, one of which may be left out.
  const bool pieces = p.ranges != Ranges::kColumns && random.once_in(2);
  const std::int64_t left_out = random.once_in(2) ? random.between(0, p.depth / kPanel) : -1;
  const auto step_left_out = [&](std::int64_t k) { return pieces && k / kPanel == left_out; };
  const auto needed = [&](std::int64_t r, std::int64_t x) {
    return p.ranges != Ranges::kColumns || (x >= begin[at(r)] && x < end[at(r)]);
  };

  check_everywhere(
      describe("type rows panels depth mode packed ranges kind pieces", p.type, p.rows, p.panels, p.depth, p.mode,
               p.packed, p.ranges, p.kind, pieces),
      [&](const Table& row, Arena& arena) {
        Tile t{};
        t.a = arena.input(a, p.rows, p.depth, a_row);
        t.a_row = a_row;
        std::vector<const void*> begins;
        for (std::int64_t k = 0; k < p.depth && pieces; k += kPanel) {
          const std::int64_t steps = std::min<std::int64_t>(kPanel, p.depth - k);
          const Stored part = p.packed ? part_of(b, p.depth * kPanel, 0, p.panels, k * kPanel, steps * kPanel)
                                       : part_of(b, columns, k, steps, 0, columns);
          const void* here = p.packed ? arena.input(part, p.panels, steps * kPanel, b_panel)
                                      : arena.input(part, steps, columns, b_row);
          begins.push_back(step_left_out(k) ? nullptr : here);
        }
        if (pieces) {
          t.b_pieces = begins.data();
        } else {
          t.b =
              p.packed ? arena.input(b, p.panels, p.depth * kPanel, b_panel) : arena.input(b, p.depth, columns, b_row);
        }
        t.b_row = p.depth == 1 && !p.packed ? any_row : b_row;
        t.b_panel = b_panel;
        t.c = p.mode == Tile::kStore ? arena.output(p.rows, columns, c_row) : arena.inout(c, p.rows, columns, c_row);
        t.c_row = c_row;
        t.rows = static_cast<std::int32_t>(p.rows);
        t.panels = static_cast<std::int32_t>(p.panels);
        t.depth = static_cast<std::int32_t>(p.depth);
        t.mode = p.mode;
        t.alpha = p.mode == Tile::kUpdate ? arena.input(alpha) : nullptr;
        t.begin = p.ranges == Ranges::kNone ? nullptr : arena.input(begin);
        t.end = p.ranges == Ranges::kNone ? nullptr : arena.input(end);
        t.keys_are_columns = p.ranges == Ranges::kColumns;
        t.ahead = ahead;
        row.tile[p.type](t);
        Numbers results = arena.results();
        for (std::int64_t r = 0; r < p.rows; ++r) {
          for (std::int64_t x = 0; x < columns; ++x) {
            float& result = results[at(r * columns + x)];
            if (!needed(r, x)) result = 0.0f;
            // A step that is left out keeps a -0, one that adds +0 makes it +0; no result shows which.
            if (p.ranges == Ranges::kDepth && result == 0.0f) result = 0.0f;
          }
        }
        return results;
      },
      [&](const Numbers& got) -> std::string {
        for (std::int64_t r = 0; r < p.rows; ++r) {
          for (std::int64_t x = 0; x < columns; ++x) {
            if (!needed(r, x)) continue;
            const std::int64_t from = p.ranges == Ranges::kDepth ? begin[at(r)] : 0;
            const std::int64_t to = p.ranges == Ranges::kDepth ? end[at(r)] : p.depth;
            Sum exact;
            const double old = c[at(r * columns + x)];
            if (p.mode == Tile::kExtend) exact.add(old);
            if (p.mode == Tile::kUpdate) exact.add(old * double{alpha[at(r)]});
            for (std::int64_t k = from; k < to; ++k) {
              if (step_left_out(k)) continue;
              const std::int64_t b_at = p.packed ? (x / kPanel * p.depth + k) * kPanel + x % kPanel : k * columns + x;
              exact.add(double{a[at(r * p.depth + k)]} * double{b.values[at(b_at)]});
            }
            const auto steps = static_cast<double>(p.depth);
            if (!exact.allows(got[at(r * columns + x)], steps + 3, steps + 2)) {
              return describe("beyond the bound at row column", r, x);
            }
          }
        }
        return {};
      });
}

void check_tile(heed_type type) {
  Random random(6);
  const Tile::Mode modes[] = {Tile::kStore, Tile::kExtend, Tile::kUpdate};
  const Ranges ranges[] = {Ranges::kNone, Ranges::kColumns, Ranges::kDepth};
  const auto any_kind = [&] { return kKinds[random.between(0, 3)]; };
  // Every register shape: rows beyond two of the largest, panels beyond the most that stand side by side.
  for (std::int64_t rows = 1; rows <= 18; ++rows) {
    for (std::int64_t panels = 1; panels <= 11; ++panels) {
      for (const Tile::Mode mode : modes) {
        check_tile(random, {type, rows, panels, random.between(1, 20), mode, random.once_in(2),
                            ranges[random.between(0, 2)], any_kind()});
      }
    }
  }
  for (const Ranges range : ranges) {
    for (const Tile::Mode mode : modes) {
      for (const bool packed : {false, true}) {
        for (const std::int64_t depth : {0, 1, 2, 3, 4, 5, 8, 15, 16, 17, 31, 33, 64, 127, 128, 129, 257}) {
          check_tile(random,
                     {type, random.between(1, 9), random.between(1, 4), depth, mode, packed, range, any_kind()});
        }
      }
    }
  }
  if (type == HEED_F32) return;
  // Every code once, row-major and in panels, in the one-panel and the many-panel shapes.
  for (const std::int64_t rows : {1, 2, 6}) {
    for (const bool packed : {false, true}) {
      check_tile(random, {type, rows, 16, codes_of(type) / 256, Tile::kStore, packed, Ranges::kNone, Kind::kTame},
                 every_code(type));
    }
  }
}

}  // namespace

#define HEED_CHECK(op, type) \
  void check_##op##_##type() { check_##op(dispatch::type); }
HEED_STORED_TYPES(HEED_CHECK, tile)

}  // namespace heed::test::kernel

// The register loop behind scores and weighted sum: C (+)= A . B, every element one chain of fused multiply-adds.
//
//   scores        C = s, A = q', B = a panel of keys      s = fma(q'_d, k_d, s) for d = 0 ... D-1, from +0     (step 2)
//   weighted sum  C = o, A = p,  B = a panel of values    b = fma(p_j, v_j, b) over j in order, from +0;
//                                                         o = fma(o, a, b)                                     (step 7)
//
// R rows x P panels of 16 columns stay in registers while k runs; per k, each row's a is broadcast once.
//
// Registers (8 lanes, 16 of them): 6 rows x 1 panel = 12 accumulators + 2 loads of B + 1 broadcast = 15. Per k: 12
// multiply-adds on two ports = 6 cycles, in which 8 loads fit. (16 lanes, 32 of them): 8 rows x 2 panels = 16
// accumulators + 2 loads + 1 broadcast = 19, and 10 loads in 8 cycles. A multiply-add takes 4 cycles to finish, so
// fewer than 8 accumulators leave the ports waiting: with fewer rows more panels go side by side (kShapes). More than
// 16 accumulators gain nothing (12 rows), and panels that stand side by side share the first-level cache.
//
// Order: panels outside, rows inside. A panel of B (16 columns x 128 k = 8 KiB) then stays in the first-level cache
// while the rows' A passes by; the other way round B would be read from the second level once per 6 rows.
//
// Excluded keys: the rows of one register tile may need different keys; the tile runs over their union. Where keys are
// columns, what is computed too much is never read. Where keys are steps of depth, A is +0 and B finite there, so the
// chains keep their bits (a chain may turn -0 into +0, which no result shows). Tails: none, panels are whole; C and B
// are the caller's padded buffers, or B is row-major with whole panels.
#include <type_traits>

#include "simd/ahead.hpp"
#include "simd/storage.hpp"

namespace heed::HEED_ROW {
namespace {

// THE TABLE of tile shapes: how many rows a register tile has, and how many panels of 16 columns it takes beside each
// other for 1 ... rows of them. Accumulators = rows * panels * vectors per panel, and beside them the loads of B and
// one broadcast. tall: rows of the tiles that come first, 0 for none; what doesn't fill them is dealt out evenly over
// tiles of at most `rows` rows, or `fp8` where B is fp8, for less code. A tall tile is broken up rather than that fewer
// than kTooFew rows are left: 9 rows as 5 and 4, because 8 and 1 would leave the ports waiting for the 1. Without tall
// tiles the last tile takes the rest.
struct Shape {
  int lanes, registers, tall, rows, fp8;
  int panels[9];
};
constexpr Shape kShapes[] = {
    {4, 16, 0, 2, 2, {0, 2, 1}},                     // 4 vectors per panel
    {8, 16, 0, 6, 6, {0, 4, 2, 2, 1, 1, 1}},         // 2 vectors per panel
    {16, 32, 8, 6, 4, {0, 4, 4, 4, 4, 2, 2, 0, 2}},  // 1 vector per panel
};
constexpr std::int32_t kTooFew = 5;
// For tests only: few shapes, each takes seconds to compile.
constexpr Shape kEmulatedShape{16, 16, 3, 2, 2, {0, 2, 1, 1}};
consteval Shape shape_of(int lanes) {
  if (kEmulated) return kEmulatedShape;
  for (const Shape& shape : kShapes) {
    if (shape.lanes == lanes) return shape;
  }
  return {};
}
constexpr Shape kShape = shape_of(kLanes);
static_assert(kShape.rows > 0, "a row of another width needs its line in the table");

template <class T>
constexpr int kMostRows =
    std::is_same_v<T, storage::E4M3> || std::is_same_v<T, storage::E5M2> ? kShape.fp8 : kShape.rows;

// Steps between two looks at what is to be fetched.
constexpr std::int64_t kMostSteps = 32;

struct Union {
  std::int32_t begin, end;
};

HEED_INLINE Union keys_of(const Tile& t, std::int32_t r0, int rows, std::int32_t all) {
  if (t.end == nullptr) return {0, all};
  Union u{t.begin[r0], t.end[r0]};
  for (int r = 1; r < rows; ++r) {
    if (t.begin[r0 + r] < u.begin) u.begin = t.begin[r0 + r];
    if (t.end[r0 + r] > u.end) u.end = t.end[r0 + r];
  }
  return u;
}

// R rows from r0, P panels from p.
template <class T, int R, int P>
HEED_INLINE void registers(const Tile& t, int shift, std::int32_t r0, std::int32_t p, std::int32_t first,
                           std::int32_t last, LinesAhead& lines) {
  constexpr int V = P * kVectors;
  float* c = t.c + r0 * t.c_row + std::int64_t{p} * kPanel;
  Floats chain[R][V];
  for (int r = 0; r < R; ++r) {
    for (int v = 0; v < V; ++v) {
      chain[r][v] = t.mode == Tile::kExtend ? load(c + r * t.c_row + v * kLanes) : broadcast(0.0f);
    }
  }
  const float* a[R];
  for (int r = 0; r < R; ++r) a[r] = t.a + (r0 + r) * t.a_row;
  const T* b[P];
  for (std::int64_t k = first; k < last;) {
    const T* piece = static_cast<const T*>(t.b_pieces[k >> shift]);
    const std::int64_t next = ((k >> shift) + 1) << shift, piece_end = next < last ? next : last;
    if (piece == nullptr) {
      k = piece_end;
      continue;
    }
#pragma GCC unroll 8
    for (int i = 0; i < P; ++i) b[i] = piece + (p + i) * t.b_panel + (k & ((std::int64_t{1} << shift) - 1)) * t.b_row;
#pragma GCC unroll 1
    while (k < piece_end) {
      std::int64_t end = piece_end;
      if (lines.any()) {
        if (k + lines.steps() < end) end = k + lines.steps();
        lines.fetch();
      }
#pragma GCC unroll 1
      for (; k < end; ++k) {
        Floats row[V];
#pragma GCC unroll 8
        for (int i = 0; i < P; ++i) {
#pragma GCC unroll 8
          for (int v = 0; v < kVectors; ++v) {
            row[i * kVectors + v] = load(b[i] + v * kLanes);
            if constexpr (R > 1 && R * V + V < kShape.registers) hold(row[i * kVectors + v]);
          }
          b[i] += t.b_row;
        }
#pragma GCC unroll 8
        for (int r = 0; r < R; ++r) {
          const Floats weight = broadcast(a[r][k]);
#pragma GCC unroll 8
          for (int v = 0; v < V; ++v) chain[r][v] = fma(weight, row[v], chain[r][v]);
        }
      }
    }
  }
  if (t.mode == Tile::kUpdate) {
    for (int r = 0; r < R; ++r) {
      const Floats alpha = broadcast(t.alpha[r0 + r]);
      for (int v = 0; v < V; ++v) {
        float* o = c + r * t.c_row + v * kLanes;
        store(o, fma(load(o), alpha, chain[r][v]));
      }
    }
  } else {
    for (int r = 0; r < R; ++r) {
      for (int v = 0; v < V; ++v) store(c + r * t.c_row + v * kLanes, chain[r][v]);
    }
  }
}

// The rows r0 ... r0 + R - 1, in the panels p ... p + P - 1.
template <class T, int R, int P>
HEED_INLINE void rows_in(const Tile& t, int shift, std::int32_t r0, std::int32_t p, LinesAhead& lines) {
  const Union u = keys_of(t, r0, R, t.keys_are_columns ? t.panels * kPanel : t.depth);
  if (t.keys_are_columns && ((p + P) * kPanel <= u.begin || p * kPanel >= u.end)) return;
  const std::int32_t first = t.keys_are_columns ? 0 : u.begin, last = t.keys_are_columns ? t.depth : u.end;
  registers<T, R, P>(t, shift, r0, p, first, last, lines);
}

// `rows` rows from r0, R at a time: P panels side by side from p on, as long as there are so many. Returns the next
// panel.
template <class T, int R, int P>
HEED_INLINE std::int32_t side_by_side(const Tile& t, int shift, std::int32_t r0, std::int32_t rows, std::int32_t p,
                                      LinesAhead& lines) {
  for (; p + P <= t.panels; p += P) {
    for (std::int32_t r = r0; r < r0 + rows; r += R) rows_in<T, R, P>(t, shift, r, p, lines);
  }
  return p;
}

// What is left beside P panels goes two by two where that is usual, so that not every shape has a loop more: one row,
// and 4 rows, which are what 7 and 9 rows are dealt out to, whose keys are packed two panels at a time.
template <class T, int R>
HEED_INLINE void all_panels(const Tile& t, int shift, std::int32_t r0, std::int32_t rows, LinesAhead& lines) {
  constexpr int P = kShape.panels[R];
  std::int32_t p = side_by_side<T, R, P>(t, shift, r0, rows, 0, lines);
  if constexpr (P > 2 && (R == 1 || (R == 4 && kMostRows < T >> R)))
    p = side_by_side<T, R, 2>(t, shift, r0, rows, p, lines);
  if constexpr (P > 1) side_by_side<T, R, 1>(t, shift, r0, rows, p, lines);
}

// `rows` rows from r0, R at a time. A function of its own, because GCC 12 spills the pointers of one shape's loop for
// those of the others.
template <class T, int R>
__attribute__((noinline)) void by(const Tile& given, std::int32_t r0, std::int32_t rows, LinesAhead& lines) {
  Tile t = given;  // a copy that stores through c can't change: its members stay in registers
  int shift = 4;   // 2^shift steps of depth lie in each piece
  static_assert(kPanel == 1 << 4);
  if (t.b_pieces == nullptr) {
    t.b_pieces = &given.b;
    shift = 31;
  }
  if (t.depth == 1) t.b_row = 0;  // of a single row it may be any number, and is added once more than it is needed
  if constexpr (R < (kShape.tall > 0 ? kMostRows<T> / 2 : kMostRows<T>)) rows = R;  // there are no more of so few
  lines.set_step(R * kShape.panels[R], kMostSteps);
  if constexpr (R <= kMostRows<T> || R == kShape.tall) all_panels<T, R>(t, shift, r0, rows, lines);
}

template <class T>
HEED_INLINE void by(std::int32_t height, const Tile& t, std::int32_t r0, std::int32_t rows, LinesAhead& lines) {
  switch (height) {
    case 6:
      return by<T, 6>(t, r0, rows, lines);
    case 5:
      return by<T, 5>(t, r0, rows, lines);
    case 4:
      return by<T, 4>(t, r0, rows, lines);
    case 3:
      return by<T, 3>(t, r0, rows, lines);
    case 2:
      return by<T, 2>(t, r0, rows, lines);
    case 1:
      return by<T, 1>(t, r0, rows, lines);
    default:
      return;
  }
}

template <class T>
HEED_INLINE void tile(const Tile& t) {
  LinesAhead lines(t.ahead, std::int64_t{t.rows} * t.panels * t.depth);
  std::int32_t r0 = 0, left = t.rows;
  if constexpr (kShape.tall > 0) {
    const std::int32_t rest = left % kShape.tall;
    r0 = left - rest;
    if (rest > 0 && rest < kTooFew && r0 > 0) r0 -= kShape.tall;
    if (r0 > 0) by<T, kShape.tall>(t, 0, r0, lines);
    left -= r0;
  }
  std::int32_t height = kMostRows<T>;
  if (left <= height) return by<T>(left, t, r0, left, lines);
  std::int32_t rows = left / height * height, rest = left - rows;
  if (kShape.tall > 0 && rest > 0) {
    const std::int32_t tiles = left / height + 1;
    rest = left / tiles;
    height = rest + 1;
    rows = left % tiles * height;
  }
  if (rows > 0) by<T>(height, t, r0, rows, lines);
  by<T>(rest, t, r0 + rows, left - rows, lines);
}

}  // namespace

#define HEED_ENTRY(op, type) \
  void op##_##type(const Tile& t) { tile<storage::type>(t); }
HEED_STORED_TYPES(HEED_ENTRY, tile)

}  // namespace heed::HEED_ROW

// Scores of a few query rows against row-major keys, transposed in registers on the way.
//
//   s(r, j) = fma(q'_rd, k_jd, s(r, j)) for d = 0 ... D-1, from +0                                             (step 2)
//
// Lane = key: 16 neighbouring bytes of kLanes keys are loaded, turned into columns (4 of f32, 8 of 16-bit, 16 of 8-bit
// types), and each column is multiplied by its q'_d for every row. R rows x G groups of kLanes keys are in flight.
//
// Registers (8 lanes): R * G accumulators (4 to 8), 4 columns, 4 loads in the making, 1 broadcast: at most 16 with G =
// 4 for one and two rows, G = 2 for three and four. Bound: one row by the 8 shuffles per 4 x 8 words (two ports: 8
// words a cycle) and by latency, which is why G chains run side by side; four rows by the multiply-adds. More rows
// than a few are cheaper through pack_keys and tile, with the same bits.
//
// Tails: a key that isn't there only fills lanes that aren't stored, and the last one stands for it. Elements behind
// the last whole 16 bytes go through a small zero-filled buffer, so nothing beyond them is read.
#include "simd/ahead.hpp"
#include "simd/transpose.hpp"

namespace heed::HEED_ROW {
namespace {

// Groups in flight: with 8 lanes 32 keys for one and two rows, 16 for three and four. Old processors get small code,
// and so does the emulated row, whose every loop takes seconds to compile.
constexpr bool kSmall = kEmulated || HEED_X86_LANES == 4;
constexpr int kManyGroups = kSmall ? 2 : 4, kFewGroups = kSmall ? 1 : 2;
constexpr int kMostRows = kEmulated ? 2 : 4;

// The keys behind the last G groups: one row takes them at once, because a group alone waits for its chain (17 keys, D
// = 64: a fifth of the call); more rows have chains enough.
constexpr int rest_groups(int rows, int groups) { return rows == 1 ? groups : 1; }

template <int R, int G>
struct Chains {
  Floats s[R][G];
};

template <class T, int R, int G>
HEED_INLINE void extend(Chains<R, G>& chains, int g, const float* const (&q)[R], std::int64_t d,
                        const FourWords& keys) {
  for_each_column<T>(keys, [&](int c, Floats column) HEED_ALWAYS {
#pragma GCC unroll 4
    for (int r = 0; r < R; ++r) chains.s[r][g] = fma(broadcast(q[r][d + c]), column, chains.s[r][g]);
  });
}

// Where the vector of keys that begins with key j lies.
template <class T>
HEED_INLINE const T* keys_at(const Scores& t, std::int64_t j) {
  if (t.pieces == nullptr) return static_cast<const T*>(t.k) + j * t.k_row;
  return static_cast<const T*>(t.pieces[j / kPanel]) + j % kPanel * t.k_row;
}

// Continues all chains over the columns d of keys at k.
template <int R, int G, class T>
HEED_INLINE void extend_groups(Chains<R, G>& chains, const float* const (&q)[R], std::int64_t d, const T* const (&k)[G],
                               std::int64_t k_row) {
#pragma GCC unroll 4
  for (int g = 0; g < G; ++g) {
    const T* group = k[g] + d;
    asm("" : "+r"(group));  // its rows' addresses are made from it: kept one by one, they would fill the stack
    if constexpr (R > 2) asm("" : : : "memory");  // and q' is loaded anew: kept, it would push chains out of registers
    extend<T>(chains, g, q, d, load_four_words(group, k_row));
  }
}

// What is left: up to four columns d of `keys` keys, with +0 around them. Copied, apart from the loop above, because
// tails needn't be fast and every copy of that loop is a kilobyte.
struct Piece {
  alignas(64) float columns[4][kManyGroups * kLanes];
  std::int64_t d;
  int depth, lanes;
};

template <class T>
__attribute__((noinline)) void copy(const T* const* k, std::int64_t k_row, std::int64_t keys, Piece& piece) {
#pragma GCC unroll 1
  for (int j = 0; j < piece.lanes; ++j) {
    const T* row = j < keys ? k[j / kLanes] + j % kLanes * k_row + piece.d : nullptr;
#pragma GCC unroll 1
    for (int c = 0; c < piece.depth; ++c) piece.columns[c][j] = row != nullptr ? widen(row[c]) : 0.0f;
  }
}

template <int R, int G>
__attribute__((noinline)) void extend_piece(Chains<R, G>& chains, const float* const (&q)[R], const Piece& piece) {
#pragma GCC unroll 1
  for (int c = 0; c < piece.depth; ++c) {
    for (int g = 0; g * kLanes < piece.lanes; ++g) {
      const Floats column = Floats::load_aligned(piece.columns[c] + g * kLanes);
      for (int r = 0; r < R; ++r) chains.s[r][g] = fma(broadcast(q[r][piece.d + c]), column, chains.s[r][g]);
    }
  }
}

// Scores of R rows against the G * kLanes keys at j, of which `keys` exist.
template <class T, int R, int G>
__attribute__((noinline)) void group(const Scores& t, std::int64_t r0, std::int64_t j, std::int64_t keys,
                                     LinesAhead& lines) {
  const T* k[G];
#pragma GCC unroll 4
  for (int g = 0; g < G; ++g) {  // what isn't used is the first: the stride of a single key may be any number
    k[g] = g * kLanes < keys ? keys_at<T>(t, j + g * kLanes) : k[0];
  }
  const float* q[R];
  Chains<R, G> chains;
#pragma GCC unroll 4
  for (int r = 0; r < R; ++r) {
    q[r] = t.q + (r0 + r) * t.q_row;
#pragma GCC unroll 4
    for (int g = 0; g < G; ++g) chains.s[r][g] = broadcast(0.0f);
  }
  lines.set_step(keys, 1);
  std::int64_t d = 0;
  if (keys == G * kLanes) {
    for (; d + kColumns<T> <= t.D; d += kColumns<T>) {
      if (lines.any()) lines.fetch();
      extend_groups(chains, q, d, k, t.k_row);
    }
  } else if constexpr (G == rest_groups(R, G)) {
    const FewRows<T, G * kLanes> rows([&](std::int64_t x) HEED_ALWAYS { return k[x / kLanes] + x % kLanes * t.k_row; },
                                      keys);
    for (; d + kColumns<T> <= t.D; d += kColumns<T>) {
      if (lines.any()) lines.fetch();
#pragma GCC unroll 4
      for (int g = 0; g < G; ++g) {
        if (g * kLanes < keys) extend<T>(chains, g, q, d, rows.load_four_words(d, g * kLanes));
      }
    }
  }
  if (d < t.D) {
    Chains<R, G> rest = chains;  // a copy: the address of what is passed on keeps it out of the registers
    Piece piece;
    piece.lanes = static_cast<int>((keys + kLanes - 1) / kLanes) * kLanes;
    for (; d < t.D; d += 4) {
      piece.d = d;
      piece.depth = t.D - d < 4 ? static_cast<int>(t.D - d) : 4;
      copy<T>(k, t.k_row, keys, piece);
      extend_piece(rest, q, piece);
    }
    chains = rest;
  }
#pragma GCC unroll 4
  for (int r = 0; r < R; ++r) {
    float* s = t.s + (r0 + r) * t.s_row + j;
#pragma GCC unroll 4
    for (int g = 0; g < G; ++g) {
      const std::int64_t left = keys - g * kLanes;
      if (left >= kLanes) {
        store(s + g * kLanes, chains.s[r][g]);
      } else if (left > 0) {
        store_tail(s + g * kLanes, chains.s[r][g], left);
      }
    }
  }
}

template <class T, int R, int G>
HEED_INLINE void rows(const Scores& t, std::int64_t r, LinesAhead& lines) {
  std::int64_t j = 0;
  for (; j + G * kLanes <= t.keys; j += G * kLanes) group<T, R, G>(t, r, j, G * kLanes, lines);
  constexpr int kRest = rest_groups(R, G);
  for (; j < t.keys; j += kRest * kLanes) {
    group<T, R, kRest>(t, r, j, t.keys - j < kRest * kLanes ? t.keys - j : kRest * kLanes, lines);
  }
}

template <class T>
HEED_INLINE void scores(const Scores& t) {
  LinesAhead lines(t.ahead, t.keys * (t.D / kColumns<T>));
  std::int64_t r = 0;
  for (; r + kMostRows <= t.rows; r += kMostRows) rows<T, kMostRows, kFewGroups>(t, r, lines);
  if constexpr (kMostRows > 3 && !kSmall) {
    if (t.rows - r == 3) return rows<T, 3, kFewGroups>(t, r, lines);
  }
  if constexpr (kMostRows > 2) {
    if (t.rows - r >= 2) rows<T, 2, kManyGroups>(t, r, lines), r += 2;
  }
  if (t.rows - r == 1) rows<T, 1, kManyGroups>(t, r, lines);
}

}  // namespace

#define HEED_ENTRY(op, type) \
  void op##_##type(const Scores& t) { scores<storage::type>(t); }
HEED_STORED_TYPES(HEED_ENTRY, scores)

}  // namespace heed::HEED_ROW

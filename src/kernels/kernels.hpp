// What each kernel takes and does: one signature per operation of kernels.inc, the same on every row.
#pragma once

#include <cstdint>

#include "arithmetic.hpp"
#include "kernels/storage.hpp"

namespace heed {

// What is needed next, for a kernel to fetch while it works: rows of `bytes` bytes, `stride` bytes apart. A hint: what
// lies there is never looked at.
struct Ahead {
  const void* data = nullptr;
  std::int64_t stride = 0, bytes = 0, rows = 0;  // rows 0: nothing
  // Of rows that lie in several pieces: where each piece begins, one pointer more than there are, and its rows. The
  // first row is number `first` of the first piece on.
  const void* const* pieces = nullptr;  // null: all rows follow data
  std::int64_t piece_rows = 0, first = 0;
};

// C[rows x 16 panels] (+)= A[rows x depth] . B[depth x 16 panels], every element one chain of fused multiply-adds over
// k. Element (k, 16 p + x) of B is b[p * b_panel + k * b_row + x].
struct Tile {
  enum Mode {
    kStore,   // C = chain from +0
    kExtend,  // C = the chain continued from C
    kUpdate   // C = fma(C, alpha[r], chain from +0)
  };
  const float* a;
  std::int64_t a_row;
  const void* b;
  std::int64_t b_row, b_panel;
  float* c;
  std::int64_t c_row;
  std::int32_t rows, panels, depth;
  Mode mode;
  const float* alpha;  // [rows], kUpdate only

  // Keys that a row needs, [begin, end) per row; null: all. With keys_are_columns (scores) panels outside may be left
  // unwritten; otherwise (weighted sum) steps of depth outside may be left out, because A is +0 there and B finite.
  const std::int32_t *begin, *end;
  bool keys_are_columns;

  Ahead ahead = {};

  // Where B lies in pieces of 16 steps of depth: where each begins, for its first panel; null: these steps are left
  // out. Null: B is in one piece, at b.
  const void* const* b_pieces = nullptr;
};

// Scores of a few rows against row-major keys: s[r][j] = chain over d of q[r][d] * k[j][d].
struct Scores {
  const float* q;  // already scaled
  std::int64_t q_row;
  const void* k;
  std::int64_t k_row;
  float* s;
  std::int64_t s_row;
  std::int64_t rows, keys, D;
  Ahead ahead = {};
  const void* const* pieces = nullptr;  // where each 16 keys begin; null: all follow k
};

// Step 3, and the scale of int8 keys, on a tile of scores. Each part that is off costs nothing.
struct ScoreStep {
  float* s;
  std::int64_t s_row;
  std::int32_t rows, keys;
  const float* k_scale;          // [keys rounded up to whole panels], or null: s = s * k_scale_j
  float softcap;                 // 0: off
  const float* slope;            // [rows], or null: s = fma(-slope, |distance - j|, s)
  const std::int64_t* distance;  // [rows], i' - position of the block's first key
  const void* const* bias;       // [rows], each with `keys` numbers of the kernel's type, or null
  std::uint64_t* attended;       // [rows][kAttendedWords], with bias only: bits of -inf are cleared
};

// Steps 5 and 6 for one block: s becomes p (+0 where not attended, up to the end of the last panel).
struct SoftmaxStep {
  float* s;
  std::int64_t s_row;  // a multiple of 16
  std::int32_t rows, panels;
  const std::uint64_t* attended;  // [rows][kAttendedWords], bit j of the block's keys; null: all of 16 panels
  std::int64_t attended_row;      // 0: one set of words for all rows
  float* m;                       // [rows], the running maximum
  float* lanes;                   // [rows][16], the row sum's lanes
  float* alpha;                   // [rows], out: what the weighted sum so far is multiplied by; 1 for an empty row
  const float* v_scale;           // [16 panels], or null: what is stored is p * v_scale_j (int8 values)
};

// Steps 1 to 9 for the query rows of all heads that share a kv head, over at most 16 keys: f32 throughout, and of the
// options only ranges of keys.
inline constexpr std::int64_t kFewKeysD = 128;  // at most: the keys' panel lies on the stack
struct FewKeys {
  const float *q, *k, *v;
  float *out, *lse;  // lse null: not wanted
  std::int64_t q_head, q_row, k_row, v_row, out_head, out_row, lse_head, lse_row;
  std::int64_t heads, rows, keys;  // query heads, query tokens of each, 1 ... 16 keys
  std::int64_t D, Dv;
  std::int64_t first, last;  // query token i attends keys [i + first, i + last), as far as they exist
  float scale;
};

namespace op {

using dot = float(const void* a, const void* b, std::int64_t n);

// out[d] = x[d] * scale, from the kernel's type to float
using widen = void(const void* x, float scale, float* out, std::int64_t n);

// out[d] = x[d], from float to the kernel's type, to nearest even
using narrow = void(const float* x, void* out, std::int64_t n);

using scores = void(const Scores&);

// Panels of 16 keys, transposed: out[(j / 16) * D * 16 + d * 16 + j % 16] = k[j][d]; the last panel is filled with +0.
using pack_keys = void(const void* k, std::int64_t k_row, std::int64_t keys, std::int64_t D, float* out,
                       const Ahead& ahead);

// Panels of 16 columns: out[(d / 16) * out_panel + j * 16 + d % 16] = v[j][d], filled with +0. True if every v is
// finite.
using pack_values = bool(const void* v, std::int64_t v_row, std::int64_t keys, std::int64_t Dv, float* out,
                         std::int64_t out_panel);

using tile = void(const Tile&);

using score_step = void(const ScoreStep&);

using softmax_step = void(const SoftmaxStep&);

using few_keys = void(const FewKeys&);

// A whole row: weights and lse.
using softmax = float(const void* x, float* weights, std::int64_t n);

// Step 8: the state (m, l, o) takes in (m2, l2, o2). Neither is empty.
using merge = void(float* m, float* l, float* o, float m2, float l2, const float* o2, std::int64_t Dv);

// Step 9: out = o / l, and lse unless null. sink -inf: none.
using finish = void(float m, float l, const float* o, float sink, void* out, float* lse, std::int64_t Dv);

}  // namespace op
}  // namespace heed

// Scores of query rows against row-major keys.
//
//   s(r, j) = fma(q'_rd, k_jd, s(r, j)) for d = 0 ... D-1, from +0                                             (step 2)
//
// One chain per score, in the order of d: so a score doesn't depend on the tile, panel or vector that it was computed
// in. Sixteen keys go side by side, because they are what a vector holds; they are copied there piece by piece, so that
// the loop over them is one over neighbours.
#include "scalar/storage.hpp"

namespace heed::HEED_ROW {

namespace {

template <class T>
void scores(const Scores& t) {
  constexpr int kPiece = 16;  // columns at a time: a kilobyte of stack
  const T* k = static_cast<const T*>(t.k);
  for (std::int64_t r = 0; r < t.rows; ++r) {
    const float* q = t.q + r * t.q_row;
    float* s = t.s + r * t.s_row;
    for (std::int64_t j = 0; j < t.keys; j += kPanel) {
      const std::int64_t keys = t.keys - j < kPanel ? t.keys - j : kPanel;
      const T* rows = t.pieces == nullptr ? k + j * t.k_row : static_cast<const T*>(t.pieces[j / kPanel]);
      float chains[kPanel] = {};
      for (std::int64_t first = 0; first < t.D; first += kPiece) {
        const std::int64_t depth = t.D - first < kPiece ? t.D - first : kPiece;
        float piece[kPiece][kPanel] = {};
        for (std::int64_t x = 0; x < keys; ++x) {
          for (std::int64_t d = 0; d < depth; ++d) piece[d][x] = widen(rows[x * t.k_row + first + d]);
        }
        for (std::int64_t d = 0; d < depth; ++d) {
          HEED_LANES
          for (int x = 0; x < kPanel; ++x) chains[x] = fma(q[first + d], piece[d][x], chains[x]);
        }
      }
      for (std::int64_t x = 0; x < keys; ++x) s[j + x] = chains[x];
    }
  }
}

}  // namespace

#define HEED_ENTRY(op, type) \
  void op##_##type(const Scores& t) { scores<storage::type>(t); }
HEED_STORED_TYPES(HEED_ENTRY, scores)

}  // namespace heed::HEED_ROW

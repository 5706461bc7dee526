// The register loop behind scores and weighted sum: C (+)= A . B, every element one chain of fused multiply-adds.
//
//   scores        C = s, A = q', B = a panel of keys      s = fma(q'_d, k_d, s) for d = 0 ... D-1, from +0     (step 2)
//   weighted sum  C = o, A = p,  B = a panel of values    b = fma(p_j, v_j, b) over j in order, from +0;
//                                                         o = fma(o, a, b)                                     (step 7)
//
// Keys that no row needs are left out here as they are on the other rows: see Tile::begin and Tile::end.
#include "scalar/storage.hpp"

namespace heed::HEED_ROW {

namespace {

// Row k of B in panel p; null: left out.
template <class T>
const T* b_row(const Tile& t, std::int32_t p, std::int32_t k) {
  if (t.b_pieces == nullptr) return static_cast<const T*>(t.b) + p * t.b_panel + k * t.b_row;
  const T* piece = static_cast<const T*>(t.b_pieces[k / kPanel]);
  return piece == nullptr ? nullptr : piece + p * t.b_panel + k % kPanel * t.b_row;
}

template <class T>
void tile(const Tile& t) {
  for (std::int32_t p = 0; p < t.panels; ++p) {
    for (std::int32_t r = 0; r < t.rows; ++r) {
      std::int32_t first = 0, last = t.depth;
      if (t.end != nullptr && t.keys_are_columns) {
        if (p * kPanel >= t.end[r] || (p + 1) * kPanel <= t.begin[r]) continue;
      } else if (t.end != nullptr) {
        first = t.begin[r];
        last = t.end[r];
      }
      const float* a = t.a + r * t.a_row;
      float* c = t.c + r * t.c_row + std::int64_t{p} * kPanel;
      float chains[kPanel];
      HEED_LANES
      for (int x = 0; x < kPanel; ++x) chains[x] = t.mode == Tile::kExtend ? c[x] : 0.0f;
      for (std::int32_t k = first; k < last; ++k) {
        const T* row = b_row<T>(t, p, k);
        if (row == nullptr) continue;
        HEED_LANES
        for (int x = 0; x < kPanel; ++x) chains[x] = fma(a[k], widen(row[x]), chains[x]);
      }
      if (t.mode == Tile::kUpdate) {
        HEED_LANES
        for (int x = 0; x < kPanel; ++x) c[x] = fma(c[x], t.alpha[r], chains[x]);
      } else {
        HEED_LANES
        for (int x = 0; x < kPanel; ++x) c[x] = chains[x];
      }
    }
  }
}

}  // namespace

#define HEED_ENTRY(op, type) \
  void op##_##type(const Tile& t) { tile<storage::type>(t); }
HEED_STORED_TYPES(HEED_ENTRY, tile)

}  // namespace heed::HEED_ROW

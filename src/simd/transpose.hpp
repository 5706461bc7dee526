// Reads rows and hands out columns: four neighbouring elements of kLanes rows become four vectors, one lane per row.
// This is how row-major keys become "lane = key".
#pragma once

#include "simd/storage.hpp"

namespace heed::HEED_ROW {

struct FourColumns {
  Floats column[4];
};

// 4 lanes: 4 loads, 8 shuffles. 8 lanes: rows x and x + 4 share a register (8 half loads), then the same 8 shuffles
// within halves: 16 shuffles per 8 x 8 numbers, where a transposition of whole registers takes 24.
// Other storage types become floats as they are loaded.
template <class T>
HEED_INLINE FourColumns load_four_columns(const T* p, std::int64_t row) {
  FourColumns out;
#if HEED_HAS_F16C
  if constexpr (kLanes == 8) {
    const auto pair = [&](int x) { return load_fours(p + x * row, p + (x + 4) * row); };
    const __m256 a = pair(0), b = pair(1), c = pair(2), d = pair(3);
    const __m256 ab_low = _mm256_unpacklo_ps(a, b), ab_high = _mm256_unpackhi_ps(a, b);
    const __m256 cd_low = _mm256_unpacklo_ps(c, d), cd_high = _mm256_unpackhi_ps(c, d);
    out.column[0] = Floats(_mm256_shuffle_ps(ab_low, cd_low, 0x44));
    out.column[1] = Floats(_mm256_shuffle_ps(ab_low, cd_low, 0xEE));
    out.column[2] = Floats(_mm256_shuffle_ps(ab_high, cd_high, 0x44));
    out.column[3] = Floats(_mm256_shuffle_ps(ab_high, cd_high, 0xEE));
    return out;
  }
#endif
  if constexpr (kLanes == 4) {
    const Floats a = load(p), b = load(p + row), c = load(p + 2 * row), d = load(p + 3 * row);
    const Floats ac_low = xsimd::zip_lo(a, c), ac_high = xsimd::zip_hi(a, c);
    const Floats bd_low = xsimd::zip_lo(b, d), bd_high = xsimd::zip_hi(b, d);
    out.column[0] = xsimd::zip_lo(ac_low, bd_low);
    out.column[1] = xsimd::zip_hi(ac_low, bd_low);
    out.column[2] = xsimd::zip_lo(ac_high, bd_high);
    out.column[3] = xsimd::zip_hi(ac_high, bd_high);
  } else {
    for (int d = 0; d < 4; ++d) {
      alignas(64) float lanes[kLanes];
      for (int x = 0; x < kLanes; ++x) lanes[x] = widen(p[x * row + d]);
      out.column[d] = Floats::load_aligned(lanes);
    }
  }
  return out;
}

}  // namespace heed::HEED_ROW

// Reads rows and hands out columns: four neighbouring elements of kLanes rows become four vectors, one lane per row.
// This is how row-major keys become "lane = key".
#pragma once

#include "simd/storage.hpp"

namespace heed::HEED_ROW {

struct FourColumns {
  Floats column[4];
};

// 4 lanes: 4 loads, 8 shuffles. 8 lanes: rows x and x + 4 share a register (8 half loads), then the same 8 shuffles
// within halves: 16 shuffles per 8 x 8 numbers, where a transposition of whole registers takes 24. 16 lanes: four rows
// share a register. Other storage types become floats as they are loaded.
template <class Rows>
HEED_INLINE FourColumns load_four_columns_of(const Rows& row) {  // row(x): where lane x's four elements lie
  FourColumns out;
#if HEED_HAS_F16C
#if HEED_X86_LANES == 16
  const auto joined = [&](int x) { return load_fours(row(x), row(x + 4), row(x + 8), row(x + 12)); };
#define HEED_WIDE(operation) _mm512_##operation
#else
  const auto joined = [&](int x) { return load_fours(row(x), row(x + 4)); };
#define HEED_WIDE(operation) _mm256_##operation
#endif
  const auto a = joined(0), b = joined(1), c = joined(2), d = joined(3);
  const auto ab_low = HEED_WIDE(unpacklo_ps)(a, b), ab_high = HEED_WIDE(unpackhi_ps)(a, b);
  const auto cd_low = HEED_WIDE(unpacklo_ps)(c, d), cd_high = HEED_WIDE(unpackhi_ps)(c, d);
  out.column[0] = Floats(HEED_WIDE(shuffle_ps)(ab_low, cd_low, 0x44));
  out.column[1] = Floats(HEED_WIDE(shuffle_ps)(ab_low, cd_low, 0xEE));
  out.column[2] = Floats(HEED_WIDE(shuffle_ps)(ab_high, cd_high, 0x44));
  out.column[3] = Floats(HEED_WIDE(shuffle_ps)(ab_high, cd_high, 0xEE));
#undef HEED_WIDE
#else
  if constexpr (kLanes == 4) {
    const Floats a = load(row(0)), b = load(row(1)), c = load(row(2)), d = load(row(3));
    const Floats ac_low = xsimd::zip_lo(a, c), ac_high = xsimd::zip_hi(a, c);
    const Floats bd_low = xsimd::zip_lo(b, d), bd_high = xsimd::zip_hi(b, d);
    out.column[0] = xsimd::zip_lo(ac_low, bd_low);
    out.column[1] = xsimd::zip_hi(ac_low, bd_low);
    out.column[2] = xsimd::zip_lo(ac_high, bd_high);
    out.column[3] = xsimd::zip_hi(ac_high, bd_high);
  } else {
    for (int d = 0; d < 4; ++d) {
      alignas(64) float lanes[kLanes];
      for (int x = 0; x < kLanes; ++x) lanes[x] = widen(row(x)[d]);
      out.column[d] = Floats::load_aligned(lanes);
    }
  }
#endif
  return out;
}

template <class T>
HEED_INLINE FourColumns load_four_columns(const T* p, std::int64_t stride) {
  return load_four_columns_of([&](int x) { return p + x * stride; });
}

// Up to N rows, whose first `rows` exist: the last of them stands for the others of its vector.
template <class T, int N = kLanes>
struct FewRows {
  const T* row[N];

  HEED_INLINE FewRows(const T* p, std::int64_t stride, std::int64_t rows) {
    const std::int64_t lanes = (rows + kLanes - 1) / kLanes * kLanes;
#pragma GCC unroll 1
    for (std::int64_t x = 0; x < lanes; ++x) row[x] = p + (x < rows ? x : rows - 1) * stride;
  }
  HEED_INLINE FourColumns load_four_columns(std::int64_t d, int first = 0) const {
    return load_four_columns_of([&](int x) { return row[first + x] + d; });
  }
};

}  // namespace heed::HEED_ROW

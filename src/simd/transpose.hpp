// Reads rows and hands out columns: 16 neighbouring bytes of kLanes rows become four vectors of words, one lane per
// row, and these the numbers that they hold. This is how row-major keys become "lane = key".
#pragma once

#include "simd/storage.hpp"

namespace heed::HEED_ROW {
namespace {

struct FourWords {
  Floats column[4];
};

// How many numbers of a row that is.
template <class T>
inline constexpr int kColumns = 16 / static_cast<int>(sizeof(T));

#if HEED_X86_LANES > 0
HEED_INLINE __m128 load_four(const void* p) { return _mm_loadu_ps(static_cast<const float*>(p)); }
#endif

// row(x): where lane x's bytes lie. 4 lanes: 4 loads, 8 shuffles. 8 lanes: rows x and x + 4 share a register (8 half
// loads), then the same 8 shuffles within halves: 16 shuffles per 8 x 8 words, where a transposition of whole registers
// takes 24. 16 lanes: four rows share a register. Numbers are converted afterwards, a whole register at a time.
template <class Rows>
HEED_INLINE FourWords load_four_words(const Rows& row) {
  FourWords out;
#if HEED_X86_LANES >= 8
#if HEED_X86_LANES == 16
  const auto joined = [&](int x) HEED_ALWAYS {
    const __m512 two = _mm512_insertf32x4(_mm512_castps128_ps512(load_four(row(x))), load_four(row(x + 4)), 1);
    return _mm512_insertf32x4(_mm512_insertf32x4(two, load_four(row(x + 8)), 2), load_four(row(x + 12)), 3);
  };
#define HEED_WIDE(operation) _mm512_##operation
#else
  const auto joined = [&](int x) HEED_ALWAYS {
    return _mm256_insertf128_ps(_mm256_castps128_ps256(load_four(row(x))), load_four(row(x + 4)), 1);
  };
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
#elif HEED_X86_LANES == 4
  const Floats a = load_four(row(0)), b = load_four(row(1)), c = load_four(row(2)), d = load_four(row(3));
  const Floats ac_low = xsimd::zip_lo(a, c), ac_high = xsimd::zip_hi(a, c);
  const Floats bd_low = xsimd::zip_lo(b, d), bd_high = xsimd::zip_hi(b, d);
  out.column[0] = xsimd::zip_lo(ac_low, bd_low);
  out.column[1] = xsimd::zip_hi(ac_low, bd_low);
  out.column[2] = xsimd::zip_lo(ac_high, bd_high);
  out.column[3] = xsimd::zip_hi(ac_high, bd_high);
#else
  alignas(64) std::uint32_t words[4][kLanes];
  for (int x = 0; x < kLanes; ++x) {
    std::uint32_t four[4];
    std::memcpy(four, row(x), sizeof four);
    for (int d = 0; d < 4; ++d) words[d][x] = four[d];
  }
  for (int d = 0; d < 4; ++d) out.column[d] = xsimd::bitwise_cast<float>(Words::load_aligned(words[d]));
#endif
  return out;
}

// Every fourth row's address is made anew: 15 multiples of the stride would not fit into the registers for integers,
// and GCC 12 would keep them in those of the vectors.
template <class T>
HEED_INLINE FourWords load_four_words(const T* p, std::int64_t stride) {
  const T* fourth[kLanes / 4];
#pragma GCC unroll 4
  for (int i = 0; i < kLanes / 4; ++i) {
    fourth[i] = p + 4 * i * stride;
    if constexpr (HEED_X86_LANES == 16) asm("" : "+r"(fourth[i]));
  }
  return load_four_words([&](int x) HEED_ALWAYS { return fourth[x / 4] + x % 4 * stride; });
}

// Up to N rows, whose first `rows` exist: the last of them stands for the others of its vector.
template <class T, int N = kLanes>
struct FewRows {
  const T* row[N];

  // at(x): where row x lies.
  template <class At>
  HEED_INLINE FewRows(const At& at, std::int64_t rows) {
    const std::int64_t lanes = (rows + kLanes - 1) / kLanes * kLanes;
#pragma GCC unroll 1
    for (std::int64_t x = 0; x < lanes; ++x) {
      row[x] = at(x < rows ? x : rows - 1);
      asm("" : : : "memory");  // not vectorised: it is no work, but much code
    }
  }
  HEED_INLINE FourWords load_four_words(std::int64_t d, int first = 0) const {
    return HEED_ROW::load_four_words([&](int x) HEED_ALWAYS { return row[first + x] + d; });
  }
};

// Calls each(c, column) for the kColumns<T> columns, in order.
template <class T, class Each>
HEED_INLINE void for_each_column(const FourWords& words, const Each& each) {
  constexpr int K = kPerWord<T>;
  const auto word = [&](int w) HEED_ALWAYS {
    Floats column[K];
    spread(T{}, words.column[w], column);
#pragma GCC unroll 4
    for (int i = 0; i < K; ++i) each(w * K + i, column[i]);
  };
  if constexpr (K == 1) {
    word(0), word(1), word(2), word(3);
  } else {  // a loop, since `each` may be long
#pragma GCC unroll 1
    for (int w = 0; w < 4; ++w) word(w);
  }
}

}  // namespace
}  // namespace heed::HEED_ROW

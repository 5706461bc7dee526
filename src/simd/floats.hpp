// Vectors of floats for one row of the ISA table, and everything that the kernels do with them. The only users of xsimd
// are the files of this folder: they own what decides bits (fused multiply-add, maximum, reductions) and what xsimd
// does slowly or differently from version to version (transpositions, tails).
//
// Built on the interface of xsimd 13.2. Nothing here may become a symbol of its own: another row, or the rest of the
// library, would then run this row's instructions. So all is forced inline, in unnamed namespaces, and there are no std
// containers or algorithms.
#pragma once

#include <cstdint>
#include <cstring>
#include <xsimd/xsimd.hpp>

#include "arithmetic.hpp"
#include "kernels/kernels.hpp"

#include "kernels/declare_row.inc"

#if XSIMD_VERSION_MAJOR < 13 || (XSIMD_VERSION_MAJOR == 13 && XSIMD_VERSION_MINOR < 2)
#error "heed needs xsimd 13.2 or later; an older one was found first on the include path"
#endif

#define HEED_ALWAYS __attribute__((always_inline))  // of a lambda
#define HEED_INLINE inline HEED_ALWAYS

namespace heed::HEED_ROW {
namespace {

using Arch = HEED_ROW_ARCH;
using Floats = xsimd::batch<float, Arch>;
using Words = xsimd::batch<std::uint32_t, Arch>;
using Ints = xsimd::batch<std::int32_t, Arch>;
using Mask = xsimd::batch_bool<float, Arch>;

inline constexpr int kLanes = static_cast<int>(Floats::size);
inline constexpr int kVectors = kPanel / kLanes;  // vectors in a panel
static_assert(kPanel % kLanes == 0, "a panel is a whole number of vectors");

#if XSIMD_WITH_EMULATED  // a define of the row's flags
inline constexpr bool kEmulated = true;
#else
inline constexpr bool kEmulated = false;
#endif

// How many lanes the hand-written forms for x86 have on this row; 0: none is used.
#if XSIMD_WITH_EMULATED
#define HEED_X86_LANES 0
#elif defined(__AVX512F__)
#define HEED_X86_LANES 16
#elif defined(__AVX__)
#define HEED_X86_LANES 8
#elif defined(__SSE2__)
#define HEED_X86_LANES 4
#else
#define HEED_X86_LANES 0
#endif

inline constexpr float kInfinity = __builtin_inff();

HEED_INLINE Floats load(const float* p) { return Floats::load_unaligned(p); }
HEED_INLINE void store(float* p, Floats x) { x.store_unaligned(p); }
HEED_INLINE Floats broadcast(float x) { return Floats(x); }

// Held in a register from here on: GCC 12 prefers to load what several multiply-adds use once for each of them.
HEED_INLINE void hold(Floats& x) {
#if HEED_X86_LANES == 16
  asm("" : "+v"(x.data));
#elif HEED_X86_LANES > 0
  asm("" : "+x"(x.data));
#else
  static_cast<void>(x);
#endif
}

// Asks for a line. Into the second-level cache: a block of keys is larger than the first.
#define HEED_FETCH(address) __builtin_prefetch(reinterpret_cast<const void*>(address), 0, 2)

// Stores that leave what the caches hold alone, and which end_stores_past_caches() makes others see in time.
#if HEED_X86_LANES >= 8
HEED_INLINE bool may_store_past_caches(const float* p) {
  return reinterpret_cast<std::uintptr_t>(p) % sizeof(Floats) == 0;
}
HEED_INLINE void store_past_caches(float* p, Floats x) {
#if HEED_X86_LANES == 16
  _mm512_stream_ps(p, x);
#else
  _mm256_stream_ps(p, x);
#endif
}
HEED_INLINE void end_stores_past_caches() { _mm_sfence(); }
#else
HEED_INLINE bool may_store_past_caches(const float*) { return false; }
HEED_INLINE void store_past_caches(float* p, Floats x) { store(p, x); }
HEED_INLINE void end_stores_past_caches() {}
#endif

// The first n < kLanes floats, with +0 behind them when loaded; nothing else is touched. Where it is written down for
// registers: a load of what was stored in pieces waits until these have reached the cache.
#if HEED_X86_LANES == 16
HEED_INLINE __mmask16 first_lanes(std::int64_t n) { return static_cast<__mmask16>((1u << n) - 1u); }
HEED_INLINE Floats load_tail(const float* p, std::int64_t n) { return _mm512_maskz_loadu_ps(first_lanes(n), p); }
HEED_INLINE void store_tail(float* p, Floats value, std::int64_t n) { _mm512_mask_storeu_ps(p, first_lanes(n), value); }
#elif HEED_X86_LANES == 8
HEED_INLINE __m128 load_up_to_four(const float* p, std::int64_t n) {
  if (n >= 4) return _mm_loadu_ps(p);
  const __m128 last = (n & 1) != 0 ? _mm_load_ss(p + n - 1) : _mm_setzero_ps();
  if (n < 2) return last;
  return _mm_movelh_ps(_mm_castpd_ps(_mm_load_sd(reinterpret_cast<const double*>(p))), last);
}

HEED_INLINE Floats load_tail(const float* p, std::int64_t n) {
  const __m128 low = load_up_to_four(p, n), high = n > 4 ? load_up_to_four(p + 4, n - 4) : _mm_setzero_ps();
  return _mm256_insertf128_ps(_mm256_castps128_ps256(low), high, 1);
}

HEED_INLINE void store_tail(float* p, Floats value, std::int64_t n) {
  __m128 rest = _mm256_castps256_ps128(value);
  if (n >= 4) {
    _mm_storeu_ps(p, rest);
    rest = _mm256_extractf128_ps(value, 1);
    p += 4;
  }
  if ((n & 2) != 0) {
    _mm_storel_pi(reinterpret_cast<__m64*>(p), rest);
    rest = _mm_movehl_ps(rest, rest);
    p += 2;
  }
  if ((n & 1) != 0) _mm_store_ss(p, rest);
}
#else
HEED_INLINE Floats load_tail(const float* p, std::int64_t n) {
  alignas(64) float lanes[kLanes] = {};
  for (std::int64_t x = 0; x < n; ++x) lanes[x] = p[x];
  return Floats::load_aligned(lanes);
}

HEED_INLINE void store_tail(float* p, Floats value, std::int64_t n) {
  alignas(64) float lanes[kLanes];
  value.store_aligned(lanes);
  for (std::int64_t x = 0; x < n; ++x) p[x] = lanes[x];
}
#endif

// a * b + c: one rounding on rows that are declared so, two on the others. xsimd's own is not fused on an emulated
// batch.
HEED_INLINE Floats fma(Floats a, Floats b, Floats c) {
  if constexpr (HEED_ROW_FMA != 0 && kEmulated) {
    alignas(64) float x[kLanes], y[kLanes], z[kLanes];
    a.store_aligned(x);
    b.store_aligned(y);
    c.store_aligned(z);
    for (int i = 0; i < kLanes; ++i) z[i] = __builtin_fmaf(x[i], y[i], z[i]);
    return Floats::load_aligned(z);
  } else {
    return xsimd::fma(a, b, c);
  }
}

HEED_INLINE float fma(float a, float b, float c) {
  if constexpr (HEED_ROW_FMA != 0) {
    return __builtin_fmaf(a, b, c);
  } else {
    return a * b + c;
  }
}

// The other sign, of zeros too: xsimd's own is 0 - x for AVX-512.
HEED_INLINE Floats negated(Floats x) {
  return xsimd::bitwise_cast<float>(xsimd::bitwise_cast<std::uint32_t>(x) ^ Words(0x80000000u));
}

// Which operand a NaN or a pair of zeros of either sign gives is unspecified: nothing may depend on it.
HEED_INLINE Floats max(Floats a, Floats b) { return xsimd::max(a, b); }
HEED_INLINE float max(float a, float b) { return a > b ? a : b; }

HEED_INLINE Floats select(Mask where, Floats yes, Floats no) { return xsimd::select(where, yes, no); }

// Where a or b is NaN.
HEED_INLINE Mask unordered(Floats a, Floats b) {
#if HEED_X86_LANES == 16
  return _mm512_cmp_ps_mask(a, b, _CMP_UNORD_Q);
#elif HEED_X86_LANES == 8
  return _mm256_cmp_ps(a, b, _CMP_UNORD_Q);
#else
  return (a != a) || (b != b);
#endif
}

// +0 where `where`, x elsewhere. What GCC 12 makes of a select with zero takes one operation more.
HEED_INLINE Floats zero_where(Mask where, Floats x) {
#if HEED_X86_LANES == 8
  return _mm256_andnot_ps(where, x);
#else
  return select(where, broadcast(0.0f), x);
#endif
}

#if HEED_X86_LANES >= 8
// Of eight lanes (x, x + 4), then (x, x + 2), then (x, x + 1).
HEED_INLINE float max_of_eight(__m256 x) {
  __m128 top = _mm_max_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
  top = _mm_max_ps(top, _mm_movehl_ps(top, top));
  return _mm_cvtss_f32(_mm_max_ss(top, _mm_movehdup_ps(top)));
}
HEED_INLINE float sum_of_eight(__m256 x) {
  __m128 sum = _mm_add_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
  sum = _mm_add_ps(sum, _mm_movehl_ps(sum, sum));
  return _mm_cvtss_f32(_mm_add_ss(sum, _mm_movehdup_ps(sum)));
}
#endif

HEED_INLINE float max_of_lanes(Floats x) {
#if HEED_X86_LANES == 16
  return max_of_eight(_mm256_max_ps(_mm512_castps512_ps256(x), _mm512_extractf32x8_ps(x, 1)));
#elif HEED_X86_LANES == 8
  return max_of_eight(x);
#else
  alignas(64) float lanes[kLanes];
  x.store_aligned(lanes);
  for (int half = kLanes / 2; half > 0; half /= 2) {
    for (int i = 0; i < half; ++i) lanes[i] = max(lanes[i], lanes[i + half]);
  }
  return lanes[0];
#endif
}

// The fixed tree over a panel: lanes (i, i + 8), (i, i + 4), (i, i + 2), (i, i + 1), as sum_lanes has it.
HEED_INLINE float sum_of_panel(Floats (&x)[kVectors]) {
#if HEED_X86_LANES == 16
  return sum_of_eight(_mm256_add_ps(_mm512_castps512_ps256(x[0]), _mm512_extractf32x8_ps(x[0], 1)));
#elif HEED_X86_LANES == 8
  return sum_of_eight(x[0] + x[1]);
#else
#pragma GCC unroll 2
  for (int half = kVectors / 2; half > 0; half /= 2) {
    for (int v = 0; v < half; ++v) x[v] = x[v] + x[v + half];
  }
  alignas(64) float lanes[kLanes];
  x[0].store_aligned(lanes);
  for (int half = kLanes / 2; half > 0; half /= 2) {
    for (int i = 0; i < half; ++i) lanes[i] = lanes[i] + lanes[i + half];
  }
  return lanes[0];
#endif
}

// Lane x of vector v in a panel is on when bit v * kLanes + x is.
HEED_INLINE Mask mask_of_bits(std::uint32_t panel_bits, int v) {
#if HEED_X86_LANES == 16
  static_cast<void>(v);
  return Mask(static_cast<__mmask16>(panel_bits));
#else
  alignas(64) static constexpr std::uint32_t kBit[16] = {1u << 0,  1u << 1,  1u << 2,  1u << 3, 1u << 4,  1u << 5,
                                                         1u << 6,  1u << 7,  1u << 8,  1u << 9, 1u << 10, 1u << 11,
                                                         1u << 12, 1u << 13, 1u << 14, 1u << 15};
  const Words bit = Words::load_aligned(kBit);
  const Words on = Words(panel_bits >> (v * kLanes)) & bit;
  return xsimd::batch_bool_cast<float>(on == bit);
#endif
}

// The form in which numbers leave the library: +0 for -0, one NaN for all.
HEED_INLINE Floats canonical(Floats x) { return select(x != x, broadcast(__builtin_nanf("")), x + broadcast(0.0f)); }
HEED_INLINE float canonical(float x) { return x != x ? __builtin_nanf("") : x + 0.0f; }

}  // namespace
}  // namespace heed::HEED_ROW

// Loads and stores of each storage type. A load is exact; a store rounds to nearest even, whatever the caller's
// flush-to-zero setting is: no conversion goes through a subnormal float.
#pragma once

#include "simd/floats.hpp"

#if defined(__F16C__) && !XSIMD_WITH_EMULATED
#include <immintrin.h>
#define HEED_HAS_F16C 1
#else
#define HEED_HAS_F16C 0
#endif

namespace heed::HEED_ROW {

using storage::Brain;
using storage::Half;

HEED_INLINE std::uint32_t bits_of(float x) {
  std::uint32_t word;
  std::memcpy(&word, &x, sizeof word);
  return word;
}

HEED_INLINE float float_of(std::uint32_t word) {
  float x;
  std::memcpy(&x, &word, sizeof x);
  return x;
}

HEED_INLINE float widen(float x) { return x; }
HEED_INLINE float widen(std::int8_t x) { return static_cast<float>(x); }
HEED_INLINE float widen(Brain x) { return float_of(std::uint32_t{x.bits} << 16); }

// A subnormal is an integer number of 2^-24; other exponents move from a bias of 15 to one of 127.
HEED_INLINE float widen(Half x) {
  const std::uint32_t sign = (x.bits & 0x8000u) << 16, magnitude = x.bits & 0x7FFFu;
  std::uint32_t word = (magnitude << 13) + (magnitude >= 0x7C00u ? 0x70000000u : 0x38000000u);
  if (magnitude > 0x7C00u) word |= 0x00400000u;
  if (magnitude < 0x0400u) word = bits_of(static_cast<float>(static_cast<std::int32_t>(magnitude)) * 0x1p-24f);
  return float_of(word | sign);
}

HEED_INLINE void narrow(float x, float* out) { *out = x; }

HEED_INLINE void narrow(float x, Brain* out) {
  const std::uint32_t word = bits_of(x);
  const bool nan = (word & 0x7FFFFFFFu) > 0x7F800000u;
  const std::uint32_t rounded = nan ? word | 0x00400000u : word + 0x7FFFu + ((word >> 16) & 1u);
  out->bits = static_cast<std::uint16_t>(rounded >> 16);
}

// A result below 2^-14 is a number of 2^-24: adding 1/2, whose last place that is, rounds to it.
HEED_INLINE void narrow(float x, Half* out) {
  const std::uint32_t word = bits_of(x), magnitude = word & 0x7FFFFFFFu;
  std::uint32_t half = (magnitude + 0xFFFu + ((magnitude >> 13) & 1u) - 0x38000000u) >> 13;
  if (magnitude < 0x38800000u) half = bits_of(float_of(magnitude) + 0.5f) - 0x3F000000u;
  if (magnitude >= 0x477FF000u) half = 0x7C00u;
  if (magnitude > 0x7F800000u) half = 0x7E00u | ((magnitude >> 13) & 0x3FFu);
  out->bits = static_cast<std::uint16_t>(half | ((word >> 16) & 0x8000u));
}

// Any type, one lane after the other.
template <class T>
HEED_INLINE Floats load(const T* p) {
  alignas(64) float lanes[kLanes];
  for (int x = 0; x < kLanes; ++x) lanes[x] = widen(p[x]);
  return Floats::load_aligned(lanes);
}

template <class T>
HEED_INLINE Floats load_tail(const T* p, std::int64_t n) {
  alignas(64) float lanes[kLanes] = {};
  for (std::int64_t x = 0; x < n; ++x) lanes[x] = widen(p[x]);
  return Floats::load_aligned(lanes);
}

template <class T>
HEED_INLINE void store(T* p, Floats value) {
  alignas(64) float lanes[kLanes];
  value.store_aligned(lanes);
  for (int x = 0; x < kLanes; ++x) narrow(lanes[x], p + x);
}

template <class T>
HEED_INLINE void store_tail(T* p, Floats value, std::int64_t n) {
  alignas(64) float lanes[kLanes];
  value.store_aligned(lanes);
  for (std::int64_t x = 0; x < n; ++x) narrow(lanes[x], p + x);
}

#if HEED_HAS_F16C

HEED_INLINE __m256 load_eight(const Half* p) {
  return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
}
HEED_INLINE __m256 load_eight(const Brain* p) {
  const __m128i words = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
  return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(words), 16));
}
// The converting load of a byte vector costs GCC 12 twenty instructions when written with vectors; with this it is two.
HEED_INLINE __m256 load_eight(const std::int8_t* p) {
  return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p))));
}
HEED_INLINE Floats load(const Half* p) { return Floats(load_eight(p)); }
HEED_INLINE Floats load(const Brain* p) { return Floats(load_eight(p)); }
HEED_INLINE Floats load(const std::int8_t* p) { return Floats(load_eight(p)); }

HEED_INLINE void store(Half* p, Floats value) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm256_cvtps_ph(value, _MM_FROUND_TO_NEAREST_INT));
}

// Four neighbours of one row, for transpositions.
HEED_INLINE __m128 load_four(const float* p) { return _mm_loadu_ps(p); }
HEED_INLINE __m128 load_four(const Half* p) {
  return _mm_cvtph_ps(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p)));
}
HEED_INLINE __m128 load_four(const Brain* p) {
  const __m128i words = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(p));
  return _mm_castsi128_ps(_mm_unpacklo_epi16(_mm_setzero_si128(), words));
}
HEED_INLINE __m128 load_four(const std::int8_t* p) {
  std::int32_t bytes;
  std::memcpy(&bytes, p, sizeof bytes);
  return _mm_cvtepi32_ps(_mm_cvtepi8_epi32(_mm_cvtsi32_si128(bytes)));
}
#endif

}  // namespace heed::HEED_ROW

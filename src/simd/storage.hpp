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
using storage::E4M3;
using storage::E5M2;
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

HEED_INLINE float widen(E5M2 x) { return widen(Half{static_cast<std::uint16_t>(x.bits << 8)}); }

// The exponent and fraction of an E4M3, as those of a Half, mean a 256th of it. Adding the fraction's last place
// carries into the exponent's highest bit for the NaN alone, and with that bit it is a Half's quiet NaN.
HEED_INLINE float widen(E4M3 x) {
  const std::uint32_t half = (x.bits & 0x80u) << 8 | (x.bits & 0x7Fu) << 7;
  return widen(Half{static_cast<std::uint16_t>(half | ((half + 0x80u) & 0x4000u))}) * 256.0f;
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

// As for Half: the last place of 128 is 2^-16, a subnormal's unit; 61440 and more are infinity.
HEED_INLINE void narrow(float x, E5M2* out) {
  const std::uint32_t word = bits_of(x), magnitude = word & 0x7FFFFFFFu;
  std::uint32_t code = (magnitude + 0xFFFFFu + ((magnitude >> 21) & 1u) - 0x38000000u) >> 21;
  if (magnitude < 0x38800000u) code = bits_of(float_of(magnitude) + 128.0f) - 0x43000000u;
  if (magnitude >= 0x47700000u) code = 0x7Cu;
  if (magnitude > 0x7F800000u) code = 0x7Eu | ((magnitude >> 21) & 3u);
  out->bits = static_cast<std::uint8_t>(code | ((word >> 24) & 0x80u));
}

// The last place of 2^14 is 2^-9, a subnormal's unit; more than 464 is NaN, as there is no infinity.
HEED_INLINE void narrow(float x, E4M3* out) {
  const std::uint32_t word = bits_of(x), magnitude = word & 0x7FFFFFFFu;
  std::uint32_t code = (magnitude + 0x7FFFFu + ((magnitude >> 20) & 1u) - 0x3C000000u) >> 20;
  if (magnitude < 0x3C800000u) code = bits_of(float_of(magnitude) + 0x1p14f) - 0x46800000u;
  if (magnitude > 0x43E80000u) code = 0x7Fu;
  out->bits = static_cast<std::uint8_t>(code | ((word >> 24) & 0x80u));
}

// Any type, one lane after the other.
template <class T>
HEED_INLINE Floats load(const T* p) {
  alignas(64) float lanes[kLanes];
  for (int x = 0; x < kLanes; ++x) lanes[x] = widen(p[x]);
  return Floats::load_aligned(lanes);
}

template <class T>
HEED_INLINE void store(T* p, Floats value) {
  alignas(64) float lanes[kLanes];
  value.store_aligned(lanes);
  for (int x = 0; x < kLanes; ++x) narrow(lanes[x], p + x);
}

#if !HEED_HAS_F16C
// kLanes codes, each in a word.
template <class T>
HEED_INLINE Words load_codes(const T* p) {
#if defined(__SSE2__) && !XSIMD_WITH_EMULATED
  const __m128i zero = _mm_setzero_si128();
  if constexpr (sizeof(T) == 2) {
    return _mm_unpacklo_epi16(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p)), zero);
  } else {
    std::int32_t bytes;
    std::memcpy(&bytes, p, sizeof bytes);
    return _mm_unpacklo_epi16(_mm_unpacklo_epi8(_mm_cvtsi32_si128(bytes), zero), zero);
  }
#else
  alignas(64) std::uint32_t words[kLanes];
  for (int x = 0; x < kLanes; ++x) words[x] = p[x].bits;
  return Words::load_aligned(words);
#endif
}

// Without an instruction for it. kShift moves exponent and fraction of a code to those of a float, and kBias added to
// that makes up for the biases: right for normal numbers. With one more in the exponent, a subnormal's fraction stands
// behind the leading bit of kLeast, which is then subtracted: exact, and no float on the way is subnormal. From kFirst
// on codes are infinity or NaN.
template <int kSign, int kShift, std::uint32_t kBias, std::uint32_t kFirst>
HEED_INLINE Floats widen_codes(Words codes) {
  const Words sign = codes & Words(1u << kSign);
  const Words word = ((codes ^ sign) << kShift) + Words(kBias);
  const Floats x = xsimd::bitwise_cast<float>(word), up = xsimd::bitwise_cast<float>(word + Words(1u << 23));
  const Floats least = broadcast(float_of(kBias + (1u << 23))), first = broadcast(float_of((kFirst << kShift) + kBias));
  const Floats finite = select(x < least, up - least, x);
  const Floats beyond = select(x > first, broadcast(float_of(0x7FC00000u)), broadcast(kInfinity));
  return finite | select(x < first, broadcast(0.0f), beyond) | xsimd::bitwise_cast<float>(sign << (31 - kSign));
}

#if XSIMD_WITH_EMULATED
// For tests only: quicker to compile.
template <class T>
__attribute__((noinline)) static Floats load_by_lane(const T* p) {
  return load<T>(p);
}
HEED_INLINE Floats load(const Half* p) { return load_by_lane(p); }
HEED_INLINE Floats load(const E4M3* p) { return load_by_lane(p); }
HEED_INLINE Floats load(const E5M2* p) { return load_by_lane(p); }
#else
HEED_INLINE Floats load(const Half* p) { return widen_codes<15, 13, 0x38000000u, 0x7C00u>(load_codes(p)); }
HEED_INLINE Floats load(const E5M2* p) { return widen_codes<7, 21, 0x38000000u, 0x7Cu>(load_codes(p)); }
HEED_INLINE Floats load(const E4M3* p) { return widen_codes<7, 20, 0x3C000000u, 0x7Fu>(load_codes(p)); }
HEED_INLINE Floats load(const Brain* p) { return xsimd::bitwise_cast<float>(load_codes(p) << 16); }
#endif
#else

HEED_INLINE __m256 load_eight(const Half* p) {
  return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
}
HEED_INLINE __m256 load_eight(const Brain* p) {
  const __m128i words = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
  return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(words), 16));
}
HEED_INLINE __m256 widen_eight(E5M2, __m128i bytes) {
  return _mm256_cvtph_ps(_mm_unpacklo_epi8(_mm_setzero_si128(), bytes));
}
constexpr short kAllButBit14 = static_cast<short>(0xBFFF);
// As for one: the sign from bit 15, the rest from bit 13 down, and bit 14 for a NaN.
HEED_INLINE __m256 widen_eight(E4M3, __m128i bytes) {
  const __m128i shifted = _mm_srai_epi16(_mm_unpacklo_epi8(_mm_setzero_si128(), bytes), 1);
  const __m128i halves = _mm_and_si128(shifted, _mm_set1_epi16(kAllButBit14));
  const __m128i nan = _mm_and_si128(_mm_add_epi16(halves, _mm_set1_epi16(0x80)), _mm_set1_epi16(0x4000));
  return _mm256_mul_ps(_mm256_cvtph_ps(_mm_or_si128(halves, nan)), _mm256_set1_ps(256.0f));
}
HEED_INLINE __m256 load_eight(const E4M3* p) {
  return widen_eight(E4M3{}, _mm_loadl_epi64(reinterpret_cast<const __m128i*>(p)));
}
HEED_INLINE __m256 load_eight(const E5M2* p) {
  return widen_eight(E5M2{}, _mm_loadl_epi64(reinterpret_cast<const __m128i*>(p)));
}
// The converting load of a byte vector costs GCC 12 twenty instructions when written with vectors; with this it is two.
HEED_INLINE __m256 load_eight(const std::int8_t* p) {
  return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p))));
}
#if HEED_X86_LANES == 16
HEED_INLINE Floats load(const Half* p) {
  return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
}
HEED_INLINE Floats load(const Brain* p) {
  const __m256i words = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
  return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(words), 16));
}
HEED_INLINE __m512 widen_sixteen(E5M2, __m256i words) { return _mm512_cvtph_ps(_mm256_slli_epi16(words, 8)); }
HEED_INLINE __m512 widen_sixteen(E4M3, __m256i words) {
  const __m256i shifted = _mm256_srai_epi16(_mm256_slli_epi16(words, 8), 1);
  const __m256i halves = _mm256_and_si256(shifted, _mm256_set1_epi16(kAllButBit14));
  const __m256i nan = _mm256_and_si256(_mm256_add_epi16(halves, _mm256_set1_epi16(0x80)), _mm256_set1_epi16(0x4000));
  return _mm512_mul_ps(_mm512_cvtph_ps(_mm256_or_si256(halves, nan)), _mm512_set1_ps(256.0f));
}
template <class T>  // E4M3, E5M2
HEED_INLINE Floats load_codes(const T* p) {
  return widen_sixteen(T{}, _mm256_cvtepu8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))));
}
HEED_INLINE Floats load(const E4M3* p) { return load_codes(p); }
HEED_INLINE Floats load(const E5M2* p) { return load_codes(p); }
HEED_INLINE Floats load(const std::int8_t* p) {
  return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))));
}

HEED_INLINE void store(Half* p, Floats value) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), _mm512_cvtps_ph(value, _MM_FROUND_TO_NEAREST_INT));
}
#else
HEED_INLINE Floats load(const Half* p) { return Floats(load_eight(p)); }
HEED_INLINE Floats load(const Brain* p) { return Floats(load_eight(p)); }
HEED_INLINE Floats load(const E4M3* p) { return Floats(load_eight(p)); }
HEED_INLINE Floats load(const E5M2* p) { return Floats(load_eight(p)); }
HEED_INLINE Floats load(const std::int8_t* p) { return Floats(load_eight(p)); }

HEED_INLINE void store(Half* p, Floats value) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm256_cvtps_ph(value, _MM_FROUND_TO_NEAREST_INT));
}
#endif

// Four neighbours of one row.
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

// Four neighbours of each of two rows. Where a conversion takes many steps, it is made once for both.
template <class T>
HEED_INLINE __m256 load_fours(const T* p, const T* q) {
  return _mm256_insertf128_ps(_mm256_castps128_ps256(load_four(p)), load_four(q), 1);
}
HEED_INLINE __m128i load_four_bytes(const void* p, const void* q) {
  std::int32_t first, second;
  std::memcpy(&first, p, sizeof first);
  std::memcpy(&second, q, sizeof second);
  return _mm_insert_epi32(_mm_cvtsi32_si128(first), second, 1);
}
HEED_INLINE __m256 load_fours(const E4M3* p, const E4M3* q) { return widen_eight(E4M3{}, load_four_bytes(p, q)); }
HEED_INLINE __m256 load_fours(const E5M2* p, const E5M2* q) { return widen_eight(E5M2{}, load_four_bytes(p, q)); }

#if HEED_X86_LANES == 16
// Four neighbours of each of four rows, joined before they are converted.
HEED_INLINE __m512 load_fours(const float* a, const float* b, const float* c, const float* d) {
  const __m512 ab = _mm512_insertf32x4(_mm512_castps128_ps512(_mm_loadu_ps(a)), _mm_loadu_ps(b), 1);
  return _mm512_insertf32x4(_mm512_insertf32x4(ab, _mm_loadu_ps(c), 2), _mm_loadu_ps(d), 3);
}
HEED_INLINE __m128i load_four_words(const void* p, const void* q) {
  const __m128d first = _mm_load_sd(static_cast<const double*>(p));
  return _mm_castpd_si128(_mm_loadh_pd(first, static_cast<const double*>(q)));
}
HEED_INLINE __m256i load_four_words(const void* a, const void* b, const void* c, const void* d) {
  return _mm256_inserti128_si256(_mm256_castsi128_si256(load_four_words(a, b)), load_four_words(c, d), 1);
}
HEED_INLINE __m512 load_fours(const Half* a, const Half* b, const Half* c, const Half* d) {
  return _mm512_cvtph_ps(load_four_words(a, b, c, d));
}
HEED_INLINE __m512 load_fours(const Brain* a, const Brain* b, const Brain* c, const Brain* d) {
  return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(load_four_words(a, b, c, d)), 16));
}
HEED_INLINE __m128i load_four_bytes(const void* a, const void* b, const void* c, const void* d) {
  return _mm_unpacklo_epi64(load_four_bytes(a, b), load_four_bytes(c, d));
}
HEED_INLINE __m512 load_fours(const std::int8_t* a, const std::int8_t* b, const std::int8_t* c, const std::int8_t* d) {
  return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(load_four_bytes(a, b, c, d)));
}
template <class T>  // E4M3, E5M2
HEED_INLINE __m512 load_fours(const T* a, const T* b, const T* c, const T* d) {
  return widen_sixteen(T{}, _mm256_cvtepu8_epi16(load_four_bytes(a, b, c, d)));
}
#endif
#endif

// The first n < kLanes numbers, with +0 behind them when loaded.
template <class T>
HEED_INLINE Floats load_tail(const T* p, std::int64_t n) {
  T whole[kLanes] = {};
  std::memcpy(whole, p, static_cast<std::size_t>(n) * sizeof(T));
  return load(static_cast<const T*>(whole));
}

template <class T>
HEED_INLINE void store_tail(T* p, Floats value, std::int64_t n) {
  T whole[kLanes];
  store(whole, value);
  std::memcpy(p, whole, static_cast<std::size_t>(n) * sizeof(T));
}

}  // namespace heed::HEED_ROW

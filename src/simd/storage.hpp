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
namespace {

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
HEED_INLINE Floats widen_all(Half, Words codes) { return widen_codes<15, 13, 0x38000000u, 0x7C00u>(codes); }
HEED_INLINE Floats widen_all(E5M2, Words codes) { return widen_codes<7, 21, 0x38000000u, 0x7Cu>(codes); }
HEED_INLINE Floats widen_all(E4M3, Words codes) { return widen_codes<7, 20, 0x3C000000u, 0x7Fu>(codes); }
HEED_INLINE Floats widen_all(Brain, Words codes) { return xsimd::bitwise_cast<float>(codes << 16); }

// A word of memory in each lane becomes the numbers that it holds, the first of them in out[0].
static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the first number is the lowest");
template <class T>
inline constexpr int kPerWord = 4 / static_cast<int>(sizeof(T));

HEED_INLINE void spread(float, Floats words, Floats (&out)[1]) { out[0] = words; }
HEED_INLINE void spread(Brain, Floats words, Floats (&out)[2]) {
  const Words both = xsimd::bitwise_cast<std::uint32_t>(words);
  out[0] = xsimd::bitwise_cast<float>(both << 16);
  out[1] = xsimd::bitwise_cast<float>(both & Words(0xFFFF0000u));
}
HEED_INLINE void spread(std::int8_t, Floats words, Floats (&out)[4]) {
  const Ints four = xsimd::bitwise_cast<std::int32_t>(words);
  out[0] = xsimd::to_float(four << 24 >> 24);
  out[1] = xsimd::to_float(four << 16 >> 24);
  out[2] = xsimd::to_float(four << 8 >> 24);
  out[3] = xsimd::to_float(four >> 24);
}

#if !HEED_HAS_F16C
// kLanes codes, each in a word.
template <class T>
HEED_INLINE Words load_codes(const T* p) {
#if HEED_X86_LANES == 4
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

#if XSIMD_WITH_EMULATED
// For tests only: quicker to compile.
template <class T>
__attribute__((noinline)) Floats load_by_lane(const T* p) {
  return load<T>(p);
}
HEED_INLINE Floats load(const Half* p) { return load_by_lane(p); }
HEED_INLINE Floats load(const E4M3* p) { return load_by_lane(p); }
HEED_INLINE Floats load(const E5M2* p) { return load_by_lane(p); }
#else
HEED_INLINE Floats load(const Half* p) { return widen_all(*p, load_codes(p)); }
HEED_INLINE Floats load(const E5M2* p) { return widen_all(*p, load_codes(p)); }
HEED_INLINE Floats load(const E4M3* p) { return widen_all(*p, load_codes(p)); }
HEED_INLINE Floats load(const Brain* p) { return widen_all(*p, load_codes(p)); }
#endif

template <class T>
HEED_INLINE void spread(T, Floats words, Floats (&out)[kPerWord<T>]) {
  constexpr int kBits = 8 * static_cast<int>(sizeof(T));
  const Words codes = xsimd::bitwise_cast<std::uint32_t>(words);
#pragma GCC unroll 4
  for (int i = 0; i < kPerWord<T>; ++i) {
    out[i] = widen_all(T{}, (codes >> (i * kBits)) & Words((1u << kBits) - 1u));
  }
}
#else
// Half-words of 16 bits: one for each lane, or as many as the register holds.
typedef short LaneHalves __attribute__((vector_size(kLanes * 2)));
typedef short AllHalves __attribute__((vector_size(kLanes * 4)));

#if HEED_X86_LANES == 16
HEED_INLINE Floats widen_halves(LaneHalves halves) { return _mm512_cvtph_ps(__builtin_bit_cast(__m256i, halves)); }

// Those with an even and with an odd number.
HEED_INLINE void part(AllHalves halves, LaneHalves& even, LaneHalves& odd) {
  alignas(64) static constexpr std::uint16_t kOrder[32] = {0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30,
                                                           1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31};
  const __m512i parted = _mm512_permutexvar_epi16(_mm512_load_si512(kOrder), __builtin_bit_cast(__m512i, halves));
  even = __builtin_bit_cast(LaneHalves, _mm512_castsi512_si256(parted));
  odd = __builtin_bit_cast(LaneHalves, _mm512_extracti64x4_epi64(parted, 1));
}

template <class T>
HEED_INLINE LaneHalves load_upper_bytes(const T* p) {
  const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
  return __builtin_bit_cast(LaneHalves, _mm256_slli_epi16(_mm256_cvtepu8_epi16(bytes), 8));
}
HEED_INLINE Floats load(const Half* p) {
  return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
}
HEED_INLINE Floats load(const Brain* p) {
  const __m256i words = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
  return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(words), 16));
}
HEED_INLINE Floats load(const std::int8_t* p) {
  return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))));
}

HEED_INLINE void store(Half* p, Floats value) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), _mm512_cvtps_ph(value, _MM_FROUND_TO_NEAREST_INT));
}
#else
HEED_INLINE Floats widen_halves(LaneHalves halves) { return _mm256_cvtph_ps(__builtin_bit_cast(__m128i, halves)); }

// Those with an even and with an odd number.
HEED_INLINE void part(AllHalves halves, LaneHalves& even, LaneHalves& odd) {
  const __m256i order = _mm256_setr_epi8(0, 1, 4, 5, 8, 9, 12, 13, 2, 3, 6, 7, 10, 11, 14, 15,  //
                                         0, 1, 4, 5, 8, 9, 12, 13, 2, 3, 6, 7, 10, 11, 14, 15);
  const __m256i in_lanes = _mm256_shuffle_epi8(__builtin_bit_cast(__m256i, halves), order);
  const __m256i parted = _mm256_permute4x64_epi64(in_lanes, 0xD8);
  even = __builtin_bit_cast(LaneHalves, _mm256_castsi256_si128(parted));
  odd = __builtin_bit_cast(LaneHalves, _mm256_extracti128_si256(parted, 1));
}

template <class T>
HEED_INLINE LaneHalves load_upper_bytes(const T* p) {
  const __m128i bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(p));
  return __builtin_bit_cast(LaneHalves, _mm_unpacklo_epi8(_mm_setzero_si128(), bytes));
}
HEED_INLINE Floats load(const Half* p) { return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))); }
HEED_INLINE Floats load(const Brain* p) {
  const __m128i words = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
  return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(words), 16));
}
// The converting load of a byte vector costs GCC 12 twenty instructions when written with vectors; with this it is two.
HEED_INLINE Floats load(const std::int8_t* p) {
  return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p))));
}

HEED_INLINE void store(Half* p, Floats value) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm256_cvtps_ph(value, _MM_FROUND_TO_NEAREST_INT));
}
#endif

// An fp8 number in the upper byte of each half-word becomes one that the instruction knows: itself, or a 256th.
template <class V>
HEED_INLINE V halves_of(E5M2, V upper_bytes) {
  return upper_bytes;
}
// As for one: the sign from bit 15, the rest from bit 13 down, and bit 14 for a NaN.
template <class V>
HEED_INLINE V halves_of(E4M3, V upper_bytes) {
  const V halves = (upper_bytes >> 1) & static_cast<short>(0xBFFF);
  return halves | ((halves + static_cast<short>(0x80)) & static_cast<short>(0x4000));
}
HEED_INLINE Floats widen_fp8(E5M2, LaneHalves halves) { return widen_halves(halves); }
HEED_INLINE Floats widen_fp8(E4M3, LaneHalves halves) { return widen_halves(halves) * broadcast(256.0f); }

HEED_INLINE Floats load(const E4M3* p) { return widen_fp8(*p, halves_of(*p, load_upper_bytes(p))); }
HEED_INLINE Floats load(const E5M2* p) { return widen_fp8(*p, halves_of(*p, load_upper_bytes(p))); }

HEED_INLINE void spread(Half, Floats words, Floats (&out)[2]) {
  LaneHalves even, odd;
  part(__builtin_bit_cast(AllHalves, words.data), even, odd);
  out[0] = widen_halves(even);
  out[1] = widen_halves(odd);
}
template <class T>  // E4M3, E5M2
HEED_INLINE void spread(T type, Floats words, Floats (&out)[4]) {
  const AllHalves pairs = __builtin_bit_cast(AllHalves, words.data);
  LaneHalves first, second, third, fourth;
  part(halves_of(type, pairs << 8), first, third);
  part(halves_of(type, pairs & static_cast<short>(0xFF00)), second, fourth);
  out[0] = widen_fp8(type, first);
  out[1] = widen_fp8(type, second);
  out[2] = widen_fp8(type, third);
  out[3] = widen_fp8(type, fourth);
}
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

}  // namespace
}  // namespace heed::HEED_ROW

// Storage types in plain code: a load is exact, a store rounds to nearest even. No conversion goes through a subnormal
// float, so that a caller's flush-to-zero setting changes nothing.
#pragma once

#include "scalar/scalar.hpp"

namespace heed::HEED_ROW {

using storage::Brain;
using storage::E4M3;
using storage::E5M2;
using storage::Half;

inline float widen(float x) { return x; }
inline float widen(std::int8_t x) { return static_cast<float>(x); }
inline float widen(Brain x) { return from_bits(std::uint32_t{x.bits} << 16); }

// sign (1), exponent (5, bias 15), fraction (10)
inline float widen(Half x) {
  const std::uint32_t sign = (x.bits & 0x8000u) << 16, exponent = (x.bits >> 10) & 31u, fraction = x.bits & 0x3FFu;
  if (exponent == 0) {  // zero or a subnormal: a whole number of 2^-24
    return from_bits(bits(static_cast<float>(fraction) * 0x1p-24f) | sign);
  }
  if (exponent == 31) {  // infinity, or a NaN, which becomes quiet
    return from_bits(sign | 0x7F800000u | fraction << 13 | (fraction != 0 ? 0x00400000u : 0u));
  }
  return from_bits(sign | (exponent + 112) << 23 | fraction << 13);
}

// sign (1), exponent (5, bias 15), fraction (2)
inline float widen(E5M2 x) { return widen(Half{static_cast<std::uint16_t>(x.bits << 8)}); }

// sign (1), exponent (4, bias 7), fraction (3)
inline float widen(E4M3 x) {
  const std::uint32_t sign = (x.bits & 0x80u) << 24, exponent = (x.bits >> 3) & 15u, fraction = x.bits & 7u;
  if (exponent == 0) {  // zero or a subnormal: a whole number of 2^-9
    return from_bits(bits(static_cast<float>(fraction) * 0x1p-9f) | sign);
  }
  if (exponent == 15 && fraction == 7) return from_bits(sign | 0x7FF00000u);  // no infinity, and 0x7E is 448
  return from_bits(sign | (exponent + 120) << 23 | fraction << 20);
}

inline void narrow(float x, float* out) { *out = x; }

// Adding half of the last kept place (minus one if that place is even) carries exactly when rounding goes up.
inline void narrow(float x, Brain* out) {
  const std::uint32_t word = bits(x);
  if (x != x) {
    out->bits = static_cast<std::uint16_t>(word >> 16 | 0x40u);
  } else {
    out->bits = static_cast<std::uint16_t>((word + 0x7FFFu + (word >> 16 & 1u)) >> 16);
  }
}

inline void narrow(float x, Half* out) {
  const std::uint32_t sign = bits(x) >> 16 & 0x8000u, magnitude = bits(x) & 0x7FFFFFFFu;
  std::uint32_t half;
  if (magnitude > 0x7F800000u) {
    half = 0x7E00u | (magnitude >> 13 & 0x3FFu);
  } else if (magnitude >= 0x477FF000u) {  // 65520 and more round to infinity
    half = 0x7C00u;
  } else if (magnitude >= 0x38800000u) {  // 2^-14 and more: normal
    half = (magnitude + 0xFFFu + (magnitude >> 13 & 1u) - 0x38000000u) >> 13;
  } else {  // a whole number of 2^-24, which is the last place of 1/2: the addition rounds to it
    half = bits(from_bits(magnitude) + 0.5f) - 0x3F000000u;
  }
  out->bits = static_cast<std::uint16_t>(sign | half);
}

inline void narrow(float x, E5M2* out) {
  const std::uint32_t sign = bits(x) >> 24 & 0x80u, magnitude = bits(x) & 0x7FFFFFFFu;
  std::uint32_t code;
  if (magnitude > 0x7F800000u) {
    code = 0x7Eu | (magnitude >> 21 & 3u);
  } else if (magnitude >= 0x47700000u) {  // 61440 and more round to infinity
    code = 0x7Cu;
  } else if (magnitude >= 0x38800000u) {  // 2^-14 and more: normal
    code = (magnitude + 0xFFFFFu + (magnitude >> 21 & 1u) - 0x38000000u) >> 21;
  } else {  // a whole number of 2^-16, which is the last place of 128
    code = bits(from_bits(magnitude) + 128.0f) - 0x43000000u;
  }
  out->bits = static_cast<std::uint8_t>(sign | code);
}

inline void narrow(float x, E4M3* out) {
  const std::uint32_t sign = bits(x) >> 24 & 0x80u, magnitude = bits(x) & 0x7FFFFFFFu;
  std::uint32_t code;
  if (magnitude > 0x43E80000u) {  // beyond 464 a number would round to more than 448, and infinity is more too: NaN
    code = 0x7Fu;
  } else if (magnitude >= 0x3C800000u) {  // 2^-6 and more: normal
    code = (magnitude + 0x7FFFFu + (magnitude >> 20 & 1u) - 0x3C000000u) >> 20;
  } else {  // a whole number of 2^-9, which is the last place of 2^14
    code = bits(from_bits(magnitude) + 0x1p14f) - 0x46800000u;
  }
  out->bits = static_cast<std::uint8_t>(sign | code);
}

}  // namespace heed::HEED_ROW

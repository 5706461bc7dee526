// Storage types in plain code: a load is exact, a store rounds to nearest even. No conversion goes through a subnormal
// float, so that a caller's flush-to-zero setting changes nothing.
#pragma once

#include "scalar/scalar.hpp"

namespace heed::HEED_ROW {

using storage::Brain;
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

}  // namespace heed::HEED_ROW

// 2^x, tanh and ln, with the operations and constants of src/scalar in the same order: the bits are the same by
// construction of the arithmetic, and a test compares them.
#pragma once

#include "simd/storage.hpp"

namespace heed::HEED_ROW {
namespace {

// 2^x for x <= 0, at most 1.73 ULP over every float of [-126, 0] (2.03 on rows without fused multiply-add); +0 below
// -126; NaN for NaN. See src/scalar/scalar.hpp. 5 fused multiply-adds, 3 additions, 1 multiplication, 1 shift, 1
// comparison, 1 select.
HEED_INLINE Floats exp2_nonpositive(Floats x) {
  const Floats magic = broadcast(0x1.8p23f + 127.0f);
  const Floats t = x + magic;
  const Floats f = x - (t - magic);
  Floats p = fma(broadcast(0x1.59f49p-10f), f, broadcast(0x1.3cee68p-7f));
  p = fma(p, f, broadcast(0x1.c6bc98p-5f));
  p = fma(p, f, broadcast(0x1.ebf9aep-3f));
  p = fma(p, f, broadcast(0x1.62e422p-1f));
  p = fma(p, f, broadcast(1.0f));
  const Floats power = xsimd::bitwise_cast<float>(xsimd::bitwise_cast<std::uint32_t>(t) << 23);
  return zero_where(x < broadcast(-126.0f), p * power);
}

HEED_INLINE Floats exp_nonpositive(Floats d) { return exp2_nonpositive(d * broadcast(kLog2e)); }

HEED_INLINE float exp_nonpositive(float d) {
  alignas(64) float lanes[kLanes];
  exp_nonpositive(broadcast(d)).store_aligned(lanes);
  return lanes[0];
}

// tanh, at most 3.32 ULP over every float (3.63 without fused multiply-add); odd bit for bit, +-1 from 13 ln 2 on, NaN
// for NaN. See src/scalar/scalar.hpp. 6 fused multiply-adds, 2 products, 3 sums, 1 division, 2 selects, 1 shift.
HEED_INLINE Floats tanh(Floats x) {
  const Floats limit = broadcast(0x1.205966p+3f);
  x = select(x > limit, limit, x);
  x = select(x < negated(limit), negated(limit), x);
  const Floats magic = broadcast(0x1.8p23f + 63.0f);
  const Floats t = fma(x, broadcast(kLog2e), magic);
  const Floats n = t - magic;
  const Floats r = fma(n, broadcast(-0x1.62e43p-1f), x);
  const Floats y = r * r;
  Floats k = fma(broadcast(-0x1.9d9e52p-5f), y, broadcast(0x1.10ddd4p-3f));
  k = fma(k, y, broadcast(-0x1.55560ap-2f));
  k = fma(k, y, broadcast(1.0f));
  k = k * r;
  const Floats power = xsimd::bitwise_cast<float>(xsimd::bitwise_cast<std::uint32_t>(t) << 24);
  const Floats a = broadcast(0.5f) - power, b = broadcast(0.5f) + power;
  const Floats minus_a = negated(a);
  return fma(b, k, minus_a) / fma(minus_a, k, b);
}

// ln(l), at most 0.93 ULP over every positive float (0.95 on rows without fused multiply-add). Once per row, so in
// scalar code; the bits of a float are told apart so that a caller's flush-to-zero setting changes nothing. See
// src/scalar/scalar.hpp for the derivation.
HEED_INLINE float ln(float l) {
  std::uint32_t word = bits_of(l);
  if (word << 1 == 0) return -kInfinity;
  if (word > 0x7F800000u) return float_of(0x7FC00000u);
  if (word == 0x7F800000u) return l;

  int e = 0;
  if (word < 0x00800000u) {
    const int shift = __builtin_clz(word) - 8;
    word <<= shift;
    e = -shift;
  }
  constexpr std::uint32_t kSqrtHalf = 0x3F3504F3u;
  const std::uint32_t above = word - kSqrtHalf;
  e += static_cast<std::int32_t>(above) >> 23;
  const float r = float_of((above & 0x007FFFFFu) + kSqrtHalf) - 1.0f;  // exact

  float p = -0x1.2a6f78p-4f;
  p = fma(p, r, 0x1.015974p-3f);
  p = fma(p, r, -0x1.0e96ccp-3f);
  p = fma(p, r, 0x1.239ce2p-3f);
  p = fma(p, r, -0x1.5466fep-3f);
  p = fma(p, r, 0x1.99944ep-3f);
  p = fma(p, r, -0x1.000234p-2f);
  p = fma(p, r, 0x1.55557p-2f);
  p = fma(p, r, -0.5f);
  const float tail = p * (r * r);

  const float exponent = static_cast<float>(e);
  const float high = exponent * 0x1.62e4p-1f;
  const float sum = high + r;
  const float lost = (high - sum) + r;
  return sum + (lost + fma(exponent, 0x1.7f7d1cp-20f, tail));
}

}  // namespace
}  // namespace heed::HEED_ROW

// The scalar twin: heed's arithmetic in plain loops. This is the list that every row follows, step by step; each twin
// quotes the steps that are its own.
//
// For one row of scores, keys counted from the sequence's own first key:
//  1. q'_d = q_d * scale, rounded once.
//  2. s = fma(q'_d, k_d, s) for d = 0 ... D-1, from +0.
//  3. Where on, each one rounded operation: soft-cap, ALiBi, bias, callback.
//  4. Exclusion is a select by the mask, never an addition. A row, block or split is empty by the mask, never because
//     m = -inf.
//  5. Per block with an attended key: m' = max(m, scores); mu = m', or 0 if m' = -inf; a = 2^((m - mu) * log2e);
//     p_j = 2^((s_j - mu) * log2e). The difference is one rounded operation, its product with log2e the next.
//  6. Row sum: 16 lanes, lane = j mod 16; a block's lane sums start at +0, one add per panel;
//     L = fma(L, a, block sum) per lane; the fixed tree once, at the end of the split.
//  7. Weighted sum: b = fma(p_j, v_j, b) over attended j in order, from +0 per block; o = fma(o, a, b).
//  8. Each split starts a fresh state (m, l, o); splits fold left to right: M = max; mu = M, or 0 if M = -inf;
//     x, y = 2^((m - mu) * log2e) for each; l = fma(l1, x, l2 * y); o = fma(o1, x, o2 * y).
//  9. Finish: a sink joins as in 8 with l2 = 1, o2 = 0; out = o / l + 0; if l = 0, out = o + 0 and lse = -inf;
//     lse = m + ln l; every NaN becomes the canonical one; one rounding to the output type, where -0 becomes +0.
//
// This file holds the functions of one number. It includes nothing of src/simd: agreement of the two is a test, not a
// consequence of shared code.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

#include "arithmetic.hpp"
#include "kernels/kernels.hpp"

#include "kernels/declare_row.inc"

namespace heed::HEED_ROW {

// Before a loop over lanes or columns: it stays a loop, which a compiler may then turn into vectors. Unrolled
// completely, as GCC would, it is sixteen scalar statements, and no measure of what plain code can do.
#define HEED_LANES _Pragma("GCC unroll 1")

inline constexpr float kInfinity = __builtin_inff();

inline std::uint32_t bits(float x) {
  std::uint32_t word;
  std::memcpy(&word, &x, sizeof word);
  return word;
}

inline float from_bits(std::uint32_t word) {
  float x;
  std::memcpy(&x, &word, sizeof x);
  return x;
}

// One rounding. A builtin, because std::fma may be an inline function of its own with weak linkage.
inline float fma(float a, float b, float c) { return __builtin_fmaf(a, b, c); }

// The larger; which one for a NaN is unspecified, so nothing may depend on it.
inline float max(float a, float b) { return a > b ? a : b; }

// -0 and every NaN have one form in what leaves the library.
inline float canonical(float x) { return x != x ? from_bits(0x7FC00000u) : x + 0.0f; }

// 2^x for x <= 0, at most 1.73 ULP from the true value over every float of [-126, 0] (a test walks all of them).
// Exactly 1 at 0, exactly +0 below -126, NaN for NaN. For x > 0, which only a NaN row can ask for, any value.
inline float exp2_nonpositive(float x) {
  // Adding 1.5 * 2^23 leaves no bits for a fraction: t holds the integer nearest to x in its last bits. The extra 127
  // is the exponent's bias, so that shifting those bits up to the exponent gives 2^n itself.
  constexpr float kMagic = 0x1.8p23f + 127.0f;
  const float t = x + kMagic;
  const float n = t - kMagic;
  const float f = x - n;  // exact, |f| <= 1/2

  // 2^f on [-1/2, 1/2]: minimax with the constant held at 1, then the last bits searched for the smallest error of this
  // very sequence of roundings.
  float p = 0x1.59f49p-10f;
  p = fma(p, f, 0x1.3cee68p-7f);
  p = fma(p, f, 0x1.c6bc98p-5f);
  p = fma(p, f, 0x1.ebf9aep-3f);
  p = fma(p, f, 0x1.62e422p-1f);
  p = fma(p, f, 1.0f);

  // A multiplication, not an addition to the exponent's bits: a NaN stays a NaN whatever its payload.
  const float y = p * from_bits(bits(t) << 23);
  return x < -126.0f ? 0.0f : y;
}

// e^d for d <= 0 as the softmax uses it: relative error at most (4 + 1.25 |d|) * 2^-24, most of it from log2e itself.
inline float exp_nonpositive(float d) { return exp2_nonpositive(d * kLog2e); }

// tanh, at most 3.32 ULP over every float (a test walks all of them). Odd bit for bit; NaN for NaN; a subnormal x needs
// a caller without flush-to-zero.
inline float tanh(float x) {
  // From 13 ln 2 on the result is +-1. Both selects keep a NaN.
  constexpr float kLimit = 0x1.205966p+3f;
  x = x > kLimit ? kLimit : x;
  x = x < -kLimit ? -kLimit : x;

  // x = n ln 2 + r with |r| <= ln(2) / 2. The 63 makes bits(t) << 24 the float 4^n / 2.
  constexpr float kMagic = 0x1.8p23f + 63.0f;
  const float t = fma(x, kLog2e, kMagic);
  const float n = t - kMagic;
  const float r = fma(-n, 0x1.62e43p-1f, x);

  // k = tanh r, odd: a product with r comes last, so that r = -0 stays. Coefficients near the minimax, the last bits
  // searched for the smallest error of the whole function.
  const float y = r * r;
  float k = fma(-0x1.9d9e52p-5f, y, 0x1.10ddd4p-3f);
  k = fma(k, y, -0x1.55560ap-2f);
  k = fma(k, y, 1.0f);
  k = k * r;

  // tanh(n ln 2) = (4^n - 1) / (4^n + 1) = -a / b, so tanh x = (b k - a) / (b - a k). a is +0 at n = 0: the sign of a
  // zero is kept.
  const float power = from_bits(bits(t) << 24);
  const float a = 0.5f - power, b = 0.5f + power;
  return fma(b, k, -a) / fma(-a, k, b);
}

// ln(l) for l >= 0, at most 0.93 ULP over every positive float, subnormals included (a test walks all of them).
// ln(1) = +0, ln(0) = -inf, ln(inf) = inf; NaN for NaN and below zero. The cases are told apart by bits, so that a
// caller's flush-to-zero setting changes nothing.
inline float ln(float l) {
  std::uint32_t word = bits(l);
  if (word << 1 == 0) return -kInfinity;
  if (word > 0x7F800000u) return from_bits(0x7FC00000u);
  if (word == 0x7F800000u) return l;

  // l = 2^e * m. A subnormal is shifted until its leading bit is the implicit one.
  int e = 0;
  if (word < 0x00800000u) {
    const int shift = __builtin_clz(word) - 8;
    word <<= shift;
    e = -shift;
  }
  // m in [sqrt(1/2), sqrt(2)): with the bits of sqrt(1/2) subtracted, the mantissa's carry chooses the exponent.
  constexpr std::uint32_t kSqrtHalf = 0x3F3504F3u;
  const std::uint32_t above = word - kSqrtHalf;
  e += static_cast<std::int32_t>(above) >> 23;
  const float r = from_bits((above & 0x007FFFFFu) + kSqrtHalf) - 1.0f;  // exact

  // ln(1 + r) = r + r^2 (-1/2 + r P(r)), P minimax for the relative error of the whole.
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

  // ln l = (e * high + r) + (e * low + tail): the product with the 16-bit high part of ln 2 is exact, and what rounding
  // takes from the large sum is found exactly and joins the small one.
  const float exponent = static_cast<float>(e);
  const float high = exponent * 0x1.62e4p-1f;
  const float sum = high + r;
  const float lost = (high - sum) + r;
  return sum + (lost + fma(exponent, 0x1.7f7d1cp-20f, tail));
}

}  // namespace heed::HEED_ROW

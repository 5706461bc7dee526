// The model's functions of one number: the same constants as heed's, each operation written down again.
#include <cmath>

#include "model.hpp"

namespace heed::test {

// 2^x = 2^n 2^f with n + 127 the integer nearest to x + 127, ties to even.
float model_exp2(float x) {
  if (std::isnan(x)) return x;
  if (x < -126.0f) return 0.0f;
  const double n = std::nearbyint(static_cast<double>(x) + 127.0) - 127.0;
  const float f = static_cast<float>(static_cast<double>(x) - n);
  float y = 0x1.59f49p-10f;
  for (const float c : {0x1.3cee68p-7f, 0x1.c6bc98p-5f, 0x1.ebf9aep-3f, 0x1.62e422p-1f, 1.0f}) y = std::fma(y, f, c);
  return std::ldexp(y, static_cast<int>(n));
}

// l = 2^e m with m in [sqrt(1/2), sqrt(2)); ln l = e ln 2 + ln m, the large parts and what rounding them lost apart.
float model_ln(float l) {
  if (l == 0.0f) return -kInfinity;
  if (!(l < kInfinity)) return l;
  int e = 0;
  float m = std::frexp(l, &e);
  if (m < 0x1.6a09e6p-1f) {
    m = m + m;
    e = e - 1;
  }
  const float r = m - 1.0f;
  float y = -0x1.2a6f78p-4f;
  for (const float c : {0x1.015974p-3f, -0x1.0e96ccp-3f, 0x1.239ce2p-3f, -0x1.5466fep-3f, 0x1.99944ep-3f,
                        -0x1.000234p-2f, 0x1.55557p-2f, -0.5f}) {
    y = std::fma(y, r, c);
  }
  const float square = r * r;
  const float small = y * square;
  const float exponent = static_cast<float>(e);
  const float high = exponent * 0x1.62e4p-1f;
  const float sum = high + r;
  const float lost = (high - sum) + r;
  const float low = std::fma(exponent, 0x1.7f7d1cp-20f, small);
  return sum + (lost + low);
}

// tanh x = (b k - a) / (b - a k) with x = n ln 2 + r, k = tanh r, tanh(n ln 2) = -a / b. Beyond 13 ln 2 it is +-1.
float model_tanh(float x) {
  if (std::isnan(x)) return x;
  const float limit = 0x1.205966p+3f;
  if (std::fabs(x) > limit) x = std::copysign(limit, x);
  const double n = std::nearbyint(static_cast<double>(x) * static_cast<double>(1.44269504f));
  const float r = std::fma(-static_cast<float>(n), 0x1.62e43p-1f, x);
  const float y = r * r;
  float k = -0x1.9d9e52p-5f;
  for (const float c : {0x1.10ddd4p-3f, -0x1.55560ap-2f, 1.0f}) k = std::fma(k, y, c);
  k = k * r;
  const float power = std::ldexp(0.5f, 2 * static_cast<int>(n));  // 4^n / 2
  const float a = 0.5f - power, b = 0.5f + power;
  return std::fma(b, k, -a) / std::fma(-a, k, b);
}

}  // namespace heed::test

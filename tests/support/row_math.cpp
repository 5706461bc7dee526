// 2^x, e^d, ln and tanh of one row: compiled with that row's flags, from the header that its kernels include.
#include <cstdint>

#ifdef HEED_ROW_ARCH
#include "simd/math.hpp"
#else
#include "scalar/scalar.hpp"
#endif

namespace heed::HEED_ROW {

#ifdef HEED_ROW_ARCH

void exp2_of(const float* x, float* y, std::int64_t n) {
  for (std::int64_t i = 0; i < n; i += kLanes) store(y + i, exp2_nonpositive(load(x + i)));
}
void exp_of(const float* d, float* y, std::int64_t n) {
  for (std::int64_t i = 0; i < n; i += kLanes) store(y + i, exp_nonpositive(load(d + i)));
}
void tanh_of(const float* x, float* y, std::int64_t n) {
  for (std::int64_t i = 0; i < n; i += kLanes) store(y + i, tanh(load(x + i)));
}

#else

void exp2_of(const float* x, float* y, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) y[i] = exp2_nonpositive(x[i]);
}
void exp_of(const float* d, float* y, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) y[i] = exp_nonpositive(d[i]);
}
void tanh_of(const float* x, float* y, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) y[i] = tanh(x[i]);
}

#endif

void ln_of(const float* l, float* y, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) y[i] = ln(l[i]);
}

}  // namespace heed::HEED_ROW

// The three kernels, one row at a time, as a textbook has them.
#include <cmath>
#include <limits>

#include "heed/reference.hpp"

namespace heed::reference {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

template <typename T>
double maximum(const T* x, std::int64_t n) {
  double m = -kInf;
  for (std::int64_t j = 0; j < n; ++j)
    if (x[j] > m) m = x[j];  // a NaN is passed over here; it makes the sum NaN
  return m;
}

// weights[j] = exp(x[j] - m) / l and lse = m + ln(l), with l the sum of all exp(x[j] - m). Subtracting the maximum m
// changes nothing in exact arithmetic and keeps exp from overflowing.
template <typename T>
double softmax_row(const T* x, double* weights, std::int64_t n) {
  const double m = maximum(x, n);
  const double shift = m == -kInf ? 0 : m;  // -inf - -inf would be NaN
  double l = 0;
  for (std::int64_t j = 0; j < n; ++j) l += std::exp(x[j] - shift);
  for (std::int64_t j = 0; j < n; ++j) weights[j] = l == 0 ? 0 : std::exp(x[j] - shift) / l;
  return l == 0 ? -kInf : m + std::log(l);
}

template <typename T>
bool has_nan(const T* x, std::int64_t n) {
  for (std::int64_t j = 0; j < n; ++j)
    if (std::isnan(x[j])) return true;
  return false;
}

// Alone, a row with +inf and no NaN keeps its lse, which is +inf; the weights are inf / inf.
template <typename T>
double softmax_alone(const T* x, double* weights, std::int64_t n) {
  const bool infinite = maximum(x, n) == kInf && !has_nan(x, n);
  const double lse = softmax_row(x, weights, n);
  return infinite ? kInf : lse;
}

template <typename T>
void sum_rows(const T* weights, const float* v, std::int64_t n, std::int64_t Dv, const float* accumulator,
              double* out) {
  for (std::int64_t d = 0; d < Dv; ++d) {
    double sum = accumulator ? accumulator[d] : 0;
    for (std::int64_t j = 0; j < n; ++j) sum += static_cast<double>(weights[j]) * v[j * Dv + d];
    out[d] = sum + 0.0;  // -0 becomes +0
  }
}

// The division by l comes last, so that out is a mean of the v[j] however small the weights are.
template <typename T>
double attend_row(const T* s, const float* v, std::int64_t n, std::int64_t Dv, double* out) {
  const double m = maximum(s, n);
  const double shift = m == -kInf ? 0 : m;
  double l = 0;
  for (std::int64_t d = 0; d < Dv; ++d) out[d] = 0;
  for (std::int64_t j = 0; j < n; ++j) {
    const double p = std::exp(s[j] - shift);
    l += p;
    for (std::int64_t d = 0; d < Dv; ++d) out[d] += p * v[j * Dv + d];
  }
  for (std::int64_t d = 0; d < Dv; ++d) out[d] = (l == 0 ? out[d] : out[d] / l) + 0.0;
  return l == 0 ? -kInf : m + std::log(l);
}

}  // namespace

double dot(const float* a, const float* b, std::int64_t n) noexcept {
  double sum = 0;
  for (std::int64_t i = 0; i < n; ++i) sum += static_cast<double>(a[i]) * b[i];
  return sum;
}

void scores(const float* q, const float* k, std::int64_t R, std::int64_t n, std::int64_t D, double scale,
            double* s) noexcept {
  for (std::int64_t r = 0; r < R; ++r) {
    for (std::int64_t j = 0; j < n; ++j) {
      double sum = 0;
      for (std::int64_t d = 0; d < D; ++d) sum += scale * q[r * D + d] * k[j * D + d];
      s[r * n + j] = sum;
    }
  }
}

double softmax(const float* x, double* weights, std::int64_t n) noexcept { return softmax_alone(x, weights, n); }
double softmax(const double* x, double* weights, std::int64_t n) noexcept { return softmax_alone(x, weights, n); }

void weighted_sum(const float* weights, const float* v, std::int64_t n, std::int64_t Dv, const float* accumulator,
                  double* out) noexcept {
  sum_rows(weights, v, n, Dv, accumulator, out);
}
void weighted_sum(const double* weights, const float* v, std::int64_t n, std::int64_t Dv, const float* accumulator,
                  double* out) noexcept {
  sum_rows(weights, v, n, Dv, accumulator, out);
}

double attend(const float* s, const float* v, std::int64_t n, std::int64_t Dv, double* out) noexcept {
  return attend_row(s, v, n, Dv, out);
}
double attend(const double* s, const float* v, std::int64_t n, std::int64_t Dv, double* out) noexcept {
  return attend_row(s, v, n, Dv, out);
}

}  // namespace heed::reference

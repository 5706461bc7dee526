// The kernels one by one, for embedding single steps, teaching and benchmarks. See heed.h for shapes, order of
// operations and errors.
#pragma once

#include <cstdint>

#include "heed/status.hpp"

namespace heed {

// A row-major matrix of floats that somebody else owns: element (r, c) is data[r * stride + c]; stride 0 means cols.
struct Matrix : heed_matrix {
  Matrix(const float* data_, std::int64_t rows_, std::int64_t cols_, std::int64_t stride_ = 0) noexcept
      : heed_matrix{data_, rows_, cols_, stride_, HEED_F32} {}
};

struct MutableMatrix : heed_matrix_out {
  MutableMatrix(float* data_, std::int64_t rows_, std::int64_t cols_, std::int64_t stride_ = 0) noexcept
      : heed_matrix_out{data_, rows_, cols_, stride_, HEED_F32} {}
};

[[nodiscard]] inline float dot(const float* a, const float* b, std::int64_t n) noexcept { return heed_dot(a, b, n); }

inline float softmax(const float* x, float* weights, std::int64_t n) noexcept { return heed_softmax(x, weights, n); }

// s[r][j] = (scale * q[r]) . k[j]
inline Status scores(const Matrix& q, const Matrix& k, float scale, const MutableMatrix& s) noexcept {
  Status status;
  heed_scores(&q, &k, scale, &s, &status.raw());
  return status;
}

// out[r] = sum over j of weights[r][j] * v[j]
inline Status weighted_sum(const Matrix& weights, const Matrix& v, const MutableMatrix& out) noexcept {
  Status status;
  heed_weighted_sum(&weights, &v, nullptr, &out, &status.raw());
  return status;
}

// out[r] = accumulator[r] + sum over j of weights[r][j] * v[j]
inline Status weighted_sum(const Matrix& weights, const Matrix& v, const Matrix& accumulator,
                           const MutableMatrix& out) noexcept {
  Status status;
  heed_weighted_sum(&weights, &v, &accumulator, &out, &status.raw());
  return status;
}

// out[r] = softmax(s[r]) . v, and lse[r] unless null
inline Status attend(const Matrix& s, const Matrix& v, const MutableMatrix& out, float* lse = nullptr) noexcept {
  Status status;
  heed_attend(&s, &v, &out, lse, &status.raw());
  return status;
}

}  // namespace heed

// The textbook formula in double precision, written to be read: what heed's results are measured against.
#pragma once

#include <cstdint>
#include <vector>

namespace heed::reference {

// Row-major matrix that owns its numbers.
struct Matrix {
  std::int64_t rows = 0, cols = 0;
  std::vector<double> data;

  Matrix() = default;
  Matrix(std::int64_t rows, std::int64_t cols) : rows(rows), cols(cols), data(static_cast<std::size_t>(rows * cols)) {}
  double* operator[](std::int64_t r) { return data.data() + r * cols; }
  const double* operator[](std::int64_t r) const { return data.data() + r * cols; }
};

}  // namespace heed::reference

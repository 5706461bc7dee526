// The functions of one number that every row has of its own.
#pragma once

#include <cstdint>

#include "support/rows.hpp"

namespace heed::test {

// From x[0 ... n) to y[0 ... n); n is a multiple of 16.
using MathFunction = void (*)(const float* x, float* y, std::int64_t n);
struct RowMath {
  MathFunction exp2, exp, ln, tanh;
};

const RowMath& math_of(const Table& row);

}  // namespace heed::test

// e^d in double, with the errors that heed's own may have.
#pragma once

#include <cmath>

#include "support/floats.hpp"

namespace heed::test::kernel {

// e^d for d <= 0: +0 where heed's result is, below 2^-126.
inline double exact_weight(double d) { return d * 1.4426950408889634 < -126 ? 0 : std::exp(d); }

// Roundings (of 2^-24) in a weight: those of e^d, (4 + 1.25 |d|), and that of the difference d itself.
inline double weight_roundings(double d) { return 4 + 2.25 * std::abs(d); }

// So close to 2^-126 that a rounding decides whether the result is 0.
inline bool at_the_edge(double d) { return std::abs(d * 1.4426950408889634 + 126) < 1e-4; }

// What a weight may be wrong by at the edge, whatever its roundings.
inline constexpr double kEdge = 0x1p-125;

}  // namespace heed::test::kernel

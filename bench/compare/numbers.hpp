// Numbers of every storage type as doubles, and distances between them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "heed/heed.h"

namespace heed::compare {

std::size_t type_bytes(heed_type type);

// n elements of f32, f16, bf16 or int8 as doubles: exact.
std::vector<double> widen(heed_type type, const std::byte* data, std::int64_t n);

std::vector<float> to_floats(const std::vector<double>& x);

// |got - exact| in units of the last place of exact as a float. 0 when both are NaN or the same infinity, else infinite
// when either is not finite.
double ulp_error(float got, double exact);

// |got - exact|, with the same rules.
double absolute_error(double got, double exact);

// The same bits, all NaNs counting as one.
bool same_bits(float a, float b);

// NaN agrees with NaN, an infinity with itself only.
bool agree(double got, double expected, double tolerance);

}  // namespace heed::compare

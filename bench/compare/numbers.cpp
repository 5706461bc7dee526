#include "numbers.hpp"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

namespace heed::compare {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

double from_f16(std::uint16_t bits) {
  const int exponent = bits >> 10 & 31;
  const int fraction = bits & 1023;
  double magnitude = exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(fraction + 1024, exponent - 25);
  if (exponent == 31) magnitude = fraction == 0 ? kInf : std::numeric_limits<double>::quiet_NaN();
  return bits >> 15 ? -magnitude : magnitude;
}

double from_e4m3(std::uint8_t bits) {
  const int exponent = bits >> 3 & 15;
  const int fraction = bits & 7;
  double magnitude = exponent == 0 ? std::ldexp(fraction, -9) : std::ldexp(fraction + 8, exponent - 10);
  if ((bits & 127) == 127) magnitude = std::numeric_limits<double>::quiet_NaN();
  return bits >> 7 ? -magnitude : magnitude;
}

template <typename T>
T load(const std::byte* data, std::int64_t i) {
  T value;
  std::memcpy(&value, data + static_cast<std::size_t>(i) * sizeof value, sizeof value);
  return value;
}

double widen_one(heed_type type, const std::byte* data, std::int64_t i) {
  switch (type) {
    case HEED_F16:
      return from_f16(load<std::uint16_t>(data, i));
    case HEED_BF16:
      return std::bit_cast<float>(std::uint32_t{load<std::uint16_t>(data, i)} << 16);
    case HEED_INT8:
      return load<std::int8_t>(data, i);
    case HEED_FP8_E4M3:
      return from_e4m3(load<std::uint8_t>(data, i));
    case HEED_FP8_E5M2:
      return from_f16(static_cast<std::uint16_t>(load<std::uint8_t>(data, i) << 8));
    default:
      return load<float>(data, i);
  }
}

}  // namespace

std::size_t type_bytes(heed_type type) { return type == HEED_F32 ? 4 : type <= HEED_BF16 ? 2 : 1; }

std::vector<double> widen(heed_type type, const std::byte* data, std::int64_t n) {
  std::vector<double> wide(static_cast<std::size_t>(n));
  for (std::int64_t i = 0; i < n; ++i) wide[static_cast<std::size_t>(i)] = widen_one(type, data, i);
  return wide;
}

std::vector<float> to_floats(const std::vector<double>& x) { return std::vector<float>(x.begin(), x.end()); }

double absolute_error(double got, double exact) {
  if (std::isnan(got) && std::isnan(exact)) return 0;
  if (got == exact) return 0;  // infinities included
  const double error = std::fabs(got - exact);
  return std::isfinite(error) ? error : kInf;
}

double ulp_error(float got, double exact) {
  const double error = absolute_error(got, exact);
  if (error == 0 || error == kInf) return error;
  const float magnitude = std::fabs(static_cast<float>(exact));
  if (std::isinf(magnitude)) return kInf;
  const int exponent = magnitude < std::numeric_limits<float>::min() ? -126 : std::ilogb(magnitude);
  return error / std::ldexp(1.0, exponent - 23);
}

bool same_bits(float a, float b) {
  return (std::isnan(a) && std::isnan(b)) || std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b);
}

bool agree(double got, double expected, double tolerance) {
  if (std::isnan(got) || std::isnan(expected)) return std::isnan(got) && std::isnan(expected);
  if (std::isinf(got) || std::isinf(expected)) return got == expected;
  return std::fabs(got - expected) <= tolerance;
}

}  // namespace heed::compare

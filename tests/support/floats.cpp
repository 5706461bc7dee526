#include "support/floats.hpp"

#include <cmath>
#include <cstdio>

namespace heed::test {

double ulp_error(float x, double exact) {
  if (is_nan(x) || std::isnan(exact)) return is_nan(x) && std::isnan(exact) ? 0 : HUGE_VAL;
  if (double{x} == exact) return 0;
  int exponent = 0;
  std::frexp(exact, &exponent);  // exact is in [2^(exponent-1), 2^exponent)
  return std::abs(double{x} - exact) / std::ldexp(1.0, std::max(exponent - 24, -149));
}

std::string first_difference(const Numbers& a, const Numbers& b) {
  if (a.size() != b.size()) return "different sizes";
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (bits_of(a[i]) == bits_of(b[i]) || (is_nan(a[i]) && is_nan(b[i]))) continue;
    char text[120];
    std::snprintf(text, sizeof text, "number %zu of %zu: %a (%08X) and %a (%08X)", i, a.size(), double{a[i]},
                  bits_of(a[i]), double{b[i]}, bits_of(b[i]));
    return text;
  }
  return {};
}

std::uint64_t Random::next() {  // splitmix64
  std::uint64_t z = (state_ += 0x9E3779B97F4A7C15u);
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

std::int64_t Random::between(std::int64_t low, std::int64_t high) {
  return low + static_cast<std::int64_t>(next() % static_cast<std::uint64_t>(high - low + 1));
}

double Random::uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }

float Random::number(Kind kind) {
  const auto tame = static_cast<float>(2 * uniform() - 1);
  if (kind == Kind::kTame) return tame;
  if (kind == Kind::kWide) return std::ldexp(tame, static_cast<int>(between(-24, 24)));
  if (!once_in(8)) return tame * 8;
  const std::uint32_t sign = once_in(2) ? 0x80000000u : 0;
  const auto payload = static_cast<std::uint32_t>(between(1, 0x7FFFFF));
  switch (between(0, kind == Kind::kHostile ? 5 : 3)) {
    case 0:
      return float_of(sign);  // zero
    case 1:
      return float_of(sign | payload);  // subnormal
    case 2:
      return float_of(sign | 0x7F7FFFFFu);  // FLT_MAX
    case 3:
      return float_of(sign | (0x7E800000u + payload / 2));  // huge
    case 4:
      return float_of(sign | 0x7F800000u);  // infinity
    default:
      return float_of(sign | 0x7F800000u | payload);  // NaN, quiet or signalling
  }
}

Numbers Random::numbers(Kind kind, std::int64_t n) {
  Numbers out(static_cast<std::size_t>(n));
  // Half of the hostile sequences hold few of them, so that not every result is NaN.
  const bool sparse = once_in(2);
  for (float& x : out) x = number(sparse && !once_in(16) ? Kind::kTame : kind);
  return out;
}

const std::vector<std::int64_t>& lengths() {
  static const std::vector<std::int64_t> all = [] {
    std::vector<std::int64_t> out;
    for (std::int64_t n = 0; n <= 49; ++n) out.push_back(n);
    for (std::int64_t n : {63, 64, 65, 127, 128, 129, 255, 257, 511, 512, 513, 639, 1023, 1025, 2051}) out.push_back(n);
    return out;
  }();
  return all;
}

const std::vector<std::int64_t>& head_sizes() {
  static const std::vector<std::int64_t> all = {1,  2,  3,   4,   5,   7,   8,   12,  13,  15,  16,
                                                17, 24, 31,  32,  33,  40,  63,  64,  65,  72,  80,
                                                96, 97, 100, 112, 120, 128, 129, 192, 255, 256, 257};
  return all;
}

void Sum::add(double term) {
  value += term;
  if (std::isfinite(term)) magnitude += std::abs(term);
}

bool Sum::allows(float got, double roundings, double terms) const {
  // On the way a sum of such terms may overflow, in one order and not in another.
  if (magnitude > kMost / 2.0) return true;
  if (std::isnan(value)) return is_nan(got);
  if (std::isinf(value)) return double{got} == value;
  const double relative = roundings * kUnit / (1 - roundings * kUnit);
  return std::abs(got - value) <= relative * magnitude + terms * 0x1p-149;
}

}  // namespace heed::test

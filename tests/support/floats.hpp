// Bits of floats, and the numbers that tests feed to kernels.
#pragma once

#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

namespace heed::test {

using Numbers = std::vector<float>;

inline constexpr float kInfinity = std::numeric_limits<float>::infinity();
inline constexpr float kMost = std::numeric_limits<float>::max();
inline constexpr double kUnit = 0x1p-24;  // half an ULP of 1: what one rounding may cost

inline std::uint32_t bits_of(float x) {
  std::uint32_t word;
  std::memcpy(&word, &x, sizeof word);
  return word;
}

inline float float_of(std::uint32_t word) {
  float x;
  std::memcpy(&x, &word, sizeof x);
  return x;
}

inline bool is_nan(float x) { return (bits_of(x) & 0x7FFFFFFFu) > 0x7F800000u; }
inline bool is_finite(float x) { return (bits_of(x) & 0x7F800000u) != 0x7F800000u; }

// What leaves the library: one NaN for all, never -0.
inline bool is_canonical(float x) { return is_nan(x) ? bits_of(x) == 0x7FC00000u : bits_of(x) != 0x80000000u; }

// Distance from the exact value in ULP of the float nearest to it.
double ulp_error(float x, double exact);

// Where two results differ in a bit, all NaNs being the same one; empty if nowhere.
std::string first_difference(const Numbers& a, const Numbers& b);

enum class Kind {
  kTame,     // uniform in [-1, 1]
  kWide,     // magnitudes from 2^-24 to 2^24
  kHostile,  // an eighth of them NaNs with any payload, infinities, zeros of either sign, subnormals, +-FLT_MAX
  kFinite    // the same without NaN and infinity
};
inline constexpr Kind kKinds[] = {Kind::kTame, Kind::kWide, Kind::kHostile, Kind::kFinite};

// Repeatable numbers.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next();
  std::int64_t between(std::int64_t low, std::int64_t high);  // both included
  double uniform();                                           // [0, 1)
  bool once_in(int n) { return between(1, n) == 1; }
  float number(Kind kind);
  Numbers numbers(Kind kind, std::int64_t n);

 private:
  std::uint64_t state_;
};

// 0 ... 3 panels + 1, around a block and a split, and a few long ones.
const std::vector<std::int64_t>& lengths();
// Head sizes from 1 to 257.
const std::vector<std::int64_t>& head_sizes();

// An exact sum of products, and how far a chain of roundings may be from it.
struct Sum {
  double value = 0, magnitude = 0;
  void add(double term);
  // True if `got` is what a float summation with this many roundings on the way from each term to the result may give.
  bool allows(float got, double roundings, double terms) const;
};

}  // namespace heed::test

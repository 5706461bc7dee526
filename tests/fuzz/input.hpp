// The bytes of one fuzz input, read as choices. Reading is pure: the same bytes give the same call, and behind the end
// every byte is 0, which always chooses what is simplest.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>

#include "support/floats.hpp"

namespace heed::fuzz {

using Int = std::int64_t;

class Input {
 public:
  Input(const std::uint8_t* data, std::size_t size) : at_(data), end_(data + size) {}

  const std::uint8_t* data() const { return at_; }
  std::size_t size() const { return static_cast<std::size_t>(end_ - at_); }

  std::uint8_t byte() { return at_ == end_ ? std::uint8_t{0} : *at_++; }
  bool flag() { return byte() % 2 != 0; }
  // One byte, so at most 256 numbers from `low` on.
  Int between(Int low, Int high) { return low + byte() % (high - low + 1); }
  bool once_in(int n) { return byte() % n == n - 1; }
  template <class T, std::size_t n>
  T pick(const T (&values)[n]) {
    return values[byte() % n];
  }
  std::uint64_t word() {
    std::uint64_t word = 0;
    for (int i = 0; i < 8; ++i) word = word << 8 | byte();
    return word;
  }

  // Numbers that programs get wrong. `now`: what would be right.
  Int edge(Int now) {
    constexpr Int k1 = 1;
    const Int fixed[] = {0,           -1,
                         1,           2,
                         -2,          3,
                         15,          16,
                         17,          k1 << 15,
                         k1 << 24,    1 + (k1 << 24),
                         INT32_MAX,   k1 << 31,
                         k1 << 32,    k1 << 59,
                         k1 << 60,    1 + (k1 << 60),
                         k1 << 61,    1 + (k1 << 61),
                         -(k1 << 61), k1 << 62,
                         INT64_MAX,   INT64_MIN,
                         -INT64_MAX,  INT32_MIN,
                         -16};
    const std::uint8_t choice = byte();
    const auto bits = static_cast<std::uint64_t>(now);
    if (choice < 8) return static_cast<Int>(bits + 1 + choice / 2);
    if (choice < 16) return static_cast<Int>(bits - 1 - choice % 4);
    if (choice < 20) return static_cast<Int>(2 * bits);
    if (choice < 24) return static_cast<Int>(0 - bits);
    if (choice < 32) return static_cast<Int>(word());
    if (choice < 48) return between(-9, 200);
    return fixed[choice % std::size(fixed)];
  }
  std::int32_t edge32(std::int32_t now) {
    const Int wide = edge(now);
    return static_cast<std::int32_t>(wide > INT32_MAX ? INT32_MAX : wide < INT32_MIN ? INT32_MIN : wide);
  }
  float edge_float() {
    const float fixed[] = {0.0f,
                           -0.0f,
                           1.0f,
                           -1.0f,
                           test::kInfinity,
                           -test::kInfinity,
                           test::float_of(0x7FC00000u),
                           test::kMost,
                           -test::kMost,
                           1e-40f,
                           1e30f,
                           -1e-30f,
                           0.5f};
    const std::uint8_t choice = byte();
    if (choice < 32) return test::float_of(static_cast<std::uint32_t>(word()));
    return fixed[choice % std::size(fixed)];
  }

 private:
  const std::uint8_t *at_, *end_;
};

}  // namespace heed::fuzz

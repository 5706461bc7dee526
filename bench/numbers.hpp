// Numbers to take keys and values from, in every storage type, in more memory than the last-level cache holds.
#pragma once

#include <cstdint>
#include <map>

#include "heed/heed.h"
#include "machine.hpp"

namespace heed::bench {

// Of a storage type.
std::int64_t bytes_of(heed_type type);
const char* name_of(heed_type type);

// What an int8 code is worth.
inline constexpr float kCodeScale = 1.0f / 32.0f;

// No number is larger (see Pages::fill_random).
inline constexpr double kLargestNumber = 4.0;

class Numbers {
 public:
  // floats: filled already, and alive as long as this.
  explicit Numbers(const Pages& floats) : floats_(floats) {}

  std::size_t size_bytes() const { return floats_.size_bytes(); }

  // So many bytes of them, made when they are asked for first.
  const Pages& of(heed_type type);

 private:
  const Pages& floats_;
  std::map<heed_type, Pages> others_;
};

}  // namespace heed::bench

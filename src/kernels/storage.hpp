// The storage types: how a number lies in memory. Arithmetic is float everywhere; these are loaded and stored.
#pragma once

#include <cstdint>

namespace heed::storage {

struct Half {  // IEEE 754 binary16
  std::uint16_t bits;
};
struct Brain {  // the upper half of a float
  std::uint16_t bits;
};

// Named like the types of kernels.inc.
using f32 = float;
using f16 = Half;
using bf16 = Brain;
using int8 = std::int8_t;

}  // namespace heed::storage

// The storage types: how a number lies in memory. Arithmetic is float everywhere; these are loaded and stored.
#pragma once

#include <cstdint>

#include "kernels/types.inc"

namespace heed::storage {

struct Half {  // IEEE 754 binary16
  std::uint16_t bits;
};
struct Brain {  // the upper half of a float
  std::uint16_t bits;
};
struct E4M3 {  // OCP 8-bit floating point: exponent bias 7, no infinity, and one NaN of either sign, 0x7F and 0xFF
  std::uint8_t bits;
};
struct E5M2 {  // the upper half of a Half
  std::uint8_t bits;
};

// Named like the types of types.inc.
using f32 = float;
using f16 = Half;
using bf16 = Brain;
using e4m3 = E4M3;
using e5m2 = E5M2;
using int8 = std::int8_t;

}  // namespace heed::storage

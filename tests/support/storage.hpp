// Numbers as they lie in memory, in every storage type, and a conversion to and from them that shares nothing with the
// library's.
#pragma once

#include "heed/heed.h"
#include "support/floats.hpp"

namespace heed::test {

inline constexpr heed_type kTypes[] = {HEED_F32, HEED_F16, HEED_BF16, HEED_INT8, HEED_FP8_E4M3, HEED_FP8_E5M2};

const char* name_of(heed_type type);
std::size_t bytes_of(heed_type type);

// A code is the number's bits; those of one byte are in the lowest.
using Code = std::uint32_t;

// The value of a code: exact; a NaN is quiet, with its sign.
float decoded(heed_type type, Code code);

// The code nearest to x, ties to even: all types but int8. A NaN is quiet, with its sign and the first bits of its
// payload.
Code encoded(heed_type type, float x);
Code output_code(heed_type type, float x);  // in an output, where -0 is +0

// A code in memory.
void put(heed_type type, unsigned char* at, Code code);
Code code_at(heed_type type, const unsigned char* at);

// How many codes there are: 65536, or 256.
inline Code codes_of(heed_type type) { return bytes_of(type) == 1 ? 256 : 65536; }

struct Stored {
  heed_type type;
  std::vector<unsigned char> bytes;
  Numbers values;

  explicit Stored(heed_type t) : type(t) {}
  void add(Code code);
};

// `rows` x `cols` elements of a matrix with so many columns, from (row, col) on.
Stored part_of(const Stored& matrix, std::int64_t columns, std::int64_t row, std::int64_t rows, std::int64_t col,
               std::int64_t cols);

// Every code of a type, each once (all but f32).
Stored every_code(heed_type type);

// n random numbers that a type holds. Hostile ones are any bit patterns, but for f32.
Stored random_stored(Random& random, heed_type type, Kind kind, std::int64_t n);

}  // namespace heed::test

// Inputs and hashes that are the same on every machine: integer arithmetic only, no library function that may round.
#pragma once

#include <cstdint>
#include <cstring>

#include "heed/heed.h"

namespace heed::golden {

// ---- Inputs

// The tensors draw from streams of their own, so that no two hold the same numbers.
enum Stream : std::uint64_t { kA = 1, kB, kQ, kK, kV, kKScales, kVScales, kBias, kMask, kSlopes, kSinks };

inline std::uint64_t mix(std::uint64_t x) {
  x = (x ^ (x >> 31)) * 0x9E3779B97F4A7C15u;  // 2^64 divided by the golden ratio
  x = (x ^ (x >> 29)) * 0xD6E8FEB86659FD93u;  // another odd number
  return x ^ (x >> 32);
}

// The random bits of one element. They depend on what the element is, not on where it is stored: the same problem in
// another layout has the same numbers.
inline std::uint64_t random_bits(Stream stream, std::int64_t batch, std::int64_t head, std::int64_t token,
                                 std::int64_t d) {
  std::uint64_t x = mix(stream);
  for (const std::int64_t index : {batch, head, token, d}) x = mix(x + static_cast<std::uint64_t>(index));
  return x;
}

// A floating-point type: its words are built from their fields, which needs no conversion.
struct Format {
  const char* name;
  int bytes;
  int mantissa_bits;
  int bias;  // exponent field of 1; 0: a type of integers
};

inline const Format& format_of(heed_type type) {
  static constexpr Format formats[] = {{"f32", 4, 23, 127}, {"f16", 2, 10, 15}, {"bf16", 2, 7, 127},
                                       {"int8", 1, 0, 0},   {"e4m3", 1, 3, 7},  {"e5m2", 1, 2, 15}};
  return formats[type];
}

// A number of either sign with 2^-4 <= |x| < 4, times 2^shift; of integers, any.
inline std::uint32_t random_word(heed_type type, std::uint64_t bits, int shift = 0) {
  const Format& format = format_of(type);
  if (format.bias == 0) return static_cast<std::uint32_t>(bits >> 56);
  const auto sign = static_cast<std::uint32_t>(bits >> 63) << (8 * format.bytes - 1);
  const auto exponent =
      static_cast<std::uint32_t>(format.bias - 4 + shift) + static_cast<std::uint32_t>(bits >> 32) % 6;
  const auto mantissa = static_cast<std::uint32_t>(bits) & ((1u << format.mantissa_bits) - 1);
  return sign | exponent << format.mantissa_bits | mantissa;
}

enum class Special { kNan, kInfinity, kMinusInfinity, kMinusZero, kSubnormal };

inline std::uint32_t special_word(heed_type type, Special special) {
  const Format& format = format_of(type);
  const std::uint32_t sign = 1u << (8 * format.bytes - 1);
  const std::uint32_t infinity = sign - (1u << format.mantissa_bits);  // all ones in the exponent
  switch (special) {
    case Special::kNan:
      return sign | (sign - 1);  // all ones: NaN in every floating-point type, e4m3 included
    case Special::kInfinity:
      return infinity;
    case Special::kMinusInfinity:
      return sign | infinity;
    case Special::kMinusZero:
      return sign;
    case Special::kSubnormal:
      return (1u << (format.mantissa_bits - 1)) | 3u;
  }
  return 0;
}

// Writes and reads element `index` of an array of `bytes` wide words.
inline void store_word(void* array, int bytes, std::int64_t index, std::uint32_t word) {
  char* at = static_cast<char*>(array) + index * bytes;
  const auto low = static_cast<std::uint8_t>(word);
  const auto half = static_cast<std::uint16_t>(word);
  std::memcpy(at,
              bytes == 4   ? static_cast<const void*>(&word)
              : bytes == 2 ? static_cast<const void*>(&half)
                           : &low,
              static_cast<std::size_t>(bytes));
}

inline std::uint32_t load_word(const void* array, int bytes, std::int64_t index) {
  const char* at = static_cast<const char*>(array) + index * bytes;
  std::uint32_t word = 0;
  std::uint16_t half = 0;
  std::uint8_t low = 0;
  if (bytes == 4) return std::memcpy(&word, at, 4), word;
  if (bytes == 2) return std::memcpy(&half, at, 2), half;
  return std::memcpy(&low, at, 1), low;
}

inline float float_of(std::uint32_t word) {
  float x;
  std::memcpy(&x, &word, 4);
  return x;
}

// ---- Hashes

// FNV-1a of the words' bytes, lowest first whatever the processor's order.
class Hash {
 public:
  void add(std::uint32_t word, int bytes) {
    for (int i = 0; i < bytes; ++i) value_ = (value_ ^ (word >> (8 * i) & 0xFFu)) * 0x100000001B3u;
  }
  void add(const void* array, heed_type type, std::int64_t first, std::int64_t count) {
    const int bytes = format_of(type).bytes;
    for (std::int64_t i = first; i < first + count; ++i) add(load_word(array, bytes, i), bytes);
  }
  // Intermediate results are not promised to hold the canonical NaN: here all NaNs count as one.
  void add_any_nan(const float* array, std::int64_t first, std::int64_t count) {
    for (std::int64_t i = first; i < first + count; ++i) {
      add(array[i] != array[i] ? 0x7FC00000u : load_word(array, 4, i), 4);
    }
  }
  std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_ = 0xCBF29CE484222325u;
};

}  // namespace heed::golden

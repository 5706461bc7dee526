// Bounds on the error that single precision may make. They are worst cases, added up step by step; a wrong kernel
// misses them by far.
#pragma once

#include <cstdint>

namespace heed::bench {

inline constexpr double kRound = 0x1p-24;  // relative error of one rounded operation
inline constexpr double kTiny = 0x1p-120;  // weights below the smallest normal number become zero

// Error of a score per unit of sum |q_d k_d|: D multiplications and additions, and the scale's rounding.
inline double score_error(std::int64_t D) { return (2.0 * static_cast<double>(D) + 4.0) * kRound; }

// Relative error of a softmax weight besides that of the scores: exponentials of arguments down to -spread (their own
// bound is 4 + 1.25 spread, in the weight and in the sum), 16 lanes of partial sums, the factors of blocks, a division.
inline double weight_error(std::int64_t n, double spread) {
  return (2.0 * (4.0 + 1.25 * spread) + static_cast<double>(n) / 16.0 / 8.0 + 32.0) * kRound;
}

// Relative error of a weighted sum per unit of sum |p v|: a chain within a block, then one step per block.
inline double sum_error(std::int64_t n) { return (2.0 * 128.0 + static_cast<double>(n) / 128.0 + 8.0) * kRound; }

}  // namespace heed::bench

// The constants of heed's arithmetic: they decide bits, so they are the same on every row. See src/scalar for the list
// of operations that they belong to.
#pragma once

#include <cstdint>

namespace heed {

// Raised by every release that changes a bit of any result.
inline constexpr std::int32_t kArithmetic = 2;

inline constexpr int kPanel = 16;   // keys in a panel, lanes of a row sum, columns of a tile
inline constexpr int kBlock = 128;  // keys that share one maximum and one chain of the weighted sum
inline constexpr int kSplit = 512;  // keys that share one running state

inline constexpr int kDotSums = 64;  // partial sums of a dot product

inline constexpr int kAttendedWords = kBlock / 64;  // a row's attended keys of one block, a bit each

inline constexpr float kLog2e = 0x1.715476p+0f;  // log2(e), rounded to float

// The fixed tree of step 6: lanes (i, i + 8), (i, i + 4), (i, i + 2), (i, i + 1).
inline float sum_lanes(const float* lanes) {
  float t[8];
  for (int i = 0; i < 8; ++i) t[i] = lanes[i] + lanes[i + 8];
  for (int i = 0; i < 4; ++i) t[i] = t[i] + t[i + 4];
  for (int i = 0; i < 2; ++i) t[i] = t[i] + t[i + 2];
  return t[0] + t[1];
}

}  // namespace heed

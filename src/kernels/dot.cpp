// Dot product of two vectors: 64 partial sums, then a fixed tree.
//
//   s_x = fma(a_i, b_i, s_x) for i = x, x + 64, x + 128 ...
//   dot = tree(t),  t_x = (s_x + s_(x + 32)) + (s_(x + 16) + s_(x + 48)) for x = 0 ... 15
//
// Registers (8 lanes): 8 accumulators, a load of a for each, b as memory operand. Bound: two loads a multiply-add, and
// with 8 accumulators (16 lanes: 4) their latency of 4 cycles hides behind those. 16 sums took 1.3 times as long with
// 16 lanes, 1.7 to 1.9 times with 8 (1024 and 4096 numbers). Tails: what is behind the last whole vector is +0 in both,
// which leaves the other lanes' sums as they are.
#include "simd/floats.hpp"

namespace heed::HEED_ROW {

float dot_f32(const void* a_data, const void* b_data, std::int64_t n) {
  constexpr int kAll = kDotSums / kLanes;
  const float* a = static_cast<const float*>(a_data);
  const float* b = static_cast<const float*>(b_data);
  Floats sums[kAll];
#pragma GCC unroll 16
  for (int v = 0; v < kAll; ++v) sums[v] = broadcast(0.0f);
  std::int64_t i = 0;
  for (; i + kDotSums <= n; i += kDotSums) {
#pragma GCC unroll 16
    for (int v = 0; v < kAll; ++v) sums[v] = fma(load(a + i + v * kLanes), load(b + i + v * kLanes), sums[v]);
  }
  const std::int64_t rest = n - i, whole = rest / kLanes;
#pragma GCC unroll 16
  for (int v = 0; v < kAll; ++v) {
    if (v < whole) sums[v] = fma(load(a + i + v * kLanes), load(b + i + v * kLanes), sums[v]);
  }
  if (rest % kLanes != 0) {
    const std::int64_t last = n - rest % kLanes;
    const Floats x = load_tail(a + last, rest % kLanes), y = load_tail(b + last, rest % kLanes);
#pragma GCC unroll 16
    for (int v = 0; v < kAll; ++v) {
      if (v == whole) sums[v] = fma(x, y, sums[v]);
    }
  }
  Floats panel[kVectors];
#pragma GCC unroll 4
  for (int v = 0; v < kVectors; ++v) {
    panel[v] = (sums[v] + sums[v + 2 * kVectors]) + (sums[v + kVectors] + sums[v + 3 * kVectors]);
  }
  return canonical(sum_of_panel(panel));
}

}  // namespace heed::HEED_ROW

// Dot product of two vectors: 16 partial sums, then the fixed tree.
//
//   s_x = fma(a_i, b_i, s_x) for i = x, x + 16, x + 32 ...     dot = tree(s)
//
// Registers (8 lanes): 2 accumulators, 2 loads of a, 2 of b as memory operands. Bound: the latency of one multiply-add
// per 16 elements (4 cycles: 4 elements a cycle); more chains would be another order of operations, and so other bits.
// Tails: the last elements are added lane by lane behind +0, which leaves the other lanes' sums as they are.
#include "simd/floats.hpp"

namespace heed::HEED_ROW {

float dot_f32(const void* a_data, const void* b_data, std::int64_t n) {
  const float* a = static_cast<const float*>(a_data);
  const float* b = static_cast<const float*>(b_data);
  Floats sums[kVectors];
  for (int v = 0; v < kVectors; ++v) sums[v] = broadcast(0.0f);
  std::int64_t i = 0;
  for (; i + kPanel <= n; i += kPanel) {
    for (int v = 0; v < kVectors; ++v) sums[v] = fma(load(a + i + v * kLanes), load(b + i + v * kLanes), sums[v]);
  }
  alignas(64) float lanes[kPanel];
  for (int v = 0; v < kVectors; ++v) sums[v].store_aligned(lanes + v * kLanes);
  for (int x = 0; i + x < n; ++x) lanes[x] = fma(a[i + x], b[i + x], lanes[x]);
  return canonical(sum_lanes(lanes));
}

}  // namespace heed::HEED_ROW

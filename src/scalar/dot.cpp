// Dot product of two vectors: 16 partial sums, then the fixed tree.
//
//   s_x = fma(a_i, b_i, s_x) for i = x, x + 16, x + 32 ...     dot = tree(s)
//
// This isn't a score: a score is one chain over d (step 2), and gets its parallelism from the keys beside it.
#include "scalar/scalar.hpp"

namespace heed::HEED_ROW {

float dot_f32(const void* a_data, const void* b_data, std::int64_t n) {
  const float* a = static_cast<const float*>(a_data);
  const float* b = static_cast<const float*>(b_data);
  float sums[kPanel] = {};
  std::int64_t i = 0;
  for (; i + kPanel <= n; i += kPanel) {
    HEED_LANES
    for (int x = 0; x < kPanel; ++x) sums[x] = fma(a[i + x], b[i + x], sums[x]);
  }
  for (int x = 0; i + x < n; ++x) sums[x] = fma(a[i + x], b[i + x], sums[x]);
  return canonical(sum_lanes(sums));
}

}  // namespace heed::HEED_ROW

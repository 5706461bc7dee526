// Dot product of two vectors: 64 partial sums, then a fixed tree.
//
//   s_x = fma(a_i, b_i, s_x) for i = x, x + 64, x + 128 ...
//   dot = tree(t),  t_x = (s_x + s_(x + 32)) + (s_(x + 16) + s_(x + 48)) for x = 0 ... 15
//
// This isn't a score: a score is one chain over d (step 2), and gets its parallelism from the keys beside it. A dot
// product stands alone, so it takes as many chains as keep a processor's multiply-adds busy.
#include "scalar/scalar.hpp"

namespace heed::HEED_ROW {

float dot_f32(const void* a_data, const void* b_data, std::int64_t n) {
  const float* a = static_cast<const float*>(a_data);
  const float* b = static_cast<const float*>(b_data);
  float sums[kDotSums] = {};
  std::int64_t i = 0;
  for (; i + kDotSums <= n; i += kDotSums) {
    HEED_LANES
    for (int x = 0; x < kDotSums; ++x) sums[x] = fma(a[i + x], b[i + x], sums[x]);
  }
  for (int x = 0; i + x < n; ++x) sums[x] = fma(a[i + x], b[i + x], sums[x]);
  for (int half = kDotSums / 2; half >= kPanel; half /= 2) {
    HEED_LANES
    for (int x = 0; x < half; ++x) sums[x] = sums[x] + sums[x + half];
  }
  return canonical(sum_lanes(sums));
}

}  // namespace heed::HEED_ROW

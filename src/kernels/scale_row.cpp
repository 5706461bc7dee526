// Step 1: q'_d = q_d * scale, rounded once. Runs once per query row: bound by nothing that matters.
#include "simd/floats.hpp"

namespace heed::HEED_ROW {

void scale_row_f32(const void* x_data, float scale, float* out, std::int64_t n) {
  const float* x = static_cast<const float*>(x_data);
  std::int64_t d = 0;
  for (; d + kLanes <= n; d += kLanes) store(out + d, load(x + d) * broadcast(scale));
  for (; d < n; ++d) out[d] = x[d] * scale;
}

}  // namespace heed::HEED_ROW

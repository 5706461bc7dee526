// Step 1: q'_d = q_d * scale, rounded once.
#include "scalar/scalar.hpp"

namespace heed::HEED_ROW {

void scale_row_f32(const void* x_data, float scale, float* out, std::int64_t n) {
  const float* x = static_cast<const float*>(x_data);
  for (std::int64_t d = 0; d < n; ++d) out[d] = x[d] * scale;
}

}  // namespace heed::HEED_ROW

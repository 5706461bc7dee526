// Copies keys into panels: 16 keys side by side for each d, so that lane = key. Moves numbers, computes nothing.
#include "scalar/scalar.hpp"

namespace heed::HEED_ROW {

void pack_keys_f32(const void* k_data, std::int64_t k_row, std::int64_t keys, std::int64_t D, float* out) {
  const float* k = static_cast<const float*>(k_data);
  for (std::int64_t j = 0; j < keys; j += kPanel, out += D * kPanel) {
    for (std::int64_t d = 0; d < D; ++d) {
      HEED_LANES
      for (std::int64_t x = 0; x < kPanel; ++x) {
        out[d * kPanel + x] = j + x < keys ? k[(j + x) * k_row + d] : 0.0f;  // never reads a key that isn't there
      }
    }
  }
}

}  // namespace heed::HEED_ROW

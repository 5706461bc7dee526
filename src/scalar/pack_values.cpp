// Copies values into panels of 16 columns, and says whether all of them are finite: only then may a key be kept out of
// a row by a weight of +0, because 0 * inf and 0 * NaN are NaN.
#include "scalar/scalar.hpp"

namespace heed::HEED_ROW {

bool pack_values_f32(const void* v_data, std::int64_t v_row, std::int64_t keys, std::int64_t Dv, float* out,
                     std::int64_t out_panel) {
  const float* v = static_cast<const float*>(v_data);
  bool finite = true;
  for (std::int64_t d = 0; d < Dv; d += kPanel, out += out_panel) {
    for (std::int64_t j = 0; j < keys; ++j) {
      HEED_LANES
      for (std::int64_t x = 0; x < kPanel; ++x) {
        const float value = d + x < Dv ? v[j * v_row + d + x] : 0.0f;
        out[j * kPanel + x] = value;
        finite = finite && (bits(value) & 0x7F800000u) != 0x7F800000u;
      }
    }
  }
  return finite;
}

}  // namespace heed::HEED_ROW

// Copies values into panels of 16 columns, and says whether all of them are finite: only then may a key be kept out of
// a row by a weight of +0, because 0 * inf and 0 * NaN are NaN.
#include "scalar/storage.hpp"

namespace heed::HEED_ROW {

namespace {

template <class T>
bool pack_values(const void* v_data, std::int64_t v_row, std::int64_t keys, std::int64_t Dv, float* out,
                 std::int64_t out_panel) {
  const T* v = static_cast<const T*>(v_data);
  bool finite = true;
  for (std::int64_t d = 0; d < Dv; d += kPanel, out += out_panel) {
    for (std::int64_t j = 0; j < keys; ++j) {
      HEED_LANES
      for (std::int64_t x = 0; x < kPanel; ++x) {
        const float value = d + x < Dv ? widen(v[j * v_row + d + x]) : 0.0f;
        out[j * kPanel + x] = value;
        finite = finite && (bits(value) & 0x7F800000u) != 0x7F800000u;
      }
    }
  }
  return finite;
}

}  // namespace

#define HEED_ENTRY(op, type)                                                                          \
  bool op##_##type(const void* v, std::int64_t v_row, std::int64_t keys, std::int64_t Dv, float* out, \
                   std::int64_t out_panel) {                                                          \
    return pack_values<storage::type>(v, v_row, keys, Dv, out, out_panel);                            \
  }
HEED_STORED_TYPES(HEED_ENTRY, pack_values)

}  // namespace heed::HEED_ROW

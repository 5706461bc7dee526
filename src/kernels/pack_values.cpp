// Copies values into panels of 16 columns, and says whether all of them are finite: only then may a key be kept out of
// a row by a weight of +0, because 0 * inf and 0 * NaN are NaN.
//
// Why copy at all: rows of V at a stride of D * 4 bytes fall into few sets of the first-level cache; side by side they
// stream. Bound: loads and stores. x - x is +0 for a finite x and NaN for the others; or-ed together, any NaN leaves
// bits.
#include "simd/storage.hpp"

namespace heed::HEED_ROW {

namespace {

template <class T>
HEED_INLINE bool pack_values(const void* v_data, std::int64_t v_row, std::int64_t keys, std::int64_t Dv, float* out,
                             std::int64_t out_panel) {
  const T* v = static_cast<const T*>(v_data);
  Floats found = broadcast(0.0f);
  for (std::int64_t d = 0; d < Dv; d += kPanel, out += out_panel) {
    for (std::int64_t j = 0; j < keys; ++j) {
      const T* row = v + j * v_row + d;
      for (int i = 0; i < kVectors; ++i) {
        const std::int64_t left = Dv - d - i * kLanes;
        const Floats x = left >= kLanes ? load(row + i * kLanes) : load_tail(row + i * kLanes, left > 0 ? left : 0);
        store(out + j * kPanel + i * kLanes, x);
        found = found | (x - x);
      }
    }
  }
  alignas(64) float lanes[kLanes];
  found.store_aligned(lanes);
  bool finite = true;
  for (int x = 0; x < kLanes; ++x) finite = finite && lanes[x] == 0.0f;
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

// Copies keys into panels: 16 keys side by side for each d, so that lane = key. Moves numbers, computes nothing.
#include "scalar/storage.hpp"

namespace heed::HEED_ROW {

namespace {

template <class T>
void pack_keys(const void* k_data, std::int64_t k_row, std::int64_t keys, std::int64_t D, float* out) {
  const T* k = static_cast<const T*>(k_data);
  for (std::int64_t j = 0; j < keys; j += kPanel, out += D * kPanel) {
    for (std::int64_t d = 0; d < D; ++d) {
      HEED_LANES
      for (std::int64_t x = 0; x < kPanel; ++x) {
        out[d * kPanel + x] =
            j + x < keys ? widen(k[(j + x) * k_row + d]) : 0.0f;  // never reads a key that isn't there
      }
    }
  }
}

}  // namespace

#define HEED_ENTRY(op, type)                                                                                         \
  void op##_##type(const void* k, std::int64_t k_row, std::int64_t keys, std::int64_t D, float* out, const Ahead&) { \
    pack_keys<storage::type>(k, k_row, keys, D, out);                                                                \
  }
HEED_STORED_TYPES(HEED_ENTRY, pack_keys)

}  // namespace heed::HEED_ROW

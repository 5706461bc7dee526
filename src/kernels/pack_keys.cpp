// Copies keys into panels: 16 keys side by side for each d, so that lane = key. Moves numbers, computes nothing.
//
// Bound: the shuffles of the transposition, 8 per 4 x 8 numbers, and the stores. The last D mod 4 elements are copied
// one by one; lanes without a key are +0.
#include "simd/transpose.hpp"

namespace heed::HEED_ROW {

namespace {

template <class T>
HEED_INLINE void pack_keys(const void* k_data, std::int64_t k_row, std::int64_t keys, std::int64_t D, float* out) {
  const T* k = static_cast<const T*>(k_data);
  for (std::int64_t j = 0; j < keys; j += kLanes) {
    float* panel = out + j / kPanel * D * kPanel + j % kPanel;
    const std::int64_t here = keys - j < kLanes ? keys - j : kLanes;
    std::int64_t d = 0;
    if (here == kLanes) {
      for (; d + 4 <= D; d += 4) {
        const FourColumns columns = load_four_columns(k + j * k_row + d, k_row);
        for (int c = 0; c < 4; ++c) store(panel + (d + c) * kPanel, columns.column[c]);
      }
    } else if (D >= 4) {
      const FewRows<T> rows(k + j * k_row, k_row, here);
      const Mask exist = mask_of_bits((1u << here) - 1, 0);
      for (; d + 4 <= D; d += 4) {
        const FourColumns columns = rows.load_four_columns(d);
        for (int c = 0; c < 4; ++c) {
          store(panel + (d + c) * kPanel, select(exist, columns.column[c], broadcast(0.0f)));
        }
      }
    }
    for (; d < D; ++d) {
      if (here < kLanes) store(panel + d * kPanel, broadcast(0.0f));
      for (std::int64_t x = 0; x < here; ++x) {
        panel[d * kPanel + x] = widen(k[(j + x) * k_row + d]);
        asm("" : : : "memory");  // not vectorised: that would be more code than all the rest
      }
    }
  }
  // The last panel's vectors behind the keys.
  for (std::int64_t j = (keys + kLanes - 1) / kLanes * kLanes; j % kPanel != 0; j += kLanes) {
    float* panel = out + j / kPanel * D * kPanel + j % kPanel;
    for (std::int64_t d = 0; d < D; ++d) store(panel + d * kPanel, broadcast(0.0f));
  }
}

}  // namespace

#define HEED_ENTRY(op, type)                                                                           \
  void op##_##type(const void* k, std::int64_t k_row, std::int64_t keys, std::int64_t D, float* out) { \
    pack_keys<storage::type>(k, k_row, keys, D, out);                                                  \
  }
HEED_STORED_TYPES(HEED_ENTRY, pack_keys)

}  // namespace heed::HEED_ROW

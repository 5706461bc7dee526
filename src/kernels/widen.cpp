// Numbers of any storage type as floats, times a factor: step 1 (q'_d = q_d * scale, rounded once), and with the factor
// 1 the conversion itself, exact. Bound by memory.
#include "simd/storage.hpp"

namespace heed::HEED_ROW {
namespace {

template <class T>
HEED_INLINE void widen_all(const void* x_data, float scale, float* out, std::int64_t n) {
  const T* x = static_cast<const T*>(x_data);
  std::int64_t d = 0;
  for (; d + kLanes <= n; d += kLanes) store(out + d, load(x + d) * broadcast(scale));
  if (d < n) store_tail(out + d, load_tail(x + d, n - d) * broadcast(scale), n - d);
}

}  // namespace

#define HEED_ENTRY(op, type)                                                 \
  void op##_##type(const void* x, float scale, float* out, std::int64_t n) { \
    widen_all<storage::type>(x, scale, out, n);                              \
  }
HEED_STORED_TYPES(HEED_ENTRY, widen)

}  // namespace heed::HEED_ROW

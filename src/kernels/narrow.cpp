// Floats in any storage type, to nearest even; overflow gives infinity, a NaN stays one, with its sign. Bound by
// memory.
#include "simd/storage.hpp"

namespace heed::HEED_ROW {
namespace {

template <class T>
HEED_INLINE void narrow_all(const float* x, void* out_data, std::int64_t n) {
  T* out = static_cast<T*>(out_data);
  std::int64_t d = 0;
  for (; d + kLanes <= n; d += kLanes) store(out + d, load(x + d));
  if (d < n) store_tail(out + d, load_tail(x + d, n - d), n - d);
}

}  // namespace

#define HEED_ENTRY(op, type) \
  void op##_##type(const float* x, void* out, std::int64_t n) { narrow_all<storage::type>(x, out, n); }
HEED_ROUNDED_TYPES(HEED_ENTRY, narrow)

}  // namespace heed::HEED_ROW

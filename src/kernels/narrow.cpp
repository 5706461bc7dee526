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
  for (; d < n; ++d) narrow(x[d], out + d);
}

}  // namespace

void narrow_f32(const float* x, void* out, std::int64_t n) { narrow_all<storage::f32>(x, out, n); }
void narrow_f16(const float* x, void* out, std::int64_t n) { narrow_all<storage::f16>(x, out, n); }
void narrow_bf16(const float* x, void* out, std::int64_t n) { narrow_all<storage::bf16>(x, out, n); }

}  // namespace heed::HEED_ROW

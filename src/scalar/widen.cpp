// Numbers of any storage type as floats, times a factor: step 1 (q'_d = q_d * scale, rounded once), and with the factor
// 1 the conversion itself, exact.
#include "scalar/storage.hpp"

namespace heed::HEED_ROW {
namespace {

template <class T>
void widen_all(const void* x_data, float scale, float* out, std::int64_t n) {
  const T* x = static_cast<const T*>(x_data);
  for (std::int64_t d = 0; d < n; ++d) out[d] = widen(x[d]) * scale;
}

}  // namespace

void widen_f32(const void* x, float scale, float* out, std::int64_t n) { widen_all<storage::f32>(x, scale, out, n); }
void widen_f16(const void* x, float scale, float* out, std::int64_t n) { widen_all<storage::f16>(x, scale, out, n); }
void widen_bf16(const void* x, float scale, float* out, std::int64_t n) { widen_all<storage::bf16>(x, scale, out, n); }
void widen_int8(const void* x, float scale, float* out, std::int64_t n) { widen_all<storage::int8>(x, scale, out, n); }

}  // namespace heed::HEED_ROW

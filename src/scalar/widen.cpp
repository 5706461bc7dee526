// Numbers of any storage type as floats, times a factor: step 1 (q'_d = q_d * scale, rounded once), and with the factor
// 1 the conversion itself, exact.
#include "scalar/storage.hpp"

namespace heed::HEED_ROW {
namespace {

// A NaN keeps its sign and payload and becomes quiet. RISC-V's own product would be the one NaN that it has.
inline float scaled(float x, float scale) {
#if defined(__riscv)
  if (x != x) return from_bits(bits(x) | 0x00400000u);
#endif
  return x * scale;
}

template <class T>
void widen_all(const void* x_data, float scale, float* out, std::int64_t n) {
  const T* x = static_cast<const T*>(x_data);
  for (std::int64_t d = 0; d < n; ++d) out[d] = scaled(widen(x[d]), scale);
}

}  // namespace

#define HEED_ENTRY(op, type)                                                 \
  void op##_##type(const void* x, float scale, float* out, std::int64_t n) { \
    widen_all<storage::type>(x, scale, out, n);                              \
  }
HEED_STORED_TYPES(HEED_ENTRY, widen)

}  // namespace heed::HEED_ROW

// From a state to a result.
//
//   a sink other than -inf joins as a state (sink, 1, 0):   M = max(m, sink), l = fma(l, x, y), o = fma(o, x, 0)
//   out = o / l + 0, a true division          lse = m + ln l                                                   (step 9)
//   l = 0 (no attended key, or only -inf): out = o + 0, lse = -inf
//
// Outputs never hold -0: + 0 turns it into +0, and so is what rounds to it in a 16-bit type.
//
// NaN: a sink that is NaN or +inf makes y NaN, and with it l, out and lse.
#include "scalar/storage.hpp"

namespace heed::HEED_ROW {

namespace {

void store_output(float x, float* out) { *out = x; }

template <class T>
void store_output(float x, T* out) {
  narrow(x, out);
  if (out->bits == 0x8000u) out->bits = 0;
}

template <class T>
void finish(float m, float l, const float* o, float sink, void* out_data, float* lse, std::int64_t Dv) {
  T* out = static_cast<T*>(out_data);
  float x = 1.0f;
  if (sink != -kInfinity) {
    const float larger = max(sink, m);
    const float mu = larger == -kInfinity ? 0.0f : larger;
    x = exp_nonpositive(m - mu);
    l = fma(l, x, exp_nonpositive(sink - mu));
    m = larger;
  }
  for (std::int64_t d = 0; d < Dv; ++d) {
    const float joined = sink != -kInfinity ? fma(o[d], x, 0.0f) : o[d];
    store_output(canonical(l == 0.0f ? joined : joined / l), out + d);
  }
  if (lse != nullptr) *lse = l == 0.0f ? -kInfinity : canonical(m + ln(l));
}

}  // namespace

#define HEED_ENTRY(op, type)                                                                               \
  void op##_##type(float m, float l, const float* o, float sink, void* out, float* lse, std::int64_t Dv) { \
    finish<storage::type>(m, l, o, sink, out, lse, Dv);                                                    \
  }
HEED_FLOAT_TYPES(HEED_ENTRY, finish)

}  // namespace heed::HEED_ROW

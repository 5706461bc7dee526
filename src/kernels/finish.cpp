// From a state to a result.
//
//   a sink other than -inf joins as a state (sink, 1, 0):   M = max(m, sink), l = fma(l, x, y), o = fma(o, x, 0)
//   out = o / l + 0, a true division          lse = m + ln l                                                   (step 9)
//   l = 0 (no attended key, or only -inf): out = o + 0, lse = -inf
//
// Registers: x, l, zero, NaN, 1 load. Bound: the divisions, Dv / 8 of them per row. No reciprocal: its bits differ
// between processors. NaN: a sink that is NaN or +inf makes l NaN, and with it out and lse.
#include "simd/math.hpp"

namespace heed::HEED_ROW {

namespace {

// A negative number may round to -0 in a 16-bit type.
template <class T>
HEED_INLINE void drop_signs_of_zeros(T* out, std::int64_t Dv) {
  for (std::int64_t d = 0; d < Dv; ++d) {
    if (out[d].bits == 0x8000u) out[d].bits = 0;
  }
}
HEED_INLINE void drop_signs_of_zeros(float*, std::int64_t) {}

template <class T>
HEED_INLINE void finish(float m, float l, const float* o, float sink, void* out_data, float* lse, std::int64_t Dv) {
  T* out = static_cast<T*>(out_data);
  const bool has_sink = sink != -kInfinity;
  float x = 1.0f;
  if (has_sink) {
    const float larger = max(sink, m);
    const float mu = larger == -kInfinity ? 0.0f : larger;
    x = exp_nonpositive(m - mu);
    l = fma(l, x, exp_nonpositive(sink - mu));
    m = larger;
  }
  const float divisor = l == 0.0f ? 1.0f : l;  // o / 1 is o
  const auto one = [&](Floats value) {
    if (has_sink) value = fma(value, broadcast(x), broadcast(0.0f));
    return canonical(value / broadcast(divisor));
  };
  std::int64_t d = 0;
  for (; d + kLanes <= Dv; d += kLanes) store(out + d, one(load(o + d)));
  if (d < Dv) store_tail(out + d, one(load_tail(o + d, Dv - d)), Dv - d);
  drop_signs_of_zeros(out, Dv);
  if (lse != nullptr) *lse = l == 0.0f ? -kInfinity : canonical(m + ln(l));
}

}  // namespace

#define HEED_ENTRY(op, type)                                                                               \
  void op##_##type(float m, float l, const float* o, float sink, void* out, float* lse, std::int64_t Dv) { \
    finish<storage::type>(m, l, o, sink, out, lse, Dv);                                                    \
  }
HEED_FLOAT_TYPES(HEED_ENTRY, finish)

}  // namespace heed::HEED_ROW

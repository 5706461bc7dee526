// From a state to a result.
#include "scalar/scalar.hpp"

//   a sink other than -inf joins as a state (sink, 1, 0):   M = max(m, sink), l = fma(l, x, y), o = fma(o, x, 0)
//   out = o / l + 0, a true division          lse = m + ln l                                                    (step
//   9) l = 0 (no attended key, or only -inf): out = o + 0, lse = -inf
//
// NaN: a sink that is NaN or +inf makes y NaN, and with it l, out and lse. + 0 turns -0 into +0.
namespace heed::HEED_ROW {

void finish_f32(float m, float l, const float* o, float sink, void* out_data, float* lse, std::int64_t Dv) {
  float* out = static_cast<float*>(out_data);
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
    out[d] = canonical(l == 0.0f ? joined : joined / l);
  }
  if (lse != nullptr) *lse = l == 0.0f ? -kInfinity : canonical(m + ln(l));
}

}  // namespace heed::HEED_ROW

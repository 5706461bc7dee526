// Two partial results over different keys become one.
//
//   M = max(m1, m2)      mu = M, or 0 if M = -inf      x = 2^((m1 - mu) * log2e)      y = 2^((m2 - mu) * log2e)
//   l = fma(l1, x, l2 * y)                             o = fma(o1, x, o2 * y)                                  (step 8)
//
// Registers: x, y, 2 loads. Bound: loads. Neither side is empty: an empty one is the identity and never comes here.
#include "simd/math.hpp"

namespace heed::HEED_ROW {

void merge_f32(float* m, float* l, float* o, float m2, float l2, const float* o2, std::int64_t Dv) {
  const float larger = max(m2, *m);
  const float mu = larger == -kInfinity ? 0.0f : larger;
  const float x = exp_nonpositive(*m - mu);
  const float y = exp_nonpositive(m2 - mu);
  *m = larger;
  *l = fma(*l, x, l2 * y);
  std::int64_t d = 0;
  for (; d + kLanes <= Dv; d += kLanes) store(o + d, fma(load(o + d), broadcast(x), load(o2 + d) * broadcast(y)));
  if (d < Dv) {
    const std::int64_t n = Dv - d;
    store_tail(o + d, fma(load_tail(o + d, n), broadcast(x), load_tail(o2 + d, n) * broadcast(y)), n);
  }
}

}  // namespace heed::HEED_ROW

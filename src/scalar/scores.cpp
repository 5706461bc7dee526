// Scores of query rows against row-major keys.
//
//   s(r, j) = fma(q'_rd, k_jd, s(r, j)) for d = 0 ... D-1, from +0                                             (step 2)
//
// One chain per score, in the order of d: so a score doesn't depend on the tile, panel or vector that it was computed
// in. Sixteen keys go side by side, because they are what a vector holds.
#include "scalar/scalar.hpp"

namespace heed::HEED_ROW {

void scores_f32(const Scores& args) {
  const float* k = static_cast<const float*>(args.k);
  for (std::int64_t r = 0; r < args.rows; ++r) {
    const float* q = args.q + r * args.q_row;
    float* s = args.s + r * args.s_row;
    for (std::int64_t j = 0; j < args.keys; j += kPanel) {
      const std::int64_t lanes = args.keys - j < kPanel ? args.keys - j : kPanel;
      float chains[kPanel] = {};
      for (std::int64_t d = 0; d < args.D; ++d) {
        for (std::int64_t x = 0; x < lanes; ++x) chains[x] = fma(q[d], k[(j + x) * args.k_row + d], chains[x]);
      }
      for (std::int64_t x = 0; x < lanes; ++x) s[j + x] = chains[x];
    }
  }
}

}  // namespace heed::HEED_ROW

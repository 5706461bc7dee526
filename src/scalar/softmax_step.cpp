// One block of scores becomes weights; the running maximum and the row sum move on.
//
//   m' = max(m, s_j over attended j)          mu = m', or 0 if m' = -inf
//   a  = 2^((m - mu) * log2e)                 p_j = 2^((s_j - mu) * log2e)                                     (step 5)
//   lane x: block sum = +0 + p_x + p_(x+16) + ...     L_x = fma(L_x, a, block sum)                             (step 6)
//
// A row with no attended key in this block changes nothing: a = 1, p = +0, m and L as they were. That is decided by the
// mask: a row whose attended scores are all -inf has m' = -inf and goes through the arithmetic (with mu = 0, so that
// -inf - mu is -inf and not NaN). A NaN reaches the row sum through p; the maximum may lose it.
#include "scalar/scalar.hpp"

namespace heed::HEED_ROW {

void softmax_step_f32(const SoftmaxStep& t) {
  for (std::int32_t r = 0; r < t.rows; ++r) {
    float* s = t.s + r * t.s_row;
    const std::uint64_t* words = t.attended == nullptr ? nullptr : t.attended + r * t.attended_row;
    const auto attended = [&](int j) { return words == nullptr || ((words[j / 64] >> (j % 64)) & 1u) != 0; };
    const int keys = t.panels * kPanel;

    bool any = false;
    float m = t.m[r];
    for (int j = 0; j < keys; ++j) {
      if (!attended(j)) continue;
      any = true;
      m = max(s[j], m);
    }
    if (!any) {
      for (int j = 0; j < keys; ++j) s[j] = 0.0f;
      t.alpha[r] = 1.0f;
      continue;
    }

    const float mu = m == -kInfinity ? 0.0f : m;
    const float alpha = exp_nonpositive(t.m[r] - mu);
    float sums[kPanel] = {};
    for (int j = 0; j < keys; j += kPanel) {
      float p[kPanel];
      HEED_LANES
      for (int x = 0; x < kPanel; ++x) p[x] = exp_nonpositive(s[j + x] - mu);
      if (words != nullptr) {
        for (int x = 0; x < kPanel; ++x) p[x] = attended(j + x) ? p[x] : 0.0f;
      }
      HEED_LANES
      for (int x = 0; x < kPanel; ++x) {
        s[j + x] = p[x];
        sums[x] += p[x];
      }
    }
    if (t.v_scale != nullptr) {  // what meets int8 values is w_j = p_j * v_scale_j; the row sum keeps p
      for (int j = 0; j < keys; ++j) {
        if (attended(j)) s[j] = s[j] * t.v_scale[j];
      }
    }
    float* lanes = t.lanes + r * kPanel;
    HEED_LANES
    for (int x = 0; x < kPanel; ++x) lanes[x] = fma(lanes[x], alpha, sums[x]);
    t.m[r] = m;
    t.alpha[r] = alpha;
  }
}

}  // namespace heed::HEED_ROW

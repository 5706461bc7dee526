// Attention of one kv head's query rows over at most 16 keys, from tensors to results.
//
//   q'_d = q_d * scale     s_j = fma(q'_d, k_jd, s_j) for d = 0 ... D-1, from +0                           (steps 1, 2)
//
//   m = max(s_j), mu = m, or 0 if m = -inf     p_j = 2^((s_j - mu) * log2e)     l = tree(p)                (steps 5, 6)
//
//   o = fma(p_j, v_j, o) over attended j in order, from +0     out = o / l + 0     lse = m + ln l          (steps 7, 9)
//
// There is one panel, one block and one split, and no state before them: a = 0, L = p, and nothing is folded. A row
// without an attended key has out = +0 and lse = -inf, and so it comes out of the formulas: l = 0.
#include "scalar/scalar.hpp"

namespace heed::HEED_ROW {

void few_keys_f32(const FewKeys& t) {
  for (std::int64_t h = 0; h < t.heads; ++h) {
    for (std::int64_t i = 0; i < t.rows; ++i) {
      const float* q = t.q + h * t.q_head + i * t.q_row;
      const std::int64_t begin = i + t.first > 0 ? i + t.first : 0, end = i + t.last < t.keys ? i + t.last : t.keys;
      float p[kPanel] = {}, m = -kInfinity;
      for (std::int64_t j = begin; j < end; ++j) {
        for (std::int64_t d = 0; d < t.D; ++d) p[j] = fma(q[d] * t.scale, t.k[j * t.k_row + d], p[j]);
        m = max(p[j], m);
      }
      const float mu = m == -kInfinity ? 0.0f : m;
      for (std::int64_t j = begin; j < end; ++j) p[j] = exp_nonpositive(p[j] - mu);
      const float l = sum_lanes(p);

      float* out = t.out + h * t.out_head + i * t.out_row;
      HEED_LANES
      for (std::int64_t d = 0; d < t.Dv; ++d) {
        float o = 0.0f;
        for (std::int64_t j = begin; j < end; ++j) o = fma(p[j], t.v[j * t.v_row + d], o);
        out[d] = canonical(l == 0.0f ? o : o / l);
      }
      if (t.lse != nullptr) t.lse[h * t.lse_head + i * t.lse_row] = l == 0.0f ? -kInfinity : canonical(m + ln(l));
    }
  }
}

}  // namespace heed::HEED_ROW

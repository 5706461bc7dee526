// One block of scores becomes weights; the running maximum and the row sum move on.
//
//   m' = max(m, s_j over attended j)          mu = m', or 0 if m' = -inf
//   a  = 2^((m - mu) * log2e)                 p_j = 2^((s_j - mu) * log2e)                                     (step 5)
//   lane x: block sum = +0 + p_x + p_(x+16) + ...     L_x = fma(L_x, a, block sum)                             (step 6)
//
// Registers (8 lanes): 7 constants of 2^x, mu, log2e, 2 sums, 3 in flight. Bound: 12 additions, multiplications and
// fused multiply-adds per vector on two ports, 6 cycles per 8 scores.
//
// Excluded keys: a select by the attended bits, panel by panel; a panel without any is stored as +0 and not computed, a
// panel with all takes the plain path. A row without any changes nothing (a = 1): by its bits, not because m = -inf. A
// row whose attended scores are all -inf has mu = 0, so that -inf - mu is -inf and not NaN. A NaN reaches the row sum
// through p; the maximum may lose it. Tails: the caller's rows are padded to whole panels, and padding is not attended.
#include "simd/math.hpp"

namespace heed::HEED_ROW {
namespace {

constexpr std::uint32_t kWholePanel = 0xFFFFu;

HEED_INLINE std::uint32_t panel_bits(const std::uint64_t* words, int panel) {
  return static_cast<std::uint32_t>(words[panel / 4] >> (panel % 4 * kPanel)) & kWholePanel;
}

HEED_INLINE float largest(const float* s, int panels, float m) {
  Floats top[kVectors];
  for (int v = 0; v < kVectors; ++v) top[v] = broadcast(m);
  for (int p = 0; p < panels; ++p, s += kPanel) {
    for (int v = 0; v < kVectors; ++v) top[v] = max(load(s + v * kLanes), top[v]);
  }
  for (int v = 1; v < kVectors; ++v) top[0] = max(top[v], top[0]);
  return max_of_lanes(top[0]);
}

HEED_INLINE float largest_attended(const float* s, int panels, float m, const std::uint64_t* words) {
  Floats top = broadcast(m);
  for (int p = 0; p < panels; ++p, s += kPanel) {
    const std::uint32_t on = panel_bits(words, p);
    if (on == 0) continue;
    for (int v = 0; v < kVectors; ++v) {
      top = max(select(mask_of_bits(on, v), load(s + v * kLanes), broadcast(-kInfinity)), top);
    }
  }
  return max_of_lanes(top);
}

// What meets int8 values: w_j = p_j * v_scale_j. The row sum keeps p. A scale of a key that isn't attended may hold
// anything.
HEED_INLINE void scale_weights(float* s, int panels, const float* v_scale, const std::uint64_t* words) {
  for (int p = 0; p < panels; ++p) {
    const std::uint32_t on = words == nullptr ? kWholePanel : panel_bits(words, p);
    if (on == 0) continue;
    for (int v = 0; v < kVectors; ++v) {
      const int x = p * kPanel + v * kLanes;
      const Floats weight = load(s + x) * load(v_scale + x);
      store(s + x, on == kWholePanel ? weight : select(mask_of_bits(on, v), weight, broadcast(0.0f)));
    }
  }
}

}  // namespace

void softmax_step_f32(const SoftmaxStep& t) {
  for (std::int32_t r = 0; r < t.rows; ++r) {
    float* s = t.s + r * t.s_row;
    const std::uint64_t* words = t.attended == nullptr ? nullptr : t.attended + r * t.attended_row;
    if (words != nullptr) {
      std::uint64_t any = 0;
      for (int w = 0; w < kAttendedWords; ++w) any |= words[w];
      if (any == 0) {
        for (int x = 0; x < t.panels * kPanel; x += kLanes) store(s + x, broadcast(0.0f));
        t.alpha[r] = 1.0f;
        continue;
      }
    }

    const float m = words == nullptr ? largest(s, t.panels, t.m[r]) : largest_attended(s, t.panels, t.m[r], words);
    const float mu = m == -kInfinity ? 0.0f : m;
    const float alpha = exp_nonpositive(t.m[r] - mu);

    Floats sums[kVectors];
    for (int v = 0; v < kVectors; ++v) sums[v] = broadcast(0.0f);
    for (int p = 0; p < t.panels; ++p, s += kPanel) {
      const std::uint32_t on = words == nullptr ? kWholePanel : panel_bits(words, p);
      if (on == kWholePanel) {
        for (int v = 0; v < kVectors; ++v) {
          const Floats weight = exp_nonpositive(load(s + v * kLanes) - broadcast(mu));
          store(s + v * kLanes, weight);
          sums[v] = sums[v] + weight;
        }
      } else if (on == 0) {
        for (int v = 0; v < kVectors; ++v) store(s + v * kLanes, broadcast(0.0f));
      } else {
        for (int v = 0; v < kVectors; ++v) {
          const Floats all = exp_nonpositive(load(s + v * kLanes) - broadcast(mu));
          const Floats weight = select(mask_of_bits(on, v), all, broadcast(0.0f));
          store(s + v * kLanes, weight);
          sums[v] = sums[v] + weight;
        }
      }
    }
    if (t.v_scale != nullptr) scale_weights(t.s + r * t.s_row, t.panels, t.v_scale, words);
    for (int v = 0; v < kVectors; ++v) {
      float* lanes = t.lanes + r * kPanel + v * kLanes;
      store(lanes, fma(load(lanes), broadcast(alpha), sums[v]));
    }
    t.m[r] = m;
    t.alpha[r] = alpha;
  }
}

}  // namespace heed::HEED_ROW

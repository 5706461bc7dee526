// One block of scores becomes weights; the running maximum and the row sum move on.
//
//   m' = max(m, s_j over attended j)          mu = m', or 0 if m' = -inf
//   a  = 2^((m - mu) * log2e)                 p_j = 2^((s_j - mu) * log2e)                                     (step 5)
//   lane x: block sum = +0 + p_x + p_(x+16) + ...     L_x = fma(L_x, a, block sum)                             (step 6)
//
// What happens once per row would take as long as the row's weights if every row waited for its own maximum: so m', mu
// and a are found for kLanes rows at a time, lane = row.
//
// Registers (8 lanes), weights: 7 constants of 2^x, mu, log2e, 2 sums, 3 in flight. Bound: 15 operations per vector, of
// which 8 go to two ports only: 5 cycles per 8 scores where additions have a third port, 7.5 where not.
//
// Excluded keys: a select by the attended bits, panel by panel; a panel without any is stored as +0 and not computed, a
// panel with all takes the plain path. A row without any changes nothing (a = 1): by its bits, not because m = -inf. A
// row whose attended scores are all -inf has mu = 0, so that -inf - mu is -inf and not NaN. A NaN reaches the row sum
// through p; the maximum may lose it. Tails: the caller's rows are padded to whole panels, and padding is not attended.
#include "simd/math.hpp"
#include "simd/transpose.hpp"

namespace heed::HEED_ROW {
namespace {

constexpr std::uint32_t kWholePanel = 0xFFFFu;

HEED_INLINE std::uint32_t panel_bits(const std::uint64_t* words, int panel) {
  return static_cast<std::uint32_t>(words[panel / 4] >> (panel % 4 * kPanel)) & kWholePanel;
}

HEED_INLINE const std::uint64_t* words_of(const SoftmaxStep& t, std::int32_t r) {
  return t.attended == nullptr ? nullptr : t.attended + r * t.attended_row;
}

HEED_INLINE bool none_attended(const std::uint64_t* words) {
  std::uint64_t any = 0;
  for (int w = 0; w < kAttendedWords; ++w) any |= words[w];
  return any == 0;
}

// Lane by lane; -inf where no score is attended.
HEED_INLINE Floats largest(const float* s, int panels, const std::uint64_t* words) {
  Floats top[kVectors];
  for (int v = 0; v < kVectors; ++v) top[v] = broadcast(-kInfinity);
  for (int p = 0; p < panels; ++p, s += kPanel) {
    const std::uint32_t on = words == nullptr ? kWholePanel : panel_bits(words, p);
    if (on == 0) continue;
    for (int v = 0; v < kVectors; ++v) {
      Floats score = load(s + v * kLanes);
      if (on != kWholePanel) score = select(mask_of_bits(on, v), score, broadcast(-kInfinity));
      top[v] = max(score, top[v]);
    }
  }
  for (int v = 1; v < kVectors; ++v) top[0] = max(top[v], top[0]);
  return top[0];
}

// s becomes p, and the block's lane sums join the row's.
HEED_INLINE void weights(float* s, int panels, const std::uint64_t* words, float mu, float alpha, float* lanes) {
  Floats sums[kVectors];
  for (int v = 0; v < kVectors; ++v) sums[v] = broadcast(0.0f);
  for (int p = 0; p < panels; ++p, s += kPanel) {
    const std::uint32_t on = words == nullptr ? kWholePanel : panel_bits(words, p);
    if (on == 0) {
      for (int v = 0; v < kVectors; ++v) store(s + v * kLanes, broadcast(0.0f));
      continue;
    }
    for (int v = 0; v < kVectors; ++v) {
      Floats weight = exp_nonpositive(load(s + v * kLanes) - broadcast(mu));
      if (on != kWholePanel) weight = select(mask_of_bits(on, v), weight, broadcast(0.0f));
      store(s + v * kLanes, weight);
      sums[v] = sums[v] + weight;
    }
  }
  for (int v = 0; v < kVectors; ++v) {
    store(lanes + v * kLanes, fma(load(lanes + v * kLanes), broadcast(alpha), sums[v]));
  }
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

// The steps of row r once its maximum is known.
HEED_INLINE void step_row(const SoftmaxStep& t, std::int32_t r, float m, float mu, float alpha) {
  float* s = t.s + r * t.s_row;
  const std::uint64_t* words = words_of(t, r);
  if (words != nullptr && none_attended(words)) {
    for (int x = 0; x < t.panels * kPanel; x += kLanes) store(s + x, broadcast(0.0f));
    t.alpha[r] = 1.0f;
    return;
  }
  float* lanes = t.lanes + r * kPanel;
  if (words == nullptr) {
    weights(s, t.panels, nullptr, mu, alpha, lanes);
  } else {
    weights(s, t.panels, words, mu, alpha, lanes);
  }
  if (t.v_scale != nullptr) scale_weights(s, t.panels, t.v_scale, words);
  t.m[r] = m;
  t.alpha[r] = alpha;
}

HEED_INLINE void step_one(const SoftmaxStep& t, std::int32_t r) {
  const float m = max(max_of_lanes(largest(t.s + r * t.s_row, t.panels, words_of(t, r))), t.m[r]);
  const float mu = m == -kInfinity ? 0.0f : m;
  step_row(t, r, m, mu, exp_nonpositive(t.m[r] - mu));
}

// The largest of each of kLanes rows, lane = row.
HEED_INLINE Floats largest_of_rows(const float* rows) {
  Floats top = broadcast(-kInfinity);
  for (int x = 0; x < kLanes; x += 4) {
    const FourWords four = load_four_words(rows + x, kLanes);
    top = max(max(max(four.column[0], four.column[1]), max(four.column[2], four.column[3])), top);
  }
  return top;
}

// 2 ... kLanes rows.
HEED_INLINE void step_group(const SoftmaxStep& t, std::int32_t first, std::int32_t rows) {
  alignas(64) float tops[kLanes * kLanes], m[kLanes], mu[kLanes], alpha[kLanes];
  for (std::int32_t i = 0; i < kLanes; ++i) {
    Floats top = broadcast(-kInfinity);
    if (i < rows) top = largest(t.s + (first + i) * t.s_row, t.panels, words_of(t, first + i));
    top.store_aligned(tops + i * kLanes);
  }
  const Floats before = rows == kLanes ? load(t.m + first) : load_tail(t.m + first, rows);
  const Floats after = max(largest_of_rows(tops), before);
  const Floats finite = zero_where(after == broadcast(-kInfinity), after);
  after.store_aligned(m);
  finite.store_aligned(mu);
  exp_nonpositive(before - finite).store_aligned(alpha);
  for (std::int32_t i = 0; i < rows; ++i) step_row(t, first + i, m[i], mu[i], alpha[i]);
}

}  // namespace

void softmax_step_f32(const SoftmaxStep& t) {
  constexpr int kGroup = kEmulated ? 1 : kLanes;  // emulated lanes are memory: a group would take 7 KiB of stack
  for (std::int32_t r = 0; r < t.rows; r += kGroup) {
    const std::int32_t rows = t.rows - r < kGroup ? t.rows - r : kGroup;
    if (kGroup == 1 || rows == 1) {
      step_one(t, r);
    } else {
      step_group(t, r, rows);
    }
  }
}

}  // namespace heed::HEED_ROW

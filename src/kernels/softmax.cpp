// Softmax of one row: weights and log-sum-exp.
//
//   (m, l) of the row by steps 5, 6 and 8, so that lse = m + ln l has the bits of attention's
//   weight_j = p_j * f      f = 2^((m_block - mu) * log2e) / l      m_block: the maximum that the block's p were taken
//   against
//
// A row of up to kKept blocks keeps its p in `weights` between the passes and multiplies them by f; a longer one, which
// would have left the cache, computes p again from x: 12 bytes of traffic per element in place of 16, for the same
// bits.
//
// Registers: 7 constants of 2^x, mu, log2e, 2 sums. Bound: 12 floating-point operations per vector and pass on two
// ports, or memory; a block alone would be bound by latency (maximum, 2^x, sum), so the maximum of the next one is
// found before its powers are begun. l = 0: weights +0, lse -inf. A NaN makes everything NaN; +inf and no NaN: weights
// NaN, lse +inf, which is why NaNs are looked for in x itself. Tails: elements behind the row are -inf, whose p is
// exactly +0.
#include "simd/math.hpp"

namespace heed::HEED_ROW {
namespace {

constexpr std::int64_t kKept = 1024;                   // 131072 elements, 512 KiB: with x, half of a second-level cache
constexpr std::int64_t kFarAhead = 512;                // elements: what a processor fetches by itself comes too late
constexpr std::int64_t kFar = std::int64_t{1} << 15;   // elements from which on x may lie in memory
constexpr std::int64_t kPast = std::int64_t{1} << 18;  // elements whose weights are no use to a cache

HEED_INLINE float finite_or_zero(float m) { return m == -kInfinity ? 0.0f : m; }
HEED_INLINE std::int64_t least(std::int64_t a, std::int64_t b) { return a < b ? a : b; }

// A vector of which `left` elements exist, -inf behind them.
HEED_INLINE Floats load_or_excluded(const float* x, std::int64_t left) {
  if (left >= kLanes) return load(x);
  alignas(64) float lanes[kLanes];
  for (int lane = 0; lane < kLanes; ++lane) lanes[lane] = lane < left ? x[lane] : -kInfinity;
  return Floats::load_aligned(lanes);
}

HEED_INLINE void store_existing(float* p, Floats value, std::int64_t left) {
  if (left >= kLanes) {
    store(p, value);
  } else if (left > 0) {
    store_tail(p, value, left);
  }
}

// Calls each(v, i, left) for the vectors of n elements: number v of its panel, at element i, of which `left` exist.
// Those of whole panels without a test.
template <class Each>
HEED_INLINE void for_each_vector(std::int64_t n, const Each& each) {
  std::int64_t i = 0;
  for (; i + kPanel <= n; i += kPanel) {
    for (int v = 0; v < kVectors; ++v) each(v, i + v * kLanes, std::int64_t{kLanes});
  }
  for (int v = 0; v < kVectors && i < n; ++v) each(v, i + v * kLanes, n - i - v * kLanes);
}

// Asks for the block that is needed so many blocks later. It need not exist.
HEED_INLINE void fetch_far_ahead(const float* x) {
  for (int i = 0; i < kBlock; i += 16)
    HEED_FETCH(reinterpret_cast<std::uintptr_t>(x) + (kFarAhead + i) * sizeof(float));
}

HEED_INLINE float maximum(const float* x, std::int64_t n, Floats* not_a_number) {
  Floats top[kVectors];
  for (int v = 0; v < kVectors; ++v) top[v] = broadcast(-kInfinity);
  for_each_vector(n, [&](int v, std::int64_t i, std::int64_t left) HEED_ALWAYS {
    const Floats s = load_or_excluded(x + i, left);
    if (not_a_number != nullptr) *not_a_number = select(s != s, s, *not_a_number);
    top[v] = max(s, top[v]);
  });
  for (int v = 1; v < kVectors; ++v) top[0] = max(top[v], top[0]);
  return max_of_lanes(top[0]);
}

struct Split {
  float m = -kInfinity;
  Floats lanes[kVectors];
};

// Takes one block into the split's running state; writes p unless null.
HEED_INLINE void step(Split& split, bool first, float m, const float* x, std::int64_t n, float* p) {
  const float mu = finite_or_zero(m);
  Floats sums[kVectors];
  for (int v = 0; v < kVectors; ++v) sums[v] = broadcast(0.0f);
  for_each_vector(n, [&](int v, std::int64_t i, std::int64_t left) HEED_ALWAYS {
    const Floats weight = exp_nonpositive(load_or_excluded(x + i, left) - broadcast(mu));
    sums[v] = sums[v] + weight;
    if (p != nullptr) store_existing(p + i, weight, left);
  });
  const Floats alpha = broadcast(first ? 0.0f : exp_nonpositive(split.m - mu));
  for (int v = 0; v < kVectors; ++v) split.lanes[v] = fma(split.lanes[v], alpha, sums[v]);
  split.m = m;
}

HEED_INLINE bool any_nan(Floats x) {
  alignas(64) float lanes[kLanes];
  x.store_aligned(lanes);
  bool found = false;
  for (int i = 0; i < kLanes; ++i) found = found || lanes[i] != lanes[i];
  return found;
}

}  // namespace

float softmax_f32(const void* x_data, float* weights, std::int64_t n) {
  const float* x = static_cast<const float*>(x_data);
  const bool keep = n <= kKept * kBlock;
  float maxima[kKept];
  float m = -kInfinity, l = 0.0f;
  Floats not_a_number = broadcast(0.0f);
  for (std::int64_t begin = 0; begin < n; begin += kSplit) {
    const std::int64_t end = least(begin + kSplit, n);
    Split split;
    for (int v = 0; v < kVectors; ++v) split.lanes[v] = broadcast(0.0f);
    float next = maximum(x + begin, least(kBlock, end - begin), &not_a_number);
    for (std::int64_t j = begin; j < end; j += kBlock) {
      const std::int64_t later = j + kBlock;
      const float m_now = max(split.m, next);
      if (n >= kFar) fetch_far_ahead(x + j);
      if (later < end) next = maximum(x + later, least(kBlock, end - later), &not_a_number);
      step(split, j == begin, m_now, x + j, least(kBlock, end - j), keep ? weights + j : nullptr);
      if (keep) maxima[j / kBlock] = split.m;
    }
    const float sum = sum_of_panel(split.lanes);
    if (begin == 0) {
      m = split.m;
      l = sum;
    } else {
      merge_f32(&m, &l, nullptr, split.m, sum, nullptr, 0);
    }
  }

  if (l != l) {
    for (std::int64_t i = 0; i < n; ++i) weights[i] = float_of(0x7FC00000u);
    return any_nan(not_a_number) ? float_of(0x7FC00000u) : kInfinity;
  }
  const float mu = finite_or_zero(m);
  const bool past = n >= kPast && x != weights && may_store_past_caches(weights);
  for (std::int64_t begin = 0; begin < n; begin += kSplit) {
    const std::int64_t end = least(begin + kSplit, n);
    float block_m = -kInfinity;
    for (std::int64_t j = begin; j < end; j += kBlock) {
      const std::int64_t keys = least(kBlock, end - j);
      float* p = weights + j;
      block_m = keep ? maxima[j / kBlock] : max(block_m, maximum(x + j, keys, nullptr));
      // 2^0 is one, and of a row of one block nothing else is needed.
      const Floats factor = broadcast(l == 0.0f ? 0.0f : (block_m == m ? 1.0f : exp_nonpositive(block_m - mu)) / l);
      const Floats block_mu = broadcast(finite_or_zero(block_m));
      const auto weight = [&](std::int64_t i, std::int64_t left) HEED_ALWAYS {
        return exp_nonpositive(load_or_excluded(x + j + i, left) - block_mu) * factor;
      };
      if (keep) {
        for_each_vector(keys, [&](int, std::int64_t i, std::int64_t left)
                                  HEED_ALWAYS { store_existing(p + i, load_or_excluded(p + i, left) * factor, left); });
        continue;
      }
      if (n >= kFar) fetch_far_ahead(x + j);
      if (past && keys == kBlock) {
        for (std::int64_t i = 0; i < kBlock; i += kLanes) store_past_caches(p + i, weight(i, kLanes));
      } else {
        for_each_vector(keys, [&](int, std::int64_t i, std::int64_t left)
                                  HEED_ALWAYS { store_existing(p + i, weight(i, left), left); });
      }
    }
  }
  if (past) end_stores_past_caches();
  return l == 0.0f ? -kInfinity : canonical(m + ln(l));
}

}  // namespace heed::HEED_ROW

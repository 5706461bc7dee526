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

constexpr std::int64_t kKept = 1024;                  // 131072 elements, 512 KiB: with x, half of a second-level cache
constexpr std::int64_t kFarAhead = 512;               // elements: what a processor fetches by itself comes too late
constexpr std::int64_t kFar = std::int64_t{1} << 15;  // elements from which on x may lie in memory
static_assert(kKept * kBlock >= kFar, "a row that is read twice is fetched ahead");
constexpr std::int64_t kPast = std::int64_t{1} << 18;  // elements whose weights are no use to a cache

HEED_INLINE float finite_or_zero(float m) { return m == -kInfinity ? 0.0f : m; }
HEED_INLINE std::int64_t least(std::int64_t a, std::int64_t b) { return a < b ? a : b; }

// What is behind the last whole panel of a row of n elements, -inf behind that; then the weights of those.
struct Rest {
  alignas(64) float panel[kPanel];
  std::int64_t n;

  HEED_INLINE Rest(const float* x, std::int64_t row) : n(row % kPanel) {
    if (n == 0) return;
    for (int v = 0; v < kVectors; ++v) {
      const std::int64_t left = n - v * kLanes;
      const float* from = x + row - n + v * kLanes;
      Floats s = broadcast(-kInfinity);
      if (left >= kLanes) {
        s = load(from);
      } else if (left > 0) {
        s = select(mask_of_bits((1u << left) - 1u, 0), load_tail(from, left), s);
      }
      s.store_aligned(panel + v * kLanes);
    }
  }

  HEED_INLINE void store_behind(float* p) const {
    for (int v = 0; v < kVectors; ++v) {
      const Floats weight = Floats::load_aligned(panel + v * kLanes);
      const std::int64_t left = n - v * kLanes;
      if (left >= kLanes) {
        store(p + v * kLanes, weight);
      } else if (left > 0) {
        store_tail(p + v * kLanes, weight, left);
      }
    }
  }
};

// Calls each(x, p) for the panels of n elements, the rest being in one of its own.
template <class Each>
HEED_INLINE void for_each_panel(const float* x, float* p, std::int64_t n, Rest& rest, const Each& each) {
  std::int64_t i = 0;
  for (; i + kPanel <= n; i += kPanel) each(x + i, p == nullptr ? nullptr : p + i);
  if (i < n) each(rest.panel, p == nullptr ? nullptr : rest.panel);
}

// Asks for the block that is needed kFarAhead elements later. It need not exist.
HEED_INLINE void fetch_far_ahead(const float* x) {
  for (int i = 0; i < kBlock; i += 16)
    HEED_FETCH(reinterpret_cast<std::uintptr_t>(x) + (kFarAhead + i) * sizeof(float));
}

// Four vectors at a time, whose maxima don't wait for each other.
HEED_INLINE float maximum(const float* x, std::int64_t n, const Rest& rest, Floats* not_a_number) {
  constexpr int kTops = 4;
  Floats top[kTops];
  for (int v = 0; v < kTops; ++v) top[v] = broadcast(-kInfinity);
  const auto look = [&](Floats s, Floats t) HEED_ALWAYS {
    if (not_a_number != nullptr) {
      *not_a_number = select(unordered(s, t), broadcast(__builtin_nanf("")), *not_a_number);
    }
  };
  std::int64_t i = 0;
  for (; i + kTops * kLanes <= n; i += kTops * kLanes) {
    Floats s[kTops];
#pragma GCC unroll 4
    for (int v = 0; v < kTops; ++v) {
      s[v] = load(x + i + v * kLanes);
      top[v] = max(s[v], top[v]);
    }
    look(s[0], s[1]);
    look(s[2], s[3]);
  }
#pragma GCC unroll 1
  for (; i < n; i += kLanes) {
    const std::int64_t whole = n / kPanel * kPanel;
    const Floats s = load(i < whole ? x + i : rest.panel + (i - whole));
    look(s, s);
    top[0] = max(s, top[0]);
  }
  return max_of_lanes(max(max(top[0], top[1]), max(top[2], top[3])));
}

struct Split {
  float m = -kInfinity;
  Floats lanes[kVectors];
};

// p of one block against its maximum, and their sum lane by lane; writes p unless null.
HEED_INLINE void block_weights(float m, const float* x, std::int64_t n, float* p, Rest& rest,
                               Floats (&sums)[kVectors]) {
  const Floats mu = broadcast(finite_or_zero(m));
  for (int v = 0; v < kVectors; ++v) sums[v] = broadcast(0.0f);
  for_each_panel(x, p, n, rest, [&](const float* s, float* to) HEED_ALWAYS {
    for (int v = 0; v < kVectors; ++v) {
      const Floats weight = exp_nonpositive(load(s + v * kLanes) - mu);
      sums[v] = sums[v] + weight;
      if (to != nullptr) store(to + v * kLanes, weight);
    }
  });
}

// Takes one block into the split's running state.
HEED_INLINE void step(Split& split, bool first, float m, const float* x, std::int64_t n, float* p, Rest& rest) {
  Floats sums[kVectors];
  block_weights(m, x, n, p, rest, sums);
  const Floats alpha = broadcast(first ? 0.0f : exp_nonpositive(split.m - finite_or_zero(m)));
  for (int v = 0; v < kVectors; ++v) split.lanes[v] = fma(split.lanes[v], alpha, sums[v]);
  split.m = m;
}

HEED_INLINE void multiply(float* p, std::int64_t n, Rest& rest, Floats factor) {
  for_each_panel(p, p, n, rest, [&](const float* from, float* to) HEED_ALWAYS {
    for (int v = 0; v < kVectors; ++v) store(to + v * kLanes, load(from + v * kLanes) * factor);
  });
}

HEED_INLINE bool any_nan(Floats x) {
  alignas(64) float lanes[kLanes];
  x.store_aligned(lanes);
  bool found = false;
  for (int i = 0; i < kLanes; ++i) found = found || lanes[i] != lanes[i];
  return found;
}

// Of a row whose sum is NaN. Returns its lse.
__attribute__((noinline)) float all_nan(float* weights, std::int64_t n, Floats not_a_number) {
  for (std::int64_t i = 0; i < n; ++i) weights[i] = float_of(0x7FC00000u);
  return any_nan(not_a_number) ? float_of(0x7FC00000u) : kInfinity;
}

HEED_INLINE float lse(float m, float l) { return l == 0.0f ? -kInfinity : canonical(m + ln(l)); }

// A row of one block, without all that rows of many need.
__attribute__((noinline)) float softmax_of_block(const float* x, float* weights, std::int64_t n) {
  Rest rest(x, n);
  Floats not_a_number = broadcast(0.0f), sums[kVectors];
  const float m = maximum(x, n, rest, &not_a_number);
  block_weights(m, x, n, weights, rest, sums);
  const float l = sum_of_panel(sums);
  if (l != l) return all_nan(weights, n, not_a_number);
  multiply(weights, n, rest, broadcast(l == 0.0f ? 0.0f : 1.0f / l));
  rest.store_behind(weights + n - rest.n);
  return lse(m, l);
}

}  // namespace

float softmax_f32(const void* x_data, float* weights, std::int64_t n) {
  const float* x = static_cast<const float*>(x_data);
  if (n <= kBlock) return softmax_of_block(x, weights, n);

  const bool keep = n <= kKept * kBlock;
  float maxima[kKept];
  float m = -kInfinity, l = 0.0f;
  Rest rest(x, n);
  Floats not_a_number = broadcast(0.0f);
  for (std::int64_t begin = 0; begin < n; begin += kSplit) {
    const std::int64_t end = least(begin + kSplit, n);
    Split split;
    for (int v = 0; v < kVectors; ++v) split.lanes[v] = broadcast(0.0f);
    float next = maximum(x + begin, least(kBlock, end - begin), rest, &not_a_number);
    for (std::int64_t j = begin; j < end; j += kBlock) {
      const std::int64_t later = j + kBlock;
      const float m_now = max(split.m, next);
      if (n >= kFar) fetch_far_ahead(x + j);
      if (later < end) next = maximum(x + later, least(kBlock, end - later), rest, &not_a_number);
      step(split, j == begin, m_now, x + j, least(kBlock, end - j), keep ? weights + j : nullptr, rest);
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

  if (l != l) return all_nan(weights, n, not_a_number);
  const float mu = finite_or_zero(m);
  const bool past = n >= kPast && x != weights && may_store_past_caches(weights);
  for (std::int64_t begin = 0; begin < n; begin += kSplit) {
    const std::int64_t end = least(begin + kSplit, n);
    float block_m = -kInfinity;
    for (std::int64_t j = begin; j < end; j += kBlock) {
      const std::int64_t keys = least(kBlock, end - j);
      block_m = keep ? maxima[j / kBlock] : max(block_m, maximum(x + j, keys, rest, nullptr));
      // 2^0 is one.
      const Floats factor = broadcast(l == 0.0f ? 0.0f : (block_m == m ? 1.0f : exp_nonpositive(block_m - mu)) / l);
      if (keep) {
        multiply(weights + j, keys, rest, factor);
        continue;
      }
      fetch_far_ahead(x + j);
      const Floats block_mu = broadcast(finite_or_zero(block_m));
      for_each_panel(x + j, weights + j, keys, rest, [&](const float* s, float* to) HEED_ALWAYS {
        for (int v = 0; v < kVectors; ++v) {
          const Floats weight = exp_nonpositive(load(s + v * kLanes) - block_mu) * factor;
          if (past && to != rest.panel) {
            store_past_caches(to + v * kLanes, weight);
          } else {
            store(to + v * kLanes, weight);
          }
        }
      });
    }
  }
  rest.store_behind(weights + n - rest.n);
  if (past) end_stores_past_caches();
  return lse(m, l);
}

}  // namespace heed::HEED_ROW

// What happens to a score between its chain and the softmax, each one rounded operation, in this order:
//
//   s = s * k_scale_j                 int8 keys                                                                (step 2)
//   s = cap * tanh(s / cap)           soft-cap, a true division
//   s = fma(-slope, |i' - j|, s)      ALiBi
//   s = s + bias                      additive bias                                                            (step 3)
//
// A bias of -inf excludes its key: the attended bit is cleared, and the score's value doesn't matter any more.
//
// Registers: s, bias, distance, 8 constants of tanh. Bound: with a soft-cap by two divisions per vector, otherwise by
// the load and store of the tile, which is in the first-level cache. Distances are exact as floats below 2^24; farther
// ones are rounded from the integer, one by one. Tails: the caller's rows are padded to whole panels; a bias is not,
// and its last vector is filled with +0.
#include "simd/math.hpp"

namespace heed::HEED_ROW {
namespace {

// Rows of a bias are short and far apart: the processor does not foresee them.
constexpr std::int32_t kAhead = 8;

constexpr std::int64_t kExact = std::int64_t{1} << 23;

// |distance - j| for the kLanes keys from j on.
HEED_INLINE Floats distances(std::int64_t distance, std::int32_t j) {
  alignas(64) float lanes[kLanes];
  for (int x = 0; x < kLanes; ++x) {
    const std::int64_t d = distance - j - x;
    lanes[x] = static_cast<float>(d < 0 ? -d : d);
  }
  return Floats::load_aligned(lanes);
}

// Where every number on the way is exact: distance - j for the first kLanes keys, to be counted down.
HEED_INLINE Floats near_distances(std::int64_t distance) {
  alignas(64) static constexpr float kIota[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
  return broadcast(static_cast<float>(distance)) - Floats::load_aligned(kIota);
}

template <class T>
HEED_INLINE void score_step(const ScoreStep& t) {
  for (std::int32_t r = 0; r < t.rows; ++r) {
    float* s = t.s + r * t.s_row;
    const T* bias = t.bias == nullptr ? nullptr : static_cast<const T*>(t.bias[r]);
    const T* later = bias == nullptr ? nullptr : static_cast<const T*>(t.bias[r + kAhead < t.rows ? r + kAhead : r]);
    const Floats cap = broadcast(t.softcap);
    const Floats slope = broadcast(t.slope == nullptr ? 0.0f : -t.slope[r]);
    const bool near = t.slope != nullptr && t.distance[r] > -kExact && t.distance[r] < kExact;
    Floats away = near_distances(near ? t.distance[r] : 0);
    for (std::int32_t j = 0; j < t.keys; j += kLanes) {
      Floats x = load(s + j);
      if (t.k_scale != nullptr) x = x * load(t.k_scale + j);
      if (t.softcap != 0.0f) x = cap * tanh(x / cap);
      if (t.slope != nullptr) x = fma(slope, near ? xsimd::abs(away) : distances(t.distance[r], j), x);
      away = away - broadcast(static_cast<float>(kLanes));
      if (bias != nullptr) {
        HEED_FETCH(later + j);
        const Floats b = t.keys - j >= kLanes ? load(bias + j) : load_tail(bias + j, t.keys - j);
        const std::uint64_t excluded = (b == broadcast(-kInfinity)).mask();
        t.attended[r * kAttendedWords + j / 64] &= ~(excluded << (j % 64));
        x = x + b;
      }
      store(s + j, x);
    }
  }
}

}  // namespace

#define HEED_ENTRY(op, type) \
  void op##_##type(const ScoreStep& t) { score_step<storage::type>(t); }
HEED_FLOAT_TYPES(HEED_ENTRY, score_step)

}  // namespace heed::HEED_ROW

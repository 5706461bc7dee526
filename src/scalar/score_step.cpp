// What happens to a score between its chain and the softmax, each one rounded operation, in this order:
//
//   s = s * k_scale_j                 int8 keys                                                                (step 2)
//   s = cap * tanh(s / cap)           soft-cap, a true division
//   s = fma(-slope, |i' - j|, s)      ALiBi
//   s = s + bias                      additive bias                                                            (step 3)
//
// A bias of -inf excludes its key: the attended bit is cleared, and the score's value doesn't matter any more.
#include "scalar/storage.hpp"

namespace heed::HEED_ROW {
namespace {

template <class T>
void score_step(const ScoreStep& t) {
  for (std::int32_t r = 0; r < t.rows; ++r) {
    float* s = t.s + r * t.s_row;
    for (std::int32_t j = 0; j < t.keys; ++j) {
      float x = s[j];
      if (t.k_scale != nullptr) x = x * t.k_scale[j];
      if (t.softcap != 0.0f) x = t.softcap * tanh(x / t.softcap);
      if (t.slope != nullptr) {
        const std::int64_t distance = t.distance[r] - j;
        x = fma(-t.slope[r], static_cast<float>(distance < 0 ? -distance : distance), x);
      }
      if (t.bias != nullptr) {
        const float bias = widen(static_cast<const T*>(t.bias[r])[j]);
        if (bias == -kInfinity) t.attended[r * kAttendedWords + j / 64] &= ~(std::uint64_t{1} << (j % 64));
        x = x + bias;
      }
      s[j] = x;
    }
  }
}

}  // namespace

#define HEED_ENTRY(op, type) \
  void op##_##type(const ScoreStep& t) { score_step<storage::type>(t); }
HEED_FLOAT_TYPES(HEED_ENTRY, score_step)

}  // namespace heed::HEED_ROW

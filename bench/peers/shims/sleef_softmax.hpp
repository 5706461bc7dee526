// softmax of one row in three passes, with SLEEF's exp (1 ULP) of the widest vectors.
#pragma once

#include <math.h>
#include <sleef.h>
#include <string.h>

namespace peers {

#if defined(__AVX512F__)
constexpr int kVectorBytes = 64;
#define PEERS_EXP Sleef_expf16_u10avx512f
#elif defined(__AVX2__)
constexpr int kVectorBytes = 32;
#define PEERS_EXP Sleef_expf8_u10avx2
#elif defined(__aarch64__)
constexpr int kVectorBytes = 16;
#define PEERS_EXP Sleef_expf4_u10advsimd
#endif
typedef float Floats __attribute__((vector_size(kVectorBytes)));
constexpr int kLanes = kVectorBytes / 4;

inline float scale_of(int D) { return 1.0f / sqrtf(static_cast<float>(D)); }

inline Floats load(const float* x) {
  Floats v;
  memcpy(&v, x, sizeof v);
  return v;
}

inline void store(float* y, Floats v) { memcpy(y, &v, sizeof v); }

// y may be x.
inline void sleef_softmax(const float* x, float* y, int n) {
  Floats most[4];
  for (Floats& each : most) each = Floats{} - INFINITY;
  int i = 0;
  for (; i + 4 * kLanes <= n; i += 4 * kLanes) {
    for (int c = 0; c < 4; ++c) {
      const Floats next = load(x + i + c * kLanes);
      most[c] = most[c] > next ? most[c] : next;
    }
  }
  float m = -INFINITY;
  for (const Floats& each : most)
    for (int lane = 0; lane < kLanes; ++lane) m = fmaxf(m, each[lane]);
  for (; i < n; ++i) m = fmaxf(m, x[i]);

  Floats sums[2] = {};
  for (i = 0; i + 2 * kLanes <= n; i += 2 * kLanes) {
    for (int c = 0; c < 2; ++c) {
      const Floats e = PEERS_EXP(load(x + i + c * kLanes) - m);
      store(y + i + c * kLanes, e);
      sums[c] += e;
    }
  }
  float sum = 0;
  for (int lane = 0; lane < kLanes; ++lane) sum += sums[0][lane] + sums[1][lane];
  for (; i < n; ++i) {
    y[i] = expf(x[i] - m);
    sum += y[i];
  }

  const float factor = 1.0f / sum;
  for (i = 0; i + kLanes <= n; i += kLanes) store(y + i, load(y + i) * factor);
  for (; i < n; ++i) y[i] *= factor;
}

}  // namespace peers

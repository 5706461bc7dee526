#include "attention_random.hpp"

#include <cmath>

namespace heed::test {
namespace {

struct Sizes {
  std::size_t q, k, v;
};

Sizes sizes_of(const Spec& s) {
  return {static_cast<std::size_t>(s.B * s.Hq * s.Lq * s.D), static_cast<std::size_t>(s.B * s.Hkv * s.Lkv * s.D),
          static_cast<std::size_t>(s.B * s.Hkv * s.Lkv * s.Dv)};
}

float& any_of(std::vector<float>& numbers, Random& random) {
  return numbers[static_cast<std::size_t>(random.between(0, static_cast<std::int64_t>(numbers.size()) - 1))];
}

float nonfinite(Random& random) {
  const float choices[] = {kInfinity, -kInfinity, std::numeric_limits<float>::quiet_NaN()};
  return choices[random.between(0, 2)];
}

// Keys whose score is -inf: a fifth of them, and a run that may fill blocks.
void put_minus_infinities(const Spec& s, ModelProblem& p, Random& random) {
  for (std::size_t i = 0; i < p.q.size(); i += static_cast<std::size_t>(s.D)) p.q[i] = std::fabs(p.q[i]) + 0.125f;
  const std::int64_t run = s.Lkv == 0 ? 0 : random.between(0, s.Lkv - 1), run_end = run + random.between(0, 400);
  for (std::int64_t head = 0; head < s.B * s.Hkv; ++head) {
    for (std::int64_t j = 0; j < s.Lkv; ++j) {
      if (random.between(0, 4) != 0 && (j < run || j >= run_end)) continue;
      p.k[static_cast<std::size_t>((head * s.Lkv + j) * s.D)] = -kInfinity;
      if (random.once_in(200)) {
        p.v[static_cast<std::size_t>((head * s.Lkv + j) * s.Dv + random.between(0, s.Dv - 1))] = nonfinite(random);
      }
    }
  }
}

}  // namespace

ModelProblem problem_of(const Spec& s) {
  Random random(s.seed ^ 0x5EEDu);
  ModelProblem p;
  p.B = s.B;
  p.Hq = s.Hq;
  p.Hkv = s.Hkv;
  p.Lq = s.Lq;
  p.Lkv = s.Lkv;
  p.D = s.D;
  p.Dv = s.Dv;
  p.scale = s.scale;
  p.causal = s.causal;
  p.alignment = s.alignment;
  p.offsets = s.offsets;
  p.offsets.resize(static_cast<std::size_t>(s.B));

  const Sizes sizes = sizes_of(s);
  p.q.resize(sizes.q);
  p.k.resize(sizes.k);
  p.v.resize(sizes.v);
  const float size = s.mixture == Mixture::kSteep  ? 8.0f
                     : s.mixture == Mixture::kTiny ? 0x1p-70f
                     : s.mixture == Mixture::kHuge ? 0x1p62f
                                                   : 1.0f;
  const auto number = [&] {
    return s.mixture == Mixture::kIntegers ? static_cast<float>(random.between(-2, 2)) : random.number(Kind::kTame);
  };
  for (float& x : p.q) x = number() * size;
  for (float& x : p.k) x = number() * size;
  for (float& x : p.v) x = number() * (s.mixture == Mixture::kTiny ? 0x1p-120f : 1.0f);
  if (s.mixture == Mixture::kIntegers) {
    for (float& x : p.v) x = -x;  // so that zeros are negative ones
  }
  if (s.mixture == Mixture::kRising) {
    for (std::size_t i = 0; i < p.k.size(); ++i) {
      const std::int64_t j = static_cast<std::int64_t>(i) / s.D % s.Lkv;
      p.k[i] *= 0.5f + 0.01f * static_cast<float>(j);
    }
  }
  if (s.mixture == Mixture::kMinusInfinity) put_minus_infinities(s, p, random);
  if (s.mixture == Mixture::kNonfiniteValue && !p.v.empty()) {
    for (std::int64_t n = 0; n < 1 + s.B * s.Hkv * 2; ++n) any_of(p.v, random) = nonfinite(random);
  }
  if (s.mixture == Mixture::kNonfinite && !p.k.empty()) {
    any_of(p.k, random) = nonfinite(random);
    if (!p.q.empty() && random.once_in(2)) any_of(p.q, random) = nonfinite(random);
  }
  if (s.sinks != 0) {
    for (std::int64_t h = 0; h < s.Hq; ++h) {
      p.sinks.push_back(s.sinks == 2 && random.once_in(2) ? -kInfinity : 4.0f * random.number(Kind::kTame));
    }
  }
  return p;
}

}  // namespace heed::test

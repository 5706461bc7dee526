// Attention problems of given sizes with random floats of a given kind.
#pragma once

#include <cstdint>
#include <vector>

#include "model.hpp"

namespace heed::test {

// What the numbers of a problem are like.
enum class Mixture {
  kPlain,
  kSteep,           // scores far apart: most weights vanish
  kRising,          // later keys have larger scores: the running maximum rises late
  kIntegers,        // small ones: ties, exact zeros, negative zeros
  kTiny,            // products underflow, so that a sum may end as -0
  kHuge,            // scores near the largest float
  kMinusInfinity,   // scores of -inf, for whole blocks too, with NaN and inf in V at some of them
  kNonfiniteValue,  // NaN and inf in V
  kNonfinite,       // NaN and inf in Q and K
};

struct Spec {
  std::uint64_t seed = 0;
  std::int64_t B = 1, Hq = 1, Hkv = 1, Lq = 1, Lkv = 1, D = 1, Dv = 1;
  bool causal = false;
  Alignment alignment = Alignment::kBottomRight;
  std::vector<std::int64_t> offsets;
  float scale = 1.0f;
  int sinks = 0;  // 0: none; 1: numbers; 2: numbers and -inf
  Mixture mixture = Mixture::kPlain;
};

ModelProblem problem_of(const Spec& spec);

}  // namespace heed::test

// Generated problems: a shape, options, a distribution and a seed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "comparison.hpp"

namespace heed::compare {

struct Generated {
  std::int64_t B = 1, Hq = 4, Hkv = 2, Lq = 8, Lkv = 300, D = 64, Dv = 0;  // Dv 0: as D
  std::string distribution = "normal";
  std::uint64_t seed = 0;
  float scale = 0;
  bool has_scale = false, causal = false, alibi = false, sinks = false;
  float softcap = 0;
  std::int64_t window_left = -1, window_right = -1;
};

inline const std::vector<std::string> kDistributions = {"normal", "uniform", "wide", "integers"};

// Attention of the whole problem, and the kernels one by one on its first head. Throws std::invalid_argument for a
// problem that is too large to be compared.
Case generated_case(const Generated& request);

}  // namespace heed::compare

// The distance of a result from the formula in double precision.
#pragma once

#include <string>
#include <vector>

#include "model.hpp"

namespace heed::test {

// Says where out or lse is farther from the exact value than float rounding explains; empty if nowhere. The problem's
// numbers are finite.
std::string too_far(const ModelProblem& problem, const std::vector<float>& out, const std::vector<float>& lse);

}  // namespace heed::test

// A Content under the model and under the exact formula.
#pragma once

#include "option_problem.hpp"

namespace heed::test {

struct Modelled {
  std::vector<SequenceResult> results;  // the bits that every row with fused multiply-add gives
  std::vector<Bounds> bounds;           // of each sequence; where the content is finite
  ModelResult counts;                   // summed over the sequences; without numbers
};
Modelled modelled(const Content& content);

// A problem's results against the double reference, which reads the same call. Empty: none is further away than
// `bounds` and the rounding of the output type allow. For finite contents.
std::string too_far(const Content& content, const OptionProblem& problem, const std::vector<SequenceResult>& results,
                    const std::vector<Bounds>& bounds);

}  // namespace heed::test

// Random problems of options, whose numbers every storage type holds.
#pragma once

#include <cstdint>
#include <string>

#include "attention_forms.hpp"

namespace heed::test {

struct CodedProblem {
  ModelProblem numbers;
  Change change;      // the options that a ModelProblem does not know
  std::string words;  // what was drawn
};

// Any options, each in a quarter of the problems; the caller chooses the lengths.
CodedProblem draw_coded(Random& random, std::int64_t Lq, std::int64_t Lkv);

// No options, one head, one sequence.
ModelProblem plain_coded(Random& random, std::int64_t Lq, std::int64_t Lkv, std::int64_t D, std::int64_t Dv);

}  // namespace heed::test

// The score of one (query row, key) pair, in its stages.
#pragma once

#include <cstdint>

#include "sequence.hpp"

namespace heed::reference {

struct Stages {
  double scaled;  // (scale * q) . k
  double capped;  // cap * tanh(scaled / cap)
  double biased;  // plus ALiBi and the additive bias
  double score;   // after the callback: what softmax sees
};

// dot is (scale * q) . k, the scale of an int8 key included.
Stages stages(const Sequence& sequence, std::int64_t head, std::int64_t i, std::int64_t slot, double dot);

// The additive bias of the pair; 0 when there is none.
double bias(const Sequence& sequence, std::int64_t head, std::int64_t i, std::int64_t slot);

}  // namespace heed::reference

// Which keys a query row attends: a predicate, asked before any arithmetic, so that a key that is not attended cannot
// touch the result.
#pragma once

#include <cstdint>

#include "sequence.hpp"

namespace heed::reference {

bool attended(const Sequence& sequence, std::int64_t head, std::int64_t i, std::int64_t slot);

}  // namespace heed::reference

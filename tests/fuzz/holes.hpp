// Calls of everything with one pointer null, one size that doesn't fit the others, or on a row that cannot be served.
#pragma once

#include "fuzz/input.hpp"

namespace heed::fuzz {

void call_with_a_hole(Input& in);

}  // namespace heed::fuzz

// What the target `states` is made of: each draws one kind of call from the input.
#pragma once

#include "fuzz/input.hpp"

namespace heed::fuzz {

void merge_states(Input& in);
void finish_state(Input& in);
void merge_results(Input& in);  // heed_merge_lse
void attend_in_parts(Input& in);

}  // namespace heed::fuzz

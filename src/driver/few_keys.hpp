// Calls of at most 16 keys, which one kernel serves from tensors to results: no plan, no schedule, no memory, and no
// copy of the arguments.
#pragma once

#include "dispatch/table.hpp"

namespace heed {

// Whether it can serve such a call, provided that the arguments are plain (api/validate.hpp).
bool has_few_keys(const heed_attention_args& args);
void run_few_keys(const heed_attention_args& args, const dispatch::Table& table);

}  // namespace heed

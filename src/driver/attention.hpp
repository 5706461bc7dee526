// The loop nests of attention: blocks of keys under rows of queries. Portable; every arithmetic operation on data is a
// kernel of the table.
#pragma once

#include "dispatch/table.hpp"
#include "plan/plan.hpp"

namespace heed {

// workspace: plan.workers * plan.worker_bytes; states: plan.state_bytes; both aligned to 64 bytes.
void run_attention(const Problem& problem, const Plan& plan, const dispatch::Table& table, void* workspace,
                   void* states);

}  // namespace heed

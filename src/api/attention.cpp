#include "driver/attention.hpp"
#include "api/memory.hpp"
#include "api/status.hpp"
#include "api/validate.hpp"

using namespace heed;

heed_code heed_attention(const heed_attention_args* args, heed_status* status) noexcept {
  heed_code code = HEED_OK;
  const dispatch::Table* table = api::table_or_fail(status, &code);
  if (table == nullptr) return code;
  Problem problem;
  code = api::make_problem(args, &problem, status);
  if (code != HEED_OK) return code;
  if (problem.args.B == 0 || problem.args.Hq == 0 || problem.args.Lq == 0) return api::succeed(status);

  const Plan plan = make_plan(problem);
  const std::size_t workspace_bytes = static_cast<std::size_t>(plan.workers) * plan.worker_bytes;
  api::Scratch scratch(problem.args.allocator, workspace_bytes + plan.state_bytes);
  if (scratch.data() == nullptr) {
    return api::fail(status, HEED_OUT_OF_MEMORY, "allocator: no memory for %zu bytes of workspace",
                     workspace_bytes + plan.state_bytes);
  }
  run_attention(problem, plan, *table, scratch.data(), static_cast<char*>(scratch.data()) + workspace_bytes);
  return api::succeed(status);
}

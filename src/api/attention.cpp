#include "driver/attention.hpp"

#include "api/few_keys.hpp"
#include "api/memory.hpp"
#include "api/status.hpp"
#include "api/validate.hpp"

using namespace heed;

namespace {

// Apart, because a call of few keys needs no such memory on its stack.
__attribute__((noinline)) heed_code run_in_scratch(heed_run& run, heed_status* status) {
  const heed_attention_args& a = run.problem.args;
  Plan plan;
  make_plan(shape_of(a), plan);
  run.plan = &plan;
  if (plan.too_large) return api::fail(status, HEED_OUT_OF_MEMORY, "allocator: the workspace has no size");
  std::int64_t workers = 0;
  const auto bytes = static_cast<std::size_t>(schedule_run(run, &workers));
  api::Scratch scratch(a.allocator, bytes);
  if (scratch.data() == nullptr) {
    return api::fail(status, HEED_OUT_OF_MEMORY, "allocator: no memory for %zu bytes of workspace", bytes);
  }
  if (reinterpret_cast<std::uintptr_t>(scratch.data()) % 64 != 0) {
    return api::fail(status, HEED_INVALID_ARGUMENT, "allocator: its memory is not aligned to 64 bytes");
  }
  begin_run(run, scratch.data(), workers);
  return run_all(run) ? api::succeed(status) : api::cancelled(status);
}

}  // namespace

heed_code heed_attention(const heed_attention_args* args, heed_status* status) noexcept {
  heed_code code = HEED_OK;
  const dispatch::Table* table = api::table_or_fail(status, &code);
  if (table == nullptr) return code;
  if (api::is_plain_of_few_keys(args)) {
    run_few_keys(*args, *table);
    return api::succeed(status);
  }
  heed_run run;
  run.table = table;
  HEED_RETURN_IF_FAILED(api::make_problem(args, &run.problem, status));
  const heed_attention_args& a = run.problem.args;
  return a.B == 0 || a.Hq == 0 || a.Lq == 0 ? api::succeed(status) : run_in_scratch(run, status);
}

#include "driver/attention.hpp"
#include "api/memory.hpp"
#include "api/status.hpp"
#include "api/validate.hpp"

using namespace heed;

heed_code heed_attention(const heed_attention_args* args, heed_status* status) noexcept {
  heed_code code = HEED_OK;
  heed_run run;
  run.table = api::table_or_fail(status, &code);
  if (run.table == nullptr) return code;
  code = api::make_problem(args, &run.problem, status);
  if (code != HEED_OK) return code;
  const heed_attention_args& a = run.problem.args;
  if (a.B == 0 || a.Hq == 0 || a.Lq == 0) return api::succeed(status);

  make_plan(shape_of(a), run.plan);
  if (run.plan.too_large) return api::fail(status, HEED_OUT_OF_MEMORY, "allocator: the workspace has no size");
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

// Plans: what heed_attention decides by itself, decided once; and runs in memory and on threads of the caller's.
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <new>

#include "api/checks.hpp"
#include "api/few_keys.hpp"
#include "api/status.hpp"
#include "api/validate.hpp"
#include "driver/attention.hpp"

using namespace heed;

namespace {

// What a heed_plan holds, read where it lies.
struct __attribute__((may_alias)) PlanData {
  std::uint64_t made;  // kMade: by this library's heed_plan_make
  Plan plan;
  const dispatch::Table* table;
  heed_type q, out;
  std::int32_t kv_panels;
};
static_assert(sizeof(PlanData) <= sizeof(heed_plan) && alignof(PlanData) <= alignof(heed_plan));
constexpr std::uint64_t kMade = 0x6E616C7064656568u;

// Null: it wasn't made.
const PlanData* data_of(const heed_plan* plan) {
  const auto* data = reinterpret_cast<const PlanData*>(plan);
  return data != nullptr && data->made == kMade ? data : nullptr;
}

// A run that goes on after the call that begins it: its plan may be gone by then.
struct LastingRun {
  heed_run run;
  Plan plan;
};
constexpr std::int64_t kRunBytes = (static_cast<std::int64_t>(sizeof(LastingRun)) + 63) / 64 * 64;

std::int64_t workspace_bytes_of(const Plan& plan) { return kRunBytes + plan.bytes(); }

// What must be the same as the plan's, and what must not be larger.
heed_code check_fit(const PlanData& data, const heed_attention_args& a, heed_status* status) {
  const auto unfit = [&](const char* name, std::int64_t value, std::int64_t planned, const char* most = "") {
    return api::fail(status, HEED_INVALID_ARGUMENT, "%s: is %" PRId64 ", the plan was made for %s%" PRId64, name, value,
                     most, planned);
  };
  const auto unlike = [&](const char* name, heed_type type, heed_type planned) {
    return api::fail(status, HEED_INVALID_ARGUMENT, "%s.type: is %s, the plan was made for %s", name,
                     api::kTypeNames[type], api::kTypeNames[planned]);
  };
  const Shape& shape = data.plan.shape;
  const bool paged = a.block_table.data != nullptr || a.page_indices.data != nullptr;
  const std::int64_t page_size = paged ? a.page_size : 0;
  if (a.Hq != shape.Hq) return unfit("Hq", a.Hq, shape.Hq);
  if (a.Hkv != shape.Hkv) return unfit("Hkv", a.Hkv, shape.Hkv);
  if (a.D != shape.D) return unfit("D", a.D, shape.D);
  if (a.Dv != shape.Dv) return unfit("Dv", a.Dv, shape.Dv);
  if (page_size != shape.page_size) return unfit("page_size", page_size, shape.page_size);
  if (a.kv_panels != data.kv_panels) return unfit("kv_panels", a.kv_panels, data.kv_panels);
  if (a.B > shape.B) return unfit("B", a.B, shape.B, "at most ");
  if (a.Lq > shape.Lq) return unfit("Lq", a.Lq, shape.Lq, "at most ");
  if (a.Lkv > shape.Lkv) return unfit("Lkv", a.Lkv, shape.Lkv, "at most ");
  if (a.executor.threads > shape.threads) {
    return unfit("executor.threads", a.executor.threads, shape.threads, "at most ");
  }
  if (a.q.type != data.q) return unlike("q", a.q.type, data.q);
  if (a.k.type != shape.k_type) return unlike("k", a.k.type, shape.k_type);
  if (a.v.type != shape.v_type) return unlike("v", a.v.type, shape.v_type);
  if (a.end == nullptr && a.out.type != data.out) return unlike("out", a.out.type, data.out);
  return HEED_OK;
}

heed_code check_plan(const PlanData* data, const heed_plan* plan, const void* workspace, std::size_t workspace_bytes,
                     heed_status* status) {
  HEED_RETURN_IF_FAILED(api::check_isa(status));
  if (data == nullptr) {
    return api::fail(status, HEED_INVALID_ARGUMENT, "plan: is %s", plan == nullptr ? "null" : "not made yet");
  }
  const std::int64_t needed = workspace_bytes_of(data->plan);
  if (workspace == nullptr) return api::fail(status, HEED_INVALID_ARGUMENT, "workspace: is null");
  if (reinterpret_cast<std::uintptr_t>(workspace) % 64 != 0) {
    return api::fail(status, HEED_INVALID_ARGUMENT, "workspace: the address is not a multiple of 64 bytes");
  }
  if (workspace_bytes < static_cast<std::size_t>(needed)) {
    return api::fail(status, HEED_INVALID_ARGUMENT, "workspace_bytes: is %zu, the plan needs %" PRId64, workspace_bytes,
                     needed);
  }
  return HEED_OK;
}

// The last that can fail: only after it the workspace may be written.
heed_code make_problem(const PlanData& data, const heed_attention_args* args, Problem* problem, heed_status* status,
                       bool items) {
  HEED_RETURN_IF_FAILED(api::make_problem(args, problem, status, items));
  return check_fit(data, problem->args, status);
}

// Problem and plan are set.
void begin(heed_run& run, const PlanData& data, void* workspace) {
  run.schedule = {};
  run.table = data.table;
  const heed_attention_args& a = run.problem.args;
  if (a.B == 0 || a.Hq == 0 || a.Lq == 0) return;
  std::int64_t workers = 0;
  schedule_run(run, &workers);
  begin_run(run, static_cast<char*>(workspace) + kRunBytes, run.plan->shape.threads);
}

}  // namespace

heed_code heed_plan_make(const heed_attention_args* args, heed_plan* plan, heed_status* status) noexcept {
  heed_code code = HEED_OK;
  const dispatch::Table* table = api::table_or_fail(status, &code);
  if (table == nullptr) return code;
  if (plan == nullptr) return api::fail(status, HEED_INVALID_ARGUMENT, "plan: is null");
  heed_attention_args a;
  if (code = api::check_plan_args(args, &a, status); code != HEED_OK) return code;
  PlanData data;
  make_plan(shape_of(a), data.plan);
  if (data.plan.too_large) {
    return api::fail(status, HEED_INVALID_ARGUMENT, "args: the workspace of such a plan has no size");
  }
  data.made = kMade;
  data.table = table;
  data.q = a.q.type;
  data.out = a.out.type;
  data.kv_panels = a.kv_panels;
  std::memcpy(static_cast<void*>(plan), &data, sizeof data);
  return api::succeed(status);
}

std::size_t heed_plan_workspace_bytes(const heed_plan* plan) noexcept {
  const PlanData* data = data_of(plan);
  return data == nullptr ? 0 : static_cast<std::size_t>(workspace_bytes_of(data->plan));
}

heed_code heed_plan_begin(const heed_plan* plan, const heed_attention_args* args, void* workspace,
                          std::size_t workspace_bytes, heed_run** run, heed_status* status) noexcept {
  if (run == nullptr) return api::fail(status, HEED_INVALID_ARGUMENT, "run: is null");
  const PlanData* data = data_of(plan);
  Problem problem;
  HEED_RETURN_IF_FAILED(check_plan(data, plan, workspace, workspace_bytes, status));
  HEED_RETURN_IF_FAILED(make_problem(*data, args, &problem, status, true));
  auto* lasting = new (workspace) LastingRun;
  lasting->run.problem = problem;
  lasting->plan = data->plan;
  lasting->run.plan = &lasting->plan;
  begin(lasting->run, *data, workspace);
  *run = &lasting->run;
  return api::succeed(status);
}

std::int64_t heed_run_items(const heed_run* run, std::int32_t phase) noexcept {
  return run == nullptr || phase < 0 || phase >= HEED_PHASES ? 0 : run->items(phase);
}

heed_code heed_run_item(heed_run* run, std::int32_t phase, std::int64_t item, std::int32_t worker) noexcept {
  if (item < 0 || item >= heed_run_items(run, phase) || worker < 0 || worker >= run->plan->shape.threads) {
    return HEED_INVALID_ARGUMENT;
  }
  run_item(*run, phase, item, worker);
  return HEED_OK;
}

heed_code heed_plan_run(const heed_plan* plan, const heed_attention_args* args, void* workspace,
                        std::size_t workspace_bytes, heed_status* status) noexcept {
  const PlanData* data = data_of(plan);
  HEED_RETURN_IF_FAILED(check_plan(data, plan, workspace, workspace_bytes, status));
  if (api::is_plain_of_few_keys(args)) {
    HEED_RETURN_IF_FAILED(check_fit(*data, *args, status));
    run_few_keys(*args, *data->table);
    return api::succeed(status);
  }
  heed_run run;
  HEED_RETURN_IF_FAILED(make_problem(*data, args, &run.problem, status, false));
  run.plan = &data->plan;
  begin(run, *data, workspace);
  return run_all(run) ? api::succeed(status) : api::cancelled(status);
}

std::size_t heed_plan_describe(const heed_plan* plan, char* text, std::size_t bytes) noexcept {
  const PlanData* made = data_of(plan);
  if (made == nullptr) {
    const int length = std::snprintf(text, text == nullptr ? 0 : bytes, "no plan yet\n");
    return static_cast<std::size_t>(length) + 1;
  }
  const PlanData& data = *made;
  const Plan& p = data.plan;
  const Shape& s = p.shape;
  const long long group = s.Hkv > 0 ? s.Hq / s.Hkv : 0;
  char keys[224];
  if (p.rows > p.in_place) {
    std::snprintf(
        keys, sizeof keys,
        "%s a block's keys and values into f32 panels, which all of an item's rows share (items of up to %lld "
        "rows use them where they lie)",
        data.kv_panels != 0 ? "widens" : "packs", static_cast<long long>(p.in_place));
  } else if (p.rows > kFewRows && data.kv_panels == 0) {
    std::snprintf(keys, sizeof keys,
                  "packs %lld keys at a time, which a tile of scores uses at once (items of up to %lld rows transpose "
                  "them in registers), and uses values where they lie",
                  static_cast<long long>(kPackedAtOnce), static_cast<long long>(kFewRows));
  } else {
    std::snprintf(keys, sizeof keys, "uses keys and values where they lie: at most %lld rows share them",
                  static_cast<long long>(p.rows));
  }
  const bool floats = (data.q | s.k_type | s.v_type | data.out) == HEED_F32;
  const char* few_keys = floats && s.page_size == 0 && s.D <= kFewKeysD
                             ? "runs of at most 16 keys, with no other options than ranges of keys and lse: one kernel "
                               "from tensors to results\n"
                             : "";
  const int length = std::snprintf(
      text, text == nullptr ? 0 : bytes,
      "heed %s, arithmetic %d: panel %d, block %d, split %d, %s multiply-add\n"
      "row %s, kernels for q %s, k %s, v %s, out %s\n"
      "at most %lld sequences, %lld query heads on %lld kv heads, %lld queries, %lld keys%s, D %lld, Dv %lld\n"
      "items of up to %lld rows, so that the %lld heads of a group share each pass over K and V; score tiles of %lld "
      "rows\n"
      "%s\n"
      "%s%s\n"
      "workspace %lld bytes: %d x %lld for workers, %lld for states of cut sequences, %lld for the run and its "
      "schedule\n",
      heed_version(), kArithmetic, kPanel, kBlock, kSplit, data.table->fma ? "fused" : "separate", data.table->name,
      api::kTypeNames[data.q], api::kTypeNames[s.k_type], api::kTypeNames[s.v_type], api::kTypeNames[data.out],
      static_cast<long long>(s.B), static_cast<long long>(s.Hq), static_cast<long long>(s.Hkv),
      static_cast<long long>(s.Lq), static_cast<long long>(s.Lkv),
      data.kv_panels != 0 ? " in panels"
      : s.page_size > 0   ? " in pages"
                          : "",
      static_cast<long long>(s.D), static_cast<long long>(s.Dv), static_cast<long long>(p.rows), group,
      static_cast<long long>(p.tile_rows), keys, few_keys,
      s.threads == 1 ? "1 thread: one phase, nothing is cut"
                     : "several threads: smaller items, and sequences cut at splits and folded in phase 1, where a "
                       "thread's share would be less than a sequence",
      static_cast<long long>(workspace_bytes_of(p)), static_cast<int>(s.threads),
      static_cast<long long>(p.worker_bytes), static_cast<long long>(p.state_bytes),
      static_cast<long long>(kRunBytes + p.shares_bytes));
  return static_cast<std::size_t>(length) + 1;
}

// Plans: what heed_attention decides by itself, decided once; and runs in memory and on threads of the caller's.
#include <cstdio>
#include <cstring>
#include <new>

#include "api/checks.hpp"
#include "api/status.hpp"
#include "api/validate.hpp"
#include "driver/attention.hpp"

using namespace heed;

namespace {

struct PlanData {
  std::uint64_t made;  // kMade: by this library's heed_plan_make
  Plan plan;
  const dispatch::Table* table;
  heed_type q, out;
  std::int32_t kv_panels;
};
static_assert(sizeof(PlanData) <= sizeof(heed_plan));
constexpr std::uint64_t kMade = 0x6E616C7064656568u;

PlanData data_of(const heed_plan* plan) {
  PlanData data{};
  if (plan != nullptr) std::memcpy(&data, plan, sizeof data);
  return data;
}

constexpr std::int64_t kRunBytes = (static_cast<std::int64_t>(sizeof(heed_run)) + 63) / 64 * 64;

std::int64_t workspace_bytes_of(const Plan& plan) { return kRunBytes + plan.bytes(); }

// What must be the same as the plan's, and what must not be larger.
heed_code check_fit(const PlanData& data, const heed_attention_args& a, heed_status* status) {
  struct Rule {
    const char* name;
    std::int64_t value, planned;
    bool most;
  };
  const Shape& shape = data.plan.shape;
  const bool paged = a.block_table.data != nullptr || a.page_indices.data != nullptr;
  const Rule rules[] = {{"Hq", a.Hq, shape.Hq, false},
                        {"Hkv", a.Hkv, shape.Hkv, false},
                        {"D", a.D, shape.D, false},
                        {"Dv", a.Dv, shape.Dv, false},
                        {"page_size", paged ? a.page_size : 0, shape.page_size, false},
                        {"kv_panels", a.kv_panels, data.kv_panels, false},
                        {"B", a.B, shape.B, true},
                        {"Lq", a.Lq, shape.Lq, true},
                        {"Lkv", a.Lkv, shape.Lkv, true},
                        {"executor.threads", a.executor.threads, shape.threads, true}};
  for (const Rule& rule : rules) {
    if (rule.most ? rule.value <= rule.planned : rule.value == rule.planned) continue;
    return api::fail(status, HEED_INVALID_ARGUMENT, "%s: is %lld, the plan was made for %s%lld", rule.name,
                     static_cast<long long>(rule.value), rule.most ? "at most " : "",
                     static_cast<long long>(rule.planned));
  }
  struct TypeRule {
    const char* name;
    heed_type type, planned;
  };
  const TypeRule types[] = {{"q", a.q.type, data.q},
                            {"k", a.k.type, shape.k_type},
                            {"v", a.v.type, shape.v_type},
                            {"out", a.end == nullptr ? a.out.type : data.out, data.out}};
  for (const TypeRule& rule : types) {
    if (rule.type == rule.planned) continue;
    return api::fail(status, HEED_INVALID_ARGUMENT, "%s.type: is %s, the plan was made for %s", rule.name,
                     api::kTypeNames[rule.type], api::kTypeNames[rule.planned]);
  }
  return HEED_OK;
}

heed_code begin(const heed_plan* plan, const heed_attention_args* args, void* workspace, std::size_t workspace_bytes,
                heed_run** run, heed_status* status, bool items) {
  HEED_RETURN_IF_FAILED(api::check_isa(status));
  const PlanData data = data_of(plan);
  if (data.made != kMade) {
    return api::fail(status, HEED_INVALID_ARGUMENT, "plan: is %s", plan == nullptr ? "null" : "not made yet");
  }
  const std::int64_t needed = workspace_bytes_of(data.plan);
  if (workspace == nullptr) return api::fail(status, HEED_INVALID_ARGUMENT, "workspace: is null");
  if (reinterpret_cast<std::uintptr_t>(workspace) % 64 != 0) {
    return api::fail(status, HEED_INVALID_ARGUMENT, "workspace: the address is not a multiple of 64 bytes");
  }
  if (workspace_bytes < static_cast<std::size_t>(needed)) {
    return api::fail(status, HEED_INVALID_ARGUMENT, "workspace_bytes: is %zu, the plan needs %lld", workspace_bytes,
                     static_cast<long long>(needed));
  }
  // The workspace may be written only when nothing can fail any more.
  Problem problem;
  if (const heed_code code = api::make_problem(args, &problem, status, items); code != HEED_OK) return code;
  if (const heed_code code = check_fit(data, problem.args, status); code != HEED_OK) return code;
  *run = new (workspace) heed_run{problem, data.plan, {}, data.table, nullptr, nullptr};
  if (problem.args.B != 0 && problem.args.Hq != 0 && problem.args.Lq != 0) {
    std::int64_t workers = 0;
    schedule_run(**run, &workers);
    begin_run(**run, static_cast<char*>(workspace) + kRunBytes, data.plan.shape.threads);
  }
  return api::succeed(status);
}

}  // namespace

heed_code heed_plan_make(const heed_attention_args* args, heed_plan* plan, heed_status* status) noexcept {
  heed_code code = HEED_OK;
  const dispatch::Table* table = api::table_or_fail(status, &code);
  if (table == nullptr) return code;
  if (plan == nullptr) return api::fail(status, HEED_INVALID_ARGUMENT, "plan: is null");
  heed_attention_args a;
  if (code = api::check_plan_args(args, &a, status); code != HEED_OK) return code;
  PlanData data{kMade, {}, table, a.q.type, a.out.type, a.kv_panels};
  make_plan(shape_of(a), data.plan);
  if (data.plan.too_large) {
    return api::fail(status, HEED_INVALID_ARGUMENT, "args: the workspace of such a plan has no size");
  }
  std::memcpy(plan, &data, sizeof data);
  return api::succeed(status);
}

std::size_t heed_plan_workspace_bytes(const heed_plan* plan) noexcept {
  const PlanData data = data_of(plan);
  return data.made == kMade ? static_cast<std::size_t>(workspace_bytes_of(data.plan)) : 0;
}

heed_code heed_plan_begin(const heed_plan* plan, const heed_attention_args* args, void* workspace,
                          std::size_t workspace_bytes, heed_run** run, heed_status* status) noexcept {
  if (run == nullptr) return api::fail(status, HEED_INVALID_ARGUMENT, "run: is null");
  return begin(plan, args, workspace, workspace_bytes, run, status, true);
}

std::int64_t heed_run_items(const heed_run* run, std::int32_t phase) noexcept {
  return run == nullptr || phase < 0 || phase >= HEED_PHASES ? 0 : run->items(phase);
}

heed_code heed_run_item(heed_run* run, std::int32_t phase, std::int64_t item, std::int32_t worker) noexcept {
  if (item < 0 || item >= heed_run_items(run, phase) || worker < 0 || worker >= run->plan.shape.threads) {
    return HEED_INVALID_ARGUMENT;
  }
  run_item(*run, phase, item, worker);
  return HEED_OK;
}

heed_code heed_plan_run(const heed_plan* plan, const heed_attention_args* args, void* workspace,
                        std::size_t workspace_bytes, heed_status* status) noexcept {
  heed_run* run = nullptr;
  const heed_code code = begin(plan, args, workspace, workspace_bytes, &run, status, false);
  if (code != HEED_OK) return code;
  return run_all(*run) ? HEED_OK : api::cancelled(status);
}

std::size_t heed_plan_describe(const heed_plan* plan, char* text, std::size_t bytes) noexcept {
  const PlanData data = data_of(plan);
  if (data.made != kMade) {
    const int length = std::snprintf(text, text == nullptr ? 0 : bytes, "no plan yet\n");
    return static_cast<std::size_t>(length) + 1;
  }
  const Plan& p = data.plan;
  const Shape& s = p.shape;
  const bool packed = p.rows > kFewRows;
  const long long group = s.Hkv > 0 ? s.Hq / s.Hkv : 0;
  char keys[160];
  if (packed) {
    std::snprintf(
        keys, sizeof keys,
        "%s a block's keys and values into f32 panels, which all of an item's rows share (items of up to %lld "
        "rows use them where they lie)",
        data.kv_panels != 0 ? "widens" : "packs", static_cast<long long>(kFewRows));
  } else {
    std::snprintf(keys, sizeof keys, "uses keys and values where they lie: at most %lld rows share them",
                  static_cast<long long>(kFewRows));
  }
  const int length = std::snprintf(
      text, text == nullptr ? 0 : bytes,
      "heed %s, arithmetic %d: panel %d, block %d, split %d, %s multiply-add\n"
      "row %s, kernels for q %s, k %s, v %s, out %s\n"
      "at most %lld sequences, %lld query heads on %lld kv heads, %lld queries, %lld keys%s, D %lld, Dv %lld\n"
      "items of up to %lld rows, so that the %lld heads of a group share each pass over K and V; score tiles of %lld "
      "rows\n"
      "%s\n"
      "%s\n"
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
      static_cast<long long>(p.tile_rows), keys,
      s.threads == 1 ? "1 thread: one phase, nothing is cut"
                     : "several threads: smaller items, and sequences cut at splits and folded in phase 1, where a "
                       "thread's share would be less than a sequence",
      static_cast<long long>(workspace_bytes_of(p)), static_cast<int>(s.threads),
      static_cast<long long>(p.worker_bytes), static_cast<long long>(p.state_bytes),
      static_cast<long long>(kRunBytes + p.shares_bytes));
  return static_cast<std::size_t>(length) + 1;
}

// Bad arguments of plans and states, one line per rule, and of the C++ calls.
#include "engine_rules.hpp"

namespace heed::test {
namespace {

// ---- Plans

heed_code make(Engine& e, heed_status* s) { return heed_plan_make(&e.plan_args, &e.unmade, s); }
heed_code run(Engine& e, heed_status* s) {
  return heed_plan_run(&e.plan, &e.p.args, e.workspace, e.workspace_bytes, s);
}
heed_code begin(Engine& e, heed_status* s) {
  return heed_plan_begin(&e.plan, &e.p.args, e.workspace, e.workspace_bytes, &e.run, s);
}
std::int64_t g_table[2] = {0, 0};

void too_many_states(AttentionArgs& args, int keys) {
  args.B = args.Hq = args.Hkv = args.D = args.Dv = 1;
  args.Lq = two_to(22);
  args.Lkv = two_to(keys);
  args.executor.threads = 4096;
}

const Rule kPlanRules[] = {
    {"plan:", "null", [](Engine& e, heed_status* s) { return heed_plan_make(&e.plan_args, nullptr, s); }},
    {"args:", "null", [](Engine& e, heed_status* s) { return heed_plan_make(nullptr, &e.unmade, s); }},
    RULE(make, "struct_size:", "0", e.plan_args.struct_size = 0),
    RULE(make, "struct_size:", "smaller", e.plan_args.struct_size = 16),
    RULE(make, "B:", "-1", e.plan_args.B = -1),
    RULE(make, "Lkv:", "2^60", e.plan_args.Lkv = kMostInt),
    RULE(make, "D:", "at least 1", e.plan_args.D = 0),
    RULE(make, "Hq:", "multiple", e.plan_args.Hkv = 3),
    RULE(make, "Hkv:", "0 while Hq", e.plan_args.Hkv = 0),
    RULE(make, "q.type:", "int8", e.plan_args.q.type = HEED_INT8),
    RULE(make, "k.type:", "9", e.plan_args.k.type = 9),
    RULE(make, "v.type:", "-1", e.plan_args.v.type = -1),
    RULE(make, "out.type:", "fp8", e.plan_args.out.type = HEED_FP8_E4M3),
    RULE(make, "executor.threads:", "4096", e.plan_args.executor.threads = 1 << 20),
    RULE(make, "executor.threads:", "-1", e.plan_args.executor.threads = -1),
    RULE(make, "page_size:", "-1", e.plan_args.page_size = -1),
    RULE(make, "page_size:", "2^60", e.plan_args.page_size = two_to(61)),
    RULE(make, "kv_panels:", "2", e.plan_args.kv_panels = 2),
    RULE(make, "page_size:", "24 is not a positive multiple of 16", e.plan_args.page_size = 24,
         e.plan_args.kv_panels = 1),
    RULE(make, "page_size:", "0 is not a positive multiple of 16", e.plan_args.kv_panels = 1),
    // A legal problem whose workspace no memory can hold.
    RULE(make, "args:", "workspace", e.plan_args.B = two_to(57);
         e.plan_args.Hq = e.plan_args.Hkv = e.plan_args.Lq = e.plan_args.Lkv = e.plan_args.D = e.plan_args.Dv = 1),
    // Or whose states alone are more than that: by their number, by their bytes, by both with the buffers.
    RULE(make, "args:", "workspace", too_many_states(e.plan_args, 60)),
    RULE(make, "args:", "workspace", too_many_states(e.plan_args, 48)),
    RULE(make, "args:", "workspace", too_many_states(e.plan_args, 42)),

    RULE(run, "B:", "is 3, the plan was made for at most 2", e.p.args.B = 3),
    RULE(run, "Lq:", "is 4", e.p.args.Lq = 4, e.p.args.out.stride_head = 36, e.p.args.out.stride_batch = 144),
    RULE(run, "Lkv:", "is 41", e.p.args.Lkv = 41),
    RULE(run, "Hq:", "is 2, the plan was made for 4", e.p.args.Hq = 2),
    RULE(run, "Hkv:", "is 1", e.p.args.Hkv = 1),
    RULE(run, "D:", "is 7", e.p.args.D = 7),
    RULE(run, "Dv:", "is 8", e.p.args.Dv = 8),
    RULE(run, "k.type:", "is f16, the plan was made for f32", e.p.args.k.type = HEED_F16),
    RULE(run, "v.type:", "is bf16", e.p.args.v.type = HEED_BF16),
    RULE(run, "q.type:", "is f16", e.p.args.q.type = HEED_F16),
    RULE(run, "out.type:", "is f16", e.p.args.out.type = HEED_F16),
    RULE(run, "executor.threads:", "is 2", e.p.args.executor = {last_first, nullptr, 2}),
    RULE(run, "page_size:", "is 40, the plan was made for 0", e.p.args.block_table = {g_table, HEED_INT64},
         e.p.args.block_table_stride = 1, e.p.args.page_size = 40, e.p.args.page_count = 1),
    RULE(run, "softcap:", "negative", e.p.args.softcap = -1.0f),
    RULE(run, "struct_size:", "0", e.p.args.struct_size = 0),
    RULE(run, "workspace_bytes:", "the plan needs", --e.workspace_bytes),
    RULE(run, "workspace_bytes:", "is 0", e.workspace_bytes = 0),
    RULE(run, "plan:", "not made", e.plan = heed_plan{}),
    {"plan:", "null",
     [](Engine& e, heed_status* s) { return heed_plan_run(nullptr, &e.p.args, e.workspace, e.workspace_bytes, s); }},
    {"args:", "null",
     [](Engine& e, heed_status* s) { return heed_plan_run(&e.plan, nullptr, e.workspace, e.workspace_bytes, s); }},
    {"workspace:", "null",
     [](Engine& e, heed_status* s) { return heed_plan_run(&e.plan, &e.p.args, nullptr, e.workspace_bytes, s); }},
    {"workspace:", "multiple of 64",
     [](Engine& e,
        heed_status* s) { return heed_plan_run(&e.plan, &e.p.args, e.workspace + 8, e.workspace_bytes, s); }},
    RULE(begin, "B:", "is 3", e.p.args.B = 3),
    RULE(begin, "workspace_bytes:", "the plan needs", --e.workspace_bytes),
    {"run:", "null",
     [](Engine& e,
        heed_status* s) { return heed_plan_begin(&e.plan, &e.p.args, e.workspace, e.workspace_bytes, nullptr, s); }},
};

TEST_CASE("plans: a broken rule is named, and nothing is written", "[engine][plan][arguments]") {
  check(kPlanRules, std::size(kPlanRules));
  Engine e;
  CHECK(heed_plan_workspace_bytes(nullptr) == 0);
  CHECK(heed_plan_workspace_bytes(&e.unmade) == 0);
  e.p.args.executor.threads = 1 << 20;  // nobody's business where the caller runs the items
  REQUIRE(begin(e, nullptr) == HEED_OK);
  const std::string before = e.written();
  const std::int64_t items = heed_run_items(e.run, 0);
  CHECK(items > 0);
  CHECK(heed_run_items(e.run, -1) == 0);
  CHECK(heed_run_items(e.run, HEED_PHASES) == 0);
  CHECK(heed_run_items(nullptr, 0) == 0);
  CHECK(heed_run_item(nullptr, 0, 0, 0) == HEED_INVALID_ARGUMENT);
  CHECK(heed_run_item(e.run, 0, items, 0) == HEED_INVALID_ARGUMENT);
  CHECK(heed_run_item(e.run, 0, -1, 0) == HEED_INVALID_ARGUMENT);
  CHECK(heed_run_item(e.run, 0, kLeastInt, 0) == HEED_INVALID_ARGUMENT);
  CHECK(heed_run_item(e.run, -1, 0, 0) == HEED_INVALID_ARGUMENT);
  CHECK(heed_run_item(e.run, HEED_PHASES, 0, 0) == HEED_INVALID_ARGUMENT);
  CHECK(heed_run_item(e.run, 0, 0, 1) == HEED_INVALID_ARGUMENT);
  CHECK(heed_run_item(e.run, 0, 0, -1) == HEED_INVALID_ARGUMENT);
  const bool untouched = e.written() == before;
  CHECK(untouched);
}

// ---- States

heed_code merge_them(Engine& e, heed_status* s) { return heed_state_merge(&e.a.state, &e.b.state, &e.to.state, s); }
heed_code finish_it(Engine& e, heed_status* s) {
  return heed_state_finish(&e.a.state, e.sinks, &e.p.args.out, e.p.lse.data(), s);
}
heed_code merge_results(Engine& e, heed_status* s) {
  return heed_merge_lse(2, 4, 3, 8, &e.left, &e.right, &e.p.args.out, e.p.lse.data(), s);
}
heed_code to_state(Engine& e, heed_status* s) {
  e.p.args.start = &e.a.state;
  e.p.args.end = &e.to.state;
  return heed_attention(&e.p.args, s);
}

const Rule kStateRules[] = {
    {"a:", "null", [](Engine& e, heed_status* s) { return heed_state_merge(nullptr, &e.b.state, &e.to.state, s); }},
    {"b:", "null", [](Engine& e, heed_status* s) { return heed_state_merge(&e.a.state, nullptr, &e.to.state, s); }},
    {"out:", "null", [](Engine& e, heed_status* s) { return heed_state_merge(&e.a.state, &e.b.state, nullptr, s); }},
    RULE(merge_them, "a.B:", "-1", e.a.state.B = -1),
    RULE(merge_them, "b.Hq:", "at least 0", e.b.state.Hq = kLeastInt),
    RULE(merge_them, "out.Lq:", "-1", e.to.state.Lq = -1),
    RULE(merge_them, "a.Dv:", "at least 1", e.a.state.Dv = 0),
    RULE(merge_them, "a.Dv:", "2^24", e.a.state.Dv = two_to(24) + 1),
    RULE(merge_them, "a.Lq:", "2^60", e.a.state.Lq = two_to(60)),
    RULE(merge_them, "a.Lq:", "2^60", e.a.state.B = 0, e.a.state.Lq = two_to(60)),
    RULE(merge_them, "b:", "sizes", e.b.state.Dv = 8),
    RULE(merge_them, "out:", "sizes", e.to.state.B = 1),
    RULE(merge_them, "a.m:", "null", e.a.state.m = nullptr),
    RULE(merge_them, "b.l:", "null", e.b.state.l = nullptr),
    RULE(merge_them, "out.o:", "null", e.to.state.o = nullptr),
    RULE(merge_them, "a.m:", "multiple", e.a.state.m = one_byte_on(e.a.state.m)),
    RULE(merge_them, "a.l:", "multiple", e.a.state.l = one_byte_on(e.a.state.l)),
    RULE(merge_them, "b.o:", "multiple", e.b.state.o = one_byte_on(e.b.state.o)),
    RULE(merge_them, "a.stride:", "2^60", e.a.state.stride_token = kMostInt),
    RULE(merge_them, "b.o_stride:", "2^60", e.b.state.o_stride_token = two_to(60)),
    RULE(merge_them, "out.stride_token:", "is 0", e.to.state.stride_head = 3),
    RULE(merge_them, "out.o_stride_token:", "is 8", e.to.state.o_stride_batch = 200, e.to.state.o_stride_head = 40,
         e.to.state.o_stride_token = -8),
    RULE(finish_it, "state.m:", "null", e.a.state.m = nullptr),
    RULE(finish_it, "out.type:", "3", e.p.args.out.type = HEED_INT8),
    RULE(finish_it, "out.type:", "-1", e.p.args.out.type = -1),
    RULE(finish_it, "out.data:", "null", e.p.args.out.data = nullptr),
    RULE(finish_it, "out.data:", "multiple", e.p.args.out.data = one_byte_on(e.p.args.out.data)),
    RULE(finish_it, "out.stride:", "2^60", e.p.args.out.stride_head = two_to(59)),
    RULE(finish_it, "out.stride_token:", "is 0", e.p.args.out.stride_token = 0),
    RULE(finish_it, "out.stride_head:", "is 20", e.p.args.out.stride_head = 20),
    // lse has the strides of m, which may be shared where m is only read.
    RULE(finish_it, "state.stride_token:", "is 0", e.a.state.stride_batch = e.a.state.stride_head = 12),
    {"state:", "null",
     [](Engine& e, heed_status* s) { return heed_state_finish(nullptr, nullptr, &e.p.args.out, nullptr, s); }},
    {"out:", "null",
     [](Engine& e, heed_status* s) { return heed_state_finish(&e.a.state, nullptr, nullptr, nullptr, s); }},
    {"lse:", "multiple",
     [](Engine& e,
        heed_status*
            s) { return heed_state_finish(&e.a.state, nullptr, &e.p.args.out, one_byte_on(e.p.lse.data()), s); }},
    {"sinks:", "multiple",
     [](Engine& e,
        heed_status* s) { return heed_state_finish(&e.a.state, one_byte_on(&e.sinks[0]), &e.p.args.out, nullptr, s); }},
    {"a:", "null",
     [](Engine& e,
        heed_status* s) { return heed_merge_lse(1, 1, 1, 1, nullptr, &e.right, &e.p.args.out, nullptr, s); }},
    {"b:", "null",
     [](Engine& e, heed_status* s) { return heed_merge_lse(1, 1, 1, 1, &e.left, nullptr, &e.p.args.out, nullptr, s); }},
    {"out:", "null",
     [](Engine& e, heed_status* s) { return heed_merge_lse(1, 1, 1, 1, &e.left, &e.right, nullptr, nullptr, s); }},
    {"B:", "-1",
     [](Engine& e,
        heed_status* s) { return heed_merge_lse(-1, 1, 1, 1, &e.left, &e.right, &e.p.args.out, nullptr, s); }},
    {"Dv:", "2^24",
     [](Engine& e,
        heed_status* s) { return heed_merge_lse(1, 1, 1, two_to(25), &e.left, &e.right, &e.p.args.out, nullptr, s); }},
    RULE(merge_results, "a.out.type:", "3", e.left.out.type = HEED_INT8),
    RULE(merge_results, "b.out.data:", "null", e.right.out.data = nullptr),
    RULE(merge_results, "b.out.stride:", "2^60", e.right.out.stride_batch = kLeastInt),
    RULE(merge_results, "a.lse:", "null", e.left.lse = nullptr),
    RULE(merge_results, "b.lse:", "multiple", e.right.lse = one_byte_on(e.right.lse)),
    RULE(merge_results, "out.stride_token:", "is 7", e.p.args.out.stride_token = 7),
    RULE(to_state, "start.Dv:", "is 8, the call's is 9", e.a.state.Dv = 8),
    RULE(to_state, "end.B:", "is 1, the call's is 2", e.to.state.B = 1),
    RULE(to_state, "end.o:", "null", e.to.state.o = nullptr),
    RULE(to_state, "end.o_stride_token:", "is 0", e.to.state.o_stride_batch = 108, e.to.state.o_stride_head = 27),
    RULE(to_state, "sinks:", "beside end", e.p.args.sinks = e.sinks),
    RULE(to_state, "inspect:", "beside end", e.p.args.inspect = {e.spare, 480, 120, 40, HEED_F32}),
};

TEST_CASE("states: a broken rule is named, and nothing is written", "[engine][states][arguments]") {
  check(kStateRules, std::size(kStateRules));
  // An m that is shared is fine where it is only read.
  Engine e;
  e.a.state.stride_batch = e.a.state.stride_head = 1;
  CHECK(heed_state_finish(&e.a.state, nullptr, &e.p.args.out, nullptr, nullptr) == HEED_OK);
}

TEST_CASE("the C++ calls say what the C calls say", "[engine][arguments]") {
  Engine e;
  const auto says = [](const Status& status, const char* start) {
    return status.code() == HEED_INVALID_ARGUMENT && !status.ok() && !static_cast<bool>(status) &&
           std::string(status.message()).rfind(start, 0) == 0;
  };
  Plan plan;
  Run steps;
  AttentionArgs bad = e.p.args;
  bad.Hkv = 3;
  CHECK(says(attention(bad), "Hq:"));
  CHECK(says(attention_state(e.p.args, State(nullptr, nullptr, nullptr, 2, 4, 3, 9)), "end.m:"));
  CHECK(says(plan.make(bad), "Hq:"));
  CHECK(says(plan.run(bad, e.workspace, e.workspace_bytes), "plan:"));
  CHECK(says(plan.begin(bad, e.workspace, e.workspace_bytes, &steps), "plan:"));
  CHECK(steps.items(0) == 0);
  CHECK(steps.item(0, 0, 0) == HEED_INVALID_ARGUMENT);
  State nowhere(nullptr, nullptr, nullptr, 2, 4, 3, 9);
  CHECK(says(merge(e.a.state, nowhere, e.to.state), "b.m:"));
  CHECK(says(finish(nowhere, e.p.args.out), "state.m:"));
  CHECK(says(merge_lse(2, 4, 3, 0, e.left, e.right, e.p.args.out), "Dv:"));
  CacheConfig config;
  Cache cache;
  std::int64_t sequence = 0;
  CHECK(config.bytes() == 0);
  CHECK(says(cache.create(config, e.spare, sizeof e.spare), "Hkv:"));
  CHECK(says(cache.open(&sequence), "cache:"));
  CHECK(says(cache.close(0), "cache:"));
  CHECK(says(cache.append(0, e.tokens, e.tokens, 1), "cache:"));
  CHECK(says(cache.fork(0, &sequence), "cache:"));
  CHECK(says(cache.truncate(0, 0), "cache:"));
  CHECK(says(cache.drop(0, 0), "cache:"));
  CHECK(says(cache.bind(&sequence, 1, &bad), "cache:"));
  CHECK(cache.length(0) == -1);
  CHECK(cache.position(0) == -1);
  CHECK(cache.free_pages() == 0);
  float x[4] = {};
  const Matrix one(x, 1, 2), two(x, 2, 2);
  MutableMatrix out(x, 1, 3);
  CHECK(says(scores(one, two, 1.0f, out), "s.cols:"));
  CHECK(says(weighted_sum(one, two, out), "out.cols:"));
  CHECK(says(weighted_sum(one, two, two, MutableMatrix(x, 1, 2)), "accumulator.rows:"));
  CHECK(says(attend(one, two, out), "out.cols:"));
}

}  // namespace
}  // namespace heed::test

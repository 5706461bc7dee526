#include "fuzz/holes.hpp"

#include "fuzz/block.hpp"
#include "fuzz/finding.hpp"
#include "support/rows.hpp"

namespace heed::fuzz {
namespace {

// One legal object of each kind.
struct World {
  float x[8] = {1, 2, 3, 4, 5, 6, 7, 8}, y[8] = {}, lse[2] = {};
  std::int8_t codes[4] = {};
  heed_matrix one{x, 1, 1, 0, HEED_F32}, wide{x, 1, 2, 0, HEED_F32};
  heed_matrix_out to{y, 1, 1, 0, HEED_F32};
  heed_state a{1, 1, 1, 1, x, x + 1, x + 2, 0, 0, 0, 0, 0, 0}, b = a,
                                                               other{1, 1, 1, 2, x, x + 1, x + 2, 0, 0, 0, 0, 0, 0};
  heed_state end{1, 1, 1, 1, y, y + 1, y + 2, 0, 0, 0, 0, 0, 0};
  heed_tensor tensor{x, 1, 1, 1, HEED_F32};
  heed_tensor_out out{y, 1, 1, 1, HEED_F32};
  heed_result result{tensor, lse};
  heed_attention_args args{};
  heed_plan plan{};
  heed_cache_config config{};
  Block cache_memory, workspace;
  heed_cache* cache = nullptr;
  heed_run* run = nullptr;
  Int sequence = -1, fork = -1;

  World() : cache_memory(bytes(), 64), workspace(planned(), 64) {
    expect(heed_cache_create(&config, cache_memory.data(), cache_memory.size(), &cache, nullptr) == HEED_OK,
           "no cache");
    expect(heed_cache_open(cache, &sequence, nullptr) == HEED_OK, "no sequence");
  }
  std::size_t bytes() {
    config.struct_size = sizeof config;
    config.Hkv = config.D = config.Dv = config.page_count = 1;
    config.max_sequences = 3;
    config.page_size = 16;
    return heed_cache_bytes(&config, nullptr);
  }
  std::size_t planned() {
    args.struct_size = sizeof args;
    args.B = args.Hq = args.Hkv = args.Lq = args.Lkv = args.D = args.Dv = 1;
    args.q = args.k = args.v = tensor;
    args.out = out;
    expect(heed_plan_make(&args, &plan, nullptr) == HEED_OK, "no plan");
    return heed_plan_workspace_bytes(&plan);
  }
};

// The hole's pointer is null.
template <class T>
T* but(int hole, int here, T* pointer) {
  return hole == here ? nullptr : pointer;
}

// holes: how many there are; a hole beyond them leaves the call legal.
struct Case {
  int holes;
  heed_code (*call)(World& w, int hole, heed_status* s);
};
constexpr Case kCases[] = {
    {4,
     [](World& w, int h, heed_status* s) {
       return heed_scores(but(h, 0, &w.one), but(h, 1, h == 3 ? &w.wide : &w.one), 1, but(h, 2, &w.to), s);
     }},
    {4,
     [](World& w, int h, heed_status* s) {
       return heed_weighted_sum(but(h, 0, h == 3 ? &w.wide : &w.one), but(h, 1, &w.one), nullptr, but(h, 2, &w.to), s);
     }},
    {1, [](World& w, int h,
           heed_status* s) { return heed_weighted_sum(&w.one, &w.one, h == 0 ? &w.wide : &w.one, &w.to, s); }},
    {4,
     [](World& w, int h, heed_status* s) {
       return heed_attend(but(h, 0, h == 3 ? &w.wide : &w.one), but(h, 1, &w.one), but(h, 2, &w.to), w.lse, s);
     }},
    {3, [](World& w, int h,
           heed_status* s) { return heed_convert(but(h, 0, h == 2 ? &w.wide : &w.one), but(h, 1, &w.to), s); }},
    {3,
     [](World& w, int h, heed_status* s) {
       return heed_quantize_int8(but(h, 0, &w.one), but(h, 1, w.codes), 0, but(h, 2, w.lse), s);
     }},
    {5,
     [](World& w, int h, heed_status* s) {
       return heed_state_merge(but(h, 0, &w.a), but(h, 1, h == 3 ? &w.other : &w.b),
                               but(h, 2, h == 4 ? &w.other : &w.end), s);
     }},
    {2, [](World& w, int h,
           heed_status* s) { return heed_state_finish(but(h, 0, &w.a), nullptr, but(h, 1, &w.out), w.lse, s); }},
    {3,
     [](World& w, int h, heed_status* s) {
       return heed_merge_lse(1, 1, 1, 1, but(h, 0, &w.result), but(h, 1, &w.result), but(h, 2, &w.out), nullptr, s);
     }},
    {2, [](World& w, int h, heed_status* s) { return heed_plan_make(but(h, 0, &w.args), but(h, 1, &w.plan), s); }},
    {4,
     [](World& w, int h, heed_status* s) {
       if (h == 3) w.plan = {};
       return heed_plan_run(but(h, 0, &w.plan), but(h, 1, &w.args), but(h, 2, w.workspace.data()), w.workspace.size(),
                            s);
     }},
    {4,
     [](World& w, int h, heed_status* s) {
       return heed_plan_begin(but(h, 0, &w.plan), but(h, 1, &w.args), but(h, 2, w.workspace.data()), w.workspace.size(),
                              but(h, 3, &w.run), s);
     }},
    {3,
     [](World& w, int h, heed_status* s) {
       return heed_cache_create(but(h, 0, &w.config), but(h, 1, w.cache_memory.data()), w.cache_memory.size(),
                                but(h, 2, &w.cache), s);
     }},
    {2, [](World& w, int h, heed_status* s) { return heed_cache_open(but(h, 0, w.cache), but(h, 1, &w.fork), s); }},
    {2, [](World& w, int h, heed_status* s) { return heed_cache_close(but(h, 0, w.cache), w.sequence + (h == 1), s); }},
    {3,
     [](World& w, int h, heed_status* s) {
       return heed_cache_append(but(h, 0, w.cache), w.sequence, but(h, 1, &w.tensor), but(h, 2, &w.tensor), 1, s);
     }},
    {2, [](World& w, int h,
           heed_status* s) { return heed_cache_fork(but(h, 0, w.cache), w.sequence, but(h, 1, &w.fork), s); }},
    {1, [](World& w, int h, heed_status* s) { return heed_cache_truncate(but(h, 0, w.cache), w.sequence, 0, s); }},
    {1, [](World& w, int h, heed_status* s) { return heed_cache_drop(but(h, 0, w.cache), w.sequence, 0, s); }},
    {5,
     [](World& w, int h, heed_status* s) {
       if (h == 3) w.args.struct_size = 8;
       return heed_cache_bind(but(h, 0, w.cache), but(h, 1, &w.sequence), h == 4 ? -1 : 1, but(h, 2, &w.args), s);
     }},
    {1, [](World& w, int h, heed_status* s) { return heed_attention(but(h, 0, &w.args), s); }},
    {2,
     [](World& w, int h, heed_status* s) {
       if (h == 1) w.config.struct_size = 0;
       heed_status own;
       const std::size_t bytes = heed_cache_bytes(but(h, 0, &w.config), &own);
       expect((bytes > 0) == (own.code == HEED_OK), "a cache has bytes exactly if it may be made");
       if (s != nullptr) *s = own;
       return own.code;
     }},
    {1, [](World& w, int h, heed_status* s) { return heed_alibi_slopes(1, but(h, 0, w.lse), s); }},
};

}  // namespace

void call_with_a_hole(Input& in) {
  World world;
  const Case& c = in.pick(kCases);
  const int hole = in.byte() % (c.holes + 1);
  const bool no_row = in.once_in(4), silent = in.once_in(4);
  heed_status status;
  if (no_row) expect(heed_force_isa("no\nsuch row", &status) == HEED_ISA_UNAVAILABLE, "a row that isn't there");
  const heed_code code = c.call(world, hole, silent ? nullptr : &status);
  (void)heed_force_isa(nullptr, nullptr);
  const bool right = hole == c.holes && !no_row;
  expect((code == HEED_OK) == right, "a call with a hole was served, or one without was not");
  if (!silent) {
    (void)expect_status(code, status,
                        {"isa",         "arguments", "q",    "k",         "s",           "v",      "out",    "weights",
                         "accumulator", "from",      "to",   "x",         "codes",       "scales", "a",      "b",
                         "state",       "args",      "plan", "workspace", "run",         "config", "memory", "cache",
                         "sequence",    "sequences", "fork", "B",         "struct_size", "slopes"});
  }
  // Calls without a status: nothing is there, and nothing happens.
  expect(heed_cache_length(nullptr, 0) == -1 && heed_cache_position(nullptr, 0) == -1, "a null cache has tokens");
  expect(heed_cache_free_pages(nullptr) == 0 && heed_run_items(nullptr, 0) == 0, "nothing has pages or items");
  expect(heed_run_item(nullptr, 0, 0, 0) != HEED_OK && heed_plan_workspace_bytes(nullptr) == 0, "nothing was run");
  expect(heed_plan_describe(nullptr, nullptr, 0) > 1, "nothing has no description");
  heed_isa_info info;
  const auto index = static_cast<std::int32_t>(in.edge32(0));
  const bool is_row = index >= 0 && index < heed_isa_count();
  expect(heed_isa_row(index, &info) == (is_row ? 1 : 0) && heed_isa_row(0, nullptr) == 0, "a row that isn't there");
  expect(heed_isa() != nullptr && heed_version() != nullptr && heed_arithmetic() > 0, "the library has no name");
}

}  // namespace heed::fuzz

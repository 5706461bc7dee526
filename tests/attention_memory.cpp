// Memory: nothing is taken for small problems, large ones take it from the caller's allocator and give it back, and
// where there is none nothing is written. The link wraps the C library's allocating functions (see meson.build), for
// this program only.
#include <catch2/catch_message.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>

#include "attention_call.hpp"
#include "attention_random.hpp"
#include "engine_problem.hpp"
#include "executors.hpp"
#include "option_problem.hpp"
#include "support/each_row.hpp"
#include "support/environment.hpp"

namespace {

// What the wrapped functions do and have seen. Plain: they run before and after everything else.
int g_allocations = 0;
bool g_refuse = false;

}  // namespace

extern "C" {
void* __real_malloc(std::size_t);
void* __real_calloc(std::size_t, std::size_t);
void* __real_realloc(void*, std::size_t);
void* __real_aligned_alloc(std::size_t, std::size_t);
int __real_posix_memalign(void**, std::size_t, std::size_t);
void* __real__Znwm(std::size_t);

void* __wrap_malloc(std::size_t bytes) {
  ++g_allocations;
  return g_refuse ? nullptr : __real_malloc(bytes);
}
void* __wrap_calloc(std::size_t count, std::size_t bytes) {
  ++g_allocations;
  return g_refuse ? nullptr : __real_calloc(count, bytes);
}
void* __wrap_realloc(void* memory, std::size_t bytes) {
  ++g_allocations;
  return g_refuse ? nullptr : __real_realloc(memory, bytes);
}
void* __wrap_aligned_alloc(std::size_t alignment, std::size_t bytes) {
  ++g_allocations;
  return g_refuse ? nullptr : __real_aligned_alloc(alignment, bytes);
}
int __wrap_posix_memalign(void** memory, std::size_t alignment, std::size_t bytes) {
  ++g_allocations;
  return g_refuse ? 12 : __real_posix_memalign(memory, alignment, bytes);
}
void* __wrap__Znwm(std::size_t bytes) {
  ++g_allocations;
  return __real__Znwm(bytes);
}
}

namespace heed::test {
namespace {

// Hands out blocks between canaries, full of NaN; counts, and may refuse.
class Allocator {
 public:
  heed_allocator interface() { return {allocate, release, this}; }
  int taken = 0, released = 0;
  bool refuse = false, damaged = false, misreported = false;
  std::size_t bytes = 0;

 private:
  static constexpr std::size_t kFence = 256;
  static void* allocate(void* context, std::size_t bytes) {
    auto& self = *static_cast<Allocator*>(context);
    ++self.taken;
    self.bytes = bytes;
    if (self.refuse) return nullptr;
    auto* memory = static_cast<unsigned char*>(std::aligned_alloc(64, (bytes + 2 * kFence + 63) / 64 * 64));
    std::memset(memory, 0xFF, bytes + 2 * kFence);  // every float in it is a NaN
    return self.memory_ = memory + kFence;
  }
  static void release(void* context, void* memory, std::size_t bytes) {
    auto& self = *static_cast<Allocator*>(context);
    ++self.released;
    self.misreported = self.misreported || memory != self.memory_ || bytes != self.bytes;
    const auto* block = static_cast<unsigned char*>(memory);
    for (std::size_t i = 1; i <= kFence; ++i) {
      self.damaged = self.damaged || *(block - i) != 0xFF || block[bytes + i - 1] != 0xFF;
    }
    std::free(static_cast<unsigned char*>(memory) - kFence);
  }
  void* memory_ = nullptr;
};

ModelProblem sized(std::int64_t Hq, std::int64_t Lq, std::int64_t Lkv, std::int64_t D) {
  Spec spec;
  spec.Hq = Hq;
  spec.Lq = Lq;
  spec.Lkv = Lkv;
  spec.D = spec.Dv = D;
  return problem_of(spec);
}

TEST_CASE("small problems take no memory", "[attention][memory]") {
  struct Shape {
    std::int64_t Hq, Lq, Lkv, D;
  };
  const Shape shape = GENERATE(Shape{1, 3, 3, 2}, Shape{1, 1, 128, 64}, Shape{1, 1, 5000, 64}, Shape{4, 1, 4096, 128},
                               Shape{2, 2, 40, 16}, Shape{1, 12, 12, 8});
  const ModelProblem problem = sized(shape.Hq, shape.Lq, shape.Lkv, shape.D);
  for_each_row([&](const Table& row) {
    const ForcedRow forced(row);
    Call call(problem, Layout::kHeadsFirst), own(problem, Layout::kHeadsFirst);
    Allocator allocator;
    own.args.allocator = allocator.interface();
    const int before = g_allocations;
    const heed_code code = heed_attention(&call.args, nullptr), own_code = heed_attention(&own.args, nullptr);
    const int after = g_allocations;
    CHECK(code == HEED_OK);
    CHECK(own_code == HEED_OK);
    CHECK(after == before);
    CHECK(allocator.taken == 0);
  });
}

// Engines count on it: what a plan needs is in the workspace, what a cache needs in its own memory.
TEST_CASE("plans and caches take no memory", "[engine][memory]") {
  for_each_row([&](const Table& row) {
    const ForcedRow forced(row);
    EngineProblem p({3, 4, 2, 70, 1500, 40, 50});
    std::vector<std::int64_t> lengths{1500, 3, 700};
    p.args.kv_lengths = {lengths.data(), HEED_INT64};
    p.args.causal = 1;
    p.args.executor = {last_first, nullptr, 6};
    Plan plan;
    REQUIRE(plan.make(p.args).ok());
    const std::unique_ptr<void, decltype(&std::free)> workspace(std::aligned_alloc(64, plan.workspace_bytes()),
                                                                &std::free);
    CacheConfig config;
    config.Hkv = 2;
    config.D = 40;
    config.Dv = 50;
    config.k_type = HEED_INT8;
    config.v_type = HEED_F16;
    config.page_count = 20;
    config.max_sequences = 3;
    const std::unique_ptr<void, decltype(&std::free)> memory(std::aligned_alloc(64, config.bytes()), &std::free);
    AttentionArgs cached = p.args;
    heed_status status;
    char text[2000];

    const int before = g_allocations;
    Plan here;
    heed_code code = heed_plan_make(&p.args, const_cast<heed_plan*>(&here.raw()), &status);
    here.describe(text, sizeof text);
    code |= plan.run(p.args, workspace.get(), plan.workspace_bytes()).code();
    Run run;
    code |= plan.begin(p.args, workspace.get(), plan.workspace_bytes(), &run).code();
    for (std::int32_t phase = 0; phase < Run::kPhases; ++phase) {
      for (std::int64_t n = 0; n < run.items(phase); ++n) code |= run.item(phase, n, 0);
    }
    Cache cache;
    code |= cache.create(config, memory.get(), config.bytes()).code();
    std::int64_t sequence = 0, fork = 0;
    code |= cache.open(&sequence).code();
    code |= cache.append(sequence, p.args.k, p.args.v, 300).code();
    code |= cache.fork(sequence, &fork).code();
    code |= cache.append(fork, p.args.k, p.args.v, 1).code();
    code |= cache.truncate(fork, 290).code();
    code |= cache.drop(fork, 140).code();
    code |= cache.bind(&fork, 1, &cached).code();
    code |= cache.close(sequence).code();
    const int after = g_allocations;
    CHECK(code == HEED_OK);
    CHECK(after == before);
  });
}

TEST_CASE("the kernels take memory for their scratch only where it is large", "[kernels][memory]") {
  const std::vector<float> x(4096, 0.25f);
  std::vector<float> out(4096);
  const heed_matrix q{x.data(), 4, 64, 0, HEED_F32}, k{x.data(), 60, 64, 0, HEED_F32};
  const heed_matrix_out s{out.data(), 4, 60, 0, HEED_F32};
  const heed_matrix weights{x.data(), 4, 60, 0, HEED_F32}, v{x.data(), 60, 20, 0, HEED_F32};
  const heed_matrix_out sums{out.data(), 4, 20, 0, HEED_F32};
  const heed_matrix wide{x.data(), 1, 4000, 0, HEED_F32};
  const heed_matrix_out one{out.data(), 1, 1, 0, HEED_F32};
  for_each_row([&](const Table& row) {
    const ForcedRow forced(row);
    const int before = g_allocations;
    heed_dot(x.data(), x.data(), 4096);
    heed_softmax(x.data(), out.data(), 4096);
    const heed_code small = heed_scores(&q, &k, 1.0f, &s, nullptr) |
                            heed_weighted_sum(&weights, &v, nullptr, &sums, nullptr) |
                            heed_attend(&weights, &v, &sums, nullptr, nullptr);
    const int after_small = g_allocations;
    const heed_code large = heed_scores(&wide, &wide, 1.0f, &one, nullptr);
    const int after_large = g_allocations;
    CHECK(small == HEED_OK);
    CHECK(large == HEED_OK);
    CHECK(after_small == before);
    CHECK(after_large == before + 1);
  });
}

// Its contents are NaN when it comes, so a result that used them would show; its fences stay whole.
TEST_CASE("the caller's allocator serves large problems, and gets all of it back", "[attention][memory]") {
  int used = 0;
  check_options(400, [&](const OptionSpec& spec) -> std::string {
    const std::vector<const Table*> rows = rows_under_test();
    const ForcedRow forced(*rows[spec.seed % rows.size()]);
    const Content content = content_of(spec);
    OptionProblem problem(content);
    std::vector<SequenceResult> expected, found;
    std::string failure = problem.run(&expected);
    Random random(spec.seed);
    std::int32_t threads = static_cast<std::int32_t>(random.once_in(2) ? 1 : random.between(2, 12));
    Allocator allocator;
    problem.args.allocator = allocator.interface();
    problem.args.executor = {on_threads, &threads, threads};
    if (failure.empty()) failure = problem.run(&found);
    for (Int b = 0; b < content.B() && failure.empty(); ++b) {
      const auto n = static_cast<std::size_t>(b);
      failure = difference(content, b, found[n], expected[n]);
    }
    if (!failure.empty()) return failure;
    if (allocator.taken != allocator.released) return "memory was not given back";
    if (allocator.taken > 1) return "memory was taken more than once";
    if (allocator.damaged) return "memory beside the block was written";
    if (allocator.misreported) return "another block was given back than was taken";
    used += allocator.taken;
    return {};
  });
  CHECK((fewer_problems() || used * 4 >= problems(400)));
}

TEST_CASE("where there is no memory, nothing is written", "[attention][memory]") {
  const ModelProblem problem = sized(2, 100, 600, 64);
  for_each_row([&](const Table& row) {
    const ForcedRow forced(row);
    heed_status status;
    Call call(problem, Layout::kPadded);
    Allocator allocator;
    allocator.refuse = true;
    call.args.allocator = allocator.interface();
    CHECK(heed_attention(&call.args, &status) == HEED_OUT_OF_MEMORY);
    CHECK(std::string(status.message).compare(0, 10, "allocator:") == 0);
    CHECK(std::string(status.message).find(std::to_string(allocator.bytes)) != std::string::npos);
    CHECK(allocator.taken == 1);
    CHECK(allocator.released == 0);
    CHECK(call.untouched());

    Call default_call(problem, Layout::kPadded);
    g_refuse = true;
    const heed_code code = heed_attention(&default_call.args, &status);
    g_refuse = false;
    CHECK(code == HEED_OUT_OF_MEMORY);
    CHECK(default_call.untouched());
  });
}

TEST_CASE("single kernels without memory write nothing", "[kernels][memory]") {
  const std::vector<float> x(40000, 0.25f);
  std::vector<float> out(40000, 77.0f);
  const heed_matrix q{x.data(), 4, 4000, 0, HEED_F32}, v{x.data(), 4000, 10, 0, HEED_F32};
  const heed_matrix_out s{out.data(), 4, 4, 0, HEED_F32}, sums{out.data(), 4, 10, 0, HEED_F32};
  const heed_matrix many{x.data(), 100, 400, 0, HEED_F32}, values{x.data(), 400, 100, 0, HEED_F32};
  const heed_matrix_out rows{out.data(), 100, 100, 0, HEED_F32};
  std::vector<float> o(4000, 0.25f);
  float m = 0.0f, l = 1.0f;
  const State one(&m, &l, o.data(), 1, 1, 1, 4000), other(&out[50], &out[60], &out[100], 1, 1, 1, 4000);
  const heed_result result{{x.data(), 0, 0, 4000, HEED_F32}, &m};
  const heed_tensor_out together{&out[100], 0, 0, 4000, HEED_F32};
  for_each_row([&](const Table& row) {
    const ForcedRow forced(row);
    heed_status scores_status, attend_status;
    g_refuse = true;
    const heed_code scores = heed_scores(&q, &q, 1.0f, &s, &scores_status);
    const heed_code attended = heed_attend(&many, &values, &rows, nullptr, &attend_status);
    const heed_code summed = heed_weighted_sum(&q, &v, nullptr, &sums, nullptr);  // needs none
    const heed_code merged = heed_state_merge(&one, &one, &other, nullptr);
    const heed_code joined = heed_merge_lse(1, 1, 1, 4000, &result, &result, &together, nullptr, nullptr);
    g_refuse = false;
    CHECK(scores == HEED_OUT_OF_MEMORY);
    CHECK(attended == HEED_OUT_OF_MEMORY);
    CHECK(summed == HEED_OK);
    CHECK(merged == HEED_OUT_OF_MEMORY);
    CHECK(joined == HEED_OUT_OF_MEMORY);
    CHECK(std::string(scores_status.message).compare(0, 7, "malloc:") == 0);
    CHECK(std::string(attend_status.message).compare(0, 7, "malloc:") == 0);
    for (std::size_t n = 40; n < out.size(); ++n) REQUIRE(out[n] == 77.0f);
  });
}

}  // namespace
}  // namespace heed::test

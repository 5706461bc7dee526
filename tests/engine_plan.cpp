// Plans: one plan, many runs, in the caller's workspace and on the caller's threads, with the bits of heed_attention.
#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <limits>
#include <memory>
#include <thread>

#include "engine_problem.hpp"
#include "executors.hpp"

namespace heed::test {
namespace {

// Exactly as large as the plan says, between canaries, full of NaN.
class Workspace {
 public:
  explicit Workspace(const Plan& plan) : bytes_(plan.workspace_bytes()) {
    memory_.reset(static_cast<unsigned char*>(std::aligned_alloc(64, (bytes_ + 2 * kFence + 63) / 64 * 64)));
    std::fill_n(memory_.get(), bytes_ + 2 * kFence, kCanary);
  }
  void* data() { return memory_.get() + kFence; }
  std::size_t bytes() const { return bytes_; }
  bool intact() const {
    bool intact = true;
    for (std::size_t i = 0; i < kFence; ++i) {
      intact = intact && memory_[i] == kCanary && memory_[kFence + bytes_ + i] == kCanary;
    }
    return intact;
  }

 private:
  static constexpr std::size_t kFence = 256;
  static constexpr unsigned char kCanary = 0xFF;
  struct Free {
    void operator()(unsigned char* memory) const { std::free(memory); }
  };
  std::size_t bytes_;
  std::unique_ptr<unsigned char[], Free> memory_;
};

std::string run_items(EngineProblem& p, const Plan& plan, Workspace& workspace, int order, int threads) {
  Run run;
  const Status status = plan.begin(p.args, workspace.data(), workspace.bytes(), &run);
  REQUIRE(std::string(status.message()) == "");
  for (std::int32_t phase = 0; phase < Run::kPhases; ++phase) {
    const std::int64_t items = run.items(phase);
    if (order < 2) {  // one thread, forwards or backwards
      for (std::int64_t n = 0; n < items; ++n) {
        REQUIRE(run.item(phase, order == 0 ? n : items - 1 - n, 0) == HEED_OK);
      }
      continue;
    }
    std::atomic<std::int64_t> next{0};
    std::vector<std::thread> pool;
    for (int t = 0; t < threads; ++t) {
      pool.emplace_back([&, t] {
        for (std::int64_t n = next++; n < items; n = next++) run.item(phase, n, t);
      });
    }
    for (std::thread& thread : pool) thread.join();
  }
  return p.take();
}

TEST_CASE("one plan serves every smaller problem, with the bits of the plain call", "[engine][plan][I1]") {
  for (std::uint64_t seed = 1; seed <= 24; ++seed) {
    std::mt19937_64 random(seed);
    const auto between = [&](std::int64_t low, std::int64_t high) {
      return low + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(high - low + 1));
    };
    EngineShape most;
    most.B = between(1, 4);
    most.Hkv = between(1, 2);
    most.Hq = most.Hkv * (seed % 8 == 0 ? 300 : between(1, 5));
    most.Lq = between(1, seed % 3 == 0 ? 300 : 12);
    most.Lkv = between(1, 3000);
    most.D = between(1, 20);
    most.Dv = between(1, 20);
    if (most.Hq > 100) most.Lq = 2, most.Lkv = 600;
    const std::int32_t threads = static_cast<std::int32_t>(between(1, 16));
    INFO("seed " << seed << ", threads " << threads);
    for_each_row([&](const Table& row) {
      const ForcedRow forced(row);
      AttentionArgs largest;
      largest.B = most.B;
      largest.Hq = most.Hq;
      largest.Hkv = most.Hkv;
      largest.Lq = most.Lq;
      largest.Lkv = most.Lkv;
      largest.D = most.D;
      largest.Dv = most.Dv;
      largest.executor.threads = threads;
      Plan plan;
      const Status made = plan.make(largest);
      REQUIRE(std::string(made.message()) == "");
      Workspace workspace(plan);
      for (int n = 0; n < 3; ++n) {
        EngineShape shape = most;
        if (n > 0) {
          shape.B = between(1, most.B);
          shape.Lq = between(0, most.Lq);
          shape.Lkv = between(0, most.Lkv);
        }
        EngineProblem p(shape, seed * 10 + static_cast<std::uint64_t>(n));
        std::vector<std::int64_t> lengths;
        for (std::int64_t b = 0; b < shape.B; ++b)
          lengths.push_back(random() % 3 == 0 ? between(0, shape.Lkv) : shape.Lkv);
        if (n != 1) p.args.kv_lengths = {lengths.data(), HEED_INT64};
        p.args.causal = static_cast<std::int32_t>(between(0, 1));
        const std::string expected = p.run();
        for (int order = 0; order < 3; ++order) {
          const bool same = run_items(p, plan, workspace, order, threads) == expected;
          CHECK(same);
        }
        std::int32_t of_executor = threads;
        if (threads > 1) p.args.executor = {on_threads, &of_executor, threads};
        REQUIRE(plan.run(p.args, workspace.data(), workspace.bytes()).ok());
        const bool same = p.take() == expected;
        CHECK(same);
        CHECK(workspace.intact());
      }
    });
  }
}

TEST_CASE("one plan, many threads at once, each with its workspace", "[engine][plan]") {
  EngineProblem first({2, 4, 2, 20, 700, 16, 24}, 3);
  Plan plan;
  REQUIRE(plan.make(first.args).ok());
  const std::string expected = first.run();
  std::atomic<int> wrong{0};
  std::vector<std::thread> callers;
  for (int t = 0; t < 8; ++t) {
    callers.emplace_back([&] {
      EngineProblem p({2, 4, 2, 20, 700, 16, 24}, 3);
      Workspace workspace(plan);
      for (int n = 0; n < 10; ++n) {
        const Status status = plan.run(p.args, workspace.data(), workspace.bytes());
        if (!status.ok() || p.take() != expected || !workspace.intact()) ++wrong;
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  CHECK(wrong == 0);
}

// Without cutting, one long sequence would keep one thread busy while the others wait.
TEST_CASE("the longest item is a small share of the work", "[engine][plan]") {
  const std::int32_t threads = 8;
  AttentionArgs largest;
  largest.B = 65;
  largest.Hq = 8;
  largest.Hkv = 2;
  largest.Lq = 1;
  largest.Lkv = 65536;
  largest.D = largest.Dv = 4;
  largest.executor.threads = threads;
  Plan plan;
  REQUIRE(plan.make(largest).ok());
  Workspace workspace(plan);
  EngineProblem p({65, 8, 2, 1, 0, 4, 4});
  p.args.Lkv = 65536;  // all sequences read the same keys
  const Floats keys(65536 * 4, 0.5f);
  p.args.k = {keys.data(), 0, 0, 4, HEED_F32};
  p.args.v = {keys.data(), 0, 0, 4, HEED_F32};
  std::vector<std::int64_t> lengths(65, 512);
  lengths[30] = 65536;
  p.args.kv_lengths = {lengths.data(), HEED_INT64};
  Run run;
  REQUIRE(plan.begin(p.args, workspace.data(), workspace.bytes(), &run).ok());
  CHECK(run.items(0) >= 2 * 65 + 2 * (threads - 1));  // the long sequence's two kv heads are cut
  CHECK(run.items(1) == 2);
  lengths.assign(65, 512);
  REQUIRE(plan.begin(p.args, workspace.data(), workspace.bytes(), &run).ok());
  CHECK(run.items(0) == 2 * 65);
  CHECK(run.items(1) == 0);

  EngineProblem one({1, 1, 1, 1, 65536, 4, 4});
  REQUIRE(plan.make(largest).ok());
  largest.B = largest.Hq = largest.Hkv = 1;
  REQUIRE(plan.make(largest).ok());
  Workspace small(plan);
  REQUIRE(plan.begin(one.args, small.data(), small.bytes(), &run).ok());
  CHECK(run.items(0) == 4 * threads);
  CHECK(run.items(1) == 1);
}

// Memory with room behind what was asked for, where a worker that no buffer belongs to would write.
struct Fenced {
  static constexpr std::size_t kFence = 4 << 20;
  static constexpr unsigned char kCanary = 0xC3;

  static void* allocate(void* context, std::size_t bytes) {
    auto& self = *static_cast<Fenced*>(context);
    self.bytes = bytes;
    self.memory = static_cast<unsigned char*>(std::aligned_alloc(64, (bytes + kFence + 63) / 64 * 64));
    std::fill_n(self.memory + bytes, kFence, kCanary);
    return self.memory;
  }
  static void release(void* context, void* memory, std::size_t) {
    auto& self = *static_cast<Fenced*>(context);
    self.damaged = std::any_of(self.memory + self.bytes, self.memory + self.bytes + kFence,
                               [](unsigned char byte) { return byte != kCanary; });
    std::free(memory);
  }
  unsigned char* memory = nullptr;
  std::size_t bytes = 0;
  bool damaged = false;
};

// Starts the call's task once more in the middle of an item, which no buffer is left for.
struct Restarted {
  static void parallel_for(void* context, std::int64_t count, Task task, void* task_context) {
    auto& self = *static_cast<Restarted*>(context);
    self.task = task;
    self.task_context = task_context;
    for (std::int64_t t = 0; t < count; ++t) task(task_context, t);
    task(task_context, 0);
  }
  static float score(void* context, std::int64_t, std::int64_t, std::int64_t, float score) {
    auto& self = *static_cast<Restarted*>(context);
    if (++self.depth <= 4) self.task(self.task_context, self.depth);
    --self.depth;
    return score;
  }
  Task task = nullptr;
  void* task_context = nullptr;
  int depth = 0;
};

TEST_CASE("executors that run a task twice, or more tasks than asked for, do no harm", "[engine][plan]") {
  EngineProblem p({2, 4, 2, 30, 1500, 8, 9}, 21);
  const std::string expected = p.run();
  const auto twice = [](void*, std::int64_t count, Task task, void* context) {
    for (std::int64_t t = 0; t < count + 3; ++t) {
      task(context, t);
      task(context, t);
    }
  };
  const auto crowded = [](void*, std::int64_t count, Task task, void* context) {
    std::vector<std::thread> pool;
    for (std::int64_t t = 0; t < 3 * count; ++t) pool.emplace_back([=] { task(context, t % count); });
    for (std::thread& thread : pool) thread.join();
  };
  Fenced fenced;
  p.args.allocator = {Fenced::allocate, Fenced::release, &fenced};
  for (int n = 0; n < 20; ++n) {
    p.args.executor = {n % 2 == 0 ? +twice : +crowded, nullptr, 4};
    const bool same = p.run() == expected;
    REQUIRE(same);
    REQUIRE(!fenced.damaged);
  }
  Restarted restarted;
  p.args.score_callback = Restarted::score;
  p.args.score_context = &restarted;
  p.args.executor = {Restarted::parallel_for, &restarted, 2};
  const bool same = p.run() == expected;
  CHECK(same);
  CHECK(!fenced.damaged);
}

TEST_CASE("a plan says what it chose", "[engine][plan]") {
  EngineProblem p({1, 8, 2, 1, 4096, 64, 64});
  p.args.executor.threads = 4;
  for_each_row([&](const Table& row) {
    const ForcedRow forced(row);
    Plan plan;
    REQUIRE(plan.make(p.args).ok());
    std::string text(plan.describe(nullptr, 0), '?');
    REQUIRE(plan.describe(text.data(), text.size()) == text.size());
    CHECK(text.find(std::string("row ") + row.name + ",") != std::string::npos);
    CHECK(text.find("arithmetic " + std::to_string(arithmetic()) + ": panel 16, block 128, split 512") !=
          std::string::npos);
    CHECK(text.find(row.fma ? "fused" : "separate") != std::string::npos);
    CHECK(text.find("8 query heads on 2 kv heads") != std::string::npos);
    CHECK(text.find("at most 16 keys") != std::string::npos);
    CHECK(text.find("k f32, v f32") != std::string::npos);
    CHECK(text.find("workspace " + std::to_string(plan.workspace_bytes()) + " bytes") != std::string::npos);
    char part[9];
    std::fill_n(part, 9, '#');
    CHECK(plan.describe(part, 8) == text.size());
    CHECK(std::string(part) == text.substr(0, 7));
    CHECK(part[8] == '#');
  });
}

TEST_CASE("a plan that is not made has nothing to say", "[engine][plan]") {
  const heed_plan none{};
  char text[20] = "";
  for (const heed_plan* plan : {&none, static_cast<const heed_plan*>(nullptr)}) {
    CHECK(heed_plan_workspace_bytes(plan) == 0);
    CHECK(heed_plan_describe(plan, nullptr, 99) == sizeof "no plan yet\n");
    CHECK(heed_plan_describe(plan, text, sizeof text) == sizeof "no plan yet\n");
    CHECK(std::string(text) == "no plan yet\n");
  }
}

TEST_CASE("a plan names every type", "[engine][plan]") {
  EngineProblem p({1, 1, 1, 1, 40, 8, 8});
  const char* const names[] = {"f32", "f16", "bf16", "int8", "fp8 e4m3", "fp8 e5m2"};
  for (heed_type type = HEED_F32; type <= HEED_FP8_E5M2; ++type) {
    p.args.k.type = p.args.v.type = type;
    Plan plan;
    REQUIRE(plan.make(p.args).ok());
    char text[2000];
    plan.describe(text, sizeof text);
    CHECK(std::string(text).find(std::string("k ") + names[type] + ", v " + names[type] + ",") != std::string::npos);
  }
}

}  // namespace
}  // namespace heed::test

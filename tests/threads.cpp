// Many threads, executors that do what no pool should, and processes that fork.
#include <sys/wait.h>
#include <unistd.h>
#include <catch2/catch_message.hpp>
#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <cstdlib>
#include <limits>
#include <mutex>
#include <set>
#include <thread>

#include "engine_problem.hpp"
#include "executors.hpp"
#include "public_calls.hpp"
#include "support/each_row.hpp"

namespace heed::test {
namespace {

constexpr EngineShape kShape{2, 4, 2, 30, 1500, 8, 9};  // with 4 threads: items of both phases

// Runs `work` in `count` threads that begin together.
template <class Work>
void together(int count, const Work& work) {
  std::barrier start(count);
  std::vector<std::thread> threads;
  for (int t = 0; t < count; ++t) {
    threads.emplace_back([&, t] {
      start.arrive_and_wait();
      work(t);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_CASE("every public call in many threads at once gives the bits of one alone", "[threads]") {
  const PublicCalls calls;
  for_each_row([&](const Table& row) {
    const ForcedRow forced(row);
    Caller alone;
    const Given expected = calls.run(alone, {}, false);
    std::atomic<int> wrong{0};
    together(16, [&](int t) {
      Caller call(t % 3 == 0 ? kFlushing[2] : kDefault);
      if (!difference(calls.run(call, {}, false), expected).empty() || !call.changing.empty()) ++wrong;
    });
    CHECK(wrong == 0);
  });
}

TEST_CASE("callbacks are called on the executor's threads, once for each attended key", "[threads]") {
  struct Seen {
    std::mutex mutex;
    std::set<std::thread::id> threads;
    std::vector<int> asked = std::vector<int>(4 * 30 * 700);  // [head][query][key]
    static float score(void* context, std::int64_t head, std::int64_t position, std::int64_t key, float score) {
      auto& self = *static_cast<Seen*>(context);
      const std::lock_guard lock(self.mutex);
      self.threads.insert(std::this_thread::get_id());
      ++self.asked[static_cast<std::size_t>((head * 30 + position - 670) * 700 + key)];
      return score + 0.25f;
    }
  };
  EngineProblem p({1, 4, 2, 30, 700, 8, 9}, 4);
  p.args.causal = 1;
  Seen alone, shared;
  p.args.score_callback = Seen::score;
  p.args.score_context = &alone;
  const std::string expected = p.run();
  std::int32_t threads = 4;
  p.args.score_context = &shared;
  p.args.executor = {on_threads, &threads, threads};
  const bool same = p.run() == expected;
  CHECK(same);
  CHECK(shared.threads.count(std::this_thread::get_id()) == 0);
  int wrong = 0;
  for (std::int64_t n = 0; n < 4 * 30 * 700; ++n) {
    const bool attended = n % 700 <= 670 + n / 700 % 30;
    wrong += shared.asked[static_cast<std::size_t>(n)] != (attended ? 1 : 0) ? 1 : 0;
  }
  CHECK(wrong == 0);
}

// ---- Executors

// Which of a call's tasks run, and how often, in how many of its phases.
struct Odd {
  const char* what;
  std::vector<std::int64_t> (*tasks)(std::int64_t count);
  int phases;  // in which any run
  bool complete;
};
const Odd kOdd[] = {
    {"none", [](std::int64_t) { return std::vector<std::int64_t>{}; }, 2, false},
    {"none of the second phase", [](std::int64_t) { return std::vector<std::int64_t>{0}; }, 1, false},
    {"the first", [](std::int64_t) { return std::vector<std::int64_t>{0}; }, 2, true},
    {"the last", [](std::int64_t count) { return std::vector<std::int64_t>{count - 1}; }, 2, true},
    {"the first, over and over", [](std::int64_t) { return std::vector<std::int64_t>(50, 0); }, 2, true},
    {"none that exists",
     [](std::int64_t count) {
       return std::vector<std::int64_t>{-1, count, std::numeric_limits<std::int64_t>::min(),
                                        std::numeric_limits<std::int64_t>::max()};
     },
     2, true},
};

struct OddExecutor {
  const Odd& odd;
  int phase = 0;
  static void parallel_for(void* context, std::int64_t count, Task task, void* task_context) {
    auto& self = *static_cast<OddExecutor*>(context);
    if (self.phase++ >= self.odd.phases) return;
    for (const std::int64_t t : self.odd.tasks(count)) task(task_context, t);
  }
};

TEST_CASE("executors that leave tasks out: the work is done all the same, or the call says that it isn't",
          "[threads][executor]") {
  for_each_row([](const Table& row) {
    const ForcedRow forced(row);
    EngineProblem p(kShape, 21);
    const std::string expected = p.run();
    Plan plan;
    p.args.executor.threads = 4;
    REQUIRE(plan.make(p.args).ok());
    const std::unique_ptr<void, decltype(&std::free)> workspace(std::aligned_alloc(64, plan.workspace_bytes()),
                                                                &std::free);
    for (const Odd& odd : kOdd) {
      for (const bool planned : {false, true}) {
        INFO(odd.what << ", planned " << planned);
        OddExecutor executor{odd};
        p.args.executor = {OddExecutor::parallel_for, &executor, 4};
        const Status status =
            planned ? plan.run(p.args, workspace.get(), plan.workspace_bytes()) : heed::attention(p.args);
        const bool same = p.take() == expected;
        CHECK(same == odd.complete);
        CHECK(status.code() == (odd.complete ? HEED_OK : HEED_CANCELLED));
        CHECK(std::string(status.message()).rfind(odd.complete ? "" : "executor: ", 0) == 0);
      }
    }
  });
}

// Makes the call of `inner` around each task, and in the middle of items from a callback.
struct Nested {
  EngineProblem* inner;
  std::string expected;
  int wrong = 0, calls = 0;
  void call() {
    if (inner->run() != expected) ++wrong;
    ++calls;
  }
  static void parallel_for(void* context, std::int64_t count, Task task, void* task_context) {
    auto& self = *static_cast<Nested*>(context);
    for (std::int64_t t = 0; t < count; ++t) {
      self.call();
      task(task_context, t);
    }
    self.call();
  }
  static float score(void* context, std::int64_t, std::int64_t, std::int64_t key, float score) {
    if (key % 250 == 7) static_cast<Nested*>(context)->call();
    return score;
  }
};

TEST_CASE("executors and callbacks may call heed themselves", "[threads][executor]") {
  EngineProblem inner({1, 2, 1, 3, 600, 8, 8}, 5), outer(kShape, 6);
  const std::string expected = outer.run();
  std::int32_t threads = 2;
  inner.args.executor = {on_threads, &threads, threads};
  Nested nested{&inner, inner.run()};
  outer.args.score_callback = Nested::score;
  outer.args.score_context = &nested;
  outer.args.executor = {Nested::parallel_for, &nested, 4};
  const bool same = outer.run() == expected;
  CHECK(same);
  CHECK(nested.wrong == 0);
  CHECK(nested.calls > 100);
}

TEST_CASE("items of a run twice, and the second phase too early, do no harm", "[threads][executor]") {
  EngineProblem p(kShape, 7);
  const std::string expected = p.run();
  p.args.executor.threads = 4;
  Plan plan;
  REQUIRE(plan.make(p.args).ok());
  const std::size_t bytes = plan.workspace_bytes();
  const std::unique_ptr<unsigned char, decltype(&std::free)> workspace(
      static_cast<unsigned char*>(std::aligned_alloc(64, bytes)), &std::free);
  std::fill_n(workspace.get(), bytes, 0x5A);
  Run run;
  REQUIRE(plan.begin(p.args, workspace.get(), bytes, &run).ok());
  REQUIRE(run.items(1) > 0);
  for (std::int64_t n = 0; n < run.items(1); ++n) CHECK(run.item(1, n, 3) == HEED_OK);  // folds what nobody wrote
  for (int times = 0; times < 2; ++times) {
    for (std::int32_t phase = 0; phase < Run::kPhases; ++phase) {
      for (std::int64_t n = 0; n < run.items(phase); ++n) {
        CHECK(run.item(phase, n, 0) == HEED_OK);
        CHECK(run.item(phase, n, static_cast<std::int32_t>(n % 4)) == HEED_OK);
      }
    }
    const bool same = p.take() == expected;
    CHECK(same);
  }
}

// ---- Processes

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HEED_ADDRESS_SANITIZER
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define HEED_ADDRESS_SANITIZER
#endif

// The exit status of a child that runs `work`; -1 if it hangs or is killed.
template <class Work>
int status_of_child(const Work& work) {
#ifdef HEED_ADDRESS_SANITIZER
  return work();  // whose allocator, of LLVM 14, leaves its locks as they are at a fork: a child may wait for ever
#endif
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    _exit(work());
  }
  int status = 0;
  return waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST_CASE("after a fork the child computes the same bits, whatever other threads were doing", "[threads][fork]") {
  EngineProblem p(kShape, 8);
  std::int32_t threads = 3;
  p.args.executor = {on_threads, &threads, threads};
  const std::string expected = p.run();
  p.args.executor = {last_first, nullptr, threads};
  const auto compute = [&] { return heed::attention(p.args).ok() && p.take() == expected ? 0 : 1; };
  CHECK(status_of_child(compute) == 0);
  std::atomic<bool> stop{false};
  std::vector<std::thread> busy;
  for (int t = 0; t < 4; ++t) {
    busy.emplace_back([&] {
      EngineProblem own(kShape, 9);
      while (!stop) (void)heed::attention(own.args);
    });
  }
  for (int n = 0; n < 20; ++n) CHECK(status_of_child(compute) == 0);
  stop = true;
  for (std::thread& thread : busy) thread.join();
}

// In a process of its own: nothing has been called before.
TEST_CASE("the first calls of a process may race, also with a fork", "[.first]") {
  const char* asked = std::getenv("HEED_ISA");
  const bool refused = asked != nullptr && std::string(asked) == "avx9000";
  std::atomic<int> wrong{0}, children{0};
  std::vector<std::string> rows(16), bits(16);
  const auto first_call = [&](std::string* row, std::string* result) {
    float x[4] = {1, 2, 3, 4}, out[4];
    AttentionArgs args;
    args.B = args.Hq = args.Hkv = args.Lq = 1;
    args.Lkv = args.D = args.Dv = 2;
    args.q = args.k = args.v = heads_first(static_cast<const float*>(x), 1, 2, 2);
    args.out = heads_first(out, 1, 1, 2);
    const Status status = heed::attention(args);
    *row = heed_isa();
    *result = refused ? status.message() : std::string(reinterpret_cast<const char*>(out), 2 * sizeof(float));
    return status.code() == (refused ? HEED_ISA_UNAVAILABLE : HEED_OK) && status.ok() != refused ? 0 : 1;
  };
  together(16, [&](int t) {
    const auto n = static_cast<std::size_t>(t);
    if (t % 8 == 7) {
      std::string row, result;
      if (status_of_child([&] { return first_call(&row, &result); }) != 0) ++wrong;
      ++children;
    }
    if (first_call(&rows[n], &bits[n]) != 0) ++wrong;
  });
  CHECK(wrong == 0);
  CHECK(children == 2);
  for (std::size_t n = 1; n < 16; ++n) {
    CHECK(rows[n] == heed_isa());
    CHECK(bits[n] == bits[0]);
  }
  if (refused) CHECK(bits[0].find("'avx9000'") != std::string::npos);
}

}  // namespace
}  // namespace heed::test

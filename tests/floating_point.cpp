// The caller's floating-point environment: no call changes it, and flushing subnormals changes no bit unless there is
// one.
#include <atomic>
#include <catch2/catch_message.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <fstream>
#include <thread>

#include "executors.hpp"
#include "public_calls.hpp"
#include "support/each_row.hpp"

namespace heed::test {
namespace {

const std::set<std::string> kNone;

std::set<std::string> exported_symbols() {
  std::ifstream file(HEED_EXPORTED_SYMBOLS);
  std::set<std::string> symbols;
  for (std::string symbol; file >> symbol;) symbols.insert(symbol);
  return symbols;
}

int nan_count(const Given& given) {
  int count = 0;
  for (const float x : given.floats) count += std::isnan(x) ? 1 : 0;
  return count;
}

// Threads that flush subnormals, and see what each task left of that.
struct FlushingThreads {
  static void parallel_for(void* context, std::int64_t count, Task task, void* task_context) {
    auto& self = *static_cast<FlushingThreads*>(context);
    std::vector<std::thread> pool;
    for (std::int64_t t = 0; t < count; ++t) {
      pool.emplace_back([&self, t, task, task_context] {
        const Setting within(t % 4 == 3 ? kDefault : kFlushing[t % 4]);
        const std::uint32_t before = control_word();
        task(task_context, t);
        if (control_word() != before) ++self.changed;
        ++self.tasks;
      });
    }
    for (std::thread& thread : pool) thread.join();
  }
  heed_executor executor() { return {parallel_for, this, 4}; }
  std::atomic<int> tasks{0}, changed{0};
};

}  // namespace

TEST_CASE("every exported function is among the public calls", "[environment]") {
  Caller call;
  PublicCalls().run(call);
  CHECK(call.called == exported_symbols());
}

TEST_CASE("no call changes the floating-point environment, and flushing changes no bit without a subnormal",
          "[environment][row]") {
  const PublicCalls calls;
  for_each_row([&](const Table& row) {
    const ForcedRow forced(row);
    Caller usual;
    const Given expected = calls.run(usual);
    CHECK(usual.changing == kNone);
    CHECK(nan_count(expected) == 0);
    for (const FloatingPoint& setting : kFlushing) {
      INFO(setting.name);
      Caller call(setting);
      CHECK(difference(calls.run(call), expected) == "");
      CHECK(call.changing == kNone);
    }
    // Right results need rounding to nearest; but nothing goes wrong, and the setting stays.
    for (const FloatingPoint& setting : kRounding) {
      INFO(setting.name);
      Caller call(setting);
      CHECK(nan_count(calls.run(call)) == 0);
      CHECK(call.changing == kNone);
    }
  });
}

TEST_CASE("threads of the executor may have another setting than the caller", "[environment][threads]") {
  const PublicCalls calls;
  for_each_row([&](const Table& row) {
    const ForcedRow forced(row);
    Caller usual;
    const Given expected = calls.run(usual);
    for (const FloatingPoint& setting : {kDefault, kFlushing[2]}) {
      FlushingThreads threads;
      Caller call(setting);
      Given found = calls.run(call, threads.executor());
      // The plan's description speaks of threads; all numbers are the same.
      found.bytes = expected.bytes;
      CHECK(difference(found, expected) == "");
      CHECK(call.changing == kNone);
      CHECK(threads.changed == 0);
      CHECK(threads.tasks > 20);
    }
  });
}

TEST_CASE("subnormal numbers break nothing, flushed or not", "[environment]") {
  for (const float magnitude : {0x1p-130f, 0x1p-65f}) {
    const PublicCalls calls(magnitude);
    for_each_row([&](const Table& row) {
      const ForcedRow forced(row);
      for (const FloatingPoint& setting : {kDefault, kFlushing[2]}) {
        INFO(setting.name << ", magnitude " << magnitude);
        Caller call(setting);
        CHECK(nan_count(calls.run(call)) == 0);
        CHECK(call.changing == kNone);
      }
    });
  }
}

}  // namespace heed::test

// A call uses at most 16 KiB of stack: painted before it runs, read after.
#include <pthread.h>

#include <catch2/catch_message.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <utility>

#include "attention_call.hpp"
#include "attention_random.hpp"
#include "support/each_row.hpp"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define HEED_TEST_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(undefined_behavior_sanitizer)
#define HEED_TEST_SANITIZED 1
#endif
#endif

#ifndef HEED_TEST_SANITIZED  // sanitizers widen every frame

namespace heed::test {
namespace {

// How many bytes of its stack a thread touches that runs `work`, beside what any thread does. The first run is for the
// dynamic linker, which looks functions up on the caller's stack.
std::size_t touched_by(const std::function<void()>& work) {
  constexpr std::size_t kBytes = 512 * 1024;
  constexpr unsigned char kPaint = 0xA5;
  auto* stack = static_cast<unsigned char*>(std::aligned_alloc(4096, kBytes));
  std::memset(stack, kPaint, kBytes);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  REQUIRE(pthread_attr_setstack(&attributes, stack, kBytes) == 0);
  pthread_t thread;
  const auto start = [](void* context) -> void* {
    (*static_cast<const std::function<void()>*>(context))();
    return nullptr;
  };
  REQUIRE(pthread_create(&thread, &attributes, start, const_cast<std::function<void()>*>(&work)) == 0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
  std::size_t untouched = 0;
  while (untouched < kBytes && stack[untouched] == kPaint) ++untouched;
  std::free(stack);
  return kBytes - untouched;
}

std::size_t stack_of(const std::function<void()>& work) {
  work();
  return touched_by(work) - touched_by([] {});
}

TEST_CASE("a call uses at most 16 KiB of stack", "[attention][memory]") {
  Spec spec;
  spec.Lq = GENERATE(1, 3, 40);
  spec.Lkv = GENERATE(3, 700);
  spec.D = GENERATE(2, 64, 130);
  spec.Dv = 67;
  const ModelProblem problem = problem_of(spec);
  std::vector<float> x(5000, 1.0f), out(5000);
  const heed_matrix weights{x.data(), 30, 50, 0, HEED_F32}, v{x.data(), 50, 67, 0, HEED_F32};
  const heed_matrix_out sums{out.data(), 30, 67, 0, HEED_F32};
  for_each_row([&](const Table& row) {
    const ForcedRow forced(row);
    Call call(problem, Layout::kHeadsFirst);
    heed_plan plan;
    REQUIRE(heed_plan_make(&call.args, &plan, nullptr) == HEED_OK);
    const std::size_t bytes = heed_plan_workspace_bytes(&plan);
    const std::unique_ptr<void, decltype(&std::free)> workspace(std::aligned_alloc(64, (bytes + 63) / 64 * 64),
                                                                &std::free);
    const std::pair<const char*, std::function<void()>> calls[] = {
        {"attention", [&] { (void)heed_attention(&call.args, nullptr); }},
        {"plan_run", [&] { (void)heed_plan_run(&plan, &call.args, workspace.get(), bytes, nullptr); }},
        {"attend", [&] { (void)heed_attend(&weights, &v, &sums, nullptr, nullptr); }},
        {"weighted_sum", [&] { (void)heed_weighted_sum(&weights, &v, nullptr, &sums, nullptr); }},
        {"softmax", [&] { heed_softmax(x.data(), out.data(), 5000); }},
    };
    for (const auto& [name, work] : calls) {
      INFO(name);
      CHECK(stack_of(work) <= 16 * 1024);
    }
  });
}

}  // namespace
}  // namespace heed::test

#endif

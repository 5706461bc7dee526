// Ways to run the tasks of a call: on threads, and in orders that no thread pool would choose.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include "heed/heed.h"

namespace heed::test {

using Task = void (*)(void* context, std::int64_t t);

// As many threads as the call asks for tasks, all taking the next one.
inline void on_threads(void* context, std::int64_t count, Task task, void* task_context) {
  const std::int64_t threads = *static_cast<const std::int32_t*>(context);
  std::atomic<std::int64_t> next{0};
  std::vector<std::thread> pool;
  for (std::int64_t n = 0; n < threads && n < count; ++n) {
    pool.emplace_back([&] {
      for (std::int64_t t = next++; t < count; t = next++) task(task_context, t);
    });
  }
  for (std::thread& thread : pool) thread.join();
}

inline void last_first(void*, std::int64_t count, Task task, void* task_context) {
  for (std::int64_t t = count; t-- > 0;) task(task_context, t);
}

inline void odd_first(void*, std::int64_t count, Task task, void* task_context) {
  for (std::int64_t t = 1; t < count; t += 2) task(task_context, t);
  for (std::int64_t t = 0; t < count; t += 2) task(task_context, t);
}

}  // namespace heed::test

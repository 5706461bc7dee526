// A team of threads for --threads: the library has none of its own and takes a caller's executor.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

#include "heed/attention.hpp"

namespace heed::bench {

class Team {
 public:
  // One member is the thread that makes the calls, so a team of one starts no thread. Member i stays on cpus[i].
  Team(int size, const std::vector<int>& cpus);
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  int size() const { return static_cast<int>(workers_.size()) + 1; }

  // Runs job(i) once on every member at the same time: all have arrived before one begins.
  void on_all(const std::function<void(int)>& job);

  heed_executor executor();

 private:
  void work(int member);
  void meet();

  std::vector<std::thread> workers_;
  const std::function<void(int)>* job_ = nullptr;
  std::atomic<std::uint32_t> round_{0};
  std::atomic<std::int32_t> arrived_{0}, running_{0};
  std::atomic<bool> stop_{false};
};

}  // namespace heed::bench

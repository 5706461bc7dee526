#include "team.hpp"

#include "machine.hpp"

namespace heed::bench {

Team::Team(int size, const std::vector<int>& cpus) {
  const auto cpu = [&](int member) { return cpus[static_cast<std::size_t>(member) % cpus.size()]; };
  for (int member = 1; member < size; ++member) {
    workers_.emplace_back([this, member, place = cpu(member)] {
      pin_to(place);
      work(member);
    });
  }
  pin_to(cpu(0));
}

Team::~Team() {
  stop_ = true;
  ++round_;
  round_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

void Team::work(int member) {
  for (std::uint32_t seen = 0;;) {
    round_.wait(seen);
    seen = round_.load();
    if (stop_) return;
    meet();
    (*job_)(member);
    if (running_.fetch_sub(1) == 1) running_.notify_one();
  }
}

void Team::meet() {
  arrived_.fetch_add(1);
  while (arrived_.load() < size()) std::this_thread::yield();
}

void Team::on_all(const std::function<void(int)>& job) {
  if (workers_.empty()) return job(0);
  job_ = &job;
  arrived_ = 0;
  running_ = size() - 1;
  ++round_;
  round_.notify_all();
  meet();
  job(0);
  for (std::int32_t left = running_; left != 0; left = running_) running_.wait(left);
}

heed_executor Team::executor() {
  if (workers_.empty()) return {};
  heed_executor executor{};
  executor.context = this;
  executor.threads = size();
  executor.parallel_for = [](void* context, std::int64_t count, void (*task)(void*, std::int64_t), void* task_context) {
    std::atomic<std::int64_t> next{0};
    static_cast<Team*>(context)->on_all([&](int) {
      for (std::int64_t t = next++; t < count; t = next++) task(task_context, t);
    });
  };
  return executor;
}

}  // namespace heed::bench

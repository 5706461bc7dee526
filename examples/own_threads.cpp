// An engine's own threads run the items of a plan: heed starts no thread and waits for none.
#include <atomic>
#include <barrier>
#include <functional>
#include <thread>

#include "example.hpp"

using namespace example;

// Threads that stay, and share the items of one job after the other. The caller is worker 0.
class Pool {
 public:
  using Job = std::function<void(Size item, std::int32_t worker)>;

  explicit Pool(std::int32_t workers) : gate_(workers) {
    for (std::int32_t worker = 1; worker < workers; ++worker) {
      threads_.emplace_back([this, worker] {
        while (work(worker)) {
        }
      });
    }
  }
  ~Pool() {
    run(0, nullptr);
    for (std::thread& thread : threads_) thread.join();
  }
  void run(Size items, Job job) {
    job_ = std::move(job);
    items_ = items;
    next_ = 0;
    work(0);
  }

 private:
  bool work(std::int32_t worker) {
    gate_.arrive_and_wait();  // the job is there
    if (!job_) return false;
    for (Size item = next_++; item < items_; item = next_++) job_(item, worker);
    gate_.arrive_and_wait();  // all its items have ended
    return true;
  }

  std::barrier<> gate_;
  Job job_;
  Size items_ = 0;
  std::atomic<Size> next_{0};
  std::vector<std::thread> threads_;
};

int main() {
  // One long sequence, which is cut for several threads, beside three short ones.
  constexpr Size B = 4, Hq = 8, Hkv = 2, Lkv = 6000, D = 64;
  const Size lengths[B] = {6000, 300, 40, 700};
  const Floats q = draw(B * Hq * D), k = draw(B * Hkv * Lkv * D), v = draw(B * Hkv * Lkv * D);
  Floats out(q.size()), expected(q.size());

  heed::AttentionArgs args;
  args.B = B;
  args.Hq = Hq;
  args.Hkv = Hkv;
  args.Lq = 1;
  args.Lkv = Lkv;
  args.D = args.Dv = D;
  args.q = heed::heads_first(q.data(), Hq, 1, D);
  args.k = heed::heads_first(k.data(), Hkv, Lkv, D);
  args.v = heed::heads_first(v.data(), Hkv, Lkv, D);
  args.kv_lengths = {lengths, HEED_INT64};
  args.out = heed::heads_first(expected.data(), Hq, 1, D);
  check(heed::attention(args));  // in this thread

  constexpr std::int32_t kWorkers = 4;
  Pool pool(kWorkers);
  args.out = heed::heads_first(out.data(), Hq, 1, D);
  heed::AttentionArgs largest = args;
  largest.executor.threads = kWorkers;  // no executor: the items are run below
  heed::Plan plan;
  check(plan.make(largest));
  Memory workspace(plan.workspace_bytes());

  heed::Run run;
  check(plan.begin(args, workspace.data(), workspace.bytes(), &run));
  for (std::int32_t phase = 0; phase < heed::Run::kPhases; ++phase) {
    pool.run(run.items(phase), [&](Size item, std::int32_t worker) { run.item(phase, item, worker); });
    std::printf("phase %d: %d items on %d threads\n", phase, static_cast<int>(run.items(phase)), kWorkers);
  }
  const bool same = out == expected;
  std::printf("the results of heed::attention in one thread: %s\n", same ? "yes" : "NO");
  return same ? 0 : 1;
}

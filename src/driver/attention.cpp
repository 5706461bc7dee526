#include "driver/attention.hpp"

#include <atomic>

#include "driver/worker.hpp"

namespace heed {
namespace {

// Shared by the workers of one phase: each takes the next index until none is left.
struct Phase {
  const Problem& problem;
  const Plan& plan;
  const dispatch::Table& table;
  char* workspace;
  float* states;
  std::int64_t count;
  void (Worker::*step)(std::int64_t);
  std::atomic<std::int64_t> next{0};
};

void work(void* context, std::int64_t worker) {
  Phase& phase = *static_cast<Phase*>(context);
  Worker here(phase.problem, phase.plan, phase.table,
              reinterpret_cast<float*>(phase.workspace + static_cast<std::size_t>(worker) * phase.plan.worker_bytes),
              phase.states);
  for (std::int64_t i = phase.next++; i < phase.count; i = phase.next++) (here.*phase.step)(i);
}

void run_phase(Phase& phase) {
  const heed_executor& executor = phase.problem.args.executor;
  if (executor.parallel_for != nullptr && phase.plan.workers > 1) {
    executor.parallel_for(executor.context, phase.plan.workers, work, &phase);
  } else {
    work(&phase, 0);
  }
}

}  // namespace

void run_attention(const Problem& problem, const Plan& plan, const dispatch::Table& table, void* workspace,
                   void* states) {
  Phase items{problem,      plan,        table, static_cast<char*>(workspace), static_cast<float*>(states),
              plan.items(), &Worker::run};
  run_phase(items);
  if (plan.parts == 1) return;
  Phase folds{problem,    plan,         table, static_cast<char*>(workspace), static_cast<float*>(states),
              plan.tiles, &Worker::fold};
  run_phase(folds);
}

}  // namespace heed

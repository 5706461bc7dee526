#include "driver/attention.hpp"

#include <atomic>

#include "driver/worker.hpp"

namespace heed {
namespace {

Worker worker_of(const heed_run& run, std::int64_t worker) {
  return Worker(run, reinterpret_cast<float*>(run.workers + worker * run.plan->worker_bytes));
}

void work_on(Worker& worker, std::int32_t phase, std::int64_t item) {
  if (phase == 0) {
    worker.run(item);
  } else {
    worker.fold(item);
  }
}

// Shared by the workers of one phase: each takes the next item until none is left. An executor that starts more workers
// than it was asked for, or one twice, finds no buffers left for them.
struct Phase {
  const heed_run& run;
  std::int32_t phase;
  std::int64_t workers;
  std::atomic<std::int64_t> next_worker{0}, next_item{0}, done{0};
};

void work(void* context, std::int64_t) {
  Phase& phase = *static_cast<Phase*>(context);
  const std::int64_t here = phase.next_worker++, count = phase.run.items(phase.phase);
  if (here >= phase.workers) return;
  Worker worker = worker_of(phase.run, here);
  std::int64_t done = 0;
  for (std::int64_t i = phase.next_item++; i < count; i = phase.next_item++, ++done) work_on(worker, phase.phase, i);
  phase.done += done;
}

std::int64_t shares_bytes(const Problem& problem, const Plan& plan) {
  return needs_shares(problem, plan) ? plan.shares_bytes : 0;
}

}  // namespace

std::int64_t schedule_run(heed_run& run, std::int64_t* workers) {
  run.schedule = make_schedule(run.problem, *run.plan, nullptr);
  const std::int64_t threads = run.plan->shape.threads, items = run.schedule.items;
  *workers = threads < items ? threads : items;
  return shares_bytes(run.problem, *run.plan) + *workers * run.plan->worker_bytes +
         run.schedule.states * run.plan->state_row * static_cast<std::int64_t>(sizeof(float));
}

void begin_run(heed_run& run, void* memory, std::int64_t workers) {
  if (needs_shares(run.problem, *run.plan)) {
    run.schedule = make_schedule(run.problem, *run.plan, static_cast<Share*>(memory));
  }
  run.workers = static_cast<char*>(memory) + shares_bytes(run.problem, *run.plan);
  run.states = reinterpret_cast<float*>(run.workers + workers * run.plan->worker_bytes);
}

void run_item(const heed_run& run, std::int32_t phase, std::int64_t item, std::int64_t worker) {
  Worker here = worker_of(run, worker);
  work_on(here, phase, item);
}

// Finishing with l = 1 divides by one, and gives o and m that form.
void store_state(const dispatch::Table& table, float m, float l, const float* o, float* out_m, float* out_l,
                 float* out_o, std::int64_t Dv) {
  constexpr float kNan = __builtin_nanf(""), kMinusInfinity = -__builtin_inff();
  const bool is_nan = l != l;
  table.finish[dispatch::f32](is_nan ? kNan : m, 1.0f, o, kMinusInfinity, out_o, out_m, Dv);
  *out_l = is_nan ? kNan : l + 0.0f;
}

bool run_all(const heed_run& run) {
  const heed_executor& executor = run.problem.args.executor;
  for (std::int32_t p = 0; p < HEED_PHASES; ++p) {
    const std::int64_t items = run.items(p), threads = executor.threads;
    const std::int64_t workers = threads < items ? threads : items;
    if (items == 0) continue;
    if (workers > 1) {
      Phase phase{run, p, workers};
      executor.parallel_for(executor.context, workers, work, &phase);
      if (phase.done != items) return false;  // a fold would find states that nobody has written
    } else {
      Worker worker = worker_of(run, 0);
      for (std::int64_t i = 0; i < items; ++i) work_on(worker, p, i);
    }
  }
  return true;
}

}  // namespace heed

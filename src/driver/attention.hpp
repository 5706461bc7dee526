// The loop nests of attention: blocks of keys under rows of queries. Portable; every arithmetic operation on data is a
// kernel of the table.
#pragma once

#include "dispatch/table.hpp"
#include "plan/plan.hpp"

// One call at work: what its items share. Items of phase 0 work on rows, those of phase 1 fold what is left of phase 0.
struct heed_run {
  heed::Problem problem;
  const heed::Plan* plan;
  heed::Schedule schedule;
  const heed::dispatch::Table* table;
  char* workers;
  float* states;

  std::int64_t items(std::int32_t phase) const { return phase == 0 ? schedule.items : schedule.folds; }
};

namespace heed {

// The schedule of a run whose problem, plan and table are set; how many workers it keeps busy, and the bytes that they
// need.
std::int64_t schedule_run(heed_run& run, std::int64_t* workers);

// Fills in what is left. memory: as many bytes, or plan.bytes(); aligned to 64 bytes.
void begin_run(heed_run& run, void* memory, std::int64_t workers);

void run_item(const heed_run& run, std::int32_t phase, std::int64_t item, std::int64_t worker);

// A stored state has m = NaN where l is NaN, canonical NaNs, and +0 for -0.
void store_state(const dispatch::Table& table, float m, float l, const float* o, float* out_m, float* out_l,
                 float* out_o, std::int64_t Dv);

// Both phases, with the problem's executor. False: it returned before all items were done.
bool run_all(const heed_run& run);

}  // namespace heed

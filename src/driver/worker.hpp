// Works on one item at a time: some query rows of one kv head of one sequence, against a range of splits.
#pragma once

#include <cstdint>

#include "dispatch/table.hpp"
#include "driver/attention.hpp"
#include "driver/block.hpp"
#include "driver/kernels.hpp"
#include "plan/plan.hpp"

namespace heed {

class Worker {
 public:
  Worker(const heed_run& run, float* memory)
      : run_(run),
        problem_(run.problem),
        args_(run.problem.args),
        plan_(*run.plan),
        table_(*run.table),
        at_(run.plan->layout),
        memory_(memory),
        block_(run.problem, run.plan->layout, *run.table, memory),
        masks_(args_.mask_kind != HEED_NO_MASK || args_.mask_callback != nullptr || args_.score_callback != nullptr) {}

  void run(std::int64_t item);

  // Folds the stored states of one item's rows and finishes them.
  void fold(std::int64_t index);

 private:
  void set_item(const Item& item);
  void load_queries();
  void load_start();
  void run_split(std::int64_t begin, std::int64_t end);
  void run_block(std::int64_t begin, std::int64_t end);
  void fetch_next_item();
  void run_rows(std::int64_t r0, std::int32_t rows);
  void compute_scores(std::int64_t r0, std::int32_t rows, bool all);  // all: no row needs less than the block
  void step_scores(std::int64_t r0, std::int32_t rows, heed_inspect until);
  void call_back(std::int64_t r0, std::int32_t rows);
  void end_split(std::int64_t r, std::int64_t split);
  void finish_row(std::int64_t r, const float* o);
  void inspect_row(std::int64_t r, float m, float l, float sink);

  KeyRange reached_keys() const;
  bool reaches(std::int64_t r, std::int64_t begin, std::int64_t end) const;
  bool steps_needed() const {
    return args_.k.type == HEED_INT8 || args_.softcap != 0.0f || args_.alibi_slopes != nullptr ||
           args_.bias.data != nullptr;
  }

  // A row of the item: which query token of which head, and the keys that it attends before any mask.
  struct Row {
    std::int64_t query, head;
    KeyRange keys;
  };
  Row* row() const { return buffer<Row>(at_.row); }
  std::int64_t splits() const { return (sequence_.keys + kSplit - 1) / kSplit; }

  template <class T>
  T* buffer(std::int64_t floats) const {
    return reinterpret_cast<T*>(memory_ + floats);
  }
  float* q(std::int64_t r) const { return memory_ + at_.q + r * at_.q_row; }
  float* s(std::int64_t i) const { return memory_ + at_.s + i * at_.s_row; }
  float* part_m() const { return memory_ + at_.part_m; }
  float* part_o(std::int64_t r) const { return memory_ + at_.part_o + r * at_.o_row; }
  float* all_o(std::int64_t r) const {  // where nothing is folded, the only split's state is the row's
    return folded_ ? memory_ + at_.all_o + r * at_.o_row : part_o(r);
  }
  std::int32_t* part_any() const { return buffer<std::int32_t>(at_.part_any); }
  std::int32_t* all_any() const { return buffer<std::int32_t>(at_.all_any); }
  Attended* attended() const { return buffer<Attended>(at_.attended); }
  std::int32_t* span_begin() const { return buffer<std::int32_t>(at_.begin); }
  std::int32_t* span_end() const { return buffer<std::int32_t>(at_.end); }
  float* stored(std::int64_t r, std::int64_t split) const {
    const std::int64_t row = item_.kv_head * sequence_.queries * problem_.group + item_.row_begin + r;
    return run_.states + (item_.first_state + row * splits() + split) * plan_.state_row;
  }

  const heed_run& run_;
  const Problem& problem_;
  const heed_attention_args& args_;
  const Plan& plan_;
  const dispatch::Table& table_;
  const Layout& at_;
  float* memory_;
  Block block_;
  const bool masks_;  // more than ranges decides or asks which keys are attended

  std::int64_t index_ = 0;
  Item item_{};
  Sequence sequence_{};
  bool sequence_known_ = false;
  std::int64_t rows_ = 0;
  std::uint64_t begun_ = 0;  // a bit for each tile of rows whose sums of this split have begun
  bool folded_ = false;      // more than one state joins in a row's
};

}  // namespace heed

// A plan made once and run often, in a workspace and on threads of the caller's. See heed.h for what a plan looks at.
#pragma once

#include <cstddef>
#include <cstdint>

#include "heed/attention.hpp"

namespace heed {

// One call in pieces: every item of phase 0, then every item of phase 1. It lies in the workspace.
class Run {
 public:
  static constexpr std::int32_t kPhases = HEED_PHASES;

  std::int64_t items(std::int32_t phase) const noexcept { return heed_run_items(raw_, phase); }
  // worker: a number below the plan's threads that no other item uses at the same time.
  heed_code item(std::int32_t phase, std::int64_t item, std::int32_t worker) noexcept {
    return heed_run_item(raw_, phase, item, worker);
  }
  heed_run*& raw() noexcept { return raw_; }

 private:
  heed_run* raw_ = nullptr;
};

class Plan {
 public:
  Status make(const AttentionArgs& largest) noexcept {
    Status status;
    heed_plan_make(&largest, &raw_, &status.raw());
    return status;
  }
  std::size_t workspace_bytes() const noexcept { return heed_plan_workspace_bytes(&raw_); }
  std::size_t describe(char* text, std::size_t bytes) const noexcept { return heed_plan_describe(&raw_, text, bytes); }

  Status run(const AttentionArgs& args, void* workspace, std::size_t workspace_bytes) const noexcept {
    Status status;
    heed_plan_run(&raw_, &args, workspace, workspace_bytes, &status.raw());
    return status;
  }
  Status begin(const AttentionArgs& args, void* workspace, std::size_t workspace_bytes, Run* run) const noexcept {
    Status status;
    heed_plan_begin(&raw_, &args, workspace, workspace_bytes, &run->raw(), &status.raw());
    return status;
  }
  const heed_plan& raw() const noexcept { return raw_; }

 private:
  heed_plan raw_{};
};

}  // namespace heed

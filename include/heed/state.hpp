// Attention over parts of the keys, and the parts as one. See heed.h for the bits that this keeps.
#pragma once

#include <cstdint>

#include "heed/attention.hpp"

namespace heed {

// Somebody else's memory: m and l [B][Hq][Lq], o [B][Hq][Lq][Dv], contiguous.
struct State : heed_state {
  State(float* m_, float* l_, float* o_, std::int64_t B_, std::int64_t Hq_, std::int64_t Lq_, std::int64_t Dv_) noexcept
      : heed_state{B_, Hq_, Lq_, Dv_, m_, l_, o_, 0, 0, 0, 0, 0, 0} {}
};

// This part's keys join `start`, and the result goes to `end` (which may be start).
inline Status attention_state(AttentionArgs args, const State& start, const State& end) noexcept {
  args.start = &start;
  args.end = &end;
  return attention(args);
}
inline Status attention_state(AttentionArgs args, const State& end) noexcept {
  args.start = nullptr;
  args.end = &end;
  return attention(args);
}

// The keys of a come before those of b; out may be either.
inline Status merge(const State& a, const State& b, const State& out) noexcept {
  Status status;
  heed_state_merge(&a, &b, &out, &status.raw());
  return status;
}

inline Status finish(const State& state, const heed_tensor_out& out, float* lse = nullptr,
                     const float* sinks = nullptr) noexcept {
  Status status;
  heed_state_finish(&state, sinks, &out, lse, &status.raw());
  return status;
}

using Result = heed_result;
// Rounded: for (out, lse) pairs of other libraries.
inline Status merge_lse(std::int64_t B, std::int64_t Hq, std::int64_t Lq, std::int64_t Dv, const Result& a,
                        const Result& b, const heed_tensor_out& out, float* lse = nullptr) noexcept {
  Status status;
  heed_merge_lse(B, Hq, Lq, Dv, &a, &b, &out, lse, &status.raw());
  return status;
}

}  // namespace heed

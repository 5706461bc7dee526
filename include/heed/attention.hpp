// Attention for decoding, prefill and everything between. The fields are documented in heed.h.
#pragma once

#include <cstdint>

#include "heed/status.hpp"

namespace heed {

struct AttentionArgs : heed_attention_args {
  AttentionArgs() noexcept : heed_attention_args{} { struct_size = sizeof(heed_attention_args); }
};

// A view of memory that may be written: an input as well as an output.
struct MutableTensor {
  heed_tensor_out view;

  operator heed_tensor_out() const noexcept { return view; }
  operator heed_tensor() const noexcept {
    return {view.data, view.stride_batch, view.stride_head, view.stride_token, view.type};
  }
};

// Views of a contiguous tensor of floats: [B][H][L][D] (heads first) and [B][L][H][D] (tokens first).
inline heed_tensor heads_first(const float* data, std::int64_t H, std::int64_t L, std::int64_t D) noexcept {
  return {data, H * L * D, L * D, D, HEED_F32};
}
inline MutableTensor heads_first(float* data, std::int64_t H, std::int64_t L, std::int64_t D) noexcept {
  return {{data, H * L * D, L * D, D, HEED_F32}};
}
inline heed_tensor tokens_first(const float* data, std::int64_t H, std::int64_t L, std::int64_t D) noexcept {
  return {data, L * H * D, D, H * D, HEED_F32};
}
inline MutableTensor tokens_first(float* data, std::int64_t H, std::int64_t L, std::int64_t D) noexcept {
  return {{data, L * H * D, D, H * D, HEED_F32}};
}

inline Status attention(const AttentionArgs& args) noexcept {
  Status status;
  heed_attention(&args, &status.raw());
  return status;
}

}  // namespace heed

// One validated attention problem, in the form that the layers below the interface work with.
#pragma once

#include <cstdint>

#include "heed/heed.h"

namespace heed {

// The keys that one query row attends: [begin, end), empty if begin >= end.
struct KeyRange {
  std::int64_t begin, end;
};

struct Problem {
  heed_attention_args args;  // as the caller gave it, newer fields zero
  std::int64_t group;        // query heads per kv head
  float scale;
  const float* scores = nullptr;  // [Lq][Lkv], already there (attend): q and k are not used then
  std::int64_t scores_row = 0;

  std::int64_t offset(std::int64_t b) const {  // position of query row 0 of sequence b
    if (args.alignment == HEED_TOP_LEFT) return 0;
    if (args.alignment == HEED_OFFSETS) return args.offsets[b];
    return args.Lkv - args.Lq;
  }

  KeyRange keys_of(std::int64_t b, std::int64_t i) const {
    KeyRange keys{0, args.Lkv};
    if (args.causal != 0) {
      const std::int64_t after = i + offset(b) + 1;
      if (after < keys.end) keys.end = after < 0 ? 0 : after;
    }
    return keys;
  }
};

inline const float* at(const heed_tensor& t, std::int64_t b, std::int64_t head, std::int64_t token) {
  return static_cast<const float*>(t.data) + b * t.stride_batch + head * t.stride_head + token * t.stride_token;
}

inline float* at(const heed_tensor_out& t, std::int64_t b, std::int64_t head, std::int64_t token) {
  return static_cast<float*>(t.data) + b * t.stride_batch + head * t.stride_head + token * t.stride_token;
}

}  // namespace heed

// One validated attention problem, and each of its sequences, in the form that the layers below the interface work
// with.
#pragma once

#include <cmath>
#include <cstdint>

#include "heed/heed.h"

namespace heed {

inline constexpr std::int64_t element_bytes(heed_type type) { return type == HEED_F32 ? 4 : type <= HEED_BF16 ? 2 : 1; }

inline std::int64_t index_at(const heed_index& array, std::int64_t i) {
  return array.type == HEED_INT32 ? static_cast<const std::int32_t*>(array.data)[i]
                                  : static_cast<const std::int64_t*>(array.data)[i];
}
inline std::int64_t index_or(const heed_index& array, std::int64_t i, std::int64_t absent) {
  return array.data == nullptr ? absent : index_at(array, i);
}

// The keys that one query row attends before any mask: [begin, end), empty if begin >= end.
struct KeyRange {
  std::int64_t begin, end;
};

// One sequence of the batch. A slot counts keys as the caller stored them; a key counts from key_begin, and so do
// blocks and splits.
struct Sequence {
  std::int64_t b;
  std::int64_t row;           // of the tables
  std::int64_t queries;       // its own Lq
  std::int64_t q_token;       // token of row 0 in q, out and lse
  std::int64_t kv_token;      // token of slot 0 in k and v
  std::int64_t begin;         // slot of key 0
  std::int64_t keys;          // its own Lkv
  std::int64_t position;      // i' of row 0
  std::int64_t key_position;  // position of key 0
};

inline std::int64_t group_of(const heed_attention_args& args) { return args.Hkv > 0 ? args.Hq / args.Hkv : 0; }
inline float scale_of(const heed_attention_args& args) {
  return args.has_scale != 0 ? args.scale : static_cast<float>(1.0 / std::sqrt(static_cast<double>(args.D)));
}

struct Problem {
  heed_attention_args args;  // as the caller gave it, newer fields zero
  std::int64_t group;        // query heads per kv head
  float scale;
  bool has_start, has_end;
  heed_state start, end;  // with their strides, if there are any
  const float* scores;    // [Lq][Lkv], already there (attend): q and k are not used then
  std::int64_t scores_row;

  bool paged() const { return args.block_table.data != nullptr || args.page_indices.data != nullptr; }

  Sequence sequence(std::int64_t b) const {
    Sequence s{};
    s.b = b;
    s.row = index_or(args.table_rows, b, b);
    s.queries = args.q_indptr.data == nullptr ? args.Lq : index_at(args.q_indptr, b + 1) - index_at(args.q_indptr, b);
    s.q_token = index_or(args.q_indptr, b, 0);
    s.kv_token = index_or(args.kv_indptr, b, 0);
    const std::int64_t room = args.kv_indptr.data == nullptr ? args.Lkv : index_at(args.kv_indptr, b + 1) - s.kv_token;
    s.begin = index_or(args.key_begin, s.row, 0);
    s.keys = index_or(args.kv_lengths, s.row, room) - s.begin;
    s.key_position = index_or(args.key_offset, s.row, 0);
    s.position = args.alignment == HEED_TOP_LEFT  ? 0
                 : args.alignment == HEED_OFFSETS ? args.offsets[b]
                                                  : s.key_position + s.keys - s.queries;
    return s;
  }

  KeyRange keys_of(const Sequence& s, std::int64_t i) const {
    KeyRange keys{0, s.keys};
    const std::int64_t own = i + s.position - s.key_position;  // the key at the row's own position
    if (args.causal != 0 && own + 1 < keys.end) keys.end = own + 1;
    if (args.has_window != 0) {
      std::int64_t bound = 0;
      if (args.window_left >= 0 && !__builtin_sub_overflow(own, args.window_left, &bound) && bound > keys.begin) {
        keys.begin = bound;
      }
      if (args.window_right >= 0 && !__builtin_add_overflow(own + 1, args.window_right, &bound) && bound < keys.end) {
        keys.end = bound;
      }
    }
    return keys;
  }

  // The page that slot `slot` lies in; -1: it isn't there.
  std::int64_t page_of(const Sequence& s, std::int64_t slot) const {
    const std::int64_t entry = slot / args.page_size;
    return args.block_table.data != nullptr ? index_at(args.block_table, s.row * args.block_table_stride + entry)
                                            : index_at(args.page_indices, index_at(args.page_indptr, s.row) + entry);
  }

  // Where slot `slot` of a key or value tensor lies, and how many slots follow at the token stride. Null: its page
  // isn't there.
  const char* slot(const heed_tensor& t, const Sequence& s, std::int64_t head, std::int64_t slot,
                   std::int64_t* run) const {
    std::int64_t element = head * t.stride_head;
    if (paged()) {
      const std::int64_t page = page_of(s, slot), within = slot % args.page_size;
      *run = args.page_size - within;
      if (page < 0) return nullptr;
      element += page * t.stride_batch + within * t.stride_token;
    } else {
      *run = s.begin + s.keys - slot;
      element += (args.kv_indptr.data == nullptr ? s.b * t.stride_batch : 0) + (s.kv_token + slot) * t.stride_token;
    }
    return static_cast<const char*>(t.data) + element * element_bytes(t.type);
  }

  // Offset of a query row in q, out or anything else with its axes.
  std::int64_t row_offset(std::int64_t batch, std::int64_t head, std::int64_t token, const Sequence& s, std::int64_t h,
                          std::int64_t i) const {
    return (args.q_indptr.data == nullptr ? s.b * batch : 0) + h * head + (s.q_token + i) * token;
  }
  const char* q_row(const Sequence& s, std::int64_t h, std::int64_t i) const {
    const heed_tensor& t = args.q;
    return static_cast<const char*>(t.data) +
           row_offset(t.stride_batch, t.stride_head, t.stride_token, s, h, i) * element_bytes(t.type);
  }
  char* out_row(const Sequence& s, std::int64_t h, std::int64_t i) const {
    const heed_tensor_out& t = args.out;
    return static_cast<char*>(t.data) +
           row_offset(t.stride_batch, t.stride_head, t.stride_token, s, h, i) * element_bytes(t.type);
  }
  float* lse_at(const Sequence& s, std::int64_t h, std::int64_t i) const {
    if (args.lse == nullptr) return nullptr;
    return args.lse + row_offset(args.lse_stride_batch, args.lse_stride_head, args.lse_stride_token, s, h, i);
  }
  // A row of a state: its sequence is the batch entry, or its token among all of a ragged batch.
  std::int64_t state_at(const Sequence& s, const heed_state& t, std::int64_t h, std::int64_t i) const {
    return row_offset(t.stride_batch, t.stride_head, t.stride_token, s, h, i);
  }
  float* state_o(const Sequence& s, const heed_state& t, std::int64_t h, std::int64_t i) const {
    return t.o + row_offset(t.o_stride_batch, t.o_stride_head, t.o_stride_token, s, h, i);
  }
  // Bias, mask and inspection are indexed by sequence, row and slot, in every layout.
  const char* bias_row(const Sequence& s, std::int64_t h, std::int64_t i, std::int64_t slot) const {
    const heed_tensor& t = args.bias;
    return static_cast<const char*>(t.data) +
           (s.b * t.stride_batch + h * t.stride_head + i * t.stride_token + slot) * element_bytes(t.type);
  }
  const unsigned char* mask_row(const Sequence& s, std::int64_t h, std::int64_t i) const {
    return static_cast<const unsigned char*>(args.mask) + s.b * args.mask_stride_batch + h * args.mask_stride_head +
           i * args.mask_stride_token;
  }
};

}  // namespace heed

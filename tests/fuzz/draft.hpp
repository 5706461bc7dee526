// Bytes to the arguments of a call: a small legal problem with any options and layout, and then some edits that may
// break it. A draft has no memory yet: its pointers are marks, and Placement gives them what they describe.
#pragma once

#include <vector>

#include "fuzz/input.hpp"
#include "heed/heed.h"
#include "support/storage.hpp"

namespace heed::fuzz {

// What a plan fixes, and the sizes of one call.
struct Sizes {
  Int B = 1, Hq = 1, Hkv = 1, Lq = 1, Lkv = 1, D = 1, Dv = 1;
  Int page_size = 0;  // 0: not paged
  bool panels = false;
  heed_type q = HEED_F32, k = HEED_F32, v = HEED_F32, out = HEED_F32;
};
Sizes draw_sizes(Input& in);
void fit(Sizes& s, Int work);  // halves sizes until the work is no more than this

enum class Order { kLastFirst, kOddFirst, kOnThreads, kHalf };  // kHalf: leaves tasks out

struct Draft {
  heed_attention_args args{};
  heed_state start{}, end{};
  std::vector<Int> kv_lengths, key_begin, key_offset, offsets, table_rows;
  std::vector<Int> q_indptr, kv_indptr, block_table, page_indices, page_indptr;
  bool start_is_end = false, in_place = false;
  Order order = Order::kLastFirst;
  bool no_memory = false;       // the allocator has none
  bool half_allocator = false;  // it cannot take back what it gives
  bool no_executor = false;     // but for threads, there is none
  bool wild_callback = false;   // what the mask callback says of a pair depends on the rectangle
  bool far_positions = false;   // so that slopes make scores whose last places are large
  test::Kind kind = test::Kind::kTame;
  std::uint64_t seed = 0;
  int edits = 0;  // 0: the call is legal

  // Finite numbers of moderate size and nothing strange: the exact result is near.
  bool tame() const {
    return edits == 0 && kind == test::Kind::kTame && !no_memory && !far_positions && !wild_callback;
  }
};

// Marks for pointers.
inline unsigned char kMarks[2];
inline void* present() { return &kMarks[0]; }
inline void* beside() { return &kMarks[1]; }  // one byte behind where it should be

Draft draw_call(const Sizes& sizes, Input& in);
void draw_edits(Draft& draft, Input& in);

// Strides of [batch][head][token][columns] with the axes in any order, gaps, backwards.
struct Strides {
  Int batch, head, token;
};
Strides draw_strides(Input& in, Int batches, Int heads, Int tokens, Int columns);

}  // namespace heed::fuzz

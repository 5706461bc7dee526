// How the argument struct is read: one sequence of the batch, its lengths and positions, and where its numbers lie.
#pragma once

#include <cstdint>

#include "heed/heed.h"

namespace heed::reference {

// Element of any storage type, as the double that it stands for.
double element(const void* data, heed_type type, std::int64_t index);

// Element of an index array, or otherwise when the array is absent.
std::int64_t index_or(const heed_index& array, std::int64_t index, std::int64_t otherwise);

// A slot is a place in K and V, counted as the caller stored them; a position is where the token stands in its
// sequence. Positions of keys count from key_begin, plus key_offset.
struct Sequence {
  Sequence(const heed_attention_args& problem, std::int64_t batch);

  const heed_attention_args& args;
  std::int64_t b;
  std::int64_t row;             // of kv_lengths, key_begin, key_offset and the page table
  std::int64_t queries;         // this sequence's Lq
  std::int64_t begin, end;      // its keys are the slots begin <= slot < end
  std::int64_t first_position;  // i' of query row 0

  std::int64_t query_position(std::int64_t i) const { return first_position + i; }
  std::int64_t key_position(std::int64_t slot) const;

  // A key exists if the sequence is long enough and, where there are pages, its page is listed. No other slot is read.
  bool key_exists(std::int64_t slot) const;

  // Element d of a token's row. Scales lie as keys and values of one column do, and never in panels.
  double query(std::int64_t head, std::int64_t i, std::int64_t d) const;
  double key(std::int64_t kv_head, std::int64_t slot, std::int64_t d) const;
  double value(std::int64_t kv_head, std::int64_t slot, std::int64_t d) const;
  double scale(const heed_tensor& scales, std::int64_t kv_head, std::int64_t slot) const {
    return row_major(scales, kv_head, slot, 0);
  }

 private:
  std::int64_t page(std::int64_t slot) const;  // negative: not listed
  double row_major(const heed_tensor& tensor, std::int64_t kv_head, std::int64_t slot, std::int64_t d) const;
  double in_panels(const heed_tensor& tensor, std::int64_t kv_head, std::int64_t slot, std::int64_t within) const;
};

}  // namespace heed::reference

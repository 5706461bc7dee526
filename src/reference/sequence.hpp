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
  std::int64_t queries;         // this sequence's Lq
  std::int64_t begin, end;      // its keys are the slots begin <= slot < end
  std::int64_t first_position;  // i' of query row 0

  std::int64_t query_position(std::int64_t i) const { return first_position + i; }
  std::int64_t key_position(std::int64_t slot) const;

  // A key exists if the sequence is long enough and, where there are pages, its page is listed. No other slot is read.
  bool key_exists(std::int64_t slot) const;

  // Element d of a token's row. Keys and values share a layout, and so do their scales (d = 0, D = 1).
  double query(std::int64_t head, std::int64_t i, std::int64_t d) const;
  double key_value(const heed_tensor& tensor, std::int64_t kv_head, std::int64_t slot, std::int64_t d) const;

 private:
  std::int64_t page(std::int64_t slot) const;  // negative: not listed
};

}  // namespace heed::reference

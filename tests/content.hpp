// What an attention problem says, whatever way its numbers lie in memory: each sequence with its own queries and keys,
// and the options. Two calls on the same content must give the same bits.
#pragma once

#include "option_spec.hpp"
#include "support/floats.hpp"

namespace heed::test {

// One sequence of the batch. Arrays are contiguous, heads first; numbers are those that the storage type holds.
struct SequenceContent {
  Int queries = 0, keys = 0;           // keys count from key_begin
  Int position = 0, key_position = 0;  // of query row 0 and of key 0
  Numbers q, k, v;                     // [Hq][queries][D], [Hkv][keys][D], [Hkv][keys][Dv]; int8: the codes
  Numbers k_scales, v_scales;          // [Hkv][keys], of int8
  Numbers bias;                        // [Hq][queries][keys], or empty
  std::vector<unsigned char> mask;     // likewise; 0 or 1
  std::vector<unsigned char> absent;   // [keys]: 1 where the page isn't there; or empty
  Int begin = 0;                       // the slot of key 0 in the problem as it was drawn
};

struct Content {
  OptionSpec spec;  // sizes of heads and columns, types, which options are on
  Int B() const { return static_cast<Int>(sequences.size()); }
  std::vector<SequenceContent> sequences;

  float scale = 0.0f, softcap = 0.0f;
  Int window_left = -1, window_right = -1;
  Numbers slopes, sinks;  // [Hq]

  bool has(Option option) const { return spec.on[option]; }
};

Content content_of(const OptionSpec& spec);

// Sequences of the same options whose numbers and lengths are others.
std::vector<SequenceContent> mates_of(const Content& content, std::uint64_t seed);

// Query row i of a sequence as a sequence with that one row.
SequenceContent row_of(const Content& content, const SequenceContent& sequence, Int i);

// The callbacks: a rule that is neither all nor none on most rectangles, and a change of the score.
bool allowed(Int head, Int position, Int key);
heed_rectangle ask(void*, Int head, Int i_begin, Int i_end, Int j_begin, Int j_end);
float change(void*, Int head, Int position, Int key, float score);

}  // namespace heed::test

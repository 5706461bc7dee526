// One problem of attention: what it is, its name, and the hash of its result.
#pragma once

#include "golden.hpp"
#include "heed/heed.hpp"
#include "numbers.hpp"

namespace heed::golden {

enum class Layout { kHeadsFirst, kTokensFirst, kPadded, kFused, kReversed, kRagged, kBlockTable, kPageIndices };
enum class Mask { kNone, kBytes, kBits, kCallback, kBytesAndCallback };

// Element d of token t, in every head of every sequence.
struct Place {
  Stream stream;
  std::int64_t t, d;
  Special special;
};

using Integers = std::vector<std::int64_t>;

// Members are default unless the problem says otherwise, and the name tells those that are not.
struct Attention {
  std::int64_t B = 1, Hq = 1, Hkv = 1, Lq = 1, Lkv = 1, D = 8, Dv = 8;
  heed_type q = HEED_F32, k = HEED_F32, v = HEED_F32, out = HEED_F32;
  Layout layout = Layout::kHeadsFirst;
  std::int64_t page_size = 0, missing_page = -1;  // missing_page: in every sequence, of its own pages
  bool small_indices = false;                     // 32 bits
  Integers q_lengths = {}, kv_lengths = {}, key_begin = {}, key_offset = {}, offsets = {};  // [B]

  float scale = 0.0f;
  bool has_scale = false;
  float softcap = 0.0f;
  bool alibi = false, bias = false, score_callback = false;
  heed_type bias_type = HEED_F32;
  bool causal = false, has_window = false;
  std::int64_t left = -1, right = -1;
  heed_alignment alignment = HEED_BOTTOM_RIGHT;
  Mask mask = Mask::kNone;
  bool sinks = false;
  int inspect = -1;
  bool backwards = false;  // an executor that starts with the last task
  std::vector<Place> specials = {};

  std::string name() const;
  std::uint64_t hash() const;
};

inline void add(Lines& lines, const Attention& problem) { lines.push_back({problem.name(), problem.hash()}); }

}  // namespace heed::golden

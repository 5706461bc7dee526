// Random attention problems with every option, storage type and layout: drawn from a seed, described in one line, and
// made smaller while they still fail.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "attention_random.hpp"
#include "heed/heed.h"

namespace heed::test {

using Int = std::int64_t;

enum Option {
  kPaged,          // keys on pages
  kRaggedKeys,     // kv_indptr
  kRaggedQueries,  // q_indptr
  kLengths,        // kv_lengths
  kBegin,          // key_begin
  kOffset,         // key_offset
  kShared,         // the sequences' first keys are the same
  kAbsent,         // pages that aren't there
  kCausal,
  kWindow,
  kMask,
  kAsked,  // mask callback
  kScale,
  kCap,
  kAlibi,
  kBias,
  kChanged,  // score callback
  kSinks,
  kInspected,
  kOptions
};
const char* name_of(Option option);

struct OptionSpec {
  std::uint64_t seed = 0;
  Int B = 1, Hq = 1, Hkv = 1, Lq = 1, Lkv = 1, D = 1, Dv = 1;  // Lq and Lkv: of the longest sequence
  heed_type q = HEED_F32, k = HEED_F32, v = HEED_F32, bias = HEED_F32, out = HEED_F32;
  heed_alignment alignment = HEED_BOTTOM_RIGHT;
  Int page_size = 16;
  heed_inspect view = HEED_WEIGHTS;
  Mixture mixture = Mixture::kPlain;
  std::array<bool, kOptions> on{};

  // Whether the exact result is finite and near what floats can give.
  bool finite() const { return mixture < Mixture::kHuge; }
};

OptionSpec draw_options(std::uint64_t seed);
std::string describe(const OptionSpec& spec);

// Runs `check` (empty: passed) on so many problems, from consecutive seeds. The first failure is made smaller and
// reported with its seed.
using OptionCheck = std::function<std::string(const OptionSpec&)>;
void check_options(Int count, const OptionCheck& check);

}  // namespace heed::test

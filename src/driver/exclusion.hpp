// Which keys of one block each row of a tile attends: a bit per key, from ranges, masks, absent pages and callbacks.
// Exclusion is decided here and nowhere else, and never by a score's value.
#pragma once

#include <cstdint>

#include "arithmetic.hpp"
#include "plan/problem.hpp"

namespace heed {

struct Attended {
  std::uint64_t words[kAttendedWords];

  bool none() const {
    std::uint64_t any = 0;
    for (const std::uint64_t word : words) any |= word;
    return any == 0;
  }
  void clear_except(const Attended& other) {
    for (int w = 0; w < kAttendedWords; ++w) words[w] &= other.words[w];
  }
  bool operator==(const Attended& other) const {
    bool same = true;
    for (int w = 0; w < kAttendedWords; ++w) same = same && words[w] == other.words[w];
    return same;
  }
};

// Keys [begin, end) of the block.
Attended range(std::int64_t begin, std::int64_t end);

// From the first to behind the last attended key; {0, 0} if there is none.
struct Span {
  std::int32_t begin, end;
};
Span span_of(const Attended& attended);

// The keys of the block [begin, end) that row i of head h attends, as far as they exist.
Attended attended_keys(const Problem& problem, const Sequence& sequence, std::int64_t head, std::int64_t i,
                       const KeyRange& row, std::int64_t begin, std::int64_t end);

}  // namespace heed

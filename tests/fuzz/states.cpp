// Bytes to states: made in parts with start and end, merged, finished; and the merge of (out, lse) pairs.
#include "fuzz/states.hpp"

#include "fuzz/target.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  heed::fuzz::Input in(data, size);
  using heed::fuzz::attend_in_parts;
  constexpr void (*kinds[])(heed::fuzz::Input&) = {heed::fuzz::merge_states, heed::fuzz::finish_state,
                                                   heed::fuzz::merge_results, attend_in_parts};
  in.pick(kinds)(in);
  return 0;
}

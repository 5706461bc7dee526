// What every target holds a call against, and how it says that something is wrong.
#pragma once

#include <initializer_list>
#include <string>

#include "fuzz/input.hpp"
#include "heed/heed.h"

namespace heed::fuzz {

// Ends the program with this text.
[[noreturn]] void finding(const std::string& what);
inline void expect(bool right, const char* what) {
  if (!right) finding(what);
}
inline void expect_none(const std::string& failure) {
  if (!failure.empty()) finding(failure);
}

// A call returned `code` and filled in `status`: they agree; a refusal has one line that begins with the name of an
// argument, which is one of `names`, or a field of heed_attention_args if `names` is empty. Returns whether it went
// well.
bool expect_status(heed_code code, const heed_status& status, std::initializer_list<const char*> names = {});

}  // namespace heed::fuzz

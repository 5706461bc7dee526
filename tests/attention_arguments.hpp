// What heed_attention refuses: THE TABLE of its rules, each broken once.
#pragma once

#include <span>

#include "heed/heed.h"

namespace heed::test {

struct Rule {
  const char* argument;  // how the message starts
  const char* why;       // what it says somewhere
  void (*broken)(heed_attention_args&);
};
extern const std::span<const Rule> kRules;

}  // namespace heed::test

// What random problems have tried, so that their generator cannot quietly stop trying it.
#pragma once

#include <catch2/catch_test_macros.hpp>
#include <cstdint>
#include <map>
#include <string>

#include "support/environment.hpp"

namespace heed::test {

class Coverage {
 public:
  // To be called for everything that is counted in each problem, then next().
  void count(const std::string& what, bool tried) { problems_[what] += tried ? 1 : 0; }
  void next() { ++all_; }

  // Fails the running test if anything was tried by fewer than a twentieth of the problems.
  void require() const {
    CHECK(all_ > 0);
    if (fewer_problems()) return;  // by chance some things are left out
    for (const auto& [what, problems] : problems_) {
      INFO(what << ": " << problems << " of " << all_ << " problems");
      CHECK(problems * 20 >= all_);
    }
  }

 private:
  std::map<std::string, std::int64_t> problems_;
  std::int64_t all_ = 0;
};

}  // namespace heed::test

// The variables that say how many random problems there are.
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers.hpp>
#include <cstdlib>
#include <optional>
#include <string>

#include "support/environment.hpp"

namespace heed::test {
namespace {

class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) {
    if (const char* before = std::getenv(name)) before_ = before;
    set(value);
  }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;
  ~Variable() { set(before_ ? before_->c_str() : nullptr); }

 private:
  void set(const char* value) const {
    if (value != nullptr) {
      setenv(name_, value, 1);
    } else {
      unsetenv(name_);
    }
  }
  const char* name_;
  std::optional<std::string> before_;
};

TEST_CASE("HEED_TEST_PROBLEMS and HEED_TEST_SEED are whole numbers from 1 up, or refused", "[options]") {
  {
    const Variable count("HEED_TEST_PROBLEMS", nullptr), seed("HEED_TEST_SEED", nullptr);
    CHECK(problems(7) == 7);
    CHECK(first_seed() == 1);
  }
  {
    const Variable count("HEED_TEST_PROBLEMS", "30"), seed("HEED_TEST_SEED", "12");
    CHECK(problems(7) == 210);
    CHECK(first_seed() == 12);
  }
  {
    const Variable count("HEED_TEST_PROBLEMS", "1/3");
    CHECK(problems(7) == 2);
    CHECK(problems(2) == 1);
  }
  const char* const wrong =
      GENERATE("0", "-1", "", " 2", "2 ", "2x", "many", "1.5", "1/0", "1/", "1/-2", "2/3", "99999999999999999999");
  CAPTURE(wrong);
  const Variable count("HEED_TEST_PROBLEMS", wrong), seed("HEED_TEST_SEED", wrong);
  CHECK_THROWS_WITH(problems(7), std::string("HEED_TEST_PROBLEMS is '") + wrong +
                                     "': it must be a whole number from 1 to 1000000000");
  CHECK_THROWS_WITH(first_seed(),
                    std::string("HEED_TEST_SEED is '") + wrong + "': it must be a whole number from 1 to 1000000000");
}

}  // namespace
}  // namespace heed::test

#include "support/environment.hpp"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>

namespace heed::test {
namespace {

constexpr const char* kProblems = "HEED_TEST_PROBLEMS";

// The number that the variable holds behind `skipped` characters; 1 if it isn't set.
std::int64_t positive(const char* name, int skipped = 0) {
  constexpr std::int64_t kMost = 1'000'000'000;
  const char* text = std::getenv(name);
  if (text == nullptr) return 1;
  const char* end = text + std::strlen(text);
  std::int64_t value = 0;
  const auto [parsed, error] = std::from_chars(text + skipped, end, value);
  if (error != std::errc() || parsed != end || value < 1 || value > kMost) {
    throw std::runtime_error(std::string(name) + " is '" + text + "': it must be a whole number from 1 to " +
                             std::to_string(kMost));
  }
  return value;
}

}  // namespace

std::int64_t problems(std::int64_t count) {
  if (fewer_problems()) return std::max<std::int64_t>(count / positive(kProblems, 2), 1);
  return count * positive(kProblems);
}
bool fewer_problems() {
  const char* text = std::getenv(kProblems);
  return text != nullptr && std::strncmp(text, "1/", 2) == 0;
}
std::uint64_t first_seed() { return static_cast<std::uint64_t>(positive("HEED_TEST_SEED")); }

}  // namespace heed::test

#include "support/environment.hpp"

#include <charconv>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>

namespace heed::test {
namespace {

std::int64_t positive(const char* name) {
  constexpr std::int64_t kMost = 1'000'000'000;
  const char* text = std::getenv(name);
  if (text == nullptr) return 1;
  const char* end = text + std::strlen(text);
  std::int64_t value = 0;
  const auto [parsed, error] = std::from_chars(text, end, value);
  if (error != std::errc() || parsed != end || value < 1 || value > kMost) {
    throw std::runtime_error(std::string(name) + " is '" + text + "': it must be a whole number from 1 to " +
                             std::to_string(kMost));
  }
  return value;
}

}  // namespace

std::int64_t problems(std::int64_t count) { return count * positive("HEED_TEST_PROBLEMS"); }
std::uint64_t first_seed() { return static_cast<std::uint64_t>(positive("HEED_TEST_SEED")); }

}  // namespace heed::test

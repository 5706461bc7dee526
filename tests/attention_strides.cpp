// Strides of results: every arrangement in which no two rows share an element is legal, and no other.
#include <catch2/catch_message.hpp>
#include <catch2/catch_test_macros.hpp>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "api/strides.hpp"

namespace heed::test {
namespace {

using api::Axes;
using api::check_no_overlap;
using api::check_reach;

// Counted one by one.
bool overlaps(const Axes& t) {
  std::vector<int> writes(4096);
  for (std::int64_t b = 0; b < t.batch.count; ++b) {
    for (std::int64_t h = 0; h < t.head.count; ++h) {
      for (std::int64_t i = 0; i < t.token.count; ++i) {
        for (std::int64_t c = 0; c < t.columns; ++c) {
          const std::int64_t at = 2048 + b * t.batch.stride + h * t.head.stride + i * t.token.stride + c;
          if (++writes.at(static_cast<std::size_t>(at)) > 1) return true;
        }
      }
    }
  }
  return false;
}

TEST_CASE("results overlap exactly where counting says so", "[attention][arguments][strides]") {
  std::mt19937 random(5);
  const auto between = [&](int low, int high) { return low + static_cast<int>(random() % unsigned(high - low + 1)); };
  int legal = 0, between_rows = 0, refused = 0;
  for (int n = 0; n < 200000; ++n) {
    const int reach = n % 2 == 0 ? 12 : 60;
    Axes t{{between(1, 4), between(-reach, reach)},
           {between(1, 4), between(-reach, reach)},
           {between(1, 5), between(-reach, reach)},
           between(1, 4)};
    const bool expected = overlaps(t);
    const bool found = check_no_overlap("out", t, nullptr) != HEED_OK;
    if (found != expected) {
      FAIL("counts " << t.batch.count << ' ' << t.head.count << ' ' << t.token.count << ", strides " << t.batch.stride
                     << ' ' << t.head.stride << ' ' << t.token.stride << ", columns " << t.columns << ": found "
                     << found);
    }
    (expected ? refused : legal) += 1;
    // Rows of one axis that lie between those of another: legal, but in no order nested.
    const auto span = [&](const api::Axis& axis) { return (axis.count - 1) * std::abs(axis.stride); };
    const std::int64_t whole = span(t.batch) + span(t.head) + span(t.token) + t.columns;
    between_rows += !expected && whole < t.batch.count * t.head.count * t.token.count * t.columns * 3 / 2 ? 1 : 0;
  }
  CHECK(legal > 20000);
  CHECK(refused > 20000);
  CHECK(between_rows > 1000);
}

TEST_CASE("strides at the ends of the integers", "[attention][arguments][strides]") {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max(),
                         kLeast = std::numeric_limits<std::int64_t>::min(), kFar = std::int64_t{1} << 59;
  const Axes unused{{1, kLeast}, {1, kMost}, {1, kLeast}, 5};  // no second element, no stride
  CHECK(check_reach("out", unused, nullptr) == HEED_OK);
  CHECK(check_no_overlap("out", unused, nullptr) == HEED_OK);
  for (const std::int64_t stride : {kMost, kLeast, kLeast + 1, 2 * kFar, -2 * kFar}) {
    heed_status status;
    CHECK(check_reach("out", {{1, 0}, {2, stride}, {1, 0}, 5}, &status) == HEED_INVALID_ARGUMENT);
    CHECK(std::string(status.message) == "out.stride: reaches further than 2^60 elements");
  }
  CHECK(check_reach("out", {{2, kFar}, {2, -kFar}, {1, 0}, 1}, nullptr) == HEED_INVALID_ARGUMENT);
  CHECK(check_reach("out", {{1, 0}, {1, 0}, {1, 0}, 2 * kFar}, nullptr) == HEED_INVALID_ARGUMENT);
  CHECK(check_reach("out", {{2, kFar}, {1, 0}, {1, 0}, 1}, nullptr) == HEED_OK);
  CHECK(check_no_overlap("out", {{2, kFar}, {2, kFar - 1}, {2, 1}, 1}, nullptr) == HEED_INVALID_ARGUMENT);
  CHECK(check_no_overlap("out", {{2, kFar}, {2, kFar - 2}, {2, 1}, 1}, nullptr) == HEED_OK);
  CHECK(check_no_overlap("out", {{0, 0}, {2, 0}, {2, 0}, 1}, nullptr) == HEED_OK);
}

// Looking at every pair of 2^60 rows would take years.
TEST_CASE("strides of a huge batch are judged at once", "[attention][arguments][strides]") {
  heed_status status;
  for (const int e : {12, 16, 20}) {
    const std::int64_t n = std::int64_t{1} << e, n2 = n * n;
    CHECK(check_no_overlap("out", {{n, n2}, {n, n}, {n, 1}, 1}, &status) == HEED_OK);
    CHECK(check_no_overlap("out", {{n, n2}, {n, n - 1}, {n, 1}, 1}, &status) != HEED_OK);
    CHECK(check_no_overlap("out", {{n, 2 * n2 + 12345}, {n, 2 * n2 - 54321}, {n, n2 + 77777}, 1}, &status) ==
          HEED_UNSUPPORTED);
    CHECK(std::string(status.message).rfind("out.stride_head: its size is ", 0) == 0);
  }
}

}  // namespace
}  // namespace heed::test

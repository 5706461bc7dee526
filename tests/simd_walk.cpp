// 2^x, e^d, ln and tanh over the floats: the bounds that the doc comments state, and one set of bits for all rows with
// fused multiply-add. Every prime-th float as a rule, every single one in the suite `exhaustive`.
#include <algorithm>
#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <cstring>
#include <functional>
#include <mutex>
#include <thread>

#include "support/floats.hpp"
#include "support/math.hpp"

using namespace heed::test;

namespace {

constexpr std::uint32_t kThinned = 127;
constexpr std::int64_t kChunk = 1 << 14;

// In ULP, or in roundings for e^d. Without fused multiply-add a polynomial's roundings weigh more.
struct Bound {
  double fused, unfused;
};

struct Walk {
  std::uint32_t first, last;  // bits, both included
  MathFunction RowMath::*function;
  std::function<bool(float x, float y, double bound)> holds;
  Bound bound;
  bool odd = false;  // f(-x) = -f(x), bit for bit
};

// Where f(-x) isn't -f(x).
std::string even_part(const Walk& walk, const Table& row, const Numbers& x, const Numbers& y) {
  Numbers of_negative(kChunk), negated(kChunk);
  for (std::size_t i = 0; i < kChunk; ++i) of_negative[i] = -x[i];
  (math_of(row).*walk.function)(of_negative.data(), negated.data(), kChunk);
  for (float& value : negated) value = -value;
  const std::string difference = first_difference(y, negated);
  return difference.empty() ? "" : std::string("row ") + row.name + " is not odd: " + difference;
}

// Checks one stretch of floats on all rows; the first that is wrong ends up in `problem`.
void check_chunk(const Walk& walk, std::uint64_t start, std::uint32_t stride, std::string& problem) {
  Numbers x(kChunk, float_of(walk.last)), expected(kChunk), y(kChunk);
  std::size_t count = 0;
  for (std::uint64_t word = start; word <= walk.last && count < kChunk; word += stride) {
    x[count++] = float_of(static_cast<std::uint32_t>(word));
  }
  (math_of(twin()).*walk.function)(x.data(), expected.data(), kChunk);
  const auto check = [&](const Table& row, const Numbers& got) {
    if (walk.odd && problem.empty()) problem = even_part(walk, row, x, got);
    for (std::size_t i = 0; i < count && problem.empty(); ++i) {
      if (walk.holds(x[i], got[i], row.fma ? walk.bound.fused : walk.bound.unfused)) continue;
      char text[160];
      std::snprintf(text, sizeof text, "row %s: f(%a, bits %08X) = %a is beyond the bound", row.name, double{x[i]},
                    bits_of(x[i]), double{got[i]});
      problem = text;
    }
  };
  check(twin(), expected);
  for (const Table* row : rows_under_test()) {
    if (row == &twin()) continue;
    (math_of(*row).*walk.function)(x.data(), y.data(), kChunk);
    if (!row->fma) {
      check(*row, y);
    } else if (std::memcmp(y.data(), expected.data(), kChunk * sizeof(float)) != 0 && problem.empty()) {
      problem = first_difference(expected, y);  // of NaNs only the payload may differ
      if (!problem.empty()) problem = std::string("row ") + row->name + " is not the twin: " + problem;
    }
  }
}

void run(const Walk& walk, std::uint32_t stride) {
  const std::uint64_t step = static_cast<std::uint64_t>(stride) * kChunk;
  std::atomic<std::uint64_t> next{walk.first};
  std::string problem;
  std::mutex mutex;
  const auto work = [&] {
    std::string mine;
    for (std::uint64_t start = next.fetch_add(step); start <= walk.last && mine.empty(); start = next.fetch_add(step)) {
      check_chunk(walk, start, stride, mine);
    }
    const std::lock_guard lock(mutex);
    if (problem.empty()) problem = mine;
  };
  std::vector<std::thread> threads(std::max(1u, std::thread::hardware_concurrency()));
  for (std::thread& thread : threads) thread = std::thread(work);
  for (std::thread& thread : threads) thread.join();
  CHECK(problem == "");
}

// |y - exact| in ULP of exact, which is a normal number.
double ulp(float y, double exact) {
  std::uint64_t word;
  std::memcpy(&word, &exact, sizeof word);
  const std::uint64_t scale_word = (2046 + 23 - (word >> 52 & 0x7FF)) << 52;
  double scale;
  std::memcpy(&scale, &scale_word, sizeof scale);
  return std::abs(y - exact) * scale;
}

const Walk kExp2{0x80000000u,
                 0xC2FC0000u,
                 &RowMath::exp2,  // [-126, -0]
                 [](float x, float y, double bound) { return ulp(y, std::exp2(double{x})) <= bound; },
                 {1.73, 2.03}};
const Walk kExp2Below{0xC2FC0001u,
                      0xFF800000u,
                      &RowMath::exp2,  // [-inf, -126)
                      [](float, float y, double) { return bits_of(y) == 0; },
                      {}};
const Walk kExp2Nan{0x7F800001u, 0x7FFFFFFFu, &RowMath::exp2, [](float, float y, double) { return is_nan(y); }, {}};
const Walk kExp2NegativeNan{
    0xFF800001u, 0xFFFFFFFFu, &RowMath::exp2, [](float, float y, double) { return is_nan(y); }, {}};
const Walk kExp{0x80000000u,
                0xC2AE999Au,
                &RowMath::exp,  // [-87.3, -0]; the bound is 4 + 1.25 |d|
                [](float d, float y, double bound) {
                  const double exact = std::exp(double{d});
                  return std::abs(y - exact) <= exact * (bound - 1.25 * d) * kUnit;
                },
                {4, 4}};
const Walk kLn{
    0x00000001u,
    0x7F7FFFFFu,
    &RowMath::ln,  // every positive number, subnormals included
    [](float l, float y, double bound) { return l == 1.0f ? bits_of(y) == 0 : ulp(y, std::log(double{l})) <= bound; },
    {0.93, 0.95}};
// Below 2^-100 tanh x is x; a subnormal has no ULP of its own.
const Walk kTanh{0x00000000u,
                 0x7F800000u,
                 &RowMath::tanh,
                 [](float x, float y, double bound) {
                   return x < 0x1p-100f ? bits_of(y) == bits_of(x) : ulp(y, std::tanh(double{x})) <= bound;
                 },
                 {3.32, 3.63},
                 true};
const Walk kTanhNan{0x7F800001u, 0x7FFFFFFFu, &RowMath::tanh, [](float, float y, double) { return is_nan(y); },
                    {},          true};

}  // namespace

TEST_CASE("2^x keeps its bound, thinned") {
  for (const Walk& walk : {kExp2, kExp2Below, kExp2Nan, kExp2NegativeNan}) run(walk, kThinned);
}
TEST_CASE("e^d keeps its bound, thinned") { run(kExp, kThinned); }
TEST_CASE("ln keeps its bound, thinned") { run(kLn, kThinned); }

TEST_CASE("tanh keeps its bound and is odd, thinned") {
  for (const Walk& walk : {kTanh, kTanhNan}) run(walk, kThinned);
}

TEST_CASE("2^x keeps its bound at every float", "[.exhaustive][exp2]") {
  for (const Walk& walk : {kExp2, kExp2Below, kExp2Nan, kExp2NegativeNan}) run(walk, 1);
}
TEST_CASE("e^d keeps its bound at every float", "[.exhaustive][exp]") { run(kExp, 1); }
TEST_CASE("ln keeps its bound at every float", "[.exhaustive][ln]") { run(kLn, 1); }
TEST_CASE("tanh keeps its bound and is odd at every float", "[.exhaustive][tanh]") {
  for (const Walk& walk : {kTanh, kTanhNan}) run(walk, 1);
}

// Conversions number by number: every code of every type, the written cases, every float's neighbourhood, and callers
// that flush subnormals to zero.
#include <atomic>
#include <mutex>
#include <thread>

#include "support/each_row.hpp"
#include "support/floating_point.hpp"
#include "support/storage.hpp"

using namespace heed;
using namespace heed::test;

namespace {

using Codes = std::vector<std::uint16_t>;

Numbers widened(const Table& row, const Stored& x) {
  Numbers out(x.values.size());
  row.widen[x.type](x.bytes.data(), 1.0f, out.data(), static_cast<std::int64_t>(out.size()));
  return out;
}

Codes narrowed(const Table& row, heed_type type, const Numbers& x) {
  Codes out(x.size());
  row.narrow[type](x.data(), out.data(), static_cast<std::int64_t>(x.size()));
  return out;
}

struct Case {
  heed_type type;
  std::uint32_t from;
  std::uint16_t to;
};
const Case kCases[] = {
    {HEED_BF16, 0x3F808000, 0x3F80}, {HEED_BF16, 0x3F808001, 0x3F81}, {HEED_BF16, 0x3F818000, 0x3F82},
    {HEED_BF16, 0x3E89CCD5, 0x3E8A}, {HEED_BF16, 0x7F7F7FFF, 0x7F7F}, {HEED_BF16, 0x7F7F8000, 0x7F80},
    {HEED_BF16, 0x80000000, 0x8000}, {HEED_BF16, 0xFF800000, 0xFF80}, {HEED_BF16, 0x7F800001, 0x7FC0},
    {HEED_BF16, 0xFF800001, 0xFFC0}, {HEED_BF16, 0x00008000, 0x0000}, {HEED_BF16, 0x00008001, 0x0001},
    {HEED_BF16, 0x007FFFFF, 0x0080}, {HEED_F16, 0x477FEFFF, 0x7BFF},  {HEED_F16, 0x477FF000, 0x7C00},
    {HEED_F16, 0x3F801000, 0x3C00},  {HEED_F16, 0x3F801001, 0x3C01},  {HEED_F16, 0x3F803000, 0x3C02},
    {HEED_F16, 0x38000000, 0x0200},  {HEED_F16, 0x364C0000, 0x0033},  {HEED_F16, 0x33800000, 0x0001},
    {HEED_F16, 0x33000000, 0x0000},  {HEED_F16, 0x33000001, 0x0001},  {HEED_F16, 0x34200000, 0x0002},
    {HEED_F16, 0x387FDFFF, 0x03FF},  {HEED_F16, 0x387FE000, 0x0400},  {HEED_F16, 0x45001000, 0x6800},
    {HEED_F16, 0x45003000, 0x6802},  {HEED_F16, 0x80000001, 0x8000},  {HEED_F16, 0x7F800001, 0x7E00},
    {HEED_F16, 0xFF800001, 0xFE00},  {HEED_F16, 0x7F800000, 0x7C00},  {HEED_F16, 0xFF7FFFFF, 0xFC00},
};

void check_cases(const Table& row) {
  const ForcedRow forced(row);
  for (const Case& c : kCases) {
    const Numbers x(49, float_of(c.from));  // 49: in every lane of a vector, and in the tail
    Codes converted(49);
    const heed_matrix from{x.data(), 1, 49, 49, HEED_F32};
    const heed_matrix_out to{converted.data(), 1, 49, 49, c.type};
    if (heed_convert(&from, &to, nullptr) != HEED_OK) FAIL("heed_convert failed");
    for (const Codes& codes : {narrowed(row, c.type, x), converted}) {
      for (const std::uint16_t code : codes) {
        if (code != c.to) FAIL(name_of(c.type) << ": " << std::hex << c.from << " became " << code << ", not " << c.to);
      }
    }
  }
}

// From code to float and back: the value is exact, a NaN is a quiet NaN of its sign, all others come back as they were.
// With `subnormals` false those of bf16, which are subnormal floats, are left out.
void check_every_code(const Table& row, const Stored& all, bool subnormals) {
  const heed_type type = all.type;
  const Numbers values = widened(row, all);
  const Codes back = type == HEED_INT8 ? Codes() : narrowed(row, type, values);
  for (Code code = 0; code < codes_of(type); ++code) {
    const float is = values[code], right = all.values[code];
    if (!subnormals && (bits_of(right) & 0x7F800000u) == 0 && bits_of(right) << 1 != 0) continue;
    const bool same = is_nan(right) ? bits_of(is) >> 22 == bits_of(right) >> 22 : bits_of(is) == bits_of(right);
    if (!same) FAIL(name_of(type) << ' ' << std::hex << code << " became " << bits_of(is));
    if (type == HEED_INT8) continue;
    if (back[code] != encoded(type, right))
      FAIL(name_of(type) << ' ' << std::hex << code << " came back " << back[code]);
    if (!is_nan(right) && back[code] != code) FAIL("the oracle is wrong about " << std::hex << code);
  }
}

constexpr std::uint64_t kChunk = 1 << 14;

// Every stride-th float, in both 16-bit types.
void walk(const std::vector<const Table*>& rows, std::uint32_t stride) {
  std::atomic<std::uint64_t> next{0};
  std::string problem;
  std::mutex mutex;
  const auto work = [&] {
    Numbers x(kChunk);
    Codes right(kChunk);
    std::string mine;
    for (std::uint64_t start = next.fetch_add(stride * kChunk); start <= 0xFFFFFFFFu && mine.empty();
         start = next.fetch_add(stride * kChunk)) {
      for (std::uint64_t i = 0; i < kChunk; ++i) {
        x[i] = float_of(static_cast<std::uint32_t>(std::min<std::uint64_t>(start + i * stride, 0xFFFFFFFFu)));
      }
      for (const heed_type type : {HEED_F16, HEED_BF16}) {
        for (std::uint64_t i = 0; i < kChunk; ++i) right[i] = static_cast<std::uint16_t>(encoded(type, x[i]));
        for (const Table* row : rows) {
          const Codes got = narrowed(*row, type, x);
          if (got == right) continue;
          std::uint64_t i = 0;
          while (got[i] == right[i]) ++i;
          char text[120];
          std::snprintf(text, sizeof text, "row %s, %s: %08X became %04X, not %04X", row->name, name_of(type),
                        bits_of(x[i]), got[i], right[i]);
          mine = text;
        }
      }
    }
    const std::lock_guard lock(mutex);
    if (problem.empty()) problem = mine;
  };
  std::vector<std::thread> threads(std::max(1u, std::thread::hardware_concurrency()));
  for (std::thread& thread : threads) thread = std::thread(work);
  for (std::thread& thread : threads) thread.join();
  CHECK(problem == "");
}

}  // namespace

TEST_CASE("Every code becomes its value, and comes back") {
  for (const heed_type type : {HEED_F16, HEED_BF16, HEED_INT8}) {
    const Stored all = every_code(type);
    for_each_row([&](const Table& row) { check_every_code(row, all, true); });
  }
}

TEST_CASE("H18: written cases of rounding to 16 bits") { for_each_row(check_cases); }

TEST_CASE("A caller's flush-to-zero changes no conversion but to a subnormal float") {
  const Stored all[] = {every_code(HEED_F16), every_code(HEED_BF16), every_code(HEED_INT8)};
  for_each_row([&](const Table& row) {
    Numbers subnormals;
    for (std::uint32_t word = 0; word < 0x00800000u; word += 251) subnormals.push_back(float_of(word));
    Codes right[2];
    for (const float x : subnormals) {
      right[0].push_back(static_cast<std::uint16_t>(encoded(HEED_F16, x)));
      right[1].push_back(static_cast<std::uint16_t>(encoded(HEED_BF16, x)));
    }
    const FlushToZero flush;
    check_cases(row);
    for (const Stored& of_type : all) check_every_code(row, of_type, false);
    CHECK(narrowed(row, HEED_F16, subnormals) == right[0]);
    CHECK(narrowed(row, HEED_BF16, subnormals) == right[1]);
  });
}

TEST_CASE("Narrowing rounds to nearest even, thinned") { walk(rows_under_test(), 1009); }

TEST_CASE("Narrowing rounds to nearest even at every float", "[.exhaustive][narrow]") {
  std::vector<const Table*> rows = {&twin()};
  for (const Table* row : rows_under_test()) {  // the best row with a way of its own
    if (row->fma && row != &twin()) {
      rows.push_back(row);
      break;
    }
  }
  walk(rows, 1);
}

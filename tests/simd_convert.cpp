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

using Codes = std::vector<Code>;

constexpr heed_type kRounded[] = {HEED_F16, HEED_BF16, HEED_FP8_E4M3, HEED_FP8_E5M2};

Numbers widened(const Table& row, const Stored& x) {
  Numbers out(x.values.size());
  row.widen[x.type](x.bytes.data(), 1.0f, out.data(), static_cast<std::int64_t>(out.size()));
  return out;
}

Codes narrowed(const Table& row, heed_type type, const Numbers& x) {
  const std::size_t bytes = bytes_of(type);
  std::vector<unsigned char> memory(x.size() * bytes);
  row.narrow[type](x.data(), memory.data(), static_cast<std::int64_t>(x.size()));
  Codes out(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) out[i] = code_at(type, &memory[i * bytes]);
  return out;
}

struct Case {
  heed_type type;
  std::uint32_t from;
  Code to;
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
// The same by value. e4m3: 1 is 0x38 and its last place 1/8; the smallest normal number is 2^-6, subnormals are
// multiples of 2^-9; 448 is the largest, and 464 the middle to what isn't there any more. e5m2: 1 is 0x3C and its last
// place 1/4; 2^-14 and 2^-16; 57344, and 61440 is nearer to 65536 by the even rule.
struct ByteCase {
  heed_type type;
  float from;
  Code to;
};
const ByteCase kByteCases[] = {
    // ties: to the even neighbour above and below, and a bit to either side of one
    {HEED_FP8_E4M3, 1.0625f, 0x38},
    {HEED_FP8_E4M3, 1.1875f, 0x3A},
    {HEED_FP8_E4M3, 0x1.100002p0f, 0x39},
    {HEED_FP8_E4M3, 0x1.2ffffep0f, 0x39},
    {HEED_FP8_E4M3, -1.9375f, 0xC0},
    {HEED_FP8_E4M3, 17.0f, 0x58},
    {HEED_FP8_E5M2, 1.125f, 0x3C},
    {HEED_FP8_E5M2, 1.375f, 0x3E},
    {HEED_FP8_E5M2, 0x1.200002p0f, 0x3D},
    {HEED_FP8_E5M2, 0x1.5ffffep0f, 0x3D},
    {HEED_FP8_E5M2, -1.875f, 0xC0},
    {HEED_FP8_E5M2, 9.0f, 0x48},
    // the largest, and beyond
    {HEED_FP8_E4M3, 448.0f, 0x7E},
    {HEED_FP8_E4M3, 464.0f, 0x7E},
    {HEED_FP8_E4M3, 0x1.d00002p8f, 0x7F},
    {HEED_FP8_E4M3, -480.0f, 0xFF},
    {HEED_FP8_E4M3, 1e30f, 0x7F},
    {HEED_FP8_E4M3, -kInfinity, 0xFF},
    {HEED_FP8_E5M2, 57344.0f, 0x7B},
    {HEED_FP8_E5M2, 0x1.dffffep15f, 0x7B},
    {HEED_FP8_E5M2, 61440.0f, 0x7C},
    {HEED_FP8_E5M2, -65536.0f, 0xFC},
    {HEED_FP8_E5M2, 1e30f, 0x7C},
    {HEED_FP8_E5M2, -kInfinity, 0xFC},
    // subnormals, ties among them, and what rounds up to the smallest normal number
    {HEED_FP8_E4M3, 0x1p-6f, 0x08},
    {HEED_FP8_E4M3, 0x1.ep-7f, 0x08},
    {HEED_FP8_E4M3, 0x1.dffffep-7f, 0x07},
    {HEED_FP8_E4M3, 0x1.8p-9f, 0x02},
    {HEED_FP8_E4M3, 0x1.4p-8f, 0x02},
    {HEED_FP8_E4M3, 0x1p-9f, 0x01},
    {HEED_FP8_E4M3, 0x1p-10f, 0x00},
    {HEED_FP8_E4M3, 0x1.000002p-10f, 0x01},
    {HEED_FP8_E4M3, -0x1p-11f, 0x80},
    {HEED_FP8_E5M2, 0x1p-14f, 0x04},
    {HEED_FP8_E5M2, 0x1.cp-15f, 0x04},
    {HEED_FP8_E5M2, 0x1.bffffep-15f, 0x03},
    {HEED_FP8_E5M2, 0x1.8p-16f, 0x02},
    {HEED_FP8_E5M2, 0x1.4p-15f, 0x02},
    {HEED_FP8_E5M2, 0x1p-16f, 0x01},
    {HEED_FP8_E5M2, 0x1p-17f, 0x00},
    {HEED_FP8_E5M2, 0x1.000002p-17f, 0x01},
    {HEED_FP8_E5M2, -0x1p-18f, 0x80},
    // zeros, the smallest float, NaNs with the least and another payload
    {HEED_FP8_E4M3, 0.0f, 0x00},
    {HEED_FP8_E4M3, -0.0f, 0x80},
    {HEED_FP8_E4M3, -0x1p-149f, 0x80},
    {HEED_FP8_E5M2, 0.0f, 0x00},
    {HEED_FP8_E5M2, -0.0f, 0x80},
    {HEED_FP8_E5M2, -0x1p-149f, 0x80},
    {HEED_FP8_E4M3, float_of(0x7F800001), 0x7F},
    {HEED_FP8_E4M3, float_of(0xFFC00000), 0xFF},
    {HEED_FP8_E5M2, float_of(0x7F800001), 0x7E},
    {HEED_FP8_E5M2, float_of(0xFFA00000), 0xFF},
};
// And back: codes whose value is written here, not computed.
const ByteCase kByteValues[] = {
    {HEED_FP8_E4M3, 1.0f, 0x38},        {HEED_FP8_E4M3, 448.0f, 0x7E},     {HEED_FP8_E4M3, -240.0f, 0xF7},
    {HEED_FP8_E4M3, 0x1p-9f, 0x01},     {HEED_FP8_E4M3, 0x1.cp-7f, 0x07},  {HEED_FP8_E4M3, -0x1p-6f, 0x88},
    {HEED_FP8_E4M3, 256.0f, 0x78},      {HEED_FP8_E5M2, 1.0f, 0x3C},       {HEED_FP8_E5M2, 57344.0f, 0x7B},
    {HEED_FP8_E5M2, kInfinity, 0x7C},   {HEED_FP8_E5M2, -kInfinity, 0xFC}, {HEED_FP8_E5M2, 0x1p-16f, 0x01},
    {HEED_FP8_E5M2, -0x1.8p-15f, 0x83}, {HEED_FP8_E5M2, 0x1p-14f, 0x04},
};

void check_rounding(const Table& row, heed_type type, float from, Code right) {
  const Numbers x(49, from);  // 49: in every lane of a vector, and in the tail
  std::vector<unsigned char> memory(49 * bytes_of(type));
  const heed_matrix source{x.data(), 1, 49, 49, HEED_F32};
  const heed_matrix_out target{memory.data(), 1, 49, 49, type};
  if (heed_convert(&source, &target, nullptr) != HEED_OK) FAIL("heed_convert failed");
  Codes codes = narrowed(row, type, x);
  for (std::size_t i = 0; i < 49; ++i) codes.push_back(code_at(type, &memory[i * bytes_of(type)]));
  for (const Code code : codes) {
    if (code == right) continue;
    FAIL(name_of(type) << ": " << from << ", " << std::hex << bits_of(from) << ", became " << code << ", not "
                       << right);
  }
}

void check_cases(const Table& row) {
  const ForcedRow forced(row);
  for (const Case& c : kCases) check_rounding(row, c.type, float_of(c.from), c.to);
  for (const ByteCase& c : kByteCases) check_rounding(row, c.type, c.from, c.to);
  for (const ByteCase& c : kByteValues) {
    Stored codes(c.type);
    for (int i = 0; i < 49; ++i) codes.add(c.to);
    for (const float value : widened(row, codes)) {
      if (value != c.from) FAIL(name_of(c.type) << ' ' << std::hex << c.to << " became " << value);
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

// Every stride-th float, in all types that floats are rounded to.
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
      for (const heed_type type : kRounded) {
        for (std::uint64_t i = 0; i < kChunk; ++i) right[i] = encoded(type, x[i]);
        for (const Table* row : rows) {
          const Codes got = narrowed(*row, type, x);
          if (got == right) continue;
          std::uint64_t i = 0;
          while (got[i] == right[i]) ++i;
          char text[120];
          std::snprintf(text, sizeof text, "row %s, %s: %08X became %02X, not %02X", row->name, name_of(type),
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
  for (const heed_type type : kTypes) {
    if (type == HEED_F32) continue;
    const Stored all = every_code(type);
    for_each_row([&](const Table& row) { check_every_code(row, all, true); });
  }
}

TEST_CASE("H18: written cases of rounding to 16 and 8 bits") { for_each_row(check_cases); }

TEST_CASE("A caller's flush-to-zero changes no conversion but to a subnormal float") {
  const Stored all[] = {every_code(HEED_F16), every_code(HEED_BF16), every_code(HEED_INT8), every_code(HEED_FP8_E4M3),
                        every_code(HEED_FP8_E5M2)};
  for_each_row([&](const Table& row) {
    Numbers subnormals;
    for (std::uint32_t word = 0; word < 0x00800000u; word += 251) subnormals.push_back(float_of(word));
    std::vector<Codes> right;
    for (const heed_type type : kRounded) {
      right.emplace_back();
      for (const float x : subnormals) right.back().push_back(encoded(type, x));
    }
    const FlushToZero flush;
    check_cases(row);
    for (const Stored& of_type : all) check_every_code(row, of_type, false);
    for (std::size_t i = 0; i < right.size(); ++i) CHECK(narrowed(row, kRounded[i], subnormals) == right[i]);
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

// The calls that take numbers of 16 and 8 bits, against the same calls on the same numbers as floats: the same bits.
// Conversions, codes with scales, slopes.
#include <catch2/catch_test_macros.hpp>
#include <cmath>

#include "support/each_row.hpp"
#include "support/everywhere.hpp"
#include "support/floating_point.hpp"

namespace heed::test::kernel {

namespace {

constexpr heed_type kFloatTypes[] = {HEED_F32, HEED_F16, HEED_BF16};
constexpr heed_type kSmallTypes[] = {HEED_F16, HEED_BF16, HEED_FP8_E4M3, HEED_FP8_E5M2};
constexpr heed_type kRoundedTypes[] = {HEED_F32, HEED_F16, HEED_BF16, HEED_FP8_E4M3, HEED_FP8_E5M2};

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

void demand(heed_code code, const heed_status& status) {
  if (code != HEED_OK) FAIL(status.message);
}

struct Shape {
  std::int64_t rows, cols, stride;
};

Shape shape(Random& random, std::int64_t rows, std::int64_t cols) { return {rows, cols, cols + random.between(0, 5)}; }

heed_matrix matrix(Arena& arena, const Stored& x, const Shape& s) {
  return {arena.input(x, s.rows, s.cols, s.stride), s.rows, s.cols, s.stride, x.type};
}
heed_matrix matrix(Arena& arena, const Numbers& x, const Shape& s) {
  return {arena.input(x, s.rows, s.cols, s.stride), s.rows, s.cols, s.stride, HEED_F32};
}

std::string same_halves(const Numbers& got) {
  const auto half = got.begin() + static_cast<std::ptrdiff_t>(got.size() / 2);
  return first_difference(Numbers(got.begin(), half), Numbers(half, got.end()));
}

// Head sizes, and lengths up to 49.
std::int64_t size_of(Random& random, int i) {
  return i % 2 == 0 ? head_sizes()[at(i / 2) % head_sizes().size()] : random.between(1, 49);
}

}  // namespace

TEST_CASE("heed_scores: f16, bf16 and fp8 have the bits of f32") {
  Random random(18);
  int i = 0;
  for (int round = 0; round < 12; ++round) {
    for (const heed_type q_type : kFloatTypes) {
      for (const heed_type k_type : kRoundedTypes) {
        const std::int64_t R = random.between(1, 10), n = random.between(0, 70), D = size_of(random, i++);
        const Kind kind = kKinds[random.between(0, 3)];
        const float scale = random.number(Kind::kTame);
        const Stored q = random_stored(random, q_type, kind, R * D), k = random_stored(random, k_type, kind, n * D);
        const Shape q_shape = shape(random, R, D), k_shape = shape(random, n, D), s_shape = shape(random, R, n);
        check_everywhere(
            describe("types R n D kind", q_type, k_type, R, n, D, kind),
            [&](const Table& row, Arena& arena) {
              const ForcedRow forced(row);
              heed_status status;
              const auto call = [&](const heed_matrix& queries, const heed_matrix& keys) {
                const heed_matrix_out s{arena.output(R, n, s_shape.stride), R, n, s_shape.stride, HEED_F32};
                demand(heed_scores(&queries, &keys, scale, &s, &status), status);
              };
              call(matrix(arena, q, q_shape), matrix(arena, k, k_shape));
              call(matrix(arena, q.values, q_shape), matrix(arena, k.values, k_shape));
              return arena.results();
            },
            same_halves);
      }
    }
  }
}

TEST_CASE("heed_weighted_sum and heed_attend: f16, bf16 and fp8 have the bits of f32") {
  Random random(19);
  for (int i = 0; i < 280; ++i) {
    const heed_type type = kSmallTypes[i % 4];
    const std::int64_t R = random.between(1, 27), n = i % 3 == 0 ? random.between(120, 280) : random.between(0, 40);
    const std::int64_t Dv = size_of(random, i / 4);
    const Kind kind = kKinds[random.between(0, 3)];
    const Numbers weights = random.numbers(Kind::kTame, R * n), start = random.numbers(Kind::kTame, R * Dv);
    const Stored v = random_stored(random, type, kind, n * Dv);
    const Shape w_shape = shape(random, R, n), v_shape = shape(random, n, Dv), o_shape = shape(random, R, Dv);
    const bool has_start = random.once_in(2);
    check_everywhere(
        describe("type R n Dv kind", type, R, n, Dv, kind),
        [&](const Table& row, Arena& arena) {
          const ForcedRow forced(row);
          heed_status status;
          const auto calls = [&](const heed_matrix& values) {
            const auto out = [&] {
              return heed_matrix_out{arena.output(R, Dv, o_shape.stride), R, Dv, o_shape.stride, HEED_F32};
            };
            const heed_matrix w = matrix(arena, weights, w_shape), accumulator = matrix(arena, start, o_shape);
            const heed_matrix_out sums = out(), attended = out();
            demand(heed_weighted_sum(&w, &values, has_start ? &accumulator : nullptr, &sums, &status), status);
            demand(heed_attend(&w, &values, &attended, arena.output(R), &status), status);
          };
          calls(matrix(arena, v, v_shape));
          calls(matrix(arena, v.values, v_shape));
          return arena.results();
        },
        same_halves);
  }
}

TEST_CASE("heed_convert between all pairs of types") {
  Random random(20);
  for (int round = 0; round < 60; ++round) {
    for (const heed_type from : kRoundedTypes) {
      for (const heed_type to : kRoundedTypes) {
        const std::int64_t rows = random.between(0, 3), cols = round < 50 ? round : lengths()[at(round) + 5];
        const Stored x = random_stored(random, from, Kind::kHostile, rows * cols);
        const Shape x_shape = shape(random, rows, cols), y_shape = shape(random, rows, cols);
        check_everywhere(
            describe("from to rows cols", from, to, rows, cols),
            [&](const Table& row, Arena& arena) {
              const ForcedRow forced(row);
              const heed_matrix in = matrix(arena, x, x_shape);
              const heed_matrix_out out{arena.output(to, rows, cols, y_shape.stride), rows, cols, y_shape.stride, to};
              heed_status status;
              demand(heed_convert(&in, &out, &status), status);
              return arena.results();
            },
            [&](const Numbers& got) {
              if (to == HEED_F32) return first_difference(x.values, got);
              Numbers right;
              for (std::size_t i = 0; i < x.values.size(); ++i) {
                Code code = 0;  // between equal types codes stay as they are
                if (from == to) std::memcpy(&code, &x.bytes[bytes_of(to) * i], bytes_of(to));
                right.push_back(static_cast<float>(from == to ? code : encoded(to, x.values[i])));
              }
              return first_difference(right, got);
            });
      }
    }
  }
}

TEST_CASE("heed_convert: a caller's flush-to-zero changes nothing but a subnormal float result") {
  Stored codes(HEED_BF16), floats(HEED_F32);
  for (Code code = 0; code <= 0x80; ++code) codes.add(code), codes.add(0x8000 + code);
  for (std::uint32_t word = 1; word < 0x00810000u; word += 4093) floats.add(word);
  for_each_row([&](const Table& row) {
    const ForcedRow forced(row);
    for (const Stored* x : {&codes, &floats}) {
      const auto n = static_cast<std::int64_t>(x->values.size());
      const heed_matrix from{x->bytes.data(), 1, n, 0, x->type};
      for (const heed_type to : kSmallTypes) {
        std::vector<unsigned char> out(at(n) * bytes_of(to));
        Stored right(to);
        for (const float value : x->values) right.add(encoded(to, value));
        const heed_matrix_out target{out.data(), 1, n, 0, to};
        heed_status status;
        {
          const FlushToZero flush;
          demand(heed_convert(&from, &target, &status), status);
        }
        INFO(heed::test::name_of(x->type) << " to " << heed::test::name_of(to));
        CHECK(out == right.bytes);
      }
    }
  });
}

namespace {

struct Quantized {
  std::vector<std::int8_t> codes;
  float scale;
};

Quantized quantized(const Numbers& x) {
  Quantized q{std::vector<std::int8_t>(x.size()), 77.0f};
  const heed_matrix row{x.data(), 1, static_cast<std::int64_t>(x.size()), 0, HEED_F32};
  heed_status status;
  demand(heed_quantize_int8(&row, q.codes.data(), 0, &q.scale, &status), status);
  return q;
}

}  // namespace

TEST_CASE("Written cases of int8 codes") {
  const auto all_zero = [](const Quantized& q) {
    for (const std::int8_t code : q.codes) CHECK(code == 0);
    CHECK(std::isfinite(q.scale));
  };
  all_zero(quantized(Numbers(64, 0.0f)));
  all_zero(quantized(Numbers(64, -0.0f)));
  all_zero(quantized(Numbers(64, 1e-40f)));
  all_zero(quantized(Numbers(64, float_of(0x7FC00000u))));
  for (const float largest : {1.0f, 3e38f, 1e-37f, 2e-36f, kMost, -5.0f}) {
    Numbers x(64, 0.0f);
    x[17] = largest;
    x[40] = largest * 0.25f;
    const Quantized q = quantized(x);
    INFO("largest " << largest);
    const double value = double{q.scale} * q.codes[17];
    CHECK(std::isfinite(q.scale * static_cast<float>(q.codes[17])));
    if (std::abs(largest) >= 127 * 0x1p-126f) {
      CHECK(q.codes[17] == (largest > 0 ? 127 : -127));
      CHECK(std::abs(value / largest - 1) <= 1e-6);
    } else {
      CHECK(value / largest >= 0);
      CHECK(value / largest <= 1);
    }
    CHECK(q.codes[0] == 0);
    CHECK(std::abs(q.codes[40]) == (q.codes[17] == 0 ? 0 : 32));  // 31.75
  }
  Numbers ties(64, 0.5f);  // the scale is 1: halves go to the even neighbour
  ties[0] = 127.0f, ties[1] = -1.5f, ties[2] = 2.5f, ties[3] = -127.0f, ties[4] = float_of(0xFFC00000u);
  const Quantized q = quantized(ties);
  CHECK(q.scale == 1.0f);
  CHECK(q.codes[0] == 127);
  CHECK(q.codes[1] == -2);
  CHECK(q.codes[2] == 2);
  CHECK(q.codes[3] == -127);
  CHECK(q.codes[4] == 0);
  CHECK(q.codes[5] == 0);
}

TEST_CASE("int8 codes are the nearest, in every kind of memory") {
  Random random(21);
  for (std::int64_t n = 0; n <= 70; ++n) {
    const std::int64_t rows = random.between(0, 4);
    const Shape x_shape = shape(random, rows, n), c_shape = shape(random, rows, n);
    const Numbers x = random.numbers(random.once_in(2) ? Kind::kTame : Kind::kFinite, rows * n);
    check_everywhere(
        describe("rows n", rows, n),
        [&](const Table& row, Arena& arena) {
          const ForcedRow forced(row);
          const heed_matrix in = matrix(arena, x, x_shape);
          auto* codes = static_cast<std::int8_t*>(arena.output(HEED_INT8, rows, n, c_shape.stride));
          heed_status status;
          demand(heed_quantize_int8(&in, codes, c_shape.stride, arena.output(rows), &status), status);
          return arena.results();
        },
        [&](const Numbers& got) -> std::string {
          for (std::int64_t r = 0; r < rows; ++r) {
            float largest = 0;
            for (std::int64_t c = 0; c < n; ++c) largest = std::max(largest, std::abs(x[at(r * n + c)]));
            const double scale = got[at(rows * n + r)];
            if (std::abs(scale * 127 - largest) > largest * kUnit * 2 + 127 * 0x1p-126)
              return describe("scale of row", r);
            for (std::int64_t c = 0; c < n; ++c) {
              const double code = decoded(HEED_INT8, static_cast<Code>(got[at(r * n + c)]));
              const double off = std::abs(code * scale - x[at(r * n + c)]);
              if (scale == 0 ? code != 0 : off > scale * (0.5 + 128 * kUnit)) return describe("code at r c", r, c);
            }
          }
          return {};
        });
  }
}

TEST_CASE("Written cases of ALiBi slopes") {
  const auto slopes = [](std::int64_t heads) {
    Numbers out(at(heads) + 1, 77.0f);
    heed_status status;
    demand(heed_alibi_slopes(heads, out.data(), &status), status);
    CHECK(out.back() == 77.0f);
    out.pop_back();
    return out;
  };
  const auto powers = [](std::initializer_list<double> exponents) {
    Numbers out;
    for (const double exponent : exponents) out.push_back(static_cast<float>(std::exp2(-exponent)));
    return out;
  };
  CHECK(slopes(0).empty());
  CHECK(slopes(1) == powers({8}));
  CHECK(slopes(2) == powers({4, 8}));
  CHECK(slopes(3) == powers({4, 8, 2}));
  CHECK(slopes(6) == powers({2, 4, 6, 8, 1, 3}));
  CHECK(slopes(8) == powers({1, 2, 3, 4, 5, 6, 7, 8}));
  CHECK(slopes(12) == powers({1, 2, 3, 4, 5, 6, 7, 8, 0.5, 1.5, 2.5, 3.5}));
  CHECK(slopes(40).front() == 0.840896415f);
  CHECK(slopes(40).back() == 0.272626933f);
  heed_status status;
  CHECK(heed_alibi_slopes(0, nullptr, &status) == HEED_OK);
}

}  // namespace heed::test::kernel

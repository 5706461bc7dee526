// 2^x, ln and tanh where the value is known exactly, softmax at the ends of e^d's range, and whether fma is fused.
#include <algorithm>
#include <chrono>
#include <cmath>

#include "support/each_row.hpp"
#include "support/floating_point.hpp"
#include "support/floats.hpp"
#include "support/math.hpp"

using namespace heed;
using namespace heed::test;
using dispatch::f32;

namespace {

float at(MathFunction function, float x) {
  const Numbers in(16, x);
  Numbers out(16);
  function(in.data(), out.data(), 16);
  for (const float y : out) {
    if (bits_of(y) != bits_of(out[0])) FAIL("the lanes of one vector disagree");
  }
  return out[0];
}

void check_exact_points(const RowMath& math) {
  CHECK(bits_of(at(math.exp2, 0.0f)) == bits_of(1.0f));
  CHECK(bits_of(at(math.exp2, -0.0f)) == bits_of(1.0f));
  CHECK(bits_of(at(math.exp, -0.0f)) == bits_of(1.0f));
  for (int n = 0; n <= 126; ++n) CHECK(at(math.exp2, static_cast<float>(-n)) == std::ldexp(1.0f, -n));
  for (const float x : {std::nextafter(-126.0f, -200.0f), -126.5f, -127.0f, -149.0f, -1e30f, -kMost, -kInfinity}) {
    CHECK(bits_of(at(math.exp2, x)) == 0);
    CHECK(bits_of(at(math.exp, x)) == 0);
  }
  for (const float d : {-104.0f, -1e30f, -kInfinity}) CHECK(bits_of(at(math.exp, d)) == 0);

  CHECK(bits_of(at(math.ln, 1.0f)) == 0);
  CHECK(at(math.ln, 0.0f) == -kInfinity);
  CHECK(at(math.ln, -0.0f) == -kInfinity);
  CHECK(at(math.ln, kInfinity) == kInfinity);
  for (const float l : {-1.0f, -float_of(1), -kInfinity}) CHECK(is_nan(at(math.ln, l)));
  CHECK(ulp_error(at(math.ln, float_of(1)), -149 * std::log(2.0)) <= 0.93);
  CHECK(ulp_error(at(math.ln, float_of(0x007FFFFFu)), std::log(0x1.fffffcp-127)) <= 0.93);
  CHECK(ulp_error(at(math.ln, kMost), std::log(double{kMost})) <= 0.93);

  for (const float sign : {1.0f, -1.0f}) {
    CHECK(bits_of(at(math.tanh, sign * 0.0f)) == bits_of(sign * 0.0f));
    for (const float x : {0x1.205966p+3f, 0x1.205968p+3f, 10.0f, 1e30f, kMost, kInfinity}) {
      CHECK(at(math.tanh, sign * x) == sign);
    }
    CHECK(at(math.tanh, sign * 0x1p-100f) == sign * 0x1p-100f);
  }

  for (const std::uint32_t payload : {0x000001u, 0x000002u, 0x200000u, 0x3FFFFFu, 0x400000u, 0x400001u, 0x7FFFFFu}) {
    for (const std::uint32_t sign : {0u, 0x80000000u}) {
      const float nan = float_of(sign | 0x7F800000u | payload);
      CHECK(is_nan(at(math.exp2, nan)));
      CHECK(is_nan(at(math.exp, nan)));
      CHECK(is_nan(at(math.ln, nan)));
      CHECK(is_nan(at(math.tanh, nan)));
    }
  }
}

}  // namespace

TEST_CASE("2^x, ln and tanh at the points that are exact") {
  for_each_row([](const Table& row) { check_exact_points(math_of(row)); });
}

TEST_CASE("A caller's flush-to-zero changes none of them") {
  for_each_row([](const Table& row) {
    const FlushToZero flush;
    check_exact_points(math_of(row));
  });
}

TEST_CASE("e^d at the ends of its range") {
  for_each_row([](const Table& row) {
    const RowMath& math = math_of(row);
    const auto near = [](float is, double right, double d) {
      return std::abs(is - right) <= right * (4 + 1.25 * d) * kUnit;
    };
    CHECK(near(at(math.exp, -20.0f), 2.0611536224385578e-9, 20));
    CHECK(near(at(math.exp, -87.0f), 1.6458114310822737e-38, 87));
    // Below -87.34 the rounded subnormal or 0, never rising as d falls.
    float before = 1.0f;
    for (float d = -87.0f; d > -105.0f; d -= 0x1p-10f) {
      const float y = at(math.exp, d);
      if (!(y >= 0.0f && y <= before)) FAIL("at " << d);
      if (d < -87.34f && y != 0.0f && std::abs(y - std::exp(double{d})) > 0x1p-149) FAIL("at " << d);
      before = y;
    }
  });
}

TEST_CASE("Softmax of scores that reach below e^d's range") {
  for_each_row([](const Table& row) {
    const float x[] = {0, -87, -88, -100, -104, -1e30f, -kInfinity};
    float weights[7];
    const float lse = row.softmax[f32](x, weights, 7);
    CHECK(weights[0] == 1.0f);
    CHECK(std::abs(weights[1] - 1.6458114e-38) <= 1.6458114e-38 * (10 + 1.25 * 87) * kUnit);
    for (int j = 1; j < 7; ++j) {
      CHECK(weights[j] >= 0.0f);
      CHECK(weights[j] <= weights[j - 1]);
    }
    CHECK(bits_of(weights[5]) == 0);
    CHECK(bits_of(weights[6]) == 0);
    CHECK(lse == 0.0f);
  });
}

TEST_CASE("Weights near the smallest cost no more than others") {
  for_each_row([](const Table& row) {
    Numbers near(65536, -10.0f), far(65536, -90.0f), weights(65536);
    near[0] = far[0] = 0.0f;
    const auto seconds = [&](const Numbers& x) {
      const auto start = std::chrono::steady_clock::now();
      row.softmax[f32](x.data(), weights.data(), 65536);
      return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    };
    double usual = HUGE_VAL, tiny = HUGE_VAL;
    for (int i = 0; i < 9; ++i) {  // in turn, so that a busy machine slows both
      usual = std::min(usual, seconds(near));
      tiny = std::min(tiny, seconds(far));
    }
    CHECK(tiny <= 3 * usual);
  });
}

// With a = 1 + 2^-12, a * a rounds to 1 + 2^-11: a fused step finds the 2^-24 that was lost, others find nothing.
TEST_CASE("Each row's multiply-add is fused exactly where the table says so") {
  for_each_row([](const Table& row) {
    const float a = 1 + 0x1p-12f, rounded = 1 + 0x1p-11f;
    const float lost = row.fma ? 0x1p-24f : 0.0f;

    float x[2 * kDotSums] = {}, y[2 * kDotSums] = {};  // index 0 and 64 share a lane
    for (int lane = 0; lane < kDotSums; ++lane) {
      x[lane] = -rounded, y[lane] = 1;
      x[lane + kDotSums] = y[lane + kDotSums] = a;
    }
    CHECK(row.dot[f32](x, y, 2 * kDotSums) == kDotSums * lost);
    x[kDotSums - 1] = 0;
    CHECK(row.dot[f32](x, y, 2 * kDotSums - 1) == (kDotSums - 1) * lost);  // the last 15 elements go another way

    for (std::int64_t rows = 1; rows <= 7; ++rows) {
      const float q[] = {-rounded, a, -rounded, a, -rounded, a, -rounded, a, -rounded, a, -rounded, a, -rounded, a};
      Numbers k, s(static_cast<std::size_t>(rows) * 33);
      for (int j = 0; j < 33; ++j) k.push_back(1), k.push_back(a);
      row.scores[f32]({q, 2, k.data(), 2, s.data(), 33, rows, 33, 2});
      for (const float score : s) {
        if (score != lost) FAIL("scores: " << score);
      }

      Numbers b(32), c(static_cast<std::size_t>(rows) * 16);
      for (int lane = 0; lane < 16; ++lane) b[lane] = 1, b[lane + 16] = a;
      Tile t{};
      t.a = q, t.a_row = 2, t.b = b.data(), t.b_row = 16, t.c = c.data(), t.c_row = 16;
      t.rows = static_cast<std::int32_t>(rows), t.panels = 1, t.depth = 2;
      row.tile[f32](t);
      for (const float sum : c) {
        if (sum != lost) FAIL("tile: " << sum);
      }
    }
  });
}

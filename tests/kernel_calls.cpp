// The kernels as callers reach them: on every row, in every kind of memory, with strides of either sign.
#include <catch2/catch_test_macros.hpp>
#include <cmath>

#include "heed/heed.hpp"
#include "heed/reference.hpp"
#include "support/each_row.hpp"
#include "support/everywhere.hpp"

namespace heed::test::kernel {

namespace {

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

// Rows x cols with `stride` elements from row to row, or back from the last row to the first.
struct Shape {
  std::int64_t rows, cols, stride;
  bool backwards = false;

  std::int64_t first() const { return backwards ? (rows - 1) * stride : 0; }
  std::int64_t step() const { return backwards ? -stride : stride; }
};

Shape shape(Random& random, std::int64_t rows, std::int64_t cols) {
  return {rows, cols, cols + random.between(0, 5), rows > 1 && random.once_in(4)};
}

Matrix matrix(Arena& arena, const Numbers& values, const Shape& s) {
  Numbers in_memory = values;
  if (s.backwards) {  // the last row comes first
    for (std::int64_t r = 0; r < s.rows; ++r) {
      std::copy_n(values.begin() + r * s.cols, s.cols, in_memory.begin() + (s.rows - 1 - r) * s.cols);
    }
  }
  return Matrix(arena.input(in_memory, s.rows, s.cols, s.stride) + s.first(), s.rows, s.cols, s.step());
}

MutableMatrix output(Arena& arena, std::int64_t rows, std::int64_t cols, std::int64_t stride) {
  return MutableMatrix(arena.output(rows, cols, stride), rows, cols, stride);
}

void demand(const Status& status) {
  if (!status.ok()) FAIL(status.message());
}

std::string near(const Numbers& got, const std::vector<double>& right, const std::vector<double>& bound) {
  for (std::size_t i = 0; i < right.size(); ++i) {
    if (!(std::abs(got[i] - right[i]) <= bound[i])) return describe("beyond the bound at", i);
  }
  return {};
}

}  // namespace

TEST_CASE("heed_dot and heed_softmax in every kind of memory") {
  Random random(11);
  for (std::int64_t n = 0; n <= 49; ++n) {
    const Numbers a = random.numbers(Kind::kTame, n), b = random.numbers(Kind::kTame, n);
    std::vector<double> right = {reference::dot(a.data(), b.data(), n)}, weights(at(n));
    const double lse = reference::softmax(a.data(), weights.data(), n);
    for (int copies = 0; copies < 2; ++copies) right.insert(right.end(), weights.begin(), weights.end());
    check_everywhere(
        describe("n", n),
        [&](const Table& row, Arena& arena) {
          const ForcedRow forced(row);
          Numbers results = {dot(arena.input(a), arena.input(b), n)};
          const float out_of_place = softmax(arena.input(a), arena.output(n), n);
          float* in_place = arena.inout(a);
          const float lse_in_place = softmax(in_place, in_place, n);
          const Numbers written = arena.results();
          results.insert(results.end(), written.begin(), written.end());
          results.push_back(out_of_place);
          results.push_back(lse_in_place);
          return results;
        },
        [&](const Numbers& got) -> std::string {
          if (bits_of(got[at(2 * n + 1)]) != bits_of(got[at(2 * n + 2)])) return "lse in place";
          if (n == 0 ? got[1] != -kInfinity : std::abs(got[at(2 * n + 1)] - lse) > 1e-6) return "lse";
          return near(got, right, std::vector<double>(right.size(), 1e-5));
        });
  }
}

TEST_CASE("heed_scores in every kind of memory, any strides") {
  Random random(12);
  for (std::int64_t i = 0; i <= 150; ++i) {
    const std::int64_t R = random.between(1, 10), n = i <= 49 ? i : random.between(1, 200);
    const std::int64_t D = i <= 49 ? random.between(1, 40) : head_sizes()[at(i) % head_sizes().size()];
    const Shape q_shape = shape(random, R, D), k_shape = shape(random, n, D);
    const std::int64_t s_row = n + random.between(0, 5);
    const float scale = random.number(Kind::kTame);
    const Numbers q = random.numbers(Kind::kTame, R * D), k = random.numbers(Kind::kTame, n * D);
    std::vector<double> right(at(R * n));
    reference::scores(q.data(), k.data(), R, n, D, double{scale}, right.data());
    const double steps = static_cast<double>(D) + 2;  // terms are at most |scale| <= 1
    check_everywhere(
        describe("R n D", R, n, D),
        [&](const Table& row, Arena& arena) {
          const ForcedRow forced(row);
          demand(scores(matrix(arena, q, q_shape), matrix(arena, k, k_shape), scale, output(arena, R, n, s_row)));
          return arena.results();
        },
        [&](const Numbers& got) { return near(got, right, std::vector<double>(right.size(), steps * steps * kUnit)); });
  }
}

TEST_CASE("heed_weighted_sum in every kind of memory, any strides") {
  Random random(13);
  for (std::int64_t i = 0; i <= 150; ++i) {
    const std::int64_t R = random.between(1, 30), n = i <= 49 ? i : lengths()[at(i) % lengths().size()];
    const std::int64_t Dv = i <= 49 ? random.between(1, 49) : head_sizes()[at(i) % head_sizes().size()];
    const Shape w_shape = shape(random, R, n), v_shape = shape(random, n, Dv), a_shape = shape(random, R, Dv);
    const std::int64_t out_row = Dv + random.between(0, 5);
    const Numbers w = random.numbers(Kind::kTame, R * n), v = random.numbers(Kind::kTame, n * Dv);
    const Numbers a = random.numbers(Kind::kTame, R * Dv);
    const int accumulator = static_cast<int>(random.between(0, 2));  // none, apart, out itself
    std::vector<double> right(at(R * Dv));
    for (std::int64_t r = 0; r < R; ++r) {
      reference::weighted_sum(w.data() + r * n, v.data(), n, Dv, accumulator == 0 ? nullptr : a.data() + r * Dv,
                              right.data() + r * Dv);
    }
    const double steps = static_cast<double>(n) + 3;
    check_everywhere(
        describe("R n Dv accumulator", R, n, Dv, accumulator),
        [&](const Table& row, Arena& arena) {
          const ForcedRow forced(row);
          const Matrix weights = matrix(arena, w, w_shape), values = matrix(arena, v, v_shape);
          if (accumulator == 2) {
            float* out = arena.inout(a, R, Dv, out_row);
            demand(weighted_sum(weights, values, Matrix(out, R, Dv, out_row), MutableMatrix(out, R, Dv, out_row)));
          } else if (accumulator == 1) {
            demand(weighted_sum(weights, values, matrix(arena, a, a_shape), output(arena, R, Dv, out_row)));
          } else {
            demand(weighted_sum(weights, values, output(arena, R, Dv, out_row)));
          }
          return arena.results();
        },
        [&](const Numbers& got) -> std::string {
          for (const float x : got) {
            if (!is_canonical(x)) return "not canonical";
          }
          return near(got, right, std::vector<double>(right.size(), steps * steps * kUnit));
        });
  }
}

TEST_CASE("heed_attend in every kind of memory, any strides") {
  Random random(14);
  for (std::int64_t i = 0; i <= 150; ++i) {
    const std::int64_t R = random.between(1, 9), n = i <= 49 ? i : lengths()[at(i) % lengths().size()];
    const std::int64_t Dv = i <= 49 ? random.between(1, 49) : head_sizes()[at(i) % head_sizes().size()];
    const Shape s_shape = shape(random, R, n), v_shape = shape(random, n, Dv);
    const std::int64_t out_row = Dv + random.between(0, 5);
    Numbers s = random.numbers(Kind::kTame, R * n);
    for (float& x : s) x *= 20;
    const Numbers v = random.numbers(Kind::kTame, n * Dv);
    std::vector<double> right(at(R * Dv)), lse;
    for (std::int64_t r = 0; r < R; ++r) {
      lse.push_back(reference::attend(s.data() + r * n, v.data(), n, Dv, right.data() + r * Dv));
    }
    check_everywhere(
        describe("R n Dv", R, n, Dv),
        [&](const Table& row, Arena& arena) {
          const ForcedRow forced(row);
          const Matrix scores = matrix(arena, s, s_shape), values = matrix(arena, v, v_shape);
          const MutableMatrix out = output(arena, R, Dv, out_row);
          demand(attend(scores, values, out, arena.output(R)));
          return arena.results();
        },
        [&](const Numbers& got) -> std::string {
          for (std::int64_t r = 0; r < R; ++r) {
            const float is = got[at(R * Dv + r)];
            if (n == 0 ? is != -kInfinity : !(std::abs(is - lse[at(r)]) <= 1e-5 * 4)) return describe("lse of row", r);
          }
          // A chain of 128 in a block, and a weight's own roundings (|d| <= 40) on both ways into out.
          return near(got, right, std::vector<double>(right.size(), (128 + 4 * 94) * kUnit));
        });
  }
}

TEST_CASE("dot of (1 ... D) with ones is exact, and the last element counts") {
  for_each_row([](const Table& row) {
    const ForcedRow forced(row);
    for (const std::int64_t D : head_sizes()) {
      INFO("D " << D);
      Numbers numbers, ones(at(D), 1.0f), last(at(D), 0.0f), k(at(3 * D), 5.0f), s(3), out(3);
      for (std::int64_t d = 1; d <= D; ++d) numbers.push_back(static_cast<float>(d));
      CHECK(dot(numbers.data(), ones.data(), D) == static_cast<float>(D * (D + 1) / 2));
      last.back() = 1;
      for (int j = 0; j < 3; ++j) k[at((j + 1) * D - 1)] = static_cast<float>(std::log(j + 1));
      const float unit_rows[] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
      demand(scores(Matrix(last.data(), 1, D), Matrix(k.data(), 3, D), 1.0f, MutableMatrix(s.data(), 1, 3)));
      demand(attend(Matrix(s.data(), 1, 3), Matrix(unit_rows, 3, 3), MutableMatrix(out.data(), 1, 3)));
      for (int j = 0; j < 3; ++j) CHECK(std::abs(out[at(j)] - (j + 1) / 6.0) <= 1e-6);
    }
  });
}

TEST_CASE("scores, shown by a kernel or by attention: one NaN, and no -0") {
  // A NaN of either sign in q and in k, and a product that underflows.
  const float q[] = {float_of(0x7F800001u), 1.0f, 1e-30f, 0.0f},
              k[] = {float_of(0xFFC12345u), float_of(0xFFC00000u), -1e-30f, 0.0f};
  for_each_row([&](const Table& row) {
    const ForcedRow forced(row);
    float s[4], view[4], out[4];
    demand(scores(Matrix(q, 2, 2), Matrix(k, 2, 2), 1.0f, MutableMatrix(s, 2, 2)));
    AttentionArgs args;
    args.B = args.Hq = args.Hkv = 1;
    args.Lq = args.Lkv = args.D = args.Dv = 2;
    args.q = heads_first(q, 1, 2, 2);
    args.k = args.v = heads_first(k, 1, 2, 2);
    args.out = heads_first(out, 1, 2, 2);
    args.has_scale = 1;
    args.scale = 1.0f;
    args.inspect = {view, 4, 4, 2, HEED_F32};
    args.inspect_what = HEED_SCORES_SCALED;
    demand(attention(args));
    for (const float* seen : {s, view}) {
      CHECK(bits_of(seen[0]) == 0x7FC00000u);
      CHECK(bits_of(seen[1]) == 0x7FC00000u);
      CHECK(bits_of(seen[2]) == 0x7FC00000u);
      CHECK(bits_of(seen[3]) == 0u);
    }
  });
}

TEST_CASE("Nothing, and null pointers for it") {
  for_each_row([](const Table& row) {
    const ForcedRow forced(row);
    CHECK(bits_of(dot(nullptr, nullptr, 0)) == 0);
    CHECK(softmax(nullptr, nullptr, 0) == -kInfinity);
    const Matrix nothing(nullptr, 0, 8), no_rows(nullptr, 0, 0);
    float x[16] = {1, 2}, y[16] = {7, 7, 7, 7, 7, 7, 7, 7, 7}, lse[2] = {7, 7};
    demand(scores(Matrix(x, 2, 8), nothing, 1.0f, MutableMatrix(nullptr, 2, 0)));
    demand(scores(nothing, Matrix(x, 2, 8), 1.0f, MutableMatrix(nullptr, 0, 2)));
    demand(weighted_sum(Matrix(nullptr, 0, 2), Matrix(x, 2, 8), MutableMatrix(nullptr, 0, 8)));
    demand(attend(Matrix(nullptr, 0, 2), Matrix(x, 2, 8), MutableMatrix(nullptr, 0, 8), nullptr));
    // No keys: the sum of nothing is +0, and so is its softmax's.
    demand(weighted_sum(Matrix(nullptr, 1, 0), nothing, MutableMatrix(y, 1, 8)));
    for (int d = 0; d < 8; ++d) CHECK(bits_of(y[d]) == 0);
    CHECK(y[8] == 7);
    y[0] = 7;
    demand(attend(Matrix(nullptr, 1, 0), nothing, MutableMatrix(y, 1, 8), lse));
    for (int d = 0; d < 8; ++d) CHECK(bits_of(y[d]) == 0);
    CHECK(y[8] == 7);
    CHECK(lse[0] == -kInfinity);
    // No columns: ln(e + e^2) all the same.
    demand(attend(Matrix(x, 1, 2), Matrix(nullptr, 2, 0), MutableMatrix(nullptr, 1, 0), lse));
    CHECK(std::abs(lse[0] - 2.3132617f) < 1e-6f);
    CHECK(lse[1] == 7);
  });
}

}  // namespace heed::test::kernel

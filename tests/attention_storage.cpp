// Keys and values in small types: fp8 gives the bits of f32, int8 an error that is stated, and scales per channel fold
// into q and out.
#include <catch2/catch_test_macros.hpp>
#include <cmath>

#include "attention_call.hpp"
#include "attention_random.hpp"
#include "heed/heed.hpp"
#include "support/each_row.hpp"
#include "support/storage.hpp"

namespace heed::test {
namespace {

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

// The numbers rounded to the type; they become what the type holds.
Stored rounded(heed_type type, std::vector<float>& x) {
  Stored out(type);
  for (const float value : x) out.add(encoded(type, value));
  x = out.values;
  return out;
}

heed_tensor dense(const Stored& x, std::int64_t heads, std::int64_t tokens, std::int64_t columns) {
  return {x.bytes.data(), heads * tokens * columns, tokens * columns, columns, x.type};
}

// The same tokens in pages [page][head][slot], in an order of their own. What no token fills is 0xFF: NaN.
struct Paged {
  std::vector<std::int32_t> table;  // [B][pages of a sequence]
  std::int64_t page_size, pages;    // pages of a sequence
  std::vector<unsigned char> k, v;

  Paged(Random& random, const ModelProblem& p) : page_size(random.between(1, 70)) {
    pages = (p.Lkv + page_size - 1) / page_size;
    for (std::int64_t i = 0; i < p.B * pages; ++i) table.push_back(static_cast<std::int32_t>(i));
    for (std::size_t i = table.size(); i > 1; --i) {
      std::swap(table[i - 1], table[at(random.between(0, static_cast<std::int64_t>(i) - 1))]);
    }
  }

  heed_tensor place(const ModelProblem& p, const Stored& x, std::int64_t columns, std::vector<unsigned char>& pool) {
    const std::int64_t row = columns + 3, page = p.Hkv * page_size * row;
    const std::size_t bytes = bytes_of(x.type);
    pool.assign(at(p.B * pages * page) * bytes, 0xFF);
    const unsigned char* from = x.bytes.data();
    for (std::int64_t b = 0; b < p.B; ++b) {
      for (std::int64_t h = 0; h < p.Hkv; ++h) {
        for (std::int64_t t = 0; t < p.Lkv; ++t, from += at(columns) * bytes) {
          const std::int64_t id = table[at(b * pages + t / page_size)];
          std::memcpy(&pool[at(id * page + (h * page_size + t % page_size) * row) * bytes], from, at(columns) * bytes);
        }
      }
    }
    return {pool.data(), page, page_size * row, row, x.type};
  }
};

// Unit-normal numbers.
std::vector<float> normal(Random& random, std::int64_t n) {
  std::vector<float> x(at(n));
  for (float& value : x) {
    const double radius = std::sqrt(-2.0 * std::log(1.0 - random.uniform()));
    value = static_cast<float>(radius * std::cos(2.0 * 3.14159265358979323846 * random.uniform()));
  }
  return x;
}

// Codes and scales of rows of numbers, by the library.
struct Quantized {
  std::vector<std::int8_t> codes;
  std::vector<float> scales;
  std::int64_t columns;

  Quantized(const std::vector<float>& x, std::int64_t cols)
      : codes(x.size()), scales(x.size() / at(cols)), columns(cols) {
    const heed_matrix from{x.data(), static_cast<std::int64_t>(scales.size()), cols, 0, HEED_F32};
    REQUIRE(heed_quantize_int8(&from, codes.data(), 0, scales.data(), nullptr) == HEED_OK);
  }
  float value(std::size_t i) const { return static_cast<float>(codes[i]) * scales[i / at(columns)]; }
  heed_tensor tensor() const { return {codes.data(), 0, 0, columns, HEED_INT8}; }
  heed_tensor scale_tensor() const { return {scales.data(), 0, 0, 1, HEED_F32}; }
};

// Decode and prefill, any head sizes, every mixture of numbers.
Spec spec_of(std::uint64_t seed) {
  Random random(seed);
  Spec spec;
  spec.seed = seed;
  spec.B = random.between(1, 3);
  spec.Hkv = random.between(1, 2);
  spec.Hq = spec.Hkv << random.between(0, 2);
  spec.Lq = random.once_in(2) ? 1 : random.between(2, 60);
  spec.Lkv = random.once_in(2) ? random.between(1, 40) : random.between(100, 700);
  spec.D = random.between(1, 70);
  spec.Dv = random.between(1, 70);
  spec.causal = random.once_in(2);
  spec.scale = 0.25f;
  spec.mixture = static_cast<Mixture>(seed % 9);
  return spec;
}

TEST_CASE("fp8 keys and values: the bits of f32 ones holding the same numbers", "[attention][I4]") {
  constexpr heed_type kFp8[] = {HEED_FP8_E4M3, HEED_FP8_E5M2};
  constexpr heed_type kOther[] = {HEED_F32, HEED_F16, HEED_BF16, HEED_FP8_E4M3, HEED_FP8_E5M2};
  const std::vector<const Table*> rows = rows_under_test();
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    Random random(seed);
    const Table& row = *rows[static_cast<std::size_t>(random.between(0, static_cast<std::int64_t>(rows.size()) - 1))];
    const ForcedRow forced(row);
    heed_type k_type = kFp8[random.between(0, 1)], v_type = kOther[random.between(0, 4)];
    if (random.once_in(2)) std::swap(k_type, v_type);
    ModelProblem problem = problem_of(spec_of(seed));
    const Stored k = rounded(k_type, problem.k), v = rounded(v_type, problem.v);
    INFO("seed " << seed << ", row " << row.name << ", k " << name_of(k_type) << ", v " << name_of(v_type));
    const Result right = attend(problem);
    REQUIRE(right.failure == "");

    Call call(problem, Layout::kHeadsFirst);
    call.args.k = dense(k, problem.Hkv, problem.Lkv, problem.D);
    call.args.v = dense(v, problem.Hkv, problem.Lkv, problem.Dv);
    REQUIRE(difference(call.run(), right.out, right.lse) == "");

    Paged paged(random, problem);
    call.args.k = paged.place(problem, k, problem.D, paged.k);
    call.args.v = paged.place(problem, v, problem.Dv, paged.v);
    call.args.block_table = {paged.table.data(), HEED_INT32};
    call.args.block_table_stride = paged.pages;
    call.args.page_size = paged.page_size;
    call.args.page_count = problem.B * paged.pages;
    INFO("pages of " << paged.page_size);
    REQUIRE(difference(call.run(), right.out, right.lse) == "");
  }
}

// What heed.h says at heed_quantize_int8. For any data, with r the step of a key's or value's codes, scale/2 and a
// little for its rounding: a score moves by at most E = |scale| max_j(sum_d |q_d| r_j), so does lse, and a weight by a
// factor within e^(+-2E); the weights' sum stays 1, so only the deviations of v from the output count, and v's own
// error comes on top. For unit-normal data each error is one of many independent ones, uniform in +-r: their sum has a
// standard deviation of about 0.01 |w|, and 6 of them are never passed.
void check_int8_error(std::int64_t D, std::int64_t Lq, std::int64_t Lkv, std::uint64_t seed) {
  Random random(seed);
  ModelProblem p;
  p.Hq = 2;
  p.Lq = Lq;
  p.Lkv = Lkv;
  p.D = p.Dv = D;
  p.scale = static_cast<float>(1.0 / std::sqrt(static_cast<double>(D)));
  p.q = normal(random, 2 * Lq * D);
  p.k = normal(random, Lkv * D);
  p.v = normal(random, Lkv * D);
  const Quantized k(p.k, D), v(p.v, D);
  Call call(p, Layout::kHeadsFirst);
  std::vector<double> out(at(2 * Lq * D)), lse(at(2 * Lq)), weights(at(2 * Lq * Lkv));
  call.args.inspect_what = HEED_WEIGHTS;
  reference::attention(call.args, out.data(), lse.data(), weights.data());
  call.args.k = k.tensor(), call.args.k_scales = k.scale_tensor();
  call.args.v = v.tensor(), call.args.v_scales = v.scale_tensor();
  const Result got = call.run();
  REQUIRE(got.failure == "");

  constexpr double kFloatError = 1e-5;  // what the float arithmetic adds: far below the codes' error
  const auto step = [](float scale) { return scale * (0.5 + 128 * kUnit); };
  double largest_key_step = 0, largest_value_step = 0;
  for (const float scale : k.scales) largest_key_step = std::max(largest_key_step, step(scale));
  for (const float scale : v.scales) largest_value_step = std::max(largest_value_step, step(scale));
  for (std::int64_t row = 0; row < 2 * Lq; ++row) {
    double sum_of_q = 0, square = 0;
    for (std::int64_t d = 0; d < D; ++d) sum_of_q += std::abs(double{p.q[at(row * D + d)]});
    for (std::int64_t j = 0; j < Lkv; ++j) square += weights[at(row * Lkv + j)] * weights[at(row * Lkv + j)];
    const double E = p.scale * sum_of_q * largest_key_step, usual = 0.06 * std::sqrt(square);
    const double lse_error = std::abs(got.lse[at(row)] - lse[at(row)]);
    if (lse_error > std::min(E, usual) + kFloatError) FAIL("lse of row " << row << " is off by " << lse_error);
    for (std::int64_t d = 0; d < D; ++d) {
      double deviation = 0;
      for (std::int64_t j = 0; j < Lkv; ++j) {
        deviation += weights[at(row * Lkv + j)] * std::abs(p.v[at(j * D + d)] - out[at(row * D + d)]);
      }
      const double bound = std::expm1(2 * E) * deviation + largest_value_step;
      const double error = std::abs(got.out[at(row * D + d)] - out[at(row * D + d)]);
      if (error > std::min(bound, usual) + kFloatError) {
        FAIL("column " << d << " of row " << row << " is off by " << error << "; any data " << bound << ", unit-normal "
                       << usual);
      }
    }
  }
}

TEST_CASE("int8 keys and values: the stated error", "[attention][int8]") {
  for_each_row([&](const Table& row) {
    const ForcedRow forced(row);
    std::uint64_t seed = 0;
    for (const std::int64_t D : {64, 128}) {
      for (const std::int64_t Lkv : {1, 2, 17, 128, 300, 1024}) {
        for (const std::int64_t Lq : {1, 12}) {
          INFO("D " << D << ", Lq " << Lq << ", Lkv " << Lkv);
          check_int8_error(D, Lq, Lkv, ++seed);
        }
      }
    }
  });
}

TEST_CASE("H19: int8 rows of zeros, tiny and huge numbers", "[attention][H19]") {
  constexpr std::int64_t kRows = 6, D = 64;
  std::vector<float> x(kRows * D, 0.0f);
  for (std::int64_t d = 0; d < D; ++d) x[at(D + d)] = -0.0f;
  x[2 * D + 5] = 1.0f;
  for (std::int64_t d = 0; d < D; ++d) {
    const float part = 1.0f - static_cast<float>(d) / 64.0f;
    x[at(3 * D + d)] = 1e-37f * part;
    x[at(4 * D + d)] = 1e-40f * part;
    x[at(5 * D + d)] = 3e38f * part;
  }
  const Quantized codes(x, D);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const float value = codes.value(i);
    CHECK(std::isfinite(value));
    if (x[i] == 0.0f) CHECK(value == 0.0f);
    if (i / D == 3) CHECK((value >= 0.0f && value <= 1e-37f));
    if (i / D == 4) CHECK((value >= 0.0f && value <= 1e-40f));
  }
  CHECK(codes.codes[2 * D + 5] == 127);
  CHECK(std::abs(codes.value(2 * D + 5) - 1.0f) <= 1e-6f);
  CHECK(std::abs(codes.value(5 * D) / 3e38f - 1.0f) <= 0.005f);

  ModelProblem p;
  p.Lkv = kRows;
  p.D = p.Dv = D;
  p.k = p.v = x;
  for_each_row([&](const Table& row) {
    const ForcedRow forced(row);
    for (const std::int64_t Lq : {1, 20}) {
      p.Lq = Lq;
      p.q.assign(at(Lq * D), 1e-38f);
      Call call(p, Layout::kHeadsFirst);
      std::vector<float> scores(at(Lq * kRows), 77.0f);
      call.args.inspect = {scores.data(), 0, 0, kRows, HEED_F32};
      call.args.inspect_what = HEED_SCORES_SCALED;
      call.args.k = call.args.v = codes.tensor();
      call.args.k_scales = call.args.v_scales = codes.scale_tensor();
      const Result got = call.run();
      REQUIRE(got.failure == "");
      for (const float out : got.out) CHECK(std::isfinite(out));
      for (const float lse : got.lse) CHECK(std::isfinite(lse));
      for (std::int64_t i = 0; i < Lq * kRows; ++i) {
        const float s = scores[at(i)];
        CHECK(std::isfinite(s));
        if (i % kRows < 2) CHECK(bits_of(s) == 0);
        if (i % kRows == 5) CHECK(s > 90.0f);  // 1e-38 * 3e38 * (1 + 1/64) * 32 = 97
      }
    }
  });
}

// Channel d of the keys is a_d times what is stored, and q_d takes a_d; channel d of the values likewise, and out_d
// takes it. Against the double reference on the products: within twice the bound for f32 of the same numbers, which
// covers the products' own roundings.
void check_channel_scales(heed_type type, std::int64_t Lq, std::int64_t Lkv, std::uint64_t seed) {
  Random random(seed);
  ModelProblem p;
  p.Lq = Lq;
  p.Lkv = Lkv;
  p.D = 47;
  p.Dv = 33;
  p.scale = 0.125f;
  p.q = normal(random, Lq * p.D);
  p.k = normal(random, Lkv * p.D);
  p.v = normal(random, Lkv * p.Dv);
  const auto store = [&](std::vector<float>& x, std::int64_t columns, std::vector<float>& scales) {
    Stored stored(type);
    for (std::int64_t d = 0; d < columns; ++d) {  // some channels are a hundred times larger than others
      const float size = std::exp2(static_cast<float>(random.between(-4, 3)));
      float largest = 0;
      for (std::int64_t j = 0; j < Lkv; ++j) {
        x[at(j * columns + d)] *= size;
        largest = std::max(largest, std::abs(x[at(j * columns + d)]));
      }
      scales.push_back(largest / (type == HEED_INT8 ? 127.0f : 240.0f));
    }
    for (std::size_t i = 0; i < x.size(); ++i) {
      const float scale = scales[i % at(columns)], code = x[i] / scale;
      stored.add(type == HEED_INT8 ? static_cast<Code>(static_cast<int>(std::nearbyint(code)) & 255)
                                   : encoded(type, code));
      x[i] = stored.values.back() * scale;
    }
    return stored;
  };
  std::vector<float> k_scales, v_scales;
  const Stored k = store(p.k, p.D, k_scales), v = store(p.v, p.Dv, v_scales);

  std::vector<double> out(at(Lq * p.Dv)), lse(at(Lq));
  const Call dequantized(p, Layout::kHeadsFirst);
  reference::attention(dequantized.args, out.data(), lse.data());
  const Bounds allowed = bounds(p);

  ModelProblem folded = p;
  for (std::size_t i = 0; i < p.q.size(); ++i) folded.q[i] = p.q[i] * k_scales[i % at(p.D)];
  Call call(folded, Layout::kHeadsFirst);
  const float one = 1.0f;
  call.args.k = dense(k, 1, Lkv, p.D);
  call.args.v = dense(v, 1, Lkv, p.Dv);
  if (type == HEED_INT8) call.args.k_scales = call.args.v_scales = {&one, 0, 0, 0, HEED_F32};
  const Result got = call.run();
  REQUIRE(got.failure == "");
  for (std::size_t i = 0; i < lse.size(); ++i) CHECK(std::abs(got.lse[i] - lse[i]) <= 2 * allowed.lse[i]);
  for (std::size_t i = 0; i < out.size(); ++i) {
    const double value = got.out[i] * v_scales[i % at(p.Dv)];
    CHECK(std::abs(value - out[i]) <= 2 * allowed.out[i / at(p.Dv)]);
  }
}

TEST_CASE("Scales per channel fold into q and out", "[attention][int8][fp8]") {
  for_each_row([&](const Table& row) {
    const ForcedRow forced(row);
    std::uint64_t seed = 100;
    for (const heed_type type : {HEED_INT8, HEED_FP8_E4M3, HEED_FP8_E5M2}) {
      for (const std::int64_t Lkv : {1, 30, 200, 700}) {
        for (const std::int64_t Lq : {1, 15}) {
          INFO(name_of(type) << ", Lq " << Lq << ", Lkv " << Lkv);
          check_channel_scales(type, Lq, Lkv, ++seed);
        }
      }
    }
  });
}

// A negative number below half of the smallest one that the type holds.
TEST_CASE("What rounds to zero is +0 in every type of output", "[attention]") {
  const float q = 1.0f, k = 1.0f, v[] = {-1e-9f, -1e-30f, -1e-39f, 1e-9f, -0.0f, -1.0f, -2e-8f, -3e-8f, -1e-44f};
  for_each_row([&](const Table& row) {
    const ForcedRow forced(row);
    for (const heed_type type : {HEED_F32, HEED_F16, HEED_BF16}) {
      INFO(name_of(type));
      unsigned char out[9 * 4];
      AttentionArgs args;
      args.B = args.Hq = args.Hkv = args.Lq = args.Lkv = args.D = 1;
      args.Dv = 9;
      args.q = heads_first(&q, 1, 1, 1);
      args.k = heads_first(&k, 1, 1, 1);
      args.v = heads_first(v, 1, 1, 9);
      args.out = {out, 0, 0, 9, type};
      REQUIRE(attention(args).ok());
      for (std::size_t d = 0; d < 9; ++d) {
        Code code = 0;
        std::memcpy(&code, out + d * bytes_of(type), bytes_of(type));
        INFO(d << ": " << v[d]);
        CHECK(code == output_code(type, v[d]));
        CHECK(code != (type == HEED_F32 ? 0x80000000u : 0x8000u));
      }
    }
  });
}

}  // namespace
}  // namespace heed::test

// What has no influence, what has too much, and what zeros and infinities become: chapter by chapter of the contract,
// on every row, for few query rows (keys used where they lie) and many (packed).
#include <catch2/catch_message.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <cmath>
#include <limits>

#include "attention_call.hpp"
#include "attention_random.hpp"
#include "heed/heed.hpp"
#include "support/each_row.hpp"

namespace heed::test {
namespace {

const float kNaN = std::numeric_limits<float>::quiet_NaN();

// One head, one sequence, tame numbers.
ModelProblem plain(std::int64_t Lq, std::int64_t Lkv, std::int64_t D, std::int64_t Dv, std::uint64_t seed = 1) {
  Spec spec;
  spec.seed = seed;
  spec.Lq = Lq;
  spec.Lkv = Lkv;
  spec.D = D;
  spec.Dv = Dv;
  return problem_of(spec);
}

// D = 1, q = 1, scale 1: the scores are the keys. Every query sees the same.
ModelProblem scored(std::int64_t Lq, const std::vector<float>& scores, const std::vector<float>& values) {
  ModelProblem p;
  p.Lq = Lq;
  p.Lkv = static_cast<std::int64_t>(scores.size());
  p.q.assign(static_cast<std::size_t>(Lq), 1.0f);
  p.k = scores;
  p.v = values;
  return p;
}

bool all_nan(const std::vector<float>& x, std::int64_t begin, std::int64_t count) {
  for (std::int64_t n = begin; n < begin + count; ++n) {
    if (bits_of(x[static_cast<std::size_t>(n)]) != 0x7FC00000u) return false;
  }
  return true;
}

std::string same_rows(const Result& found, const Result& expected, std::int64_t Dv, std::int64_t row) {
  for (std::int64_t d = 0; d < Dv; ++d) {
    const auto n = static_cast<std::size_t>(row * Dv + d);
    if (bits_of(found.out[n]) != bits_of(expected.out[n])) return "column " + std::to_string(d) + " differs";
  }
  const auto n = static_cast<std::size_t>(row);
  return bits_of(found.lse[n]) == bits_of(expected.lse[n]) ? "" : "lse differs";
}

// A key in the future of some rows: those keep the bits that they have when it holds zeros, the others show it.
TEST_CASE("H03: keys and values after a causal row have no influence on it", "[attention][causal][H03]") {
  const std::int64_t Lq = GENERATE(2, 5, 9, 40, 100);
  const float poison = GENERATE_COPY(kNaN, kInfinity, -kInfinity, 1e38f);
  const std::int64_t Lkv = Lq + 131, Dv = 19;
  ModelProblem clean = plain(Lq, Lkv, 6, Dv);
  clean.causal = true;
  Random random(static_cast<std::uint64_t>(Lq));
  for_each_row([&](const Table& row) {
    const ForcedRow forced(row);
    for (int n = 0; n < 3; ++n) {
      const std::int64_t key = Lkv - random.between(1, Lq - 1);  // row i attends keys up to i + 131
      ModelProblem zero = clean;
      for (std::int64_t d = 0; d < zero.D; ++d) zero.k[static_cast<std::size_t>(key * zero.D + d)] = 0.0f;
      for (std::int64_t d = 0; d < Dv; ++d) zero.v[static_cast<std::size_t>(key * Dv + d)] = 0.0f;
      const Result expected = attend(zero);
      ModelProblem in_keys = zero, in_values = zero;
      for (std::int64_t d = 0; d < zero.D; ++d) in_keys.k[static_cast<std::size_t>(key * zero.D + d)] = poison;
      for (std::int64_t d = 0; d < Dv; ++d) in_values.v[static_cast<std::size_t>(key * Dv + d)] = poison;
      const Result with_keys = attend(in_keys), with_values = attend(in_values);
      for (std::int64_t i = 0; i + 131 < key; ++i) {
        INFO("poison " << poison << " at key " << key << ", query " << i);
        REQUIRE(same_rows(with_keys, expected, Dv, i) == "");
        REQUIRE(same_rows(with_values, expected, Dv, i) == "");
      }
      for (std::int64_t i = key - 131; i < Lq; ++i) {
        INFO("poison " << poison << " at key " << key << ", query " << i);
        REQUIRE(same_rows(with_values, expected, Dv, i) != "");
        if (std::isnan(poison)) {
          REQUIRE(all_nan(with_keys.out, i * Dv, Dv));
          REQUIRE(all_nan(with_keys.lse, i, 1));
          REQUIRE(all_nan(with_values.out, i * Dv, Dv));
          REQUIRE(bits_of(with_values.lse[static_cast<std::size_t>(i)]) ==
                  bits_of(expected.lse[static_cast<std::size_t>(i)]));
        }
      }
    }
  });
}

// Whatever a call finds in memory that it took, or behind the keys' last panel, is of no consequence either: the keys
// after the last one are NaN here.
TEST_CASE("H03: slots after the last key have no influence", "[attention][H03]") {
  const std::int64_t Lq = GENERATE(1, 8, 9, 50), Lkv = GENERATE(1, 5, 15, 17, 127, 130, 513);
  const ModelProblem long_one = plain(Lq, Lkv + 40, 7, 18);
  ModelProblem cut = long_one;
  cut.Lkv = Lkv;
  cut.k.resize(static_cast<std::size_t>(Lkv * cut.D));
  cut.v.resize(static_cast<std::size_t>(Lkv * cut.Dv));
  for_each_row([&](const Table& row) {
    const ForcedRow forced(row);
    const Result expected = attend(cut);
    for (const float poison : {0.0f, kNaN, kInfinity, -kInfinity, 1e38f}) {
      Call call(long_one, Layout::kHeadsFirst);
      call.args.Lkv = Lkv;
      for (std::int64_t j = Lkv; j < long_one.Lkv; ++j) {
        std::fill(call.k(0, 0, j), call.k(0, 0, j) + long_one.D, poison);
        std::fill(call.v(0, 0, j), call.v(0, 0, j) + long_one.Dv, poison);
      }
      INFO("poison " << poison);
      CHECK(difference(call.run(), expected.out, expected.lse) == "");
    }
  });
}

TEST_CASE("H04: a NaN or +inf score makes the whole row NaN, and no other row", "[attention][H04]") {
  const std::int64_t Lq = GENERATE(3, 30);
  const float poison = GENERATE_COPY(kNaN, kInfinity);
  for_each_row([&](const Table& row) {
    const ForcedRow forced(row);
    const ModelProblem clean = plain(Lq, 150, 3, 5);
    const Result expected = attend(clean);
    ModelProblem dirty = clean;
    dirty.q[1 * 3 + 1] = poison;  // query row 1: scores are NaN, or infinities of both signs
    const Result found = attend(dirty);
    for (std::int64_t i = 0; i < Lq; ++i) {
      INFO("query " << i);
      if (i == 1) {
        CHECK(all_nan(found.out, i * 5, 5));
        CHECK(all_nan(found.lse, i, 1));
      } else {
        CHECK(same_rows(found, expected, 5, i) == "");
      }
    }
  });
}

TEST_CASE("H04: a NaN in one key, at any place, is not lost", "[attention][H04]") {
  const std::int64_t Lq = GENERATE(1, 2, 4, 9, 13), Lkv = GENERATE(2 * 4 + 3, 2 * 8 + 3, 2 * 16 + 3, 530);
  for_each_row([&](const Table& row) {
    const ForcedRow forced(row);
    for (std::int64_t j = 0; j<Lkv; j += Lkv> 100 ? 23 : 1) {
      ModelProblem p = plain(Lq, Lkv, 2, 3);
      p.k[static_cast<std::size_t>(j * 2)] = kNaN;
      const Result found = attend(p);
      INFO("key " << j);
      CHECK(all_nan(found.out, 0, Lq * 3));
      CHECK(all_nan(found.lse, 0, Lq));
    }
  });
}

TEST_CASE("H04: logits [1, +inf, 2] give NaN, [-inf, 0] the second value", "[attention][H04]") {
  const std::int64_t Lq = GENERATE(1, 12);
  for_each_row([&](const Table& row) {
    const ForcedRow forced(row);
    const Result nan = attend(scored(Lq, {1.0f, kInfinity, 2.0f}, {1.0f, 2.0f, 3.0f}));
    CHECK(all_nan(nan.out, 0, Lq));
    CHECK(all_nan(nan.lse, 0, Lq));
    const Result seven = attend(scored(Lq, {-kInfinity, 0.0f}, {5.0f, 7.0f}));
    for (const float x : seven.out) CHECK(x == 7.0f);
    for (const float x : seven.lse) CHECK(bits_of(x) == 0u);
  });
}

// Weight 0 is still a weight: 0 * NaN and 0 * inf are NaN.
TEST_CASE("NaN and inf in a value stay in their column, at any weight", "[attention]") {
  const std::int64_t Lq = GENERATE(1, 3, 20);
  const float poison = GENERATE_COPY(kNaN, kInfinity, -kInfinity);
  const float score = GENERATE_COPY(0.0f, -50.0f, -200.0f, -kInfinity);
  const std::size_t key = GENERATE(0, 7, 130, 600);  // a score of -inf, or so low that its weight vanishes
  for_each_row([&](const Table& row) {
    const ForcedRow forced(row);
    ModelProblem p = scored(Lq, std::vector<float>(700, 0.0f), {});
    p.k[key] = score;
    p.Dv = 4;
    p.v.assign(700 * 4, 0.5f);
    const Result expected = attend(p);
    p.v[key * 4 + 2] = poison;
    const Result found = attend(p);
    for (std::int64_t i = 0; i < Lq; ++i) {
      for (std::int64_t d = 0; d < 4; ++d) {
        const auto n = static_cast<std::size_t>(i * 4 + d);
        INFO("poison " << poison << " under score " << score << " at key " << key << ", column " << d);
        if (d != 2) {
          CHECK(bits_of(found.out[n]) == bits_of(expected.out[n]));
        } else if (std::isnan(poison) || score < -100.0f) {
          CHECK(bits_of(found.out[n]) == 0x7FC00000u);
        } else {
          CHECK(found.out[n] == poison);
        }
      }
      const auto n = static_cast<std::size_t>(i);
      CHECK(bits_of(found.lse[n]) == bits_of(expected.lse[n]));
    }
  });
}

TEST_CASE("rows without keys, and rows whose scores are all -inf", "[attention]") {
  const std::int64_t Lq = GENERATE(1, 20), Lkv = GENERATE(1, 16, 128, 700);
  const bool has_sink = GENERATE(false, true);
  for_each_row([&](const Table& row) {
    const ForcedRow forced(row);
    ModelProblem no_keys = plain(Lq, Lkv, 4, 21);
    no_keys.causal = true;
    no_keys.alignment = Alignment::kOffsets;
    no_keys.offsets = {-Lq};
    ModelProblem all_minus_infinity = scored(Lq, std::vector<float>(static_cast<std::size_t>(Lkv), -kInfinity), {});
    all_minus_infinity.Dv = 21;
    all_minus_infinity.v.assign(static_cast<std::size_t>(Lkv * 21), -3.0f);
    for (ModelProblem* p : {&no_keys, &all_minus_infinity}) {
      if (has_sink) p->sinks = {0.75f};
      const Result found = attend(*p);
      CHECK(found.failure == "");
      for (const float x : found.out) CHECK(bits_of(x) == 0u);
      for (const float x : found.lse) CHECK(x == (has_sink ? 0.75f : -kInfinity));
    }
    // Attended keys of -inf are keys: a NaN in their values shows, without any key it does not.
    all_minus_infinity.v[3] = kNaN;
    no_keys.v[3] = kNaN;
    const Result with_keys = attend(all_minus_infinity), without = attend(no_keys);
    for (std::int64_t i = 0; i < Lq; ++i) {
      CHECK(bits_of(with_keys.out[static_cast<std::size_t>(i * 21 + 3)]) == 0x7FC00000u);
      CHECK(bits_of(without.out[static_cast<std::size_t>(i * 21 + 3)]) == 0u);
    }
  });
}

TEST_CASE("no output is -0", "[attention]") {
  const std::int64_t Lq = GENERATE(1, 20), Lkv = GENERATE(1, 3, 200, 600), Dv = GENERATE(1, 8, 19);
  const float value = GENERATE(-0.0f, -1e-45f, -1e-30f);
  for_each_row([&](const Table& row) {
    const ForcedRow forced(row);
    ModelProblem p = plain(Lq, Lkv, 2, Dv);
    for (std::size_t i = 0; i < p.k.size(); ++i) p.k[i] *= 90.0f;  // weights so small that products underflow
    p.v.assign(p.v.size(), value);
    const Result found = attend(p);
    for (const float x : found.out) CHECK(bits_of(x) != 0x80000000u);
    for (const float x : found.lse) CHECK(bits_of(x) != 0x80000000u);
  });
}

// The smallest negative float, divided by a sum of weights above 2.
TEST_CASE("a quotient that underflows is not -0", "[attention]") {
  const std::int64_t Lq = GENERATE(1, 20);
  for_each_row([&](const Table& row) {
    const ForcedRow forced(row);
    ModelProblem p = scored(Lq, std::vector<float>(10, -1.5f), std::vector<float>(10, 0.0f));
    p.k[0] = 0.0f;
    p.v[0] = -std::numeric_limits<float>::denorm_min();
    for (const float x : attend(p).out) CHECK(bits_of(x) == 0u);
  });
}

TEST_CASE("sinks that are NaN, infinite or huge, each for its own head", "[attention][sinks]") {
  const std::int64_t Lq = GENERATE(1, 11), Hkv = GENERATE(1, 2, 6);
  const std::vector<float> sinks = {kNaN, kInfinity, -kInfinity, 3e38f, -3e38f, 0.5f};
  for_each_row([&](const Table& row) {
    const ForcedRow forced(row);
    Spec spec;
    spec.Hq = 6;
    spec.Hkv = Hkv;
    spec.Lq = Lq;
    spec.Lkv = 540;
    spec.D = 4;
    spec.Dv = 9;
    ModelProblem p = problem_of(spec);
    const Result none = attend(p);
    p.sinks = sinks;
    const Result found = attend(p);
    for (std::int64_t i = 0; i < 6 * Lq; ++i) {
      const auto n = static_cast<std::size_t>(i);
      INFO("sink " << sinks[n / static_cast<std::size_t>(Lq)]);
      switch (i / Lq) {
        case 0:
        case 1:
          CHECK(all_nan(found.out, i * 9, 9));
          CHECK(all_nan(found.lse, i, 1));
          break;
        case 3:
          for (std::size_t d = 0; d < 9; ++d) CHECK(bits_of(found.out[n * 9 + d]) == 0u);
          CHECK(found.lse[n] == 3e38f);
          break;
        case 5:
          CHECK(same_rows(found, none, 9, i) != "");
          CHECK(found.lse[n] > none.lse[n]);
          break;
        default:  // nothing joins
          CHECK(same_rows(found, none, 9, i) == "");
      }
    }
  });
}

TEST_CASE("a sink that is NaN or +inf reaches rows without keys", "[attention][sinks]") {
  const float sink = GENERATE_COPY(kNaN, kInfinity);
  for_each_row([&](const Table& row) {
    const ForcedRow forced(row);
    ModelProblem p = plain(2, 0, 3, 5);
    p.sinks = {sink};
    const Result found = attend(p);
    CHECK(all_nan(found.out, 0, 10));
    CHECK(all_nan(found.lse, 0, 2));
  });
}

// Every row leaves the same key out, so that only the bias says which values may be multiplied.
TEST_CASE("NaN in a value that a bias of -inf excludes reaches no row", "[attention][bias]") {
  constexpr std::int64_t kKeys = 48, kExcluded = 21;
  for (const std::int64_t rows : {1, 3, 40}) {
    const std::vector<float> q(static_cast<std::size_t>(rows), 1.0f), k(kKeys, 0.0f);
    std::vector<float> v(kKeys, 2.0f), bias(kKeys, 0.0f), out(q.size());
    v[kExcluded] = std::numeric_limits<float>::quiet_NaN();
    bias[kExcluded] = -std::numeric_limits<float>::infinity();
    AttentionArgs a;
    a.B = a.Hq = a.Hkv = a.D = a.Dv = 1;
    a.Lq = rows;
    a.Lkv = kKeys;
    a.q.data = q.data();
    a.k.data = k.data();
    a.v.data = v.data();
    a.out.data = out.data();
    a.q.stride_token = a.k.stride_token = a.v.stride_token = a.out.stride_token = 1;
    a.bias.data = bias.data();  // the same for every row: stride 0
    for_each_row([&](const Table& row) {
      const ForcedRow forced(row);
      INFO(rows << " query rows");
      REQUIRE(std::string(attention(a).message()) == "");
      REQUIRE(out == std::vector<float>(out.size(), 2.0f));
    });
  }
}

}  // namespace
}  // namespace heed::test

// Written cases of exclusion and scores, in every form: H01, H02, H04, H07, H09, H10.
#include <catch2/catch_message.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <limits>

#include "attention_forms.hpp"
#include "support/each_row.hpp"

namespace heed::test {
namespace {

const double kNone = -static_cast<double>(kInfinity);
const float kNaN = std::numeric_limits<float>::quiet_NaN();

std::size_t size(std::int64_t n) { return static_cast<std::size_t>(n); }

// K = 0; the value of key j is `first` + j * `step`, or 1 in all.
ModelProblem means(std::int64_t Lq, std::int64_t Lkv, std::int64_t D, float first, float step) {
  ModelProblem p;
  p.Lq = Lq;
  p.Lkv = Lkv;
  p.D = D;
  p.q.assign(size(Lq * D), 1.0f);
  p.k.assign(size(Lkv * D), 0.0f);
  for (std::int64_t j = 0; j < Lkv; ++j) p.v.push_back(first + static_cast<float>(j) * step);
  return p;
}

TEST_CASE("H01: a fully masked row is zero", "[attention][H01]") {
  const auto look = [](const Result& found) {
    CHECK(bits_of(found.out[0]) == 0u);
    CHECK(found.lse[0] == -kInfinity);
    CHECK(found.out[1] == 5.0f);
    CHECK(bits_of(found.lse[1]) == 0u);
  };
  ModelProblem masked = means(2, 2, 8, 5.0f, 4.0f);
  masked.mask = {0, 0, 1, 0};
  check_every_form(masked, nullptr, look);
  ModelProblem biased = means(2, 2, 8, 5.0f, 4.0f);
  biased.bias = {-kInfinity, -kInfinity, 0.0f, -kInfinity};
  check_every_form(biased, nullptr, look);
  check_every_form(
      means(2, 2, 8, 5.0f, 4.0f),
      [](heed_attention_args& args) {
        args.alignment = HEED_TOP_LEFT;
        args.mask_callback = [](void*, std::int64_t, std::int64_t i, std::int64_t i_end, std::int64_t j,
                                std::int64_t j_end) -> heed_rectangle {
          if (i_end - i > 1 || j_end - j > 1) return HEED_SOME;
          return i == 1 && j == 0 ? HEED_ALL : HEED_NONE;
        };
      },
      look);
}

// The keys i - 10 < j <= i, by a bias of -inf elsewhere.
TEST_CASE("H02: leading keys may all be masked", "[attention][H02]") {
  for (const std::int64_t Lkv : {640, 129, 257, 513}) {
    for (const bool ones : {false, true}) {
      INFO("Lkv " << Lkv << (ones ? ", V = 1" : ", V = j"));
      ModelProblem p = means(640, Lkv, 4, ones ? 1.0f : 0.0f, ones ? 0.0f : 1.0f);
      p.k.assign(p.k.size(), 1.0f);
      for (std::int64_t n = 0; n < 640 * Lkv; ++n) {
        const std::int64_t i = n / Lkv, j = n % Lkv;
        p.bias.push_back(i - 10 < j && j <= i ? 0.0f : -kInfinity);
      }
      check_every_form(p, nullptr, [&](const Result& found) {
        for (std::int64_t i = 0; i < 640; ++i) {
          const std::int64_t first = std::max<std::int64_t>(i - 9, 0), last = std::min(i, Lkv - 1);
          const double right = first > last ? 0.0 : ones ? 1.0 : static_cast<double>(first + last) / 2.0;
          if (std::abs(static_cast<double>(found.out[size(i)]) - right) > 1e-5 * 640.0) {
            FAIL("row " << i << " is " << found.out[size(i)] << ", should be " << right);
          }
          REQUIRE((found.lse[size(i)] == -kInfinity) == (first > last));
        }
      });
    }
  }
}

TEST_CASE("H04: real NaNs and infinities are not hidden", "[attention][H04]") {
  const auto one_score = [](std::vector<float> scores, std::vector<float> values) {
    ModelProblem p = means(1, static_cast<std::int64_t>(scores.size()), 1, 0.0f, 0.0f);
    p.k = std::move(scores);
    p.v = std::move(values);
    return p;
  };
  const auto is_nan_row = [](const Result& found) {
    CHECK(bits_of(found.out[0]) == 0x7FC00000u);
    CHECK(bits_of(found.lse[0]) == 0x7FC00000u);
  };
  check_every_form(one_score({1.0f, kInfinity, 2.0f}, {1.0f, 2.0f, 3.0f}), nullptr, is_nan_row);
  check_every_form(one_score({1.0f, kNaN, 2.0f}, {1.0f, 2.0f, 3.0f}), nullptr, is_nan_row);
  check_every_form(one_score({-kInfinity, 0.0f}, {5.0f, 7.0f}), nullptr,
                   [](const Result& found) { CHECK(found.out[0] == 7.0f); });
  check_every_form(one_score({0.0f, -200.0f}, {5.0f, kNaN}), nullptr, [](const Result& found) {
    CHECK(bits_of(found.out[0]) == 0x7FC00000u);
    CHECK(bits_of(found.lse[0]) == 0u);
  });
  for (std::int64_t key = 0; key < 2 * 16 + 3; ++key) {
    ModelProblem keys = means(2, 2 * 16 + 3, 2, 0.0f, 1.0f);
    keys.k[size(2 * key + 1)] = kNaN;
    INFO("NaN in key " << key);
    check_every_form(keys, nullptr, [&](const Result& found) {
      for (const float x : found.out) CHECK(bits_of(x) == 0x7FC00000u);
      is_nan_row(found);
    });
  }
  ModelProblem queries = means(3, 5, 2, 0.0f, 1.0f);
  queries.q[2] = kNaN;
  check_every_form(queries, nullptr, [](const Result& found) {
    CHECK(found.out[0] == 2.0f);
    CHECK(bits_of(found.out[1]) == 0x7FC00000u);
    CHECK(found.out[2] == 2.0f);
  });
}

// Key 1 makes the row NaN, keys 0 and 3 are excluded.
TEST_CASE("H04: weights of excluded keys are +0 even in a NaN row", "[attention][H04]") {
  ModelProblem p = means(1, 5, 1, 1.0f, 1.0f);
  p.k[1] = kNaN;
  p.mask = {0, 1, 1, 0, 1};
  for_each_row([&](const Table& row) {
    const ForcedRow forced(row);
    for (const float key : {kNaN, kInfinity}) {
      p.k[1] = key;
      Call call(p, Layout::kHeadsFirst);
      std::vector<float> weights(5, -7.0f);
      call.args.inspect = {weights.data(), 5, 5, 5, HEED_F32};
      call.args.inspect_what = HEED_WEIGHTS;
      CHECK(bits_of(call.run().out[0]) == 0x7FC00000u);
      for (const std::size_t j : {0u, 3u}) CHECK(bits_of(weights[j]) == 0u);
      for (const std::size_t j : {1u, 2u, 4u}) CHECK(bits_of(weights[j]) == 0x7FC00000u);
    }
  });
}

ModelProblem windowed(std::int64_t Lq, std::int64_t Lkv, std::int64_t W) {
  ModelProblem p = means(Lq, Lkv, 2, 0.0f, 1.0f);
  p.causal = true;
  p.window_left = W - 1;
  p.window_right = 0;
  return p;
}

TEST_CASE("H07: a window of W tokens counts the query's own", "[attention][window][H07]") {
  const auto gives = [](const ModelProblem& p, const std::vector<float>& right) {
    check_every_form(p, nullptr, [&](const Result& found) { CHECK(difference("out", found.out, right) == ""); });
  };
  gives(windowed(1, 5, 3), {3.0f});
  gives(windowed(5, 5, 3), {0.0f, 0.5f, 1.0f, 2.0f, 3.0f});
  gives(windowed(2, 5, 3), {2.0f, 3.0f});
  gives(windowed(5, 5, 1), {0.0f, 1.0f, 2.0f, 3.0f, 4.0f});  // left = 0: its own position
  gives(windowed(2, 5, 1), {3.0f, 4.0f});
  for (const std::int64_t Lkv : {5, 140}) {
    ModelProblem without = windowed(5, Lkv, 0);
    without.window_left = without.window_right = -1;
    for (const std::int64_t W : {Lkv, Lkv + 1, std::int64_t{1} << 62, std::numeric_limits<std::int64_t>::max()}) {
      INFO("Lkv " << Lkv << ", W " << W);
      check_every_form(windowed(5, Lkv, W), nullptr, [&](const Result& found) {
        const Result expected = attend(without);  // on the same row
        CHECK(difference(found, expected.out, expected.lse) == "");
      });
    }
    for (const bool left : {true, false}) {
      Call call(without, Layout::kHeadsFirst);
      call.args.has_window = 1;
      (left ? call.args.window_left : call.args.window_right) = -2;
      heed_status status;
      CHECK(heed_attention(&call.args, &status) == HEED_INVALID_ARGUMENT);
      CHECK(std::string(status.message).find(left ? "window_left" : "window_right") == 0);
      CHECK(call.untouched());
    }
  }
}

// Queries at positions 4 and 9, both sides of which count: exp(-slope * distance) are the weights.
TEST_CASE("H09: ALiBi weighs by the distance to both sides", "[attention][alibi][H09]") {
  for (const double slope : {0.00390625, 0.5, -0.25}) {
    ModelProblem p = means(2, 12, 2, 0.0f, 1.0f);
    p.alignment = Alignment::kTopLeft;
    p.alibi_slopes = {static_cast<float>(slope)};
    p.key_offset = {-3};
    check_every_form(p, nullptr, [&](const Result& found) {
      for (int i = 0; i < 2; ++i) {
        double l = 0, sum = 0;
        for (int j = 0; j < 12; ++j) {
          const double weight = std::exp(-slope * std::abs(i - (j - 3)));
          l += weight;
          sum += weight * j;
        }
        CHECK(std::abs(static_cast<double>(found.out[size(i)]) - sum / l) <= 1e-5 * 11);
        CHECK(std::abs(static_cast<double>(found.lse[size(i)]) - std::log(l)) <= 1e-5);
      }
    });
  }
}

TEST_CASE("H10: the soft-cap comes before masking", "[attention][softcap][H10]") {
  const auto capped = [](std::vector<float> scores, std::vector<float> values) {
    ModelProblem p = means(1, static_cast<std::int64_t>(scores.size()), 1, 0.0f, 0.0f);
    p.k = std::move(scores);
    p.v = std::move(values);
    return p;
  };
  const auto cap_of = [](float cap) { return [cap](heed_attention_args& args) { args.softcap = cap; }; };
  ModelProblem masked = capped({0.0f, 50.0f}, {1.0f, 100.0f}), biased = masked;
  masked.mask = {1, 0};
  biased.bias = {0.0f, -kInfinity};
  for (const ModelProblem& p : {masked, biased}) {
    check_every_form(p, cap_of(1.0f), [](const Result& found) {
      CHECK(found.out[0] == 1.0f);
      CHECK(bits_of(found.lse[0]) == 0u);
    });
  }
  check_every_form(capped({1.0f, 3.0f, -3.0f}, {1.0f, 2.0f, 3.0f}), cap_of(2.0f), [](const Result& found) {
    CHECK(std::abs(static_cast<double>(found.out[0]) - 1.7321072) <= 3e-5);
    CHECK(std::abs(static_cast<double>(found.lse[0]) - 2.1742747) <= 1e-5);
  });
  // A bias is added to what the cap leaves: tanh(100) = 1, 1 + 2 = 3.
  ModelProblem high = capped({100.0f, 0.0f}, {1.0f, 2.0f});
  high.bias = {2.0f, 0.0f};
  check_every_form(high, cap_of(1.0f), [](const Result& found) {
    CHECK(std::abs(static_cast<double>(found.lse[0]) - std::log(std::exp(3.0) + 1.0)) <= 1e-5);
  });
}

TEST_CASE("H14: no sequences, heads or queries, in every form", "[attention][H14]") {
  ModelProblem p = means(3, 4, 2, 1.0f, 1.0f);
  p.causal = true;
  p.mask.assign(12, 1);
  p.bias.assign(12, 0.0f);
  void (*const zeros[])(heed_attention_args&) = {
      [](heed_attention_args& a) { a.B = 0; }, [](heed_attention_args& a) { a.Hq = a.Hkv = 0; },
      [](heed_attention_args& a) { a.Hq = 0; }, [](heed_attention_args& a) { a.Lq = 0; }};
  for (const auto& zero : zeros) {
    Call dense(p, Layout::kHeadsFirst);
    zero(dense.args);
    for (const Form& form : forms()) {
      INFO(describe(form));
      for_each_row([&](const Table& row) {
        const ForcedRow forced(row);
        const Result found = FormedCall(dense.args, form).run();
        CHECK(found.failure == "");
        CHECK(found.out.empty());
      });
    }
  }
}

TEST_CASE("H14: no keys, in every form", "[attention][H14]") {
  ModelProblem none = means(3, 4, 2, 1.0f, 1.0f), without_capacity = means(3, 0, 2, 1.0f, 1.0f);
  none.kv_lengths = {0};
  ModelProblem all_begin_later = means(3, 4, 2, 1.0f, 1.0f);
  all_begin_later.key_begin = {4};
  for (const ModelProblem& p : {none, without_capacity, all_begin_later}) {
    check_every_form(p, nullptr, [](const Result& found) {
      for (const float x : found.out) CHECK(bits_of(x) == 0u);
      for (const float x : found.lse) CHECK(static_cast<double>(x) == kNone);
    });
  }
}

}  // namespace
}  // namespace heed::test

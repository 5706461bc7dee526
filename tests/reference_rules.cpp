// The rules of the contract, one by one, on inputs whose right values are known.
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <limits>
#include <vector>

#include "reference_problem.hpp"

using namespace heed::tests;

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

// One head, D = Dv = 1, scale 1, q = 1: the keys are the scores.
ReferenceProblem with_scores(const std::vector<float>& scores, const std::vector<float>& values, std::int64_t Lq = 1) {
  ReferenceProblem p(1, 1, 1, Lq, static_cast<std::int64_t>(scores.size()), 1, 1);
  p.q.assign(p.q.size(), 1.0f);
  p.k.assign(scores.begin(), scores.end());
  p.v.assign(values.begin(), values.end());
  p.args.q.data = p.q.data(), p.args.k.data = p.k.data(), p.args.v.data = p.v.data();
  p.args.has_scale = 1;
  p.args.scale = 1;
  return p;
}

// Keys that all score 0, values 1, 2, 3, …
ReferenceProblem counting(std::int64_t Lq, std::int64_t Lkv, float first = 1) {
  std::vector<float> values;
  for (std::int64_t j = 0; j < Lkv; ++j) values.push_back(first + static_cast<float>(j));
  return with_scores(std::vector<float>(static_cast<std::size_t>(Lkv), 0.0f), values, Lq);
}

bool near(double got, double expected) { return std::fabs(got - expected) <= 1e-7 * std::fmax(1, std::fabs(expected)); }

bool near(const std::vector<double>& got, const std::vector<double>& expected) {
  bool all = got.size() == expected.size();
  for (std::size_t i = 0; all && i < got.size(); ++i) all = got[i] == expected[i] || near(got[i], expected[i]);
  return all;
}

bool positive_zero(double x) { return x == 0 && !std::signbit(x); }

}  // namespace

TEST_CASE("reference: causal with different lengths") {
  const auto causal = [](std::int64_t Lq, std::int64_t Lkv, heed_alignment alignment) {
    ReferenceProblem p = counting(Lq, Lkv);
    p.args.causal = 1;
    p.args.alignment = alignment;
    return reference_of(p.args);
  };
  CHECK(near(causal(1, 5, HEED_BOTTOM_RIGHT).out, {3}));
  CHECK(near(causal(2, 5, HEED_BOTTOM_RIGHT).out, {2.5, 3}));
  CHECK(near(causal(2, 5, HEED_BOTTOM_RIGHT).lse, {std::log(4), std::log(5)}));
  CHECK(near(causal(5, 2, HEED_BOTTOM_RIGHT).out, {0, 0, 0, 1, 1.5}));
  CHECK(near(causal(5, 2, HEED_BOTTOM_RIGHT).lse, {-kInf, -kInf, -kInf, 0, std::log(2)}));
  CHECK(near(causal(2, 5, HEED_TOP_LEFT).out, {1, 1.5}));
}

TEST_CASE("reference: sliding window") {
  const auto window = [](std::int64_t Lq, std::int64_t Lkv, std::int64_t left, std::int64_t right) {
    ReferenceProblem p = counting(Lq, Lkv, 0);
    p.args.has_window = 1;
    p.args.window_left = left;
    p.args.window_right = right;
    return reference_of(p.args).out;
  };
  CHECK(near(window(1, 5, 2, 0), {3}));
  CHECK(near(window(5, 5, 2, 0), {0, 0.5, 1, 2, 3}));
  CHECK(near(window(2, 5, 2, 0), {2, 3}));
  CHECK(near(window(2, 5, 0, 0), {3, 4}));
  CHECK(near(window(2, 5, -1, 0), {1.5, 2}));
  CHECK(near(window(2, 5, std::numeric_limits<std::int64_t>::max(), std::numeric_limits<std::int64_t>::max()), {2, 2}));
}

TEST_CASE("reference: grouped heads") {
  ReferenceProblem p(1, 6, 3, 1, 1, 1, 1);
  for (std::size_t g = 0; g < 3; ++g) p.v[g] = static_cast<float>(g + 1);
  CHECK(near(reference_of(p.args).out, {1, 1, 2, 2, 3, 3}));
}

TEST_CASE("reference: soft cap, ALiBi, bias and callback, in this order") {
  ReferenceProblem p = with_scores({1, 3, -3}, {1, 2, 3});
  p.args.softcap = 2;
  CHECK(near(reference_of(p.args).out, {1.7321072}));
  CHECK(near(reference_of(p.args).lse, {2.1742747}));

  const std::vector<float> slope = {0.5f}, bias = {10, 20, 30};
  p.args.alibi_slopes = slope.data();
  p.args.bias = {bias.data(), 0, 0, 0, HEED_F32};
  p.args.score_callback = [](void*, std::int64_t, std::int64_t position, std::int64_t key, float score) {
    return position == 2 && key == 1 ? 7.0f : score;
  };
  const double capped[] = {2 * std::tanh(0.5), 2 * std::tanh(1.5), -2 * std::tanh(1.5)};
  CHECK(near(reference_of(p.args, HEED_SCORES_SCALED).view, {1, 3, -3}));
  CHECK(near(reference_of(p.args, HEED_SCORES_CAPPED).view, {capped[0], capped[1], capped[2]}));
  const std::vector<double> biased = {capped[0] - 1 + 10, capped[1] - 0.5 + 20, capped[2] + 30};
  CHECK(near(reference_of(p.args, HEED_SCORES_BIASED).view, biased));
  const double l = std::exp(biased[0]) + std::exp(7.0) + std::exp(biased[2]);
  CHECK(near(reference_of(p.args).lse, {std::log(l)}));
}

TEST_CASE("reference: ALiBi counts the distance to both sides") {
  ReferenceProblem p = with_scores({0, 0, 0}, {1, 2, 3});
  const float slope = 0.5f;
  const std::int64_t position = 1;
  p.args.alibi_slopes = &slope;
  p.args.alignment = HEED_OFFSETS;
  p.args.offsets = &position;
  CHECK(reference_of(p.args, HEED_SCORES_BIASED).view == std::vector<double>{-0.5, 0, -0.5});
}

TEST_CASE("reference: keys past the length do not exist") {
  ReferenceProblem p = with_scores({1, 2, kNaN}, {1, 2, kNaN});
  const std::int64_t length = 2;
  p.args.kv_lengths = {&length, HEED_INT64};
  CHECK(reference_of(p.args, HEED_SCORES_SCALED).view == std::vector<double>{1, 2, -kInf});
  CHECK(reference_of(p.args).out == reference_of(with_scores({1, 2}, {1, 2}).args).out);
}

TEST_CASE("reference: sinks") {
  float sink = 0;
  const auto with_sink = [&sink](const std::vector<float>& scores, const std::vector<float>& values, float value) {
    ReferenceProblem p = with_scores(scores, values);
    sink = value;
    p.args.sinks = &sink;
    return reference_of(p.args);
  };
  CHECK(near(with_sink({0, 0}, {3, 6}, 0).out, {3}));
  CHECK(near(with_sink({0, 0}, {3, 6}, 0).lse, {std::log(3)}));
  CHECK(near(with_sink({1, 2}, {10, 20}, 3).out, {5.7948752}));
  CHECK(near(with_sink({1, 2}, {10, 20}, 3).lse, {3.4076060}));
  CHECK(near(with_sink({0, 0}, {1, 1}, 100).lse, {100}));
  CHECK(with_sink({1, 2}, {10, 20}, -kInfinity) == reference_of(with_scores({1, 2}, {10, 20}).args));
  CHECK(with_sink({}, {}, 1.5f).lse[0] == 1.5);
  CHECK(positive_zero(with_sink({}, {}, 1.5f).out[0]));
  for (const float poison : {kNaN, kInfinity}) {
    CHECK(std::isnan(with_sink({}, {}, poison).lse[0]));
    CHECK(std::isnan(with_sink({0}, {1}, poison).out[0]));
  }
}

TEST_CASE("reference: rows without a key") {
  for (const std::vector<float>& scores : {std::vector<float>{}, {-kInfinity, -kInfinity}}) {
    const ReferenceResult r = reference_of(with_scores(scores, std::vector<float>(scores.size(), -1.0f)).args);
    CHECK(positive_zero(r.out[0]));
    CHECK(r.lse[0] == -kInf);
  }
  CHECK(std::isnan(reference_of(with_scores({-kInfinity, 0}, {kNaN, 1}).args).out[0]));  // NaN at any weight
  CHECK(std::isnan(reference_of(with_scores({-kInfinity}, {kInfinity}).args).out[0]));   // 0 * inf
}

TEST_CASE("reference: NaN and infinities") {
  for (const float poison : {kNaN, kInfinity}) {
    const ReferenceResult r = reference_of(with_scores({1, poison, 2}, {1, 2, 3}).args, HEED_WEIGHTS);
    CHECK(std::isnan(r.out[0]));
    CHECK(std::isnan(r.lse[0]));
    for (const double weight : r.view) CHECK(std::isnan(weight));
  }
  CHECK(reference_of(with_scores({-kInfinity, 0}, {5, 7}).args).out[0] == 7);
  CHECK(reference_of(with_scores({0, 1}, {1, kInfinity}).args).out[0] == kInf);

  // Weights of excluded keys are 0 in a NaN row too; an excluded NaN does nothing.
  ReferenceProblem p = with_scores({1, kNaN, 2}, {1, kNaN, 3});
  std::vector<unsigned char> mask = {0, 1, 1};
  p.args.mask_kind = HEED_BYTE_MASK;
  p.args.mask = mask.data();
  CHECK(positive_zero(reference_of(p.args, HEED_WEIGHTS).view[0]));
  CHECK(std::isnan(reference_of(p.args, HEED_WEIGHTS).view[2]));
  mask = {1, 0, 1};
  const ReferenceResult without = reference_of(with_scores({1, 2}, {1, 3}).args);
  CHECK(reference_of(p.args).out == without.out);
  CHECK(reference_of(p.args).lse == without.lse);
  CHECK(reference_of(p.args, HEED_SCORES_BIASED).view[1] == -kInf);
}

TEST_CASE("reference: outputs never hold -0") {
  ReferenceProblem p = with_scores({0, 0}, {-0.0f, -0.0f});
  CHECK(positive_zero(reference_of(p.args).out[0]));
  std::vector<float> scores(9, 0.0f), values(9, 0.0f);
  scores[8] = -640;
  values[8] = -std::numeric_limits<float>::denorm_min();  // the weighted sum is a few units below 0, its eighth is none
  CHECK(positive_zero(reference_of(with_scores(scores, values).args).out[0]));
  const float weights[] = {1}, v[] = {-0.0f}, accumulator[] = {-0.0f};
  double out = 1;
  heed::reference::weighted_sum(weights, v, 1, 1, accumulator, &out);
  CHECK(positive_zero(out));
  CHECK(positive_zero(heed::reference::dot(v, weights, 0)));
}

TEST_CASE("reference: softmax alone") {
  double w[3];
  const float infinite[] = {1, kInfinity, 2}, nan[] = {1, kNaN, kInfinity},
              empty[] = {-kInfinity, -kInfinity, -kInfinity};
  CHECK(heed::reference::softmax(infinite, w, 3) == kInf);
  CHECK((std::isnan(w[0]) && std::isnan(w[1])));
  CHECK(std::isnan(heed::reference::softmax(nan, w, 3)));
  CHECK(std::isnan(w[0]));
  CHECK(heed::reference::softmax(empty, w, 3) == -kInf);
  CHECK((positive_zero(w[0]) && positive_zero(w[2])));
  double x[] = {1, 0, 0};
  CHECK(near(heed::reference::softmax(x, x, 3), 1.5514447139320511));
  CHECK(near(x[0], 0.57611688476582912));
  double out[1];
  const float ones[] = {1, 1, 1};
  CHECK(std::isnan(heed::reference::attend(infinite, ones, 3, 1, out)));
}

TEST_CASE("reference: scale 0 and below") {
  ReferenceProblem p = with_scores({1, 2, 3}, {3, 6, 9});
  p.args.scale = 0;
  CHECK(near(reference_of(p.args).out, {6}));
  p.args.scale = -1;
  CHECK(reference_of(p.args, HEED_SCORES_SCALED).view == std::vector<double>{-1, -2, -3});
}

TEST_CASE("reference: views of what is not attended, and of a row whose scores are all -inf") {
  ReferenceProblem p = with_scores({1, 2}, {3, 5});
  const std::vector<unsigned char> mask = {1, 0};
  p.args.mask_kind = HEED_BYTE_MASK;
  p.args.mask = mask.data();
  p.args.softcap = 1;
  CHECK(reference_of(p.args, HEED_SCORES_SCALED).view == std::vector<double>{1, 2});
  CHECK(near(reference_of(p.args, HEED_SCORES_CAPPED).view, {std::tanh(1.0), std::tanh(2.0)}));
  CHECK(reference_of(p.args, HEED_SCORES_BIASED).view[1] == -kInf);
  CHECK(reference_of(p.args, HEED_WEIGHTS).view == std::vector<double>{1, 0});

  const ReferenceResult r = reference_of(with_scores({-kInfinity, -kInfinity}, {3, 5}).args, HEED_WEIGHTS);
  CHECK(r.lse[0] == -kInf);
  CHECK((positive_zero(r.view[0]) && positive_zero(r.view[1])));
}

TEST_CASE("reference: the steps of a row, and the row at once") {
  ReferenceProblem p(1, 1, 1, 2, 5, 3, 4);
  double s[2 * 5], weights[5], out[4], steps[4];
  heed::reference::scores(p.q.data(), p.k.data(), 2, 5, 3, 1 / std::sqrt(3.0), s);
  std::vector<double> result(2 * 4);
  heed::reference::attention(p.args, result.data(), nullptr);
  const ReferenceResult expected = reference_of(p.args);
  CHECK(result == expected.out);
  for (int r = 0; r < 2; ++r) {
    CHECK(near(heed::reference::attend(s + r * 5, p.v.data(), 5, 4, out), expected.lse[r]));
    CHECK(near(heed::reference::softmax(s + r * 5, weights, 5), expected.lse[r]));
    heed::reference::weighted_sum(weights, p.v.data(), 5, 4, nullptr, steps);
    for (int d = 0; d < 4; ++d) {
      CHECK(near(out[d], expected.out[r * 4 + d]));
      CHECK(near(steps[d], expected.out[r * 4 + d]));
    }
  }
}

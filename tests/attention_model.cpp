// The judge on trial: the model against the cases that are written down. Random problems hold it against the formula in
// double precision (attention_options.cpp).
#include "model.hpp"

#include <catch2/catch_message.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <cmath>

namespace heed::test {
namespace {

// K = 0, V row j filled with j: a row's result is the mean of the keys that it attends.
ModelProblem means(std::int64_t Lq, std::int64_t Lkv) {
  ModelProblem p;
  p.Lq = Lq;
  p.Lkv = Lkv;
  p.q.assign(static_cast<std::size_t>(Lq), 1.0f);
  p.k.assign(static_cast<std::size_t>(Lkv), 0.0f);
  for (std::int64_t j = 0; j < Lkv; ++j) p.v.push_back(static_cast<float>(j));
  return p;
}

TEST_CASE("H01 in the model: a fully masked row is zero", "[attention][model][H01]") {
  ModelProblem p = means(2, 2);
  p.v = {5.0f, 9.0f};
  const bool additive = GENERATE(false, true);
  if (additive) {
    p.bias = {-kInfinity, -kInfinity, 0.0f, -kInfinity};
  } else {
    p.mask = {0, 0, 1, 0};
  }
  const ModelResult r = model(p);
  CHECK(bits_of(r.out[0]) == 0u);
  CHECK(r.lse[0] == -kInfinity);
  CHECK(r.out[1] == 5.0f);
  CHECK(bits_of(r.lse[1]) == 0u);
}

TEST_CASE("H02 in the model: leading keys may all be masked", "[attention][model][H02]") {
  const std::int64_t L = GENERATE(640, 129, 257, 513);
  ModelProblem p = means(L, L);
  for (std::int64_t i = 0; i < L; ++i) {
    for (std::int64_t j = 0; j < L; ++j) p.bias.push_back(i - 10 < j && j <= i ? 0.0f : -kInfinity);
  }
  ModelProblem ones = p;
  ones.v.assign(ones.v.size(), 1.0f);
  const ModelResult r = model(p), r1 = model(ones);
  for (std::int64_t i = 0; i < L; ++i) {
    const double right = i < 9 ? static_cast<double>(i) / 2.0 : static_cast<double>(i) - 4.5;
    CHECK(std::fabs(static_cast<double>(r.out[static_cast<std::size_t>(i)]) - right) <= 1e-5 * static_cast<double>(L));
    CHECK(r1.out[static_cast<std::size_t>(i)] == 1.0f);
  }
}

TEST_CASE("H07 in the model: a window of W tokens is left = W - 1", "[attention][model][H07]") {
  struct Line {
    std::int64_t Lq, Lkv;
    std::vector<float> right;
  };
  const Line line = GENERATE(Line{1, 5, {3}}, Line{5, 5, {0, 0.5f, 1, 2, 3}}, Line{2, 5, {2, 3}});
  ModelProblem p = means(line.Lq, line.Lkv);
  p.window_left = 2;
  p.window_right = 0;
  CHECK(model(p).out == line.right);
  p.window_left = 0;
  for (std::int64_t i = 0; i < line.Lq; ++i) {
    CHECK(model(p).out[static_cast<std::size_t>(i)] == static_cast<float>(i + line.Lkv - line.Lq));
  }
}

}  // namespace
}  // namespace heed::test

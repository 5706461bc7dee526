// Written cases with their right values, on every row, for decode and prefill.
#include <catch2/catch_message.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <cmath>
#include <thread>

#include "attention_call.hpp"
#include "attention_forms.hpp"
#include "attention_random.hpp"
#include "executors.hpp"
#include "support/each_row.hpp"

namespace heed::test {
namespace {

// 1e-5 max(1, largest value).
void check_near(const std::vector<float>& found, const std::vector<double>& expected, double largest = 1.0) {
  REQUIRE(found.size() == expected.size());
  for (std::size_t n = 0; n < found.size(); ++n) {
    INFO("element " << n << ": " << found[n] << ", should be " << expected[n]);
    CHECK((static_cast<double>(found[n]) == expected[n] ||
           std::fabs(static_cast<double>(found[n]) - expected[n]) <= 1e-5 * std::fmax(1.0, largest)));
  }
}

// K = 0, V = 1, 2, 3, ...
ModelProblem means(std::int64_t Lq, std::int64_t Lkv) {
  ModelProblem p;
  p.Lq = Lq;
  p.Lkv = Lkv;
  p.causal = true;
  p.q.assign(static_cast<std::size_t>(Lq), 1.0f);
  p.k.assign(static_cast<std::size_t>(Lkv), 0.0f);
  for (std::int64_t j = 0; j < Lkv; ++j) p.v.push_back(static_cast<float>(j + 1));
  return p;
}

TEST_CASE("H06: causal with different lengths", "[attention][H06]") {
  const double none = -static_cast<double>(kInfinity);
  check_every_form(means(1, 5), nullptr, [](const Result& one) { check_near(one.out, {3.0}, 5.0); });
  check_every_form(means(2, 5), nullptr, [](const Result& two) {
    check_near(two.out, {2.5, 3.0}, 5.0);
    check_near(two.lse, {1.3862944, 1.6094379});
  });
  check_every_form(means(5, 2), nullptr, [none](const Result& five) {
    check_near(five.out, {0, 0, 0, 1, 1.5}, 2.0);
    check_near(five.lse, {none, none, none, 0.0, 0.6931472});
    for (int n = 0; n < 3; ++n) CHECK(bits_of(five.out[static_cast<std::size_t>(n)]) == 0u);
  });
  check_every_form(means(17, 33), nullptr, [](const Result& found) {
    std::vector<double> right;
    for (int i = 0; i < 17; ++i) right.push_back((i + 16) / 2.0 + 1.0);
    check_near(found.out, right, 33.0);
  });
}

TEST_CASE("H06: the three alignments", "[attention][H06]") {
  ModelProblem p = means(2, 5);
  p.alignment = Alignment::kTopLeft;
  check_every_form(p, nullptr, [](const Result& found) { check_near(found.out, {1.0, 1.5}, 5.0); });
  p.alignment = Alignment::kOffsets;
  for (const std::int64_t offset :
       {std::int64_t{2}, std::int64_t{-1}, std::int64_t{100}, -(std::int64_t{1} << 61), (std::int64_t{1} << 61) - 1}) {
    p.offsets = {offset};
    std::vector<double> right;
    for (int i = 0; i < 2; ++i) {
      const std::int64_t keys = std::min<std::int64_t>(5, std::max<std::int64_t>(0, i + offset + 1));
      right.push_back(keys == 0 ? 0.0 : static_cast<double>(keys + 1) / 2.0);
    }
    INFO("offset " << offset);
    check_every_form(p, nullptr, [&](const Result& found) { check_near(found.out, right, 5.0); });
  }
}

TEST_CASE("H08: grouped heads", "[attention][H08]") {
  struct Heads {
    std::int64_t Hq, Hkv;
  };
  const Heads heads = GENERATE(Heads{4, 2}, Heads{6, 3}, Heads{28, 4}, Heads{12, 12}, Heads{8, 1});
  const std::int64_t Hq = heads.Hq, Hkv = heads.Hkv, Lq = GENERATE(1, 5);
  ModelProblem p;
  p.Hq = Hq;
  p.Hkv = Hkv;
  p.Lq = Lq;
  p.q.assign(static_cast<std::size_t>(Hq * Lq), 1.0f);
  p.k.assign(static_cast<std::size_t>(Hkv), 0.0f);
  for (std::int64_t g = 0; g < Hkv; ++g) p.v.push_back(static_cast<float>(g + 1));
  check_every_form(p, nullptr, [&](const Result& found) {
    for (std::int64_t h = 0; h < Hq * Lq; ++h) {
      CHECK(found.out[static_cast<std::size_t>(h)] == static_cast<float>(h / Lq / (Hq / Hkv) + 1));
    }
  });
}

TEST_CASE("H11: a sink joins the denominator only", "[attention][H11]") {
  const std::int64_t Lq = GENERATE(1, 10);
  const auto repeat = [Lq](double x) { return std::vector<double>(static_cast<std::size_t>(Lq), x); };
  const auto scored = [Lq](std::vector<float> scores, std::vector<float> values, float sink) {
    ModelProblem p;
    p.Lq = Lq;
    p.Lkv = 2;
    p.q.assign(static_cast<std::size_t>(Lq), 1.0f);
    p.k = std::move(scores);
    p.v = std::move(values);
    p.sinks = {sink};
    return p;
  };
  check_every_form(scored({0, 0}, {3, 6}, 0), nullptr, [&](const Result& zero) {
    check_near(zero.out, repeat(3.0), 6.0);
    check_near(zero.lse, repeat(1.0986123));
  });
  check_every_form(scored({1, 2}, {10, 20}, 3), nullptr, [&](const Result& three) {
    check_near(three.out, repeat(5.7948752), 20.0);
    check_near(three.lse, repeat(3.4076060));
  });
  check_every_form(scored({0, 0}, {1, 1}, 100), nullptr, [](const Result& hundred) {
    for (const float x : hundred.out) CHECK((x >= 0.0f && x < 1e-43f));
    for (const float x : hundred.lse) CHECK(x == 100.0f);
  });
  check_every_form(scored({1, 2}, {10, 20}, -kInfinity), nullptr, [&](const Result& off) {
    ModelProblem p = scored({1, 2}, {10, 20}, 0);
    p.sinks.clear();
    const Result without = attend(p);  // on the same row
    CHECK(difference(off, without.out, without.lse) == "");
  });
}

TEST_CASE("H14: zero lengths, with null pointers", "[attention][H14]") {
  for_each_row([&](const Table& row) {
    const ForcedRow forced(row);
    Spec spec;
    spec.B = 2;
    spec.Hq = 4;
    spec.Hkv = 2;
    spec.Lq = 3;
    spec.Lkv = 5;
    spec.D = 4;
    spec.Dv = 6;
    const ModelProblem p = problem_of(spec);
    heed_status status;
    struct Zero {
      const char* name;
      void (*make)(heed_attention_args&);
    };
    const Zero zeros[] = {{"B", [](heed_attention_args& a) { a.B = 0; }},
                          {"Hq and Hkv", [](heed_attention_args& a) { a.Hq = a.Hkv = 0; }},
                          {"Hq", [](heed_attention_args& a) { a.Hq = 0; }},
                          {"Lq", [](heed_attention_args& a) { a.Lq = 0; }}};
    for (const Zero& zero : zeros) {
      INFO(zero.name << " = 0");
      Call call(p, Layout::kHeadsFirst);
      zero.make(call.args);
      call.args.q.data = call.args.out.data = nullptr;
      call.args.lse = nullptr;
      if (call.args.B == 0 || call.args.Hkv == 0) call.args.k.data = call.args.v.data = nullptr;
      CHECK(heed_attention(&call.args, &status) == HEED_OK);
      Call with_outputs(p, Layout::kHeadsFirst);
      zero.make(with_outputs.args);
      CHECK(heed_attention(&with_outputs.args, &status) == HEED_OK);
      CHECK(with_outputs.untouched());
    }

    for (const bool causal : {false, true}) {
      Call no_keys(p, Layout::kHeadsFirst);
      no_keys.args.Lkv = 0;
      no_keys.args.k.data = no_keys.args.v.data = nullptr;
      no_keys.args.causal = causal ? 1 : 0;
      const Result found = no_keys.run();
      CHECK(found.failure == "");
      for (const float x : found.out) CHECK(bits_of(x) == 0u);
      for (const float x : found.lse) CHECK(x == -kInfinity);
    }
    CHECK(bits_of(heed_dot(nullptr, nullptr, 0)) == 0u);
    CHECK(heed_softmax(nullptr, nullptr, 0) == -kInfinity);
  });
}

// Random ones: I4.
TEST_CASE("H17: the output may lie over the queries", "[attention][H17]") {
  for_each_row([&](const Table& row) {
    const ForcedRow forced(row);
    float q[2] = {1.0f, 0.0f};
    const float k[4] = {1, 0, 0, 1}, v[4] = {10, 0, 0, 20};
    heed_attention_args args{};
    args.struct_size = sizeof args;
    args.B = args.Hq = args.Hkv = args.Lq = 1;
    args.Lkv = args.D = args.Dv = 2;
    args.scale = 1.0f;
    args.has_scale = 1;
    args.q = {q, 0, 0, 2, HEED_F32};
    args.k = {k, 0, 0, 2, HEED_F32};
    args.v = {v, 0, 0, 2, HEED_F32};
    args.out = {q, 0, 0, 2, HEED_F32};
    REQUIRE(heed_attention(&args, nullptr) == HEED_OK);
    check_near({q[0], q[1]}, {7.3105858, 5.3788284}, 20.0);
  });
}

// x_n = ((n * 2654435761 mod 2^32) / 2^31) - 1 fills q, then K, then V.
ModelProblem counted(std::int64_t Hq, std::int64_t Lq) {
  ModelProblem p;
  p.Hq = Hq;
  p.Lq = Lq;
  p.Lkv = 4097;
  p.D = p.Dv = 64;
  p.scale = 0.125f;
  std::uint32_t n = 0;
  const auto fill = [&n](std::vector<float>& x, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i, ++n) {
      x.push_back(static_cast<float>(static_cast<double>(n * 2654435761u) * 0x1p-31 - 1.0));
    }
  };
  fill(p.q, Hq * Lq * 64);
  fill(p.k, 4097 * 64);
  fill(p.v, 4097 * 64);
  return p;
}

// The rows that a processor chooses by itself do all of it; those that are slow on purpose a part.
TEST_CASE("H20: the thread count does not change bits", "[attention][H20]") {
  for_each_row([&](const Table& row) {
    const ForcedRow forced(row);
    const bool fast = row.automatic && std::strcmp(row.name, "scalar") != 0;
    for (const ModelProblem& problem : {counted(1, 1), counted(5, fast ? 33 : 5)}) {
      const Result once = attend(problem);
      for (std::int32_t threads : {1, 2, 3, 5, 7, 8, 16, 64}) {
        for (int n = 0; n < (fast ? 20 : 1); ++n) {
          Call call(problem, Layout::kHeadsFirst);
          call.args.executor = {on_threads, &threads, threads};
          INFO(threads << " threads, run " << n);
          REQUIRE(difference(call.run(), once.out, once.lse) == "");
        }
      }
    }
  });
}

TEST_CASE("H20: two callers at once get the same bits", "[attention][H20]") {
  for_each_row([&](const Table& row) {
    const ForcedRow forced(row);
    const ModelProblem one = counted(1, 1), other = counted(5, 3);
    const Result expected_one = attend(one), expected_other = attend(other);
    for (int n = 0; n < 5; ++n) {
      std::int32_t threads = 3;
      Call first(one, Layout::kHeadsFirst), second(other, Layout::kHeadsFirst);
      first.args.executor = second.args.executor = {on_threads, &threads, threads};
      Result found;
      std::thread caller([&] { found = first.run(); });
      const Result here = second.run();
      caller.join();
      CHECK(difference(found, expected_one.out, expected_one.lse) == "");
      CHECK(difference(here, expected_other.out, expected_other.lse) == "");
    }
  });
}

}  // namespace
}  // namespace heed::test

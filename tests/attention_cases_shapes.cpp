// Written cases of shapes, memory and threads, in every form: H12, H16, H17, H20.
#include <catch2/catch_message.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <cstring>
#include <thread>

#include "attention_coded.hpp"
#include "attention_forms.hpp"
#include "executors.hpp"
#include "support/each_row.hpp"
#include "support/storage.hpp"

namespace heed::test {
namespace {

TEST_CASE("H12: any head size", "[attention][H12]") {
  for (const std::int64_t D :
       {1, 2, 3, 5, 7, 8, 12, 13, 17, 24, 31, 33, 40, 63, 65, 72, 80, 96, 100, 112, 120, 129, 192, 257}) {
    INFO("D " << D);
    ModelProblem p;
    p.Lkv = p.Dv = 3;
    p.D = D;
    p.q.assign(static_cast<std::size_t>(D), 0.0f);
    p.q.back() = 1.0f;
    p.v = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    for (int j = 0; j < 3; ++j) {
      p.k.resize(p.k.size() + static_cast<std::size_t>(D), 5.0f);
      p.k.back() = static_cast<float>(std::log(j + 1));
    }
    check_every_form(p, nullptr, [](const Result& found) {
      for (int j = 0; j < 3; ++j) {
        CHECK(std::abs(static_cast<double>(found.out[static_cast<std::size_t>(j)]) - (j + 1) / 6.0) <= 1e-5);
      }
    });
    // Dv of any size beside it: the value's columns are their own numbers.
    ModelProblem wide = p;
    wide.Dv = 258 - D;
    wide.k.assign(wide.k.size(), 0.0f);
    wide.v.clear();
    for (std::int64_t n = 0; n < 3 * wide.Dv; ++n) wide.v.push_back(static_cast<float>(n % wide.Dv % 64));
    check_every_form(wide, nullptr, [](const Result& found) {
      for (std::size_t d = 0; d < found.out.size(); ++d) CHECK(found.out[d] == static_cast<float>(d % 64));
    });
  }
}

// q, k and v of a token side by side, in each type that all three may have.
TEST_CASE("H16: fused rows, and one cache for all sequences", "[attention][H16]") {
  constexpr std::int64_t H = 3, L = 21, D = 10, B = 2, row = 3 * H * D + 1;
  for (const heed_type type : {HEED_F32, HEED_F16, HEED_BF16}) {
    Random random(16);
    std::vector<unsigned char> fused(static_cast<std::size_t>(B * L * row) * bytes_of(type));
    const auto address = [&](std::int64_t which, std::int64_t b, std::int64_t h, std::int64_t t) {
      return fused.data() + static_cast<std::size_t>((b * L + t) * row + (which * H + h) * D) * bytes_of(type);
    };
    ModelProblem p;
    p.B = B;
    p.Hq = p.Hkv = H;
    p.Lq = p.Lkv = L;
    p.D = p.Dv = D;
    p.scale = 0.25f;
    p.causal = true;
    std::vector<float>* tensors[] = {&p.q, &p.k, &p.v};
    for (std::int64_t which = 0; which < 3; ++which) {
      *tensors[which] = codes(random, B * H * L * D);
      for (std::int64_t n = 0; n < B * H * L * D; ++n) {
        const float x = (*tensors[which])[static_cast<std::size_t>(n)];
        put(type,
            address(which, n / D / L / H, n / D / L % H, n / D % L) + static_cast<std::size_t>(n % D) * bytes_of(type),
            encoded(type, x));
      }
    }
    for_each_row([&](const Table& row_of_kernels) {
      const ForcedRow forced(row_of_kernels);
      INFO(name_of(type));
      const Result expected = attend(p);
      Call call(p, Layout::kHeadsFirst);
      heed_tensor* views[] = {&call.args.q, &call.args.k, &call.args.v};
      for (std::int64_t which = 0; which < 3; ++which) *views[which] = {address(which, 0, 0, 0), L * row, D, row, type};
      REQUIRE(difference(call.run(), expected.out, expected.lse) == "");
      // The first sequence's keys for both.
      ModelProblem shared = p;
      const auto half = static_cast<std::int64_t>(p.k.size() / 2);
      std::copy(p.k.begin(), p.k.begin() + half, shared.k.begin() + half);
      std::copy(p.v.begin(), p.v.begin() + half, shared.v.begin() + half);
      const Result of_shared = attend(shared);
      Call broadcast(p, Layout::kHeadsFirst);
      views[0] = &broadcast.args.q, views[1] = &broadcast.args.k, views[2] = &broadcast.args.v;
      for (std::int64_t which = 0; which < 3; ++which) {
        *views[which] = {address(which, 0, 0, 0), which == 0 ? L * row : 0, D, row, type};
      }
      REQUIRE(difference(broadcast.run(), of_shared.out, of_shared.lse) == "");
    });
  }
}

TEST_CASE("H17: the output over the queries, in every form", "[attention][H17]") {
  for (const std::int64_t Lq : {1, 3, 40}) {
    Random random(17);
    const ModelProblem p = plain_coded(random, Lq, 150, 19, 19);
    Call dense(p, Layout::kHeadsFirst);
    for (const Form& form : forms()) {
      for_each_row([&](const Table& row) {
        const ForcedRow forced(row);
        INFO(describe(form) << ", Lq " << Lq);
        FormedCall apart(dense.args, form), over(dense.args, form);
        const Result expected = apart.run();
        const heed_tensor& q = over.args.q;
        over.args.out = {const_cast<void*>(q.data), q.stride_batch, q.stride_head, q.stride_token, q.type};
        REQUIRE(difference(over.run(), expected.out, expected.lse) == "");
      });
    }
  }
  ModelProblem written;
  written.Lkv = written.D = written.Dv = 2;
  written.q = {1, 0};
  written.k = {1, 0, 0, 1};
  written.v = {10, 0, 0, 20};
  check_every_form(written, nullptr, [](const Result& found) {
    CHECK(std::abs(static_cast<double>(found.out[0]) - 7.3105858) <= 2e-4);
    CHECK(std::abs(static_cast<double>(found.out[1]) - 5.3788284) <= 2e-4);
  });
}

// Keys of 5 splits, so that threads share a row; two callers at once.
TEST_CASE("H20: the thread count changes no bit, in every form", "[attention][H20]") {
  Random random(20);
  for (const std::int64_t Lq : {1, 7}) {
    const ModelProblem p = plain_coded(random, Lq, 2200, 8, 12);
    Call dense(p, Layout::kHeadsFirst);
    for (const Form& form : forms()) {
      for_each_row([&](const Table& row) {
        const ForcedRow forced(row);
        INFO(describe(form) << ", Lq " << Lq);
        FormedCall once(dense.args, form);
        const Result expected = once.run();
        REQUIRE(expected.failure == "");
        FormedCall first(dense.args, form), second(dense.args, form);
        std::int32_t three = 3, sixteen = 16;
        first.args.executor = {on_threads, &three, three};
        second.args.executor = {on_threads, &sixteen, sixteen};
        Result at_once;
        std::thread other([&] { at_once = first.run(); });
        const Result here = second.run();
        other.join();
        REQUIRE(difference(at_once, expected.out, expected.lse) == "");
        REQUIRE(difference(here, expected.out, expected.lse) == "");
      });
    }
  }
}

}  // namespace
}  // namespace heed::test

// Random problems, each computed in two ways that must give the same bits: I1 threads, I2 batch, I3 prefill and decode,
// I4 layout. Rows without fused multiply-add keep these too, so all rows take turns.
#include <catch2/catch_test_macros.hpp>
#include <cstring>

#include "attention_call.hpp"
#include "attention_random.hpp"
#include "executors.hpp"
#include "support/rows.hpp"

namespace heed::test {
namespace {

const Table& row_for(const Spec& spec) {
  const std::vector<const Table*> rows = rows_under_test();
  return *rows[spec.seed % rows.size()];
}

// check(spec, problem, its result) on the row whose turn it is.
template <class Against>
Check on_its_row(const Against& against) {
  return [&against](const Spec& spec) -> std::string {
    const Table& row = row_for(spec);
    const ForcedRow forced(row);
    const ModelProblem problem = problem_of(spec);
    const Result once = attend(problem);
    std::string failure = once.failure.empty() ? against(spec, problem, once) : once.failure;
    if (!failure.empty()) failure = std::string("row ") + row.name + ", " + failure;
    return failure;
  };
}

std::vector<float> slice(const std::vector<float>& x, std::int64_t begin, std::int64_t count) {
  return {x.begin() + begin, x.begin() + begin + count};
}

// The problem that holds only sequence b.
ModelProblem sequence(const ModelProblem& p, std::int64_t b) {
  ModelProblem one = p;
  one.B = 1;
  one.q = slice(p.q, b * p.Hq * p.Lq * p.D, p.Hq * p.Lq * p.D);
  one.k = slice(p.k, b * p.Hkv * p.Lkv * p.D, p.Hkv * p.Lkv * p.D);
  one.v = slice(p.v, b * p.Hkv * p.Lkv * p.Dv, p.Hkv * p.Lkv * p.Dv);
  one.offsets = {p.offsets[static_cast<std::size_t>(b)]};
  return one;
}

TEST_CASE("I1: the number of threads and their order change no bit", "[attention][I1]") {
  check_random_problems(
      500, on_its_row([](const Spec& spec, const ModelProblem& problem, const Result& once) {
        Random random(spec.seed);
        for (int n = 0; n < 4; ++n) {
          const std::int32_t counts[] = {1, 2, 3, 5, 7, 8, 16, 64};
          std::int32_t threads = counts[random.between(0, 7)];
          const auto kind = random.between(0, 2);
          Call call(problem, Layout::kHeadsFirst);
          call.args.executor = {kind == 0 ? on_threads : kind == 1 ? last_first : odd_first, &threads, threads};
          const std::string failure = difference(call.run(), once.out, once.lse);
          if (!failure.empty())
            return std::to_string(threads) + " threads, order " + std::to_string(kind) + ": " + failure;
        }
        return std::string();
      }));
}

TEST_CASE("I2: the other sequences of a batch and their order change no bit", "[attention][I2]") {
  check_random_problems(
      1200, on_its_row([](const Spec&, const ModelProblem& problem, const Result& once) {
        const std::int64_t outs = problem.Hq * problem.Lq * problem.Dv, rows = problem.Hq * problem.Lq;
        ModelProblem turned = problem;
        for (auto tensor : {&ModelProblem::q, &ModelProblem::k, &ModelProblem::v}) (turned.*tensor).clear();
        turned.offsets.clear();
        std::vector<float> out, lse;
        for (std::int64_t b = problem.B; b-- > 0;) {
          const ModelProblem one = sequence(problem, b);
          const std::vector<float> its_out = slice(once.out, b * outs, outs), its_lse = slice(once.lse, b * rows, rows);
          const std::string failure = difference(attend(one), its_out, its_lse);
          if (!failure.empty()) return "sequence " + std::to_string(b) + " alone: " + failure;
          for (auto tensor : {&ModelProblem::q, &ModelProblem::k, &ModelProblem::v}) {
            (turned.*tensor).insert((turned.*tensor).end(), (one.*tensor).begin(), (one.*tensor).end());
          }
          turned.offsets.push_back(one.offsets[0]);
          out.insert(out.end(), its_out.begin(), its_out.end());
          lse.insert(lse.end(), its_lse.begin(), its_lse.end());
        }
        if (problem.B < 2) return std::string();
        const std::string failure = difference(attend(turned), out, lse);
        return failure.empty() ? failure : "last sequence first: " + failure;
      }));
}

// The decode of row i: one query against the keys that the row attends, which then lie at the end.
TEST_CASE("I3: a row of a prefill is the decode of its token", "[attention][I3]") {
  check_random_problems(
      800, on_its_row([](const Spec& spec, const ModelProblem& problem, const Result& once) {
        Random random(spec.seed);
        if (once.lse.empty()) return std::string();
        for (int n = 0; n < 3; ++n) {
          const std::int64_t b = random.between(0, problem.B - 1), i = random.between(0, problem.Lq - 1);
          std::int64_t keys = problem.Lkv;
          if (problem.causal) {
            const std::int64_t position = problem.alignment == Alignment::kBottomRight ? i + problem.Lkv - problem.Lq
                                          : problem.alignment == Alignment::kTopLeft
                                              ? i
                                              : i + problem.offsets[static_cast<std::size_t>(b)];
            keys = position + 1 < 0 ? 0 : position + 1 < keys ? position + 1 : keys;
          }
          Call decode(problem, Layout::kTokensFirst);
          decode.args.B = decode.args.Lq = 1;
          decode.args.Lkv = keys;
          decode.args.q.data = decode.q(b, 0, i);
          decode.args.k.data = problem.Lkv > 0 ? decode.k(b, 0, 0) : nullptr;
          decode.args.v.data = problem.Lkv > 0 ? decode.v(b, 0, 0) : nullptr;
          decode.args.causal = random.once_in(2) ? 1 : 0;  // the last query attends all keys either way
          decode.args.alignment = HEED_BOTTOM_RIGHT;
          std::vector<float> out(static_cast<std::size_t>(problem.Hq * problem.Dv)),
              lse(static_cast<std::size_t>(problem.Hq));
          decode.args.out = {out.data(), 0, problem.Dv, 0, HEED_F32};
          decode.args.lse = lse.data();
          decode.args.lse_stride_batch = decode.args.lse_stride_token = 0;
          decode.args.lse_stride_head = 1;
          heed_status status;
          if (heed_attention(&decode.args, &status) != HEED_OK) return std::string(status.message);
          for (std::int64_t h = 0; h < problem.Hq; ++h) {
            const std::int64_t row = (b * problem.Hq + h) * problem.Lq + i;
            Result found;
            found.out = slice(out, h * problem.Dv, problem.Dv);
            found.lse = slice(lse, h, 1);
            const std::string failure =
                difference(found, slice(once.out, row * problem.Dv, problem.Dv), slice(once.lse, row, 1));
            if (!failure.empty()) {
              return "query " + std::to_string(i) + ", head " + std::to_string(h) + ", " + std::to_string(keys) +
                     " keys: " + failure;
            }
          }
        }
        return std::string();
      }));
}

// H16: one set of numbers in every layout.
TEST_CASE("I4: strides change no bit", "[attention][I4][H16]") {
  check_random_problems(500, on_its_row([](const Spec&, const ModelProblem& problem, const Result& once) {
                          for (const Layout layout : kLayouts) {
                            if (layout == Layout::kSharedBatch) continue;
                            Call call(problem, layout);
                            const std::string failure = difference(call.run(), once.out, once.lse);
                            if (!failure.empty()) return std::string(name_of(layout)) + ": " + failure;
                            const std::string without_lse =
                                difference(Call(problem, layout, false).run(), once.out, {});
                            if (!without_lse.empty())
                              return std::string(name_of(layout)) + " without lse: " + without_lse;
                          }
                          return std::string();
                        }));
}

TEST_CASE("I4: keys and values shared by a batch through a stride of 0", "[attention][I4][H16]") {
  check_random_problems(300, [](const Spec& drawn) -> std::string {
    Spec spec = drawn;
    spec.B = 3;
    spec.offsets.resize(3);
    ModelProblem problem = problem_of(spec);
    const ModelProblem first = sequence(problem, 0);
    for (std::int64_t b = 1; b < 3; ++b) {
      std::copy(first.k.begin(), first.k.end(), problem.k.begin() + b * static_cast<std::int64_t>(first.k.size()));
      std::copy(first.v.begin(), first.v.end(), problem.v.begin() + b * static_cast<std::int64_t>(first.v.size()));
    }
    const ForcedRow forced(row_for(spec));
    const Result once = attend(problem);
    return difference(Call(problem, Layout::kSharedBatch).run(), once.out, once.lse);
  });
}

}  // namespace
}  // namespace heed::test

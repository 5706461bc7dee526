// The bits of the model where nobody asks for an option.
#include <catch2/catch_message.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cmath>

#include "attention_call.hpp"
#include "attention_random.hpp"
#include "support/rows.hpp"

namespace heed::test {
namespace {

// The default scale is not 1/sqrt(D) computed in float.
TEST_CASE("the default scale is float(1/sqrt(D)), at every D", "[attention]") {
  for (std::int64_t D = 1; D <= 257; ++D) {
    Spec spec;
    spec.seed = static_cast<std::uint64_t>(D);
    spec.D = D;
    spec.Lkv = 5;
    spec.Dv = 3;
    spec.scale = static_cast<float>(1.0 / std::sqrt(static_cast<double>(D)));
    const ModelProblem problem = problem_of(spec);
    const ModelResult expected = model(problem);
    for (const Table* row : rows_under_test()) {
      if (!row->fma) continue;
      INFO("D " << D << ", row " << row->name);
      const ForcedRow forced(*row);
      Call call(problem, Layout::kHeadsFirst);
      call.args.has_scale = 0;
      call.args.scale = 1e30f;  // not looked at
      CHECK(difference(call.run(), expected.out, expected.lse) == "");
    }
  }
}

// Problems of few keys have a kernel of their own, which is told ranges of keys and nothing else.
TEST_CASE("few keys: every range of causality and windows", "[attention][window]") {
  for (const std::int64_t Lq : {1, 3, 9}) {
    for (const std::int64_t Lkv : {1, 4, 7, 16}) {
      Spec spec;
      spec.Lq = Lq;
      spec.Lkv = Lkv;
      spec.D = 3;
      spec.Dv = 5;
      ModelProblem problem = problem_of(spec);
      problem.offsets.clear();  // with which it would not be that kernel's
      for (int form = 0; form < 4; ++form) {
        problem.causal = form % 2 == 1;
        problem.alignment = form / 2 == 1 ? Alignment::kTopLeft : Alignment::kBottomRight;
        for (const std::int64_t left : {-1, 0, 2, 20}) {
          for (const std::int64_t right : {-1, 0, 1, 3, 20}) {
            problem.window_left = left;
            problem.window_right = right;
            const ModelResult expected = model(problem);
            for (const Table* row : rows_under_test()) {
              if (!row->fma) continue;
              INFO(Lq << " queries, " << Lkv << " keys, form " << form << ", window " << left << " and " << right
                      << ", row " << row->name);
              const ForcedRow forced(*row);
              Call call(problem, Layout::kHeadsFirst);
              REQUIRE(difference(call.run(), expected.out, expected.lse) == "");
            }
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace heed::test

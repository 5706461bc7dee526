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

}  // namespace
}  // namespace heed::test

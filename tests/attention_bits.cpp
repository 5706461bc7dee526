// Random problems: every row of kernels gives the bits of the model (I5), or where it has no fused multiply-add, comes
// as near to the exact result as rounding allows.
#include <array>
#include <catch2/catch_message.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cmath>

#include "api/validate.hpp"
#include "attention_call.hpp"
#include "attention_exact.hpp"
#include "attention_random.hpp"
#include "plan/plan.hpp"
#include "support/rows.hpp"

namespace heed::test {
namespace {

// A row of kernels without fused multiply-add has other bits, but the same NaNs and infinities where all is finite.
std::string check_row(const Table& row, const Spec& spec, const ModelProblem& problem, const ModelResult& expected) {
  const ForcedRow forced(row);
  const Result found = attend(problem);
  if (row.fma) return difference(found, expected.out, expected.lse);
  if (!found.failure.empty()) return found.failure;
  return spec.finite() ? too_far(problem, found.out, found.lse) : std::string();
}

// What a problem tried, so that the generator cannot quietly stop trying it.
struct Coverage {
  enum Kind {
    kBlock,
    kSplit,
    kPartialPanel,
    kMixedTile,
    kEmptyRow,
    kEmptySplit,
    kLateMaximum,
    kManyRows,
    kFewRows,
    kSeveralTiles,
    kGroups,
    kSinks,
    kKinds
  };
  std::array<int, kKinds> problems{};

  void add(const Spec& spec, ModelProblem& numbers, const ModelResult& result) {
    const auto count = [&](Kind kind, bool tried) { problems[kind] += tried ? 1 : 0; };
    count(kBlock, result.rows_over_a_block > 0);
    count(kSplit, result.rows_over_a_split > 0);
    count(kPartialPanel, result.rows_with_a_partial_panel > 0);
    count(kEmptyRow, result.rows_without_keys > 0);
    count(kEmptySplit, result.rows_with_an_empty_split > 0);
    count(kLateMaximum, result.rows_whose_maximum_rose_late > 0);
    count(kSinks, spec.sinks != 0);
    if (result.lse.empty()) return;

    const Call call(numbers, Layout::kHeadsFirst);
    Problem problem;
    heed_status status;
    REQUIRE(api::make_problem(&call.args, &problem, &status) == HEED_OK);
    Plan plan;
    make_plan(shape_of(problem.args), plan);
    const Sequence sequence = problem.sequence(0);
    count(kManyRows, plan.rows > heed::kFewRows);
    count(kFewRows, plan.rows <= heed::kFewRows);
    count(kSeveralTiles, sequence.queries * problem.group > plan.tile_rows);
    count(kGroups, problem.group > 1);
    const std::int64_t last = (plan.tile_rows - 1) / problem.group;
    const KeyRange first = problem.keys_of(sequence, 0), other = problem.keys_of(sequence, last);
    count(kMixedTile, last > 0 && (first.begin != other.begin || first.end != other.end));
  }

  void require(std::int64_t all) const {
    const char* names[kKinds] = {"over a block",        "over a split",  "partial panel",         "mixed tile",
                                 "empty row",           "empty split",   "maximum rises late",    "many rows (packed)",
                                 "few rows (in place)", "several tiles", "several heads a group", "sinks"};
    for (int kind = 0; kind < kKinds; ++kind) {
      INFO(names[kind] << ": " << problems[static_cast<std::size_t>(kind)] << " of " << all << " problems");
      CHECK(problems[static_cast<std::size_t>(kind)] * 20 >= all);
    }
  }
};

TEST_CASE("random attention: every row gives the model's bits", "[attention][I5]") {
  Coverage coverage;
  check_random_problems(1500, [&](const Spec& spec) -> std::string {
    ModelProblem problem = problem_of(spec);
    const ModelResult expected = model(problem);
    coverage.add(spec, problem, expected);
    for (const Table* row : rows_under_test()) {
      const std::string failure = check_row(*row, spec, problem, expected);
      if (!failure.empty()) return std::string("row ") + row->name + ": " + failure;
    }
    return {};
  });
  coverage.require(problems(1500));
}

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

#include "support/everywhere.hpp"

#include <catch2/catch_test_macros.hpp>

namespace heed::test::kernel {
namespace {

void demand_none(const std::string& problem, const std::string& what, const Table& row, Placement placement) {
  if (!problem.empty()) FAIL(what << ", row " << row.name << ", memory " << name_of(placement) << ": " << problem);
}

}  // namespace

void check_everywhere(const std::string& what, const Call& call, const Oracle& oracle) {
  Arena first(Placement::kRoomy);
  const Numbers expected = call(twin(), first);
  for (const Table* row : rows_under_test()) {
    Numbers roomy;
    for (const Placement placement : kPlacements) {
      INFO(what << ", row " << row->name << ", memory " << name_of(placement));  // for a call that crashes
      Arena arena(placement);
      Numbers got = call(*row, arena);
      demand_none(arena.violation(), what, *row, placement);
      if (placement == Placement::kRoomy) {
        if (row->fma) demand_none(first_difference(expected, got), what + ", against the twin", *row, placement);
        demand_none(oracle(got), what, *row, placement);
        roomy = std::move(got);
      } else {
        demand_none(first_difference(roomy, got), what + ", against roomy memory", *row, placement);
      }
    }
    SUCCEED(what << ", row " << row->name);
  }
}

}  // namespace heed::test::kernel

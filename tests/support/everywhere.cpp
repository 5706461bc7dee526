#include "support/everywhere.hpp"

#include <catch2/catch_test_macros.hpp>

namespace heed::test::kernel {
namespace {

// Fails the running test, which has been told what it is working on.
void demand_none(const char* about, const std::string& problem) {
  if (!problem.empty()) FAIL(about << problem);
}

}  // namespace

Ahead random_ahead(Random& random) {
  if (random.once_in(3)) return {};
  const auto stride = static_cast<std::int64_t>(random.next());
  return {reinterpret_cast<const void*>(random.next()), random.once_in(2) ? stride : stride % 4096,
          random.between(1, 1000), random.between(0, 100)};
}

void check_everywhere(const std::string& what, const Call& call, const Oracle& oracle) {
  Arena first(Placement::kRoomy);
  const Numbers expected = call(twin(), first);
  for (const Table* row : rows_under_test()) {
    Numbers roomy;
    for (const Placement placement : kPlacements) {
      INFO(what << ", row " << row->name << ", memory " << name_of(placement));  // also for a call that crashes
      Arena arena(placement);
      Numbers got = call(*row, arena);
      demand_none("", arena.violation());
      if (placement == Placement::kRoomy) {
        if (row->fma) demand_none("against the twin: ", first_difference(expected, got));
        demand_none("", oracle(got));
        roomy = std::move(got);
      } else {
        demand_none("against roomy memory: ", first_difference(roomy, got));
      }
    }
    SUCCEED(what << ", row " << row->name);
  }
}

}  // namespace heed::test::kernel

#include "support/everywhere.hpp"

#include <array>
#include <catch2/catch_test_macros.hpp>
#include <deque>

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
  Ahead ahead{reinterpret_cast<const void*>(random.next()), random.once_in(2) ? stride : stride % 4096,
              random.between(1, 1000), random.between(0, 100)};
  if (random.once_in(2) || ahead.rows == 0) return ahead;
  constexpr std::int64_t kMost = 9;
  static std::deque<std::array<const void*, kMost + 1>> all;  // they stay, as a kernel's caller's do
  all.emplace_back();
  for (const void*& piece : all.back()) piece = random.once_in(9) ? nullptr : reinterpret_cast<void*>(random.next());
  ahead.data = nullptr;
  ahead.pieces = all.back().data();
  ahead.piece_rows = random.between(1, 30);
  ahead.first = random.between(0, kMost * ahead.piece_rows - 1);
  ahead.rows = random.between(1, kMost * ahead.piece_rows - ahead.first);
  return ahead;
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

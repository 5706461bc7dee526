// Bytes to a plan and runs of it: smaller problems, workspaces of just the size that was asked for, items in odd
// orders. Every run must give the bits of heed_attention.
#include <algorithm>
#include <numeric>

#include "fuzz/placement.hpp"
#include "fuzz/rows.hpp"
#include "fuzz/target.hpp"

namespace heed::fuzz {
namespace {

// The text ends where it says, whatever room there is, and nothing behind that room is written.
void describe(const heed_plan& plan, Input& in) {
  const std::size_t needed = heed_plan_describe(&plan, nullptr, 0);
  const std::size_t room = in.flag() ? needed : in.byte();
  const Block text(room);
  std::memset(text.data(), 'x', room);
  char* const at = reinterpret_cast<char*>(text.data());
  expect(heed_plan_describe(&plan, at, room) == needed, "the description's length depends on the room for it");
  if (room > 0) expect(std::strlen(at) == std::min(room, needed) - 1, "the description has another length");
}

std::vector<Int> order_of(Int count, Input& in) {
  std::vector<Int> items(static_cast<std::size_t>(count));
  std::iota(items.begin(), items.end(), 0);
  for (Int n = count; n-- > 1 && in.size() > 0;) {
    std::swap(items[static_cast<std::size_t>(n)], items[static_cast<std::size_t>(in.between(0, 255) % (n + 1))]);
  }
  return items;
}

void run_items(heed_run* run, Int threads, Input& in) {
  for (std::int32_t phase = 0; phase < HEED_PHASES; ++phase) {
    const Int count = heed_run_items(run, phase);
    expect(heed_run_item(run, phase, count, 0) != HEED_OK, "an item behind the last one was run");
    expect(heed_run_item(run, phase, in.edge(count) | INT64_MIN, 0) != HEED_OK, "an item before the first was run");
    expect(heed_run_item(run, phase, 0, static_cast<std::int32_t>(threads)) != HEED_OK, "a worker too many was used");
    expect(heed_run_item(run, phase, 0, -1) != HEED_OK, "worker -1 was used");
    expect(heed_run_item(run, phase + HEED_PHASES, 0, 0) != HEED_OK, "a phase too many was run");
    for (const Int item : order_of(count, in)) {
      const auto worker = static_cast<std::int32_t>(in.byte() % threads);
      expect(heed_run_item(run, phase, item, worker) == HEED_OK, "an item was refused");
    }
  }
  expect(heed_run_items(run, in.edge32(-1) | INT32_MIN) == 0, "there is a phase before the first");
}

// A run whose workspace isn't what the plan asked for.
void refuse_workspace(const heed_plan& plan, const Placement& call, Input& in) {
  const std::size_t bytes = heed_plan_workspace_bytes(&plan);
  const Block workspace(bytes + 8, 64);
  heed_run* run = nullptr;
  heed_status status;
  heed_code code = HEED_OK;
  switch (in.byte() % 4) {
    case 0:
      code = heed_plan_run(&plan, call.args(), workspace.data() + 8, bytes, &status);
      break;
    case 1:
      code = heed_plan_begin(&plan, call.args(), workspace.data(), bytes - 1, &run, &status);
      break;
    case 2:
      code = heed_plan_begin(&plan, call.args(), workspace.data(), bytes, nullptr, &status);
      break;
    default:
      code = heed_plan_run(&plan, call.args(), nullptr, bytes, &status);
      break;
  }
  expect(!expect_status(code, status, {"workspace", "workspace_bytes", "run"}), "a wrong workspace was taken");
  expect(call.untouched(), "a run that was refused has written");
}

void run_planned(const heed_plan& plan, Int threads, const Draft& draft, bool fits, Input& in) {
  Placement call(draft);
  if (!call.complete()) return;
  heed_status status;
  heed_code code = heed_attention(call.args(), &status);
  const bool attended = expect_status(code, status);
  const bool exact = call.disjoint() && !draft.wild_callback;
  const std::string expected = exact ? call.outputs() : std::string();
  call.reset();
  if (fits && draft.edits == 0) refuse_workspace(plan, call, in);

  const std::size_t bytes = heed_plan_workspace_bytes(&plan);
  const Block workspace(bytes, 64);
  std::memset(workspace.data(), 0xFF, bytes);
  if (in.flag()) {
    code = heed_plan_run(&plan, call.args(), workspace.data(), bytes, &status);
    (void)expect_status(code, status);
  } else {
    heed_run* run = nullptr;
    code = heed_plan_begin(&plan, call.args(), workspace.data(), bytes, &run, &status);
    if (expect_status(code, status)) run_items(run, threads, in);
  }
  if (code != HEED_OK) {
    expect(call.untouched(), "a run that was refused has written");
    if (fits && draft.edits == 0) finding(std::string("a run that fits its plan was refused: ") + status.message);
  } else if (exact && attended) {
    expect(call.outputs() == expected, "a planned run gives other bits than heed_attention");
  }
}

void run(Input& in) {
  const Sizes most = draw_sizes(in);
  Draft largest = draw_call(most, in);
  draw_edits(largest, in);
  const std::vector<const test::Table*> rows = rows_of(in.byte());
  const test::ForcedRow forced(*rows[in.byte() % rows.size()]);
  // A plan looks at sizes and at no memory, so they may be anything.
  heed_plan plan{};
  heed_status status;
  describe(plan, in);
  const Placement first(largest);
  const heed_attention_args& a = first.copy();
  const bool made = expect_status(heed_plan_make(first.args(), &plan, &status), status);
  expect(made || largest.edits > 0, "a legal plan was refused");
  expect((heed_plan_workspace_bytes(&plan) > 0) == made, "a plan has a workspace exactly if it was made");
  if (!made) return;
  describe(plan, in);
  if (heed_plan_workspace_bytes(&plan) > std::size_t{1} << 22) return;
  const Int threads = std::max<Int>(1, a.executor.threads);
  for (int n = in.byte() % 3; n >= 0; --n) {
    Sizes s = most;
    const bool fits = largest.edits == 0 && !in.once_in(8);
    if (fits) {
      s.B = in.between(0, s.B);
      s.Lq = s.Lq * in.between(0, 8) / 8;
      s.Lkv = s.Lkv * in.between(0, 8) / 8;
    } else {
      s.Lkv += in.between(-1, 1) + (s.Lkv == 0);
      s.D += in.between(0, 1);
    }
    Draft draft = draw_call(s, in);
    if (in.once_in(4)) draw_edits(draft, in);
    if (draft.edits == 0) draft.args.executor.threads = std::min(draft.args.executor.threads, a.executor.threads);
    draft.no_memory = false;
    if (draft.order == Order::kHalf) draft.order = Order::kOddFirst;
    run_planned(plan, threads, draft, fits, in);
  }
}

}  // namespace
}  // namespace heed::fuzz

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  heed::fuzz::Input in(data, size);
  heed::fuzz::run(in);
  return 0;
}

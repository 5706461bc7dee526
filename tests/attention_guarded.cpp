// H13: every array of a call at an unmapped page, or at an address that is aligned to one element only, in every form.
// The same bits as in roomy memory, and nothing but the outputs' elements written.
#include <catch2/catch_message.hpp>
#include <catch2/catch_test_macros.hpp>

#include "attention_coded.hpp"
#include "attention_forms.hpp"
#include "attention_guard.hpp"
#include "support/each_row.hpp"

namespace heed::test {
namespace {

using kernel::kPlacements;
using kernel::Placement;

// fp8 rounds the numbers: another problem, whose bits are its own roomy call's.
bool possible(const FormedCall& call, const Form& form) { return call.possible() || form.k >= HEED_FP8_E4M3; }

void check_guarded(const heed_attention_args& roomy, const Result& expected, const std::vector<const Table*>& rows) {
  for (const Table* row : rows) {
    const ForcedRow forced(*row);
    for (const Placement placement : kPlacements) {
      INFO("row " << row->name << ", arrays " << kernel::name_of(placement));
      GuardedCall call(roomy, placement);
      REQUIRE(difference(call.run(), expected.out, expected.lse) == "");
    }
  }
}

// One set of bits for all rows with fused multiply-add; the others are held against themselves.
void check_on_rows(FormedCall& call, const std::vector<const Table*>& rows) {
  std::vector<const Table*> fused;
  for (const Table* row : rows) {
    if (row->fma) {
      fused.push_back(row);
    } else {
      const ForcedRow forced(*row);
      check_guarded(call.args, call.run(), {row});
    }
  }
  if (fused.empty()) return;
  const ForcedRow forced(*fused[0]);
  check_guarded(call.args, call.run(), fused);
}

TEST_CASE("H13: every length and storage type at unmapped pages", "[attention][memory][H13]") {
  const std::vector<const Table*> rows = rows_under_test();
  Random random(13);
  std::size_t turn = 0;
  for (const std::int64_t Lkv : lengths()) {
    if (Lkv > 520) continue;
    for (const std::int64_t Lq : {1, 11}) {
      ModelProblem problem = plain_coded(random, Lq, Lkv, random.between(1, 40), random.between(1, 40));
      if (turn % 2 != 0) {  // every array that there can be
        problem.mask.assign(static_cast<std::size_t>(Lq * Lkv), 1);
        problem.bias = codes(random, Lq * Lkv);
        problem.alibi_slopes = problem.sinks = {0.25f};
        problem.kv_lengths = {Lkv - Lkv / 5};
        problem.key_begin = {Lkv / 7};
        problem.key_offset = problem.offsets = {3};
        problem.alignment = Alignment::kOffsets;
      }
      Call dense(problem, Layout::kHeadsFirst);
      // Every pair of types, and over a few lengths every layout of each.
      for (std::size_t n = turn++ % 5; n < forms().size(); n += 5) {
        INFO(describe(forms()[n]) << ", Lq " << Lq << ", Lkv " << Lkv << ", D " << problem.D << ", Dv " << problem.Dv);
        FormedCall call(dense.args, forms()[n]);
        REQUIRE(possible(call, forms()[n]));
        check_on_rows(call, rows);
      }
    }
  }
}

TEST_CASE("H13: any options at unmapped pages", "[attention][memory][H13]") {
  const std::vector<const Table*> rows = rows_under_test();
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    Random random(seed);
    const std::int64_t Lq = random.once_in(2) ? 1 : random.between(0, 30);
    const std::int64_t Lkv = random.once_in(4) ? random.between(120, 530) : random.between(0, 70);
    const CodedProblem drawn = draw_coded(random, Lq, Lkv);
    const Form& form = forms()[seed % forms().size()];
    INFO("seed " << seed << ": " << drawn.words << "; " << describe(form));
    Call dense(drawn.numbers, Layout::kHeadsFirst);
    drawn.change(dense.args);
    FormedCall call(dense.args, form);
    REQUIRE(possible(call, form));
    std::vector<float> view(static_cast<std::size_t>(drawn.numbers.B * drawn.numbers.Hq * Lq * (Lkv + 2)));
    if (random.once_in(3)) {
      const std::int64_t row = Lkv + 2;
      call.args.inspect = {view.data(), drawn.numbers.Hq * Lq * row, Lq * row, row, HEED_F32};
      call.args.inspect_what = static_cast<heed_inspect>(random.between(HEED_SCORES_SCALED, HEED_WEIGHTS));
    }
    check_on_rows(call, {rows[seed % rows.size()]});
  }
}

TEST_CASE("H13, H16: any strides at unmapped pages", "[attention][memory][H13][H16]") {
  Random random(16);
  for (const Layout layout : kLayouts) {
    if (layout == Layout::kSharedBatch) continue;
    for (const std::int64_t Lq : {1, 4, 20}) {
      const CodedProblem drawn = draw_coded(random, Lq, random.between(1, 140));
      Call call(drawn.numbers, layout);
      drawn.change(call.args);
      for_each_row([&](const Table& row) {
        const ForcedRow forced(row);
        INFO(name_of(layout) << ": " << drawn.words);
        REQUIRE(heed_attention(&call.args, nullptr) == HEED_OK);
        check_guarded(call.args, result_of(call.args), {&row});
      });
    }
  }
}

}  // namespace
}  // namespace heed::test

#include "fuzz/modelled.hpp"

#include "content_model.hpp"
#include "executors.hpp"
#include "fuzz/draft.hpp"
#include "fuzz/rows.hpp"

namespace heed::fuzz {
namespace {

test::OptionSpec draw_spec(Input& in) {
  Sizes sizes = draw_sizes(in);
  if (sizes.Hq == 0) sizes.Hq = sizes.Hkv;
  fit(sizes, 4'000);
  test::OptionSpec s;
  s.B = sizes.B;
  s.Hkv = sizes.Hkv;
  s.Hq = sizes.Hq;
  s.Lq = sizes.Lq;
  s.Lkv = sizes.Lkv;
  s.D = sizes.D;
  s.Dv = sizes.Dv;
  s.q = sizes.q;
  s.k = sizes.k;
  s.v = sizes.v;
  s.out = sizes.out;
  if (sizes.page_size > 0) s.page_size = sizes.page_size;
  s.bias = static_cast<heed_type>(in.between(HEED_F32, HEED_BF16));
  s.alignment = static_cast<heed_alignment>(in.between(HEED_BOTTOM_RIGHT, HEED_OFFSETS));
  s.view = static_cast<heed_inspect>(in.between(HEED_SCORES_SCALED, HEED_WEIGHTS));
  s.mixture = static_cast<test::Mixture>(in.between(0, static_cast<Int>(test::Mixture::kNonfinite)));
  for (std::size_t option = 0; option < test::kOptions; ++option) s.on[option] = in.once_in(3);
  s.on[test::kPaged] = sizes.page_size > 0;
  // What excludes each other.
  if (s.on[test::kPaged]) s.on[test::kRaggedKeys] = false;
  if (!s.on[test::kPaged]) s.on[test::kAbsent] = false;
  if (s.on[test::kMask]) s.on[test::kAsked] = false;
  if (s.B < 2) s.on[test::kShared] = false;
  s.seed = in.byte();
  return s;
}

}  // namespace

void run_modelled(Input& in) {
  const test::OptionSpec spec = draw_spec(in);
  const test::Content content = test::content_of(spec);
  const std::uint8_t layout = in.byte(), rows = in.byte();
  const test::Arrangement how = layout == 0 ? test::home_of(content) : test::draw_arrangement(content, layout);
  const test::Modelled right = test::modelled(content);
  std::int32_t threads = in.pick<std::int32_t>({1, 1, 2, 5});
  const bool odd = in.flag();
  expect_same_on_rows(rows, "attention", [&](const test::Table& row) -> std::string {
    test::OptionProblem problem(content, how);
    if (threads > 1) problem.args.executor = {odd ? test::odd_first : test::last_first, &threads, threads};
    std::vector<test::SequenceResult> results;
    std::string failure = problem.run(&results);
    for (Int b = 0; b < content.B() && failure.empty() && row.fma; ++b) {
      failure = test::difference(content, b, results[static_cast<std::size_t>(b)],
                                 right.results[static_cast<std::size_t>(b)]);
    }
    // In place, the reference would read what q was.
    if (failure.empty() && spec.finite() && !how.in_place) {
      failure = test::too_far(content, problem, results, right.bounds);
    }
    if (!failure.empty())
      finding(test::describe(spec) + "; " + test::describe(how) + ", row " + row.name + ": " + failure);
    return {};
  });
}

}  // namespace heed::fuzz

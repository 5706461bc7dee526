// Bytes to a call of heed_attention: half of the inputs draw raw arguments, which may be edited into illegal ones; half
// draw a problem whose bits the model knows.
#include <cmath>

#include "api/validate.hpp"
#include "fuzz/modelled.hpp"
#include "fuzz/placement.hpp"
#include "fuzz/rows.hpp"
#include "fuzz/target.hpp"
#include "heed/reference.hpp"

namespace heed::fuzz {
namespace {

// Results of tame numbers against the exact formula. The bounds are wide: the model knows the bits.
void expect_near(const heed_attention_args& a) {
  if (a.start != nullptr || a.end != nullptr) return;
  const auto size = [](Int n) { return static_cast<std::size_t>(n); };
  std::vector<double> out(size(a.B * a.Hq * a.Lq * a.Dv)), lse(size(a.B * a.Hq * a.Lq));
  reference::attention(a, out.data(), lse.data());
  const bool ragged = a.q_indptr.data != nullptr;
  const double step = a.out.type == HEED_F32 ? 1e-3 : a.out.type == HEED_F16 ? 2e-3 : 1e-2;
  for (Int b = 0; b < a.B; ++b) {
    const Int first = ragged ? index_at(a.q_indptr, b) : 0;
    const Int queries = ragged ? index_at(a.q_indptr, b + 1) - first : a.Lq;
    for (Int h = 0; h < a.Hq; ++h) {
      for (Int i = 0; i < queries; ++i) {
        const Int at = (ragged ? 0 : b * a.out.stride_batch) + h * a.out.stride_head + (first + i) * a.out.stride_token;
        const auto* row = static_cast<const unsigned char*>(a.out.data) + at * element_bytes(a.out.type);
        for (Int d = 0; d < a.Dv; ++d) {
          const float found = test::decoded(a.out.type, test::code_at(a.out.type, row + d * element_bytes(a.out.type)));
          const double exact = out[size(((b * a.Hq + h) * a.Lq + i) * a.Dv + d)];
          if (std::isnan(exact) || found == exact || std::fabs(found - exact) <= step * (1 + std::fabs(exact)))
            continue;
          finding("a result is " + std::to_string(found) + ", far from the exact one, " + std::to_string(exact));
        }
      }
    }
  }
}

void run_raw(Input& in) {
  const Sizes sizes = draw_sizes(in);
  Draft draft = draw_call(sizes, in);
  draw_edits(draft, in);
  Placement call(draft);
  heed_plan plan;
  heed_status status;
  if (expect_status(heed_plan_make(call.args(), &plan, &status), status)) (void)heed_plan_workspace_bytes(&plan);
  // What is not all there is not to be run, but to be refused or not.
  Problem problem;
  status = {};
  if (expect_status(api::make_problem(call.args(), &problem, &status), status) && !call.complete()) return;
  expect_same_on_rows(in.byte(), "attention", [&](const test::Table&) -> std::string {
    call.reset();
    const heed_code code = heed_attention(call.args(), &status);
    if (!expect_status(code, status)) {
      if (code == HEED_CANCELLED) {
        expect(draft.order == Order::kHalf, "a call was cancelled by nobody");
        return "cancelled";
      }
      expect(call.untouched(), "a call that was refused has written");
      if (draft.edits == 0 && !(draft.no_memory && code == HEED_OUT_OF_MEMORY)) {
        finding(std::string("a legal call was refused: ") + status.message);
      }
      return "refused";
    }
    expect(call.disjoint(), "outputs that overlap were taken");
    expect(call.only_elements_written(), "something beside the outputs' elements was written");
    if (draft.tame() && !draft.in_place) expect_near(call.copy());  // in place, q is gone
    return draft.wild_callback ? std::string() : call.outputs();
  });
}

}  // namespace
}  // namespace heed::fuzz

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  heed::fuzz::Input in(data, size);
  if (in.flag()) {
    heed::fuzz::run_modelled(in);
  } else {
    heed::fuzz::run_raw(in);
  }
  return 0;
}

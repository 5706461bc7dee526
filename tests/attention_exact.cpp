#include "attention_exact.hpp"

#include <cmath>
#include <cstdio>

#include "attention_call.hpp"
#include "heed/reference.hpp"

namespace heed::test {
namespace {

std::string too_far(const char* what, const std::vector<float>& found, const std::vector<double>& exact,
                    const std::vector<double>& bounds) {
  const std::size_t columns = bounds.empty() ? 1 : found.size() / bounds.size();
  for (std::size_t n = 0; n < found.size(); ++n) {
    const auto value = static_cast<double>(found[n]);
    if (std::fabs(value - exact[n]) <= bounds[n / columns] || value == exact[n]) continue;
    char text[160];
    std::snprintf(text, sizeof text, "%s[%zu]: is %.9g, should be %.17g: off by %g, allowed %g", what, n, value,
                  exact[n], std::fabs(value - exact[n]), bounds[n / columns]);
    return text;
  }
  return {};
}

}  // namespace

std::string too_far(const ModelProblem& problem, const std::vector<float>& out, const std::vector<float>& lse) {
  std::vector<double> exact_out(out.size()), exact_lse(lse.size());
  const Call call(problem, Layout::kHeadsFirst);
  reference::attention(call.args, exact_out.data(), exact_lse.data());
  const Bounds allowed = bounds(problem);
  const std::string text = too_far("out", out, exact_out, allowed.out);
  return text.empty() ? too_far("lse", lse, exact_lse, allowed.lse) : text;
}

}  // namespace heed::test

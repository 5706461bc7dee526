// dot.
#include "support/everywhere.hpp"

namespace heed::test::kernel {

using dispatch::f32;

void check_dot_f32() {
  Random random(1);
  for (const std::int64_t n : lengths()) {
    for (const Kind kind : kKinds) {
      const Numbers a = random.numbers(kind, n), b = random.numbers(kind, n);
      Sum exact;
      for (std::size_t i = 0; i < a.size(); ++i) exact.add(double{a[i]} * double{b[i]});
      check_everywhere(
          describe("n kind", n, kind),
          [&](const Table& row, Arena& arena) { return Numbers{row.dot[f32](arena.input(a), arena.input(b), n)}; },
          [&](const Numbers& got) -> std::string {
            if (!is_canonical(got[0])) return "not canonical";
            // Chains, each step a product and a sum where they are not fused; then six sums of the tree.
            const auto roundings = static_cast<double>((n + kDotSums - 1) / kDotSums + 7);
            return exact.allows(got[0], roundings, static_cast<double>(n)) ? "" : "beyond the bound";
          });
    }
  }
}

}  // namespace heed::test::kernel

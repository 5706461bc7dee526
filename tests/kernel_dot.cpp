// dot and scale_row.
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
            // 16 chains, each step a product and a sum where they are not fused; then the tree.
            const auto roundings = static_cast<double>((n + kPanel - 1) / kPanel + 5);
            return exact.allows(got[0], roundings, static_cast<double>(n)) ? "" : "beyond the bound";
          });
    }
  }
}

void check_scale_row_f32() {
  Random random(2);
  for (const std::int64_t n : lengths()) {
    for (const Kind kind : kKinds) {
      const Numbers x = random.numbers(kind, n);
      for (const float scale : {1.0f, 0.0f, -0.125f, 0x1.6a09e6p-4f, 3e38f, random.number(kind)}) {
        check_everywhere(
            describe("n kind", n, kind),
            [&](const Table& row, Arena& arena) {
              float* out = arena.output(n);
              row.scale_row[f32](arena.input(x), scale, out, n);
              return arena.results();
            },
            [&](const Numbers& got) {  // the product is exact in double, so one rounding is all there is
              Numbers right;
              for (const float value : x) right.push_back(static_cast<float>(double{value} * double{scale}));
              return first_difference(right, got);
            });
      }
    }
  }
}

}  // namespace heed::test::kernel

// widen and narrow.
#include "support/everywhere.hpp"

namespace heed::test::kernel {

namespace {

void check_widen(heed_type type) {
  Random random(2);
  for (const std::int64_t n : lengths()) {
    for (const Kind kind : kKinds) {
      const Stored x = random_stored(random, type, kind, n);
      for (const float scale : {1.0f, 0.0f, -0.125f, 0x1.6a09e6p-4f, 3e38f, random.number(kind)}) {
        check_everywhere(
            describe("type n kind", type, n, kind),
            [&](const Table& row, Arena& arena) {
              float* out = arena.output(n);
              row.widen[type](arena.input(x), scale, out, n);
              return arena.results();
            },
            [&](const Numbers& got) {  // the product is exact in double, so one rounding is all there is
              Numbers right;
              for (const float value : x.values) right.push_back(static_cast<float>(double{value} * double{scale}));
              return first_difference(right, got);
            });
      }
    }
  }
}

// Numbers that stand at and beside the middle of two codes, and any others.
float hard_to_round(Random& random, heed_type type) {
  if (random.once_in(3) || type == HEED_F32) return float_of(static_cast<std::uint32_t>(random.next()));
  const auto code = static_cast<Code>(random.between(0, codes_of(type) - 2));
  const double low = decoded(type, code), high = decoded(type, code + 1);
  const auto middle = static_cast<float>((low + high) / 2);
  return float_of(bits_of(middle) + static_cast<std::uint32_t>(random.between(-1, 1)));
}

void check_narrow(heed_type type) {
  Random random(16);
  for (const std::int64_t n : lengths()) {
    for (int i = 0; i < 6; ++i) {
      Numbers x = random.numbers(kKinds[random.between(0, 3)], n);
      if (i >= 2) {
        for (float& value : x) value = hard_to_round(random, type);
      }
      check_everywhere(
          describe("type n", type, n),
          [&](const Table& row, Arena& arena) {
            void* out = arena.output(type, 1, n, n);
            row.narrow[type](arena.input(x), out, n);
            return arena.results();
          },
          [&](const Numbers& got) {
            if (type == HEED_F32) return first_difference(x, got);
            Numbers right;
            for (const float value : x) right.push_back(static_cast<float>(encoded(type, value)));
            return first_difference(right, got);
          });
    }
  }
}

}  // namespace

#define HEED_CHECK(op, type) \
  void check_##op##_##type() { check_##op(dispatch::type); }
HEED_STORED_TYPES(HEED_CHECK, widen)
HEED_ROUNDED_TYPES(HEED_CHECK, narrow)

}  // namespace heed::test::kernel

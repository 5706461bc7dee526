// scores and what prepares keys and values for tiles.
#include <algorithm>

#include "support/everywhere.hpp"

namespace heed::test::kernel {

namespace {

// Row length of matrices that hold every code of a type once.
constexpr std::int64_t kEveryCodeD = 256;

void check_scores(Random& random, std::int64_t rows, std::int64_t D, Kind kind, const Stored& k) {
  const std::int64_t keys = static_cast<std::int64_t>(k.values.size()) / D;
  const std::int64_t q_row = D + random.between(0, 3), s_row = keys + random.between(0, 7);
  // That of a single key may be any number.
  const std::int64_t k_row = keys == 1 ? static_cast<std::int64_t>(random.next()) : D + random.between(0, 5);
  const Numbers q = random.numbers(kind, rows * D);
  const Ahead ahead = random_ahead(random);
  const bool pieces = random.once_in(2);  // 16 keys each, anywhere
  check_everywhere(
      describe("type rows keys D kind pieces", k.type, rows, keys, D, kind, pieces),
      [&](const Table& row, Arena& arena) {
        float* s = arena.output(rows, keys, s_row);
        std::vector<const void*> at;
        for (std::int64_t j = 0; j < keys && pieces; j += kPanel) {
          const std::int64_t here = std::min<std::int64_t>(kPanel, keys - j);
          at.push_back(arena.input(part_of(k, D, j, here, 0, D), here, D, k_row));
        }
        row.scores[k.type]({arena.input(q, rows, D, q_row), q_row, pieces ? nullptr : arena.input(k, keys, D, k_row),
                            k_row, s, s_row, rows, keys, D, ahead, pieces ? at.data() : nullptr});
        return arena.results();
      },
      [&](const Numbers& got) -> std::string {
        for (std::int64_t r = 0; r < rows; ++r) {
          for (std::int64_t j = 0; j < keys; ++j) {
            Sum exact;
            for (std::int64_t d = 0; d < D; ++d) {
              exact.add(double{q[static_cast<std::size_t>(r * D + d)]} *
                        double{k.values[static_cast<std::size_t>(j * D + d)]});
            }
            const float s = got[static_cast<std::size_t>(r * keys + j)];
            const auto steps = static_cast<double>(D);
            if (!exact.allows(s, steps + 1, steps)) return describe("beyond the bound at r j", r, j);
          }
        }
        return {};
      });
}

void check_scores(heed_type type) {
  Random random(3);
  const auto check = [&](std::int64_t rows, std::int64_t keys, std::int64_t D, Kind kind) {
    check_scores(random, rows, D, kind, random_stored(random, type, kind, keys * D));
  };
  for (std::int64_t keys = 0; keys <= 49; ++keys) {
    for (std::int64_t rows = 1; rows <= 9; ++rows) {
      check(rows, keys, random.between(1, 40), kKinds[random.between(0, 3)]);
    }
  }
  for (const std::int64_t D : head_sizes()) {
    for (const Kind kind : kKinds) check(random.between(1, 5), random.between(1, 70), D, kind);
  }
  for (const std::int64_t keys : {127, 128, 129, 511, 513}) check(3, keys, 19, Kind::kHostile);
  check(0, 5, 8, Kind::kTame);
  if (type == HEED_F32) return;
  for (std::int64_t rows = 1; rows <= 4; ++rows) check_scores(random, rows, kEveryCodeD, Kind::kTame, every_code(type));
}

void check_pack_keys(Random& random, std::int64_t D, const Stored& k) {
  const std::int64_t keys = static_cast<std::int64_t>(k.values.size()) / D;
  const std::int64_t k_row = D + random.between(0, 5), panels = (keys + kPanel - 1) / kPanel;
  const Ahead ahead = random_ahead(random);
  check_everywhere(
      describe("type keys D", k.type, keys, D),
      [&](const Table& row, Arena& arena) {
        float* out = arena.output(panels * D * kPanel);
        row.pack_keys[k.type](arena.input(k, keys, D, k_row), k_row, keys, D, out, ahead);
        return arena.results();
      },
      [&](const Numbers& got) {
        Numbers right(got.size());
        for (std::int64_t j = 0; j < keys; ++j) {
          for (std::int64_t d = 0; d < D; ++d) {
            right[static_cast<std::size_t>((j / kPanel * D + d) * kPanel + j % kPanel)] =
                k.values[static_cast<std::size_t>(j * D + d)];
          }
        }
        return first_difference(right, got);
      });
}

void check_pack_keys(heed_type type) {
  Random random(4);
  const auto check = [&](std::int64_t keys, std::int64_t D) {
    check_pack_keys(random, D, random_stored(random, type, Kind::kHostile, keys * D));
  };
  for (std::int64_t keys = 0; keys <= 49; ++keys) {
    for (const std::int64_t D : {1, 2, 3, 4, 5, 7, 8, 16, 33}) check(keys, D);
  }
  for (const std::int64_t D : head_sizes()) check(random.between(1, 128), D);
  if (type != HEED_F32) check_pack_keys(random, kEveryCodeD, every_code(type));
}

void check_pack_values(Random& random, std::int64_t Dv, const Stored& v) {
  const std::int64_t keys = static_cast<std::int64_t>(v.values.size()) / Dv;
  const std::int64_t v_row = Dv + random.between(0, 5), panels = (Dv + kPanel - 1) / kPanel;
  const std::int64_t out_panel = (keys + random.between(0, 3)) * kPanel;
  bool finite = true;
  for (const float x : v.values) finite = finite && is_finite(x);
  check_everywhere(
      describe("type keys Dv finite", v.type, keys, Dv, finite),
      [&](const Table& row, Arena& arena) {
        float* out = arena.output(panels, keys * kPanel, out_panel);
        const bool all = row.pack_values[v.type](arena.input(v, keys, Dv, v_row), v_row, keys, Dv, out, out_panel);
        Numbers results = arena.results();
        results.push_back(all ? 1.0f : 0.0f);
        return results;
      },
      [&](const Numbers& got) {
        Numbers right(got.size());
        for (std::int64_t j = 0; j < keys; ++j) {
          for (std::int64_t d = 0; d < Dv; ++d) {
            right[static_cast<std::size_t>((d / kPanel * keys + j) * kPanel + d % kPanel)] =
                v.values[static_cast<std::size_t>(j * Dv + d)];
          }
        }
        right.back() = finite ? 1.0f : 0.0f;
        return first_difference(right, got);
      });
}

void check_pack_values(heed_type type) {
  Random random(5);
  const auto check = [&](std::int64_t keys, std::int64_t Dv, bool hostile) {
    const Stored finite = random_stored(random, type, Kind::kFinite, keys * Dv);
    if (!hostile || finite.values.empty() || type == HEED_INT8) return check_pack_values(random, Dv, finite);
    const float bad[] = {kInfinity, -kInfinity, float_of(0x7F800001u), float_of(0xFFC00000u)};
    Stored v(type);  // one of them is bad, anywhere
    const auto place = static_cast<std::size_t>(random.between(0, keys * Dv - 1));
    for (std::size_t i = 0; i < finite.values.size(); ++i) {
      v.add(encoded(type, i == place ? bad[random.between(0, 3)] : finite.values[i]));
    }
    check_pack_values(random, Dv, v);
  };
  for (std::int64_t Dv = 1; Dv <= 49; ++Dv) {
    for (const std::int64_t keys : {0, 1, 2, 7, 16, 31}) {
      check(keys, Dv, false);
      check(keys, Dv, true);
    }
  }
  for (const std::int64_t Dv : head_sizes()) check(128, Dv, random.once_in(2));
  if (type != HEED_F32) check_pack_values(random, kEveryCodeD, every_code(type));
}

}  // namespace

#define HEED_CHECK(op, type) \
  void check_##op##_##type() { check_##op(dispatch::type); }
HEED_STORED_TYPES(HEED_CHECK, scores)
HEED_STORED_TYPES(HEED_CHECK, pack_keys)
HEED_STORED_TYPES(HEED_CHECK, pack_values)

}  // namespace heed::test::kernel

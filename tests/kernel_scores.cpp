// scores and what prepares keys and values for tiles.
#include "support/everywhere.hpp"

namespace heed::test::kernel {

using dispatch::f32;

namespace {

void check_scores(Random& random, std::int64_t rows, std::int64_t keys, std::int64_t D, Kind kind) {
  const std::int64_t q_row = D + random.between(0, 3), k_row = D + random.between(0, 5);
  const std::int64_t s_row = keys + random.between(0, 7);
  const Numbers q = random.numbers(kind, rows * D), k = random.numbers(kind, keys * D);
  check_everywhere(
      describe("rows keys D kind", rows, keys, D, kind),
      [&](const Table& row, Arena& arena) {
        float* s = arena.output(rows, keys, s_row);
        row.scores[f32](
            {arena.input(q, rows, D, q_row), q_row, arena.input(k, keys, D, k_row), k_row, s, s_row, rows, keys, D});
        return arena.results();
      },
      [&](const Numbers& got) -> std::string {
        for (std::int64_t r = 0; r < rows; ++r) {
          for (std::int64_t j = 0; j < keys; ++j) {
            Sum exact;
            for (std::int64_t d = 0; d < D; ++d) {
              exact.add(double{q[static_cast<std::size_t>(r * D + d)]} *
                        double{k[static_cast<std::size_t>(j * D + d)]});
            }
            const float s = got[static_cast<std::size_t>(r * keys + j)];
            const auto steps = static_cast<double>(D);
            if (!exact.allows(s, steps + 1, steps)) return describe("beyond the bound at r j", r, j);
          }
        }
        return {};
      });
}

}  // namespace

void check_scores_f32() {
  Random random(3);
  for (std::int64_t keys = 0; keys <= 49; ++keys) {
    for (std::int64_t rows = 1; rows <= 9; ++rows) {
      check_scores(random, rows, keys, random.between(1, 40), kKinds[random.between(0, 3)]);
    }
  }
  for (const std::int64_t D : head_sizes()) {
    for (const Kind kind : kKinds) check_scores(random, random.between(1, 5), random.between(1, 70), D, kind);
  }
  for (const std::int64_t keys : {127, 128, 129, 511, 513}) check_scores(random, 3, keys, 19, Kind::kHostile);
  check_scores(random, 0, 5, 8, Kind::kTame);
}

void check_pack_keys_f32() {
  Random random(4);
  const auto check = [&](std::int64_t keys, std::int64_t D) {
    const std::int64_t k_row = D + random.between(0, 5), panels = (keys + kPanel - 1) / kPanel;
    const Numbers k = random.numbers(Kind::kHostile, keys * D);
    check_everywhere(
        describe("keys D", keys, D),
        [&](const Table& row, Arena& arena) {
          float* out = arena.output(panels * D * kPanel);
          row.pack_keys[f32](arena.input(k, keys, D, k_row), k_row, keys, D, out);
          return arena.results();
        },
        [&](const Numbers& got) -> std::string {
          for (std::int64_t j = 0; j < panels * kPanel; ++j) {
            for (std::int64_t d = 0; d < D; ++d) {
              const float right = j < keys ? k[static_cast<std::size_t>(j * D + d)] : 0.0f;
              const float is = got[static_cast<std::size_t>((j / kPanel * D + d) * kPanel + j % kPanel)];
              if (bits_of(is) != bits_of(right)) return describe("wrong at j d", j, d);
            }
          }
          return {};
        });
  };
  for (std::int64_t keys = 0; keys <= 49; ++keys) {
    for (const std::int64_t D : {1, 2, 3, 4, 5, 7, 8, 16, 33}) check(keys, D);
  }
  for (const std::int64_t D : head_sizes()) check(random.between(1, 128), D);
}

void check_pack_values_f32() {
  Random random(5);
  const auto check = [&](std::int64_t keys, std::int64_t Dv, bool hostile) {
    const std::int64_t v_row = Dv + random.between(0, 5), panels = (Dv + kPanel - 1) / kPanel;
    const std::int64_t out_panel = (keys + random.between(0, 3)) * kPanel;
    Numbers v = random.numbers(Kind::kFinite, keys * Dv);
    if (hostile && !v.empty()) {  // one of them, anywhere
      const float bad[] = {kInfinity, -kInfinity, float_of(0x7F800001u), float_of(0xFFC00000u)};
      v[static_cast<std::size_t>(random.between(0, keys * Dv - 1))] = bad[random.between(0, 3)];
    }
    bool finite = true;
    for (const float x : v) finite = finite && is_finite(x);
    check_everywhere(
        describe("keys Dv hostile", keys, Dv, hostile),
        [&](const Table& row, Arena& arena) {
          float* out = arena.output(panels, keys * kPanel, out_panel);
          const bool all = row.pack_values[f32](arena.input(v, keys, Dv, v_row), v_row, keys, Dv, out, out_panel);
          Numbers results = arena.results();
          results.push_back(all ? 1.0f : 0.0f);
          return results;
        },
        [&](const Numbers& got) -> std::string {
          for (std::int64_t j = 0; j < keys; ++j) {
            for (std::int64_t d = 0; d < panels * kPanel; ++d) {
              const float right = d < Dv ? v[static_cast<std::size_t>(j * Dv + d)] : 0.0f;
              const float is = got[static_cast<std::size_t>((d / kPanel * keys + j) * kPanel + d % kPanel)];
              if (bits_of(is) != bits_of(right)) return describe("wrong at j d", j, d);
            }
          }
          return (got.back() == 1.0f) == finite ? "" : "wrong about whether all are finite";
        });
  };
  for (std::int64_t Dv = 1; Dv <= 49; ++Dv) {
    for (const std::int64_t keys : {0, 1, 2, 7, 16, 31}) {
      check(keys, Dv, false);
      check(keys, Dv, true);
    }
  }
  for (const std::int64_t Dv : head_sizes()) check(128, Dv, random.once_in(2));
}

}  // namespace heed::test::kernel

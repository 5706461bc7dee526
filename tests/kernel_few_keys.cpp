// few_keys: the bits of the kernels that it stands for, one after the other on the same row.
#include <catch2/catch_test_macros.hpp>

#include "support/everywhere.hpp"

namespace heed::test::kernel {

using dispatch::f32;

namespace {

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

struct Problem {
  std::int64_t heads, rows, keys, D, Dv, first, last;
  bool has_lse;
  float scale;
  Numbers q, k, v;  // [heads][rows][D], [keys][D], [keys][Dv]
};

// What the steps give, each of them a kernel with a test of its own: out, then lse.
Numbers steps(const Table& row, const Problem& p) {
  const std::int64_t columns = (p.Dv + kPanel - 1) / kPanel * kPanel;
  Numbers out(at(p.heads * p.rows * p.Dv)), lse(at(p.heads * p.rows));
  Numbers values(at(columns * kPanel));
  row.pack_values[f32](p.v.data(), p.Dv, p.keys, p.Dv, values.data(), kPanel * kPanel);
  for (std::int64_t n = 0; n < p.heads * p.rows; ++n) {
    const std::int64_t i = n % p.rows;
    std::uint64_t words[kAttendedWords] = {};
    std::int32_t begin = 0, end = 0;
    for (std::int32_t j = 0; j < p.keys; ++j) {
      if (j < i + p.first || j >= i + p.last) continue;
      words[0] |= std::uint64_t{1} << j;
      if (end == 0) begin = j;
      end = j + 1;
    }
    Numbers q(at(p.D)), s(kPanel), lanes(kPanel), o(at(columns));
    float m = -kInfinity, alpha = 0.0f;
    row.widen[f32](p.q.data() + n * p.D, p.scale, q.data(), p.D);
    row.scores[f32]({q.data(), p.D, p.k.data(), p.D, s.data(), kPanel, 1, p.keys, p.D});
    row.softmax_step[f32]({s.data(), kPanel, 1, 1, words, kAttendedWords, &m, lanes.data(), &alpha, nullptr});
    Tile tile{s.data() + begin,
              kPanel,
              values.data() + begin * kPanel,
              kPanel,
              kPanel * kPanel,
              o.data(),
              columns,
              1,
              static_cast<std::int32_t>(columns / kPanel),
              end - begin,
              Tile::kUpdate,
              &alpha,
              nullptr,
              nullptr,
              false};
    row.tile[f32](tile);
    row.finish[f32](m, sum_lanes(lanes.data()), o.data(), -kInfinity, out.data() + n * p.Dv, &lse[at(n)], p.Dv);
  }
  if (p.has_lse) out.insert(out.end(), lse.begin(), lse.end());
  return out;
}

Problem problem(Random& random, std::int64_t keys, std::int64_t D, std::int64_t Dv) {
  Problem p{random.between(1, 3),
            random.between(1, 9),
            keys,
            D,
            Dv,
            -keys - 20,
            keys + 20,
            random.once_in(2),
            0.0f,
            {},
            {},
            {}};
  if (random.once_in(2)) p.last = random.between(-p.rows, keys + 1);
  if (random.once_in(2)) p.first = random.between(-p.rows, p.last);
  const Kind kind = kKinds[random.between(0, 3)];
  p.scale = random.once_in(4) ? random.number(Kind::kFinite) : random.number(Kind::kTame) * 4;
  p.q = random.numbers(random.once_in(2) ? kind : Kind::kTame, p.heads * p.rows * D);
  p.k = random.numbers(random.once_in(2) ? kind : Kind::kTame, keys * D);
  p.v = random.numbers(kind, keys * Dv);
  return p;
}

void check(Random& random, const Problem& p) {
  const std::int64_t q_row = p.D + random.between(0, 3), k_row = p.D + random.between(0, 3),
                     v_row = p.Dv + random.between(0, 3), out_row = p.Dv + random.between(0, 3);
  check_everywhere(
      describe("heads rows keys D Dv first last lse", p.heads, p.rows, p.keys, p.D, p.Dv, p.first, p.last, p.has_lse),
      [&](const Table& row, Arena& arena) {
        const std::int64_t queries = p.heads * p.rows;
        FewKeys t{};
        t.q = arena.input(p.q, queries, p.D, q_row);
        t.k = arena.input(p.k, p.keys, p.D, k_row);
        t.v = arena.input(p.v, p.keys, p.Dv, v_row);
        t.out = arena.output(queries, p.Dv, out_row);
        t.lse = p.has_lse ? arena.output(queries) : nullptr;
        t.q_head = p.rows * q_row, t.q_row = q_row, t.k_row = k_row, t.v_row = v_row;
        t.out_head = p.rows * out_row, t.out_row = out_row, t.lse_head = p.rows, t.lse_row = 1;
        t.heads = p.heads, t.rows = p.rows, t.keys = p.keys, t.D = p.D, t.Dv = p.Dv;
        t.first = p.first, t.last = p.last, t.scale = p.scale;
        row.few_keys[f32](t);
        Numbers got = arena.results();
        const std::string difference = first_difference(steps(row, p), got);
        if (!difference.empty()) FAIL("row " << row.name << ", against the steps: " << difference);
        return got;
      },
      [&](const Numbers& got) -> std::string {
        for (const float x : got) {
          if (!is_canonical(x)) return "not canonical";
        }
        return {};
      });
}

}  // namespace

void check_few_keys_f32() {
  Random random(12);
  for (std::int64_t keys = 1; keys <= kPanel; ++keys) {
    for (const std::int64_t D : {1, 2, 3, 4, 5, 8, 16, 31, 64, 127, 128}) check(random, problem(random, keys, D, 3));
    for (std::int64_t Dv = 1; Dv <= 49; ++Dv) check(random, problem(random, keys, random.between(1, 9), Dv));
    check(random, problem(random, keys, 5, 128));
  }
}

}  // namespace heed::test::kernel

// score_step: what happens to a score between its chain and the softmax.
#include <cmath>

#include "support/everywhere.hpp"
#include "support/math.hpp"

namespace heed::test::kernel {

namespace {

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

struct Problem {
  heed_type type;  // of the bias
  std::int32_t rows, keys;
  std::int64_t s_row;
  Numbers s, k_scale;  // [rows][keys]; [whole panels], or empty
  float softcap = 0.0f;
  Numbers slope;  // [rows], or empty
  std::vector<std::int64_t> distance;
  std::vector<Stored> bias;             // [rows], or empty
  std::vector<std::uint64_t> attended;  // [rows][kAttendedWords]

  std::int64_t padded() const { return (keys + kPanel - 1) / kPanel * kPanel; }
};

// |distance| as one rounding gives it: a long double holds every integer that occurs.
float rounded(std::int64_t distance) {
  static_assert(std::numeric_limits<long double>::digits >= 63);
  return static_cast<float>(std::abs(static_cast<long double>(distance)));
}

// The steps once more, one by one: tanh by the twin where multiply-add is fused, else the row's own.
void plain_steps(const Problem& p, const Table& row, Numbers& s, std::vector<std::uint64_t>& attended) {
  const MathFunction tanh_of = math_of(row.fma ? twin() : row).tanh;
  for (std::int64_t r = 0; r < p.rows; ++r) {
    for (std::int64_t j = 0; j < p.keys; ++j) {
      float& x = s[at(r * p.keys + j)];
      if (!p.k_scale.empty()) x *= p.k_scale[at(j)];
      if (p.softcap != 0.0f) {
        const Numbers ratio(16, x / p.softcap);
        Numbers tangent(16);
        tanh_of(ratio.data(), tangent.data(), 16);
        x = p.softcap * tangent[0];
      }
      if (!p.slope.empty()) {
        const float distance = rounded(p.distance[at(r)] - j), slope = -p.slope[at(r)];
        if (row.fma) {
          x = std::fma(slope, distance, x);
        } else {
          const float product = slope * distance;
          x = product + x;
        }
      }
      if (!p.bias.empty()) {
        const float bias = p.bias[at(r)].values[at(j)];
        if (bias == -kInfinity) attended[at(r * kAttendedWords + j / 64)] &= ~(std::uint64_t{1} << (j % 64));
        x += bias;
      }
    }
  }
}

// By the formula in double, where all numbers on the way are finite.
std::string bound(const Problem& p, const Numbers& got) {
  for (std::int64_t r = 0; r < p.rows; ++r) {
    for (std::int64_t j = 0; j < p.keys; ++j) {
      double x = p.s[at(r * p.keys + j)], error = 0, largest = std::abs(x);
      const auto rounds = [&](double by) {
        error += std::abs(by) * kUnit + 0x1p-149;
        largest = std::max(largest, std::abs(by));
      };
      if (!p.k_scale.empty()) rounds(x *= p.k_scale[at(j)]);
      if (p.softcap != 0.0f) {
        const double cap = p.softcap;
        rounds(x / cap);
        x = cap * std::tanh(x / cap);
        error += 0x1p-140 * cap + 11 * std::abs(x) * kUnit;  // tanh's own 4 ULP and a half, division, product
      }
      if (!p.slope.empty()) {
        const double product = p.slope[at(r)] * std::abs(static_cast<double>(p.distance[at(r)] - j));
        rounds(product);
        rounds(product);
        rounds(x -= product);
      }
      if (!p.bias.empty()) rounds(x += p.bias[at(r)].values[at(j)]);
      if (std::isnan(x) || !(largest < kMost / 2.0)) continue;
      if (!(std::abs(got[at(r * p.keys + j)] - x) <= error * 1.001)) return describe("beyond the bound at r j", r, j);
    }
  }
  return {};
}

std::int64_t any_distance(Random& random) {
  // The last two lie beside the middle of two floats, too close for a double to tell.
  constexpr std::int64_t one = 1;
  constexpr std::int64_t edges[] = {
      0, one << 23, one << 24, one << 31, one << 53, one << 61, (one << 53) + (one << 29), (one << 61) + (one << 37)};
  const std::int64_t distance = edges[random.between(0, 7)] + random.between(-200, 200);
  return random.once_in(3) ? -distance : distance;
}

Problem problem(Random& random, heed_type type, std::int32_t rows, std::int32_t keys, Kind kind, unsigned parts) {
  Problem p{type, rows, keys, 0, {}, {}, 0.0f, {}, {}, {}, {}};
  p.s_row = p.padded() + random.between(0, 1) * kPanel;
  p.s = random.numbers(kind, rows * keys);
  const float spread = static_cast<float>(random.between(1, 40));
  for (float& x : p.s) x *= spread;
  if ((parts & 1) != 0) p.k_scale = random.numbers(kind, p.padded());
  if ((parts & 2) != 0)
    p.softcap = std::ldexp(1.0f + static_cast<float>(random.uniform()), static_cast<int>(random.between(-3, 6)));
  for (std::int32_t r = 0; r < rows; ++r) {
    if ((parts & 4) != 0) {
      p.slope.push_back(random.once_in(4) ? std::ldexp(1.0f, -static_cast<int>(random.between(0, 8)))
                                          : random.number(kind));
      p.distance.push_back(random.once_in(2) ? random.between(-150, 3000) : any_distance(random));
    }
    if ((parts & 8) != 0) {
      const Stored numbers = random_stored(random, type, kind, keys);
      Stored bias(type);  // an eighth of them excludes
      for (const float x : numbers.values) bias.add(encoded(type, random.once_in(8) ? -kInfinity : x));
      p.bias.push_back(bias);
    }
    for (int w = 0; w < kAttendedWords; ++w)
      p.attended.push_back(random.once_in(4) ? ~std::uint64_t{0} : random.next());
  }
  return p;
}

void check(const Problem& p, const std::string& what) {
  const std::size_t scores = p.s.size();
  check_everywhere(
      what,
      [&](const Table& row, Arena& arena) {
        ScoreStep t{};
        float* s = arena.output(p.rows, p.padded(), p.s_row);
        for (std::int64_t r = 0; r < p.rows; ++r) std::copy_n(p.s.begin() + r * p.keys, p.keys, s + r * p.s_row);
        t.s = s;
        t.s_row = p.s_row;
        t.rows = p.rows;
        t.keys = p.keys;
        t.k_scale = p.k_scale.empty() ? nullptr : arena.input(p.k_scale);
        t.softcap = p.softcap;
        t.slope = p.slope.empty() ? nullptr : arena.input(p.slope);
        t.distance = p.slope.empty() ? nullptr : arena.input(p.distance);
        std::vector<const void*> bias;
        for (const Stored& of_row : p.bias) bias.push_back(arena.input(of_row));
        t.bias = p.bias.empty() ? nullptr : bias.data();
        t.attended = p.bias.empty() ? nullptr : arena.inout(p.attended);
        row.score_step[p.type](t);

        Numbers expected = p.s, is;
        std::vector<std::uint64_t> attended = p.attended;
        plain_steps(p, row, expected, attended);
        for (std::int64_t r = 0; r < p.rows; ++r) is.insert(is.end(), s + r * p.s_row, s + r * p.s_row + p.keys);
        // Behind the scores come what they should be, and which of the words of attended bits are wrong.
        is.insert(is.end(), expected.begin(), expected.end());
        for (std::size_t w = 0; w < attended.size(); ++w) {
          is.push_back(t.attended == nullptr || t.attended[w] == attended[w] ? 0.0f : 1.0f);
        }
        return is;
      },
      [&](const Numbers& got) -> std::string {
        const auto half = got.begin() + static_cast<std::ptrdiff_t>(scores),
                   end = half + static_cast<std::ptrdiff_t>(scores);
        const std::string difference = first_difference(Numbers(half, end), Numbers(got.begin(), half));
        if (!difference.empty()) return "not what the steps give: " + difference;
        for (auto wrong = end; wrong != got.end(); ++wrong) {
          if (*wrong != 0.0f) return describe("attended bits, word", wrong - end);
        }
        return bound(p, got);
      });
}

void check_score_step(heed_type type) {
  Random random(17);
  for (std::int32_t keys = 0; keys <= kBlock; keys += keys < 49 ? 1 : 13) {
    for (unsigned parts = 0; parts < 16; ++parts) {
      const auto rows = static_cast<std::int32_t>(random.between(1, 4));
      const Kind kind = kKinds[random.between(0, 3)];
      check(problem(random, type, rows, keys, kind, parts),
            describe("type rows keys kind parts", type, rows, keys, kind, parts));
    }
  }
  for (const std::int32_t keys : {126, 127, 128}) {
    for (const Kind kind : kKinds)
      check(problem(random, type, 3, keys, kind, 15), describe("type keys kind", type, keys, kind));
  }
  if (type == HEED_F32) return;
  // Every code once, in pieces of one block.
  for (Code first = 0; first < codes_of(type); first += kBlock) {
    Problem p{type,
              1,
              kBlock,
              kBlock,
              Numbers(kBlock, 0.5f),
              {},
              0.0f,
              {},
              {},
              {Stored(type)},
              {~std::uint64_t{0}, ~std::uint64_t{0}}};
    for (Code code = first; code < first + kBlock; ++code) p.bias[0].add(code);
    check(p, describe("codes from", first));
  }
}

}  // namespace

#define HEED_CHECK(op, type) \
  void check_##op##_##type() { check_##op(dispatch::type); }
HEED_FLOAT_TYPES(HEED_CHECK, score_step)

}  // namespace heed::test::kernel

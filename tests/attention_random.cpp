#include "attention_random.hpp"

#include <algorithm>
#include <catch2/catch_message.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <sstream>

namespace heed::test {
namespace {

// A multiple of `step`, or one less or more.
std::int64_t around(Random& random, std::int64_t step, std::int64_t most) {
  return step * random.between(1, most) + random.between(-1, 1);
}

std::int64_t draw_keys(Random& random) {
  const std::int64_t kind = random.between(0, 99);
  if (kind < 12) return random.between(0, 20);
  if (kind < 30) return around(random, 16, 8);
  if (kind < 55) return around(random, 128, 4);
  if (kind < 92) return around(random, 512, 2);
  return random.between(1, 1700);
}

std::int64_t draw_queries(Random& random, std::int64_t keys) {
  const std::int64_t kind = random.between(0, 99);
  if (kind < 2) return 0;
  if (kind < 22) return 1;
  if (kind < 42) return random.between(2, 9);
  if (kind < 60) return around(random, 16, 3);
  if (kind < 80) return around(random, 48, 2);
  if (kind < 90) return std::max<std::int64_t>(keys, 1);
  return around(random, 256, 1);
}

std::int64_t draw_columns(Random& random) {
  const std::int64_t kind = random.between(0, 99);
  if (kind < 45) return random.between(1, 9);
  if (kind < 75) return around(random, 16, 2);
  if (kind < 90) return around(random, 4, 9);
  return around(random, 64, 2);
}

std::int64_t cost(const Spec& s) { return s.B * s.Hq * s.Lq * s.Lkv * (s.D + s.Dv); }

// Halves a size at random until the problem is small enough for thousands of it. The keys stay: they cross blocks and
// splits.
void fit(Spec& s, Random& random, std::int64_t budget) {
  while (cost(s) > budget) {
    switch (random.between(0, 3)) {
      case 0:
        s.B = (s.B + 1) / 2;
        break;
      case 1:
        if (s.Hkv > 1) {
          s.Hq = s.Hq / s.Hkv;
          s.Hkv = 1;
        } else {
          s.Hq = (s.Hq + 1) / 2;
        }
        break;
      case 2:
        s.Lq = (s.Lq + 1) / 2;
        break;
      default:
        s.D = (s.D + 1) / 2;
        s.Dv = (s.Dv + 1) / 2;
        break;
    }
    if (s.B * s.Hq * s.Lq == 1 && s.D + s.Dv == 2) return;
  }
}

struct Sizes {
  std::size_t q, k, v;
};

Sizes sizes_of(const Spec& s) {
  return {static_cast<std::size_t>(s.B * s.Hq * s.Lq * s.D), static_cast<std::size_t>(s.B * s.Hkv * s.Lkv * s.D),
          static_cast<std::size_t>(s.B * s.Hkv * s.Lkv * s.Dv)};
}

float& any_of(std::vector<float>& numbers, Random& random) {
  return numbers[static_cast<std::size_t>(random.between(0, static_cast<std::int64_t>(numbers.size()) - 1))];
}

float nonfinite(Random& random) {
  const float choices[] = {kInfinity, -kInfinity, std::numeric_limits<float>::quiet_NaN()};
  return choices[random.between(0, 2)];
}

// Keys whose score is -inf: a fifth of them, and a run that may fill blocks.
void put_minus_infinities(const Spec& s, ModelProblem& p, Random& random) {
  for (std::size_t i = 0; i < p.q.size(); i += static_cast<std::size_t>(s.D)) p.q[i] = std::fabs(p.q[i]) + 0.125f;
  const std::int64_t run = s.Lkv == 0 ? 0 : random.between(0, s.Lkv - 1), run_end = run + random.between(0, 400);
  for (std::int64_t head = 0; head < s.B * s.Hkv; ++head) {
    for (std::int64_t j = 0; j < s.Lkv; ++j) {
      if (random.between(0, 4) != 0 && (j < run || j >= run_end)) continue;
      p.k[static_cast<std::size_t>((head * s.Lkv + j) * s.D)] = -kInfinity;
      if (random.once_in(200)) {
        p.v[static_cast<std::size_t>((head * s.Lkv + j) * s.Dv + random.between(0, s.Dv - 1))] = nonfinite(random);
      }
    }
  }
}

std::vector<Spec> smaller(const Spec& s) {
  std::vector<Spec> all;
  const auto with = [&](auto change) {
    Spec candidate = s;
    change(candidate);
    all.push_back(candidate);
  };
  for (std::int64_t Spec::*size : {&Spec::Lkv, &Spec::Lq, &Spec::Dv, &Spec::D, &Spec::B}) {
    if (s.*size > 1) with([&](Spec& c) { c.*size /= 2; });
  }
  if (s.Hkv > 1) with([](Spec& c) { c.Hq /= c.Hkv, c.Hkv = 1; });
  if (s.Hq > s.Hkv) with([](Spec& c) { c.Hq = c.Hkv; });
  for (std::int64_t Spec::*size : {&Spec::Lkv, &Spec::Lq, &Spec::Dv, &Spec::D}) {
    if (s.*size > 1) with([&](Spec& c) { c.*size -= 1; });
  }
  if (s.sinks != 0) with([](Spec& c) { c.sinks = 0; });
  if (s.causal) with([](Spec& c) { c.causal = false; });
  if (s.alignment != Alignment::kBottomRight) with([](Spec& c) { c.alignment = Alignment::kBottomRight; });
  if (s.scale != 1.0f) with([](Spec& c) { c.scale = 1.0f; });
  if (s.mixture != Mixture::kPlain) with([](Spec& c) { c.mixture = Mixture::kPlain; });
  return all;
}

// The smallest problem that still fails, as far as some dozens of tries lead.
std::string shrink(Spec& s, std::string failure, const Check& check) {
  for (int tries = 0; tries < 100;) {
    bool found = false;
    for (const Spec& candidate : smaller(s)) {
      if (++tries > 100) break;
      const std::string still = check(candidate);
      if (still.empty()) continue;
      s = candidate;
      failure = still;
      found = true;
      break;
    }
    if (!found) break;
  }
  return failure;
}

}  // namespace

Spec draw(std::uint64_t seed) {
  Random random(seed);
  Spec s;
  s.seed = seed;
  s.B = random.between(0, 60) == 0 ? 0 : random.between(1, 5) > 3 ? random.between(2, 3) : 1;
  s.Hkv = random.between(1, 5) > 3 ? random.between(2, 3) : 1;
  const std::int64_t groups[] = {1, 1, 1, 2, 3, 4, 7, 8};
  s.Hq = s.Hkv * groups[random.between(0, 7)];
  s.Lkv = draw_keys(random);
  s.Lq = draw_queries(random, s.Lkv);
  s.D = draw_columns(random);
  s.Dv = random.once_in(3) ? s.D : draw_columns(random);
  fit(s, random, random.once_in(40) ? 3'000'000 : 250'000);

  s.causal = random.between(0, 9) < 6;
  const std::int64_t alignment = random.between(0, 3);
  s.alignment = alignment < 2 ? Alignment::kBottomRight : alignment == 2 ? Alignment::kTopLeft : Alignment::kOffsets;
  for (std::int64_t b = 0; b < s.B; ++b) {
    const std::int64_t around_block = 128 * random.between(0, 5) - random.between(0, s.Lq + 1);
    s.offsets.push_back(random.once_in(3)   ? around_block
                        : random.once_in(2) ? random.between(-s.Lq - 1, 0)  // the first rows have no key
                                            : random.between(-s.Lq - 1, s.Lkv + 1));
  }
  const float standard = static_cast<float>(1.0 / std::sqrt(static_cast<double>(s.D)));
  const float scales[] = {standard, standard, standard, 1.0f, -0.75f, 0.0f, 0.375f * random.number(Kind::kTame)};
  s.scale = scales[random.between(0, 6)];
  s.sinks = random.once_in(3) ? static_cast<int>(random.between(1, 2)) : 0;
  const std::int64_t kind = random.between(0, 99);
  s.mixture = kind < 35   ? Mixture::kPlain
              : kind < 45 ? Mixture::kSteep
              : kind < 60 ? Mixture::kRising
              : kind < 68 ? Mixture::kIntegers
              : kind < 74 ? Mixture::kTiny
              : kind < 79 ? Mixture::kHuge
              : kind < 88 ? Mixture::kMinusInfinity
              : kind < 95 ? Mixture::kNonfiniteValue
                          : Mixture::kNonfinite;
  return s;
}

ModelProblem problem_of(const Spec& s) {
  Random random(s.seed ^ 0x5EEDu);
  ModelProblem p;
  p.B = s.B;
  p.Hq = s.Hq;
  p.Hkv = s.Hkv;
  p.Lq = s.Lq;
  p.Lkv = s.Lkv;
  p.D = s.D;
  p.Dv = s.Dv;
  p.scale = s.scale;
  p.causal = s.causal;
  p.alignment = s.alignment;
  p.offsets = s.offsets;
  p.offsets.resize(static_cast<std::size_t>(s.B));

  const Sizes sizes = sizes_of(s);
  p.q.resize(sizes.q);
  p.k.resize(sizes.k);
  p.v.resize(sizes.v);
  const float size = s.mixture == Mixture::kSteep  ? 8.0f
                     : s.mixture == Mixture::kTiny ? 0x1p-70f
                     : s.mixture == Mixture::kHuge ? 0x1p62f
                                                   : 1.0f;
  const auto number = [&] {
    return s.mixture == Mixture::kIntegers ? static_cast<float>(random.between(-2, 2)) : random.number(Kind::kTame);
  };
  for (float& x : p.q) x = number() * size;
  for (float& x : p.k) x = number() * size;
  for (float& x : p.v) x = number() * (s.mixture == Mixture::kTiny ? 0x1p-120f : 1.0f);
  if (s.mixture == Mixture::kIntegers) {
    for (float& x : p.v) x = -x;  // so that zeros are negative ones
  }
  if (s.mixture == Mixture::kRising) {
    for (std::size_t i = 0; i < p.k.size(); ++i) {
      const std::int64_t j = static_cast<std::int64_t>(i) / s.D % s.Lkv;
      p.k[i] *= 0.5f + 0.01f * static_cast<float>(j);
    }
  }
  if (s.mixture == Mixture::kMinusInfinity) put_minus_infinities(s, p, random);
  if (s.mixture == Mixture::kNonfiniteValue && !p.v.empty()) {
    for (std::int64_t n = 0; n < 1 + s.B * s.Hkv * 2; ++n) any_of(p.v, random) = nonfinite(random);
  }
  if (s.mixture == Mixture::kNonfinite && !p.k.empty()) {
    any_of(p.k, random) = nonfinite(random);
    if (!p.q.empty() && random.once_in(2)) any_of(p.q, random) = nonfinite(random);
  }
  if (s.sinks != 0) {
    for (std::int64_t h = 0; h < s.Hq; ++h) {
      p.sinks.push_back(s.sinks == 2 && random.once_in(2) ? -kInfinity : 4.0f * random.number(Kind::kTame));
    }
  }
  return p;
}

std::string describe(const Spec& s) {
  const char* mixtures[] = {"plain", "steep", "rising",       "integers",  "tiny",
                            "huge",  "-inf",  "non-finite V", "non-finite"};
  std::ostringstream text;
  text << "seed " << s.seed << ": B " << s.B << ", Hq " << s.Hq << ", Hkv " << s.Hkv << ", Lq " << s.Lq << ", Lkv "
       << s.Lkv << ", D " << s.D << ", Dv " << s.Dv << ", scale " << s.scale << ", " << (s.causal ? "causal, " : "");
  if (s.alignment == Alignment::kTopLeft) text << "top-left, ";
  if (s.alignment == Alignment::kOffsets) {
    text << "offsets";
    for (const std::int64_t offset : s.offsets) text << ' ' << offset;
    text << ", ";
  }
  if (s.sinks != 0) text << "sinks " << s.sinks << ", ";
  text << "numbers: " << mixtures[static_cast<int>(s.mixture)];
  return text.str();
}

void check_random_problems(int count, const Check& check) {
  const std::uint64_t first = first_seed(), end = first + static_cast<std::uint64_t>(problems(count));
  for (std::uint64_t seed = first; seed < end; ++seed) {
    const Spec drawn = draw(seed);
    const std::string failure = check(drawn);
    if (failure.empty()) continue;
    Spec small = drawn;
    const std::string small_failure = shrink(small, failure, check);
    FAIL("drawn " << describe(drawn) << "\n  " << failure << "\nsmaller: " << describe(small) << "\n  "
                  << small_failure);
  }
  SUCCEED(end - first << " problems");
}

}  // namespace heed::test

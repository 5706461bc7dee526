#include "option_spec.hpp"

#include <algorithm>
#include <catch2/catch_message.hpp>
#include <catch2/catch_test_macros.hpp>
#include <sstream>

#include "support/environment.hpp"
#include "support/storage.hpp"

namespace heed::test {
namespace {

// A multiple of `step`, or one less or more.
Int around(Random& random, Int step, Int most) { return step * random.between(1, most) + random.between(-1, 1); }

Int draw_keys(Random& random) {
  const Int kind = random.between(0, 99);
  if (kind < 10) return random.between(0, 20);
  if (kind < 30) return around(random, 16, 8);
  if (kind < 55) return around(random, 128, 4);
  if (kind < 90) return around(random, 512, 2);
  return random.between(1, 1700);
}

Int draw_queries(Random& random) {
  const Int kind = random.between(0, 99);
  if (kind < 2) return 0;
  if (kind < 25) return 1;
  if (kind < 65) return random.between(2, 9);
  if (kind < 80) return around(random, 16, 3);
  if (kind < 95) return around(random, 48, 2);
  return around(random, 256, 1);
}

Int draw_columns(Random& random) {
  const Int kind = random.between(0, 99);
  if (kind < 60) return random.between(1, 9);
  if (kind < 80) return around(random, 16, 2);
  if (kind < 90) return around(random, 4, 9);
  return around(random, 64, 2);
}

// Halves a size at random until the problem is small enough for thousands of it. The keys stay: they cross blocks and
// splits.
void fit(OptionSpec& s, Random& random, Int budget) {
  while (s.B * s.Hq * s.Lq * s.Lkv * (s.D + s.Dv) > budget && s.B * s.Hq * s.Lq + s.D + s.Dv > 3) {
    switch (random.between(0, 3)) {
      case 0:
        s.B = (s.B + 1) / 2;
        break;
      case 1:
        s.Hq = s.Hkv > 1 ? s.Hq / s.Hkv : (s.Hq + 1) / 2;
        s.Hkv = 1;
        break;
      case 2:
        s.Lq = (s.Lq + 1) / 2;
        break;
      default:
        s.D = (s.D + 1) / 2;
        s.Dv = (s.Dv + 1) / 2;
        break;
    }
  }
}

// How often each is drawn, in percent; those that exclude each other give way to the first.
constexpr int kOften[kOptions] = {35, 30, 30, 40, 25, 25, 40, 40, 45, 30, 25, 15, 40, 25, 25, 25, 15, 30, 25};

void resolve(OptionSpec& s) {
  if (s.on[kPaged]) s.on[kRaggedKeys] = false;
  if (!s.on[kPaged]) s.on[kAbsent] = false;
  if (s.on[kMask]) s.on[kAsked] = false;  // together they have rules of their own
  if (s.B < 2) s.on[kShared] = false;
}

// Smaller ones that may fail in the same way, most promising first.
std::vector<OptionSpec> smaller(const OptionSpec& s) {
  std::vector<OptionSpec> all;
  const auto with = [&](auto change) {
    OptionSpec candidate = s;
    change(candidate);
    resolve(candidate);
    all.push_back(candidate);
  };
  constexpr Int OptionSpec::*kSizes[] = {&OptionSpec::B, &OptionSpec::Lkv, &OptionSpec::Lq, &OptionSpec::D,
                                         &OptionSpec::Dv};
  for (const auto size : kSizes) {
    if (s.*size > 1) with([&](OptionSpec& c) { c.*size /= 2; });
  }
  if (s.Hkv > 1) with([](OptionSpec& c) { c.Hq /= c.Hkv, c.Hkv = 1; });
  if (s.Hq > s.Hkv) with([](OptionSpec& c) { c.Hq = c.Hkv; });
  for (std::size_t option = 0; option < kOptions; ++option) {
    if (s.on[option]) with([&](OptionSpec& c) { c.on[option] = false; });
  }
  for (const auto type : {&OptionSpec::q, &OptionSpec::k, &OptionSpec::v, &OptionSpec::bias, &OptionSpec::out}) {
    if (s.*type != HEED_F32) with([&](OptionSpec& c) { c.*type = HEED_F32; });
  }
  if (s.mixture != Mixture::kPlain) with([](OptionSpec& c) { c.mixture = Mixture::kPlain; });
  if (s.alignment != HEED_BOTTOM_RIGHT) with([](OptionSpec& c) { c.alignment = HEED_BOTTOM_RIGHT; });
  if (s.on[kPaged] && s.page_size != 16) with([](OptionSpec& c) { c.page_size = 16; });
  for (const auto size : kSizes) {
    if (s.*size > 1) with([&](OptionSpec& c) { c.*size -= 1; });
  }
  return all;
}

// The smallest problem that still fails, as far as some hundreds of tries lead.
std::string shrink(OptionSpec& s, std::string failure, const OptionCheck& check) {
  for (int tries = 0; tries < 300;) {
    bool found = false;
    for (const OptionSpec& candidate : smaller(s)) {
      if (++tries > 300) break;
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

const char* name_of(Option option) {
  constexpr const char* names[kOptions] = {"paged",      "ragged keys",   "ragged queries", "kv_lengths", "key_begin",
                                           "key_offset", "shared prefix", "absent",         "causal",     "window",
                                           "mask",       "asked",         "scale",          "soft-cap",   "ALiBi",
                                           "bias",       "changed",       "sinks",          "inspected"};
  return names[option];
}

OptionSpec draw_options(std::uint64_t seed) {
  Random random(seed);
  OptionSpec s;
  s.seed = seed;
  s.B = random.once_in(60) ? 0 : random.once_in(2) ? random.between(2, 4) : 1;
  s.Hkv = random.once_in(3) ? random.between(2, 3) : 1;
  const Int groups[] = {1, 1, 1, 2, 3, 4, 7, 8};
  s.Hq = s.Hkv * groups[random.between(0, 7)];
  s.Lkv = draw_keys(random);
  s.Lq = draw_queries(random);
  s.D = draw_columns(random);
  s.Dv = random.once_in(3) ? s.D : draw_columns(random);
  fit(s, random, random.once_in(50) ? 2'000'000 : 100'000);
  if (random.between(0, 99) < 8) {  // more rows than are worked on at once
    s.B = 1;
    s.Lq = around(random, 256, 1) / (s.Hq / s.Hkv) + random.between(1, 9);
    s.Lkv = std::min<Int>(s.Lkv, random.between(1, 200));
    s.D = std::min<Int>(s.D, 5);
    s.Dv = std::min<Int>(s.Dv, 5);
  }

  const auto type = [&](heed_type last) {
    return random.once_in(3) ? HEED_F32 : static_cast<heed_type>(random.between(HEED_F32, last));
  };
  s.q = type(HEED_BF16);
  s.k = type(HEED_FP8_E5M2);
  s.v = type(HEED_FP8_E5M2);
  s.bias = type(HEED_BF16);
  s.out = type(HEED_BF16);
  s.alignment = static_cast<heed_alignment>(random.between(HEED_BOTTOM_RIGHT, HEED_OFFSETS));
  s.page_size = random.once_in(2) ? 16 * random.between(1, 4) : random.between(1, 50);
  s.view = static_cast<heed_inspect>(random.between(HEED_SCORES_SCALED, HEED_WEIGHTS));
  const Int kind = random.between(0, 99);
  s.mixture = kind < 36   ? Mixture::kPlain
              : kind < 44 ? Mixture::kSteep
              : kind < 56 ? Mixture::kRising
              : kind < 63 ? Mixture::kIntegers
              : kind < 70 ? Mixture::kTiny
              : kind < 77 ? Mixture::kHuge
              : kind < 85 ? Mixture::kMinusInfinity
              : kind < 92 ? Mixture::kNonfiniteValue
                          : Mixture::kNonfinite;
  for (std::size_t option = 0; option < kOptions; ++option) s.on[option] = random.between(0, 99) < kOften[option];
  resolve(s);
  return s;
}

std::string describe(const OptionSpec& s) {
  constexpr const char* mixtures[] = {"plain", "steep", "rising",       "integers",  "tiny",
                                      "huge",  "-inf",  "non-finite V", "non-finite"};
  constexpr const char* alignments[] = {"bottom-right", "top-left", "offsets"};
  std::ostringstream text;
  text << "seed " << s.seed << ": B " << s.B << ", Hq " << s.Hq << ", Hkv " << s.Hkv << ", Lq " << s.Lq << ", Lkv "
       << s.Lkv << ", D " << s.D << ", Dv " << s.Dv << ", q " << name_of(s.q) << ", k " << name_of(s.k) << ", v "
       << name_of(s.v) << ", out " << name_of(s.out) << ", " << alignments[s.alignment] << ", numbers "
       << mixtures[static_cast<int>(s.mixture)];
  for (int option = 0; option < kOptions; ++option) {
    if (!s.on[static_cast<std::size_t>(option)]) continue;
    text << ", " << name_of(static_cast<Option>(option));
    if (option == kPaged) text << " by " << s.page_size;
    if (option == kBias) text << ' ' << name_of(s.bias);
    if (option == kInspected) text << ' ' << s.view;
  }
  return text.str();
}

void check_options(Int count, const OptionCheck& check) {
  const std::uint64_t first = first_seed(), end = first + static_cast<std::uint64_t>(problems(count));
  for (std::uint64_t seed = first; seed < end; ++seed) {
    const OptionSpec drawn = draw_options(seed);
    const std::string failure = check(drawn);
    if (failure.empty()) continue;
    OptionSpec small = drawn;
    const std::string small_failure = shrink(small, failure, check);
    FAIL("drawn " << describe(drawn) << "\n  " << failure << "\nsmaller: " << describe(small) << "\n  "
                  << small_failure);
  }
  SUCCEED(end - first << " problems");
}

}  // namespace heed::test

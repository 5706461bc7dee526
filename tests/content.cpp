#include "content.hpp"

#include <algorithm>
#include <cmath>

#include "heed/heed.h"
#include "support/storage.hpp"

namespace heed::test {
namespace {

std::size_t size(Int n) { return static_cast<std::size_t>(n); }

// One stream of numbers per purpose: an option that is turned off leaves the other numbers as they were.
std::uint64_t stream(std::uint64_t seed, Int b, std::uint64_t purpose) {
  Random random(seed * 0x9E3779B97F4A7C15u + static_cast<std::uint64_t>(b) * 0xD1B54A32D192ED03u + purpose);
  return random.next();
}

// x as the type holds it.
float stored(heed_type type, float x) {
  if (type == HEED_F32) return x;
  if (type == HEED_INT8) return is_nan(x) ? 0.0f : std::clamp(std::nearbyint(50.0f * x), -127.0f, 127.0f);
  return decoded(type, encoded(type, x));
}

// Random [heads][rows][columns], every axis in full or the same all along it. draw(random, run): run is one all along a
// stretch of keys that may fill blocks.
template <class T, class Draw>
std::vector<T> grid(std::uint64_t seed, const SequenceContent& s, const OptionSpec& spec, const Draw& draw) {
  Random random(seed);
  const bool of_head = random.once_in(2), of_row = !random.once_in(4), runs = random.once_in(2);
  const Int heads = of_head ? spec.Hq : 1, rows = of_row ? spec.Lq : 1;
  std::vector<T> base(size(heads * rows * spec.Lkv));
  bool run = false;
  for (T& x : base) {
    if (runs && random.once_in(60)) run = !run;
    x = draw(random, run);
  }
  std::vector<T> all;
  for (Int h = 0; h < spec.Hq; ++h) {
    for (Int i = 0; i < s.queries; ++i) {
      const T* row = base.data() + ((of_head ? h : 0) * rows + (of_row ? i : 0)) * spec.Lkv;
      all.insert(all.end(), row, row + s.keys);
    }
  }
  return all;
}

float draw_bias(Random& random, bool run, const OptionSpec& spec) {
  if (run || random.once_in(10)) return -kInfinity;
  if (spec.mixture == Mixture::kHuge && random.once_in(4)) return stored(spec.bias, -kMost);
  if (spec.mixture == Mixture::kNonfinite && random.once_in(500)) return kInfinity;
  return stored(spec.bias, random.number(Kind::kTame));
}

float draw_scale(Random& random, Mixture mixture) {
  const float tame = 0.01f + 0.001f * static_cast<float>(random.between(0, 9));
  switch (mixture) {
    case Mixture::kSteep:
      return 8.0f * tame;
    case Mixture::kIntegers:
      return random.once_in(4) ? 0.0f : 1.0f;
    case Mixture::kTiny:
      return tame * 0x1p-110f;
    case Mixture::kHuge:
      return tame * 0x1p120f;
    case Mixture::kNonfiniteValue:
    case Mixture::kNonfinite:
      return random.once_in(100) ? (random.once_in(2) ? kInfinity : std::nanf("")) : tame;
    default:
      return tame;
  }
}

void draw_sizes(SequenceContent& s, const OptionSpec& spec, Random& random) {
  s.queries = spec.on[kRaggedQueries] ? random.between(0, spec.Lq) : spec.Lq;
  Int room = spec.Lkv;
  if (spec.on[kLengths] || spec.on[kRaggedKeys]) {
    room = random.once_in(2) ? random.between(0, spec.Lkv) : std::max<Int>(0, spec.Lkv - random.between(0, 20));
  }
  if (spec.on[kBegin]) s.begin = std::min(room, random.once_in(4) ? random.between(100, 600) : random.between(0, 40));
  s.keys = room - s.begin;
  if (spec.on[kOffset]) s.key_position = random.between(-20, 200);
  const Int around_block = 128 * random.between(0, 5) - random.between(0, s.queries + 1);
  const Int offset = random.once_in(2)   ? around_block
                     : random.once_in(3) ? random.between(-s.queries - 1, 0)  // the first rows have no key
                                         : random.between(-s.queries - 1, s.keys + 1);
  s.position = spec.alignment == HEED_TOP_LEFT  ? 0
               : spec.alignment == HEED_OFFSETS ? s.key_position + offset
                                                : s.key_position + s.keys - s.queries;
}

void draw_numbers(SequenceContent& s, const OptionSpec& spec, std::uint64_t seed) {
  Spec plain;
  plain.seed = seed;
  plain.Hq = spec.Hq;
  plain.Hkv = spec.Hkv;
  plain.Lq = s.queries;
  plain.Lkv = s.keys;
  plain.D = spec.D;
  plain.Dv = spec.Dv;
  plain.mixture = spec.mixture;
  ModelProblem numbers = problem_of(plain);
  s.q = std::move(numbers.q);
  s.k = std::move(numbers.k);
  s.v = std::move(numbers.v);
  for (float& x : s.q) x = stored(spec.q, x);
  for (float& x : s.k) x = stored(spec.k, x);
  for (float& x : s.v) x = stored(spec.v, x);
  Random random(stream(seed, 0, 1));
  for (Int n = 0; n < spec.Hkv * s.keys && spec.k == HEED_INT8; ++n) {
    // NaN and infinity belong into K in one mixture only.
    const Mixture mixture = spec.mixture == Mixture::kNonfiniteValue ? Mixture::kPlain : spec.mixture;
    s.k_scales.push_back(draw_scale(random, mixture));
  }
  for (Int n = 0; n < spec.Hkv * s.keys && spec.v == HEED_INT8; ++n) {
    s.v_scales.push_back(draw_scale(random, spec.mixture == Mixture::kHuge ? Mixture::kPlain : spec.mixture));
  }
}

// What sizes, and what bias and mask, are drawn from: the same for several sequences if they are to share them.
struct Seeds {
  std::uint64_t numbers, sizes, pairs;
};

SequenceContent draw_sequence(const OptionSpec& spec, const Seeds& seeds) {
  SequenceContent s;
  const std::uint64_t seed = seeds.numbers, common = seeds.pairs;
  Random sizes(stream(seeds.sizes, 0, 2)), pages(stream(seed, 0, 3));
  draw_sizes(s, spec, sizes);
  draw_numbers(s, spec, seed);
  if (spec.on[kAbsent]) {
    s.absent.resize(size(s.keys));
    for (Int slot = s.begin / spec.page_size * spec.page_size; slot < s.begin + s.keys; slot += spec.page_size) {
      if (!pages.once_in(6)) continue;
      for (Int j = std::max(slot, s.begin); j < std::min(slot + spec.page_size, s.begin + s.keys); ++j) {
        s.absent[size(j - s.begin)] = 1;
      }
    }
  }
  if (spec.on[kBias]) {
    s.bias = grid<float>(stream(common, 0, 4), s, spec,
                         [&](Random& random, bool run) { return draw_bias(random, run, spec); });
  }
  if (spec.on[kMask]) {
    s.mask = grid<unsigned char>(stream(common, 0, 5), s, spec, [](Random& random, bool run) {
      return static_cast<unsigned char>(!run && !random.once_in(8));
    });
  }
  return s;
}

std::vector<SequenceContent> draw_sequences(const OptionSpec& spec, std::uint64_t seed, Int count) {
  std::vector<SequenceContent> all;
  const bool same_sizes = stream(seed, 0, 6) % 3 == 0, same_pairs = stream(seed, 0, 7) % 2 == 0;
  for (Int b = 0; b < count; ++b) {
    const std::uint64_t own = stream(seed, b, 8);
    all.push_back(draw_sequence(spec, {own, same_sizes ? seed : own, same_pairs ? seed : own}));
  }
  return all;
}

// The first keys of `from`, and what belongs to them, become those of `to`.
void copy_prefix(const Content& content, const SequenceContent& from, Int keys, SequenceContent& to) {
  const auto copy = [&](const Numbers& x, Numbers& y, Int columns) {
    for (Int h = 0; h < content.spec.Hkv && !x.empty(); ++h) {
      std::copy_n(x.begin() + h * from.keys * columns, keys * columns, y.begin() + h * to.keys * columns);
    }
  };
  copy(from.k, to.k, content.spec.D);
  copy(from.v, to.v, content.spec.Dv);
  copy(from.k_scales, to.k_scales, 1);
  copy(from.v_scales, to.v_scales, 1);
}

void draw_options_of_all(Content& content) {
  const OptionSpec& spec = content.spec;
  Random random(stream(spec.seed, 0, 9));
  content.scale = static_cast<float>(1.0 / std::sqrt(static_cast<double>(spec.D)));
  const float scales[] = {1.0f, -0.75f, 0.0f, 0.375f * random.number(Kind::kTame)};
  if (content.has(kScale)) content.scale = scales[random.between(0, 3)];
  if (content.has(kCap)) content.softcap = 0.5f * static_cast<float>(random.between(1, 30));
  if (content.has(kWindow)) {
    content.window_left = random.once_in(5)   ? -1
                          : random.once_in(2) ? random.between(0, 20)
                                              : 128 * random.between(0, 4) + random.between(0, 2);
    content.window_right = random.once_in(3) ? -1 : random.between(0, 20);
  }
  for (Int h = 0; h < spec.Hq; ++h) {
    if (content.has(kAlibi))
      content.slopes.push_back(std::ldexp(1.0f + 0.1f * random.number(Kind::kTame), -1 - static_cast<int>(h)));
    const float sink = random.once_in(5)                                          ? -kInfinity
                       : spec.mixture == Mixture::kNonfinite && random.once_in(8) ? std::nanf("")
                                                                                  : 4.0f * random.number(Kind::kTame);
    if (content.has(kSinks)) content.sinks.push_back(sink);
  }
}

}  // namespace

Content content_of(const OptionSpec& spec) {
  Content content;
  content.spec = spec;
  draw_options_of_all(content);
  content.sequences = draw_sequences(spec, stream(spec.seed, 0, 10), spec.B);
  if (content.has(kShared)) {
    const SequenceContent& first = content.sequences[0];
    Random random(stream(spec.seed, 0, 11));
    const Int prefix = random.once_in(2) ? first.keys : random.between(0, first.keys);
    for (Int b = 1; b < spec.B; ++b) {
      SequenceContent& s = content.sequences[size(b)];
      copy_prefix(content, first, std::min(prefix, s.keys), s);
    }
  }
  return content;
}

std::vector<SequenceContent> mates_of(const Content& content, std::uint64_t seed) {
  return draw_sequences(content.spec, stream(seed, 0, 12), 1 + static_cast<Int>(seed % 3));
}

SequenceContent row_of(const Content& content, const SequenceContent& s, Int i) {
  const Int Hq = content.spec.Hq, D = content.spec.D;
  SequenceContent row = s;
  row.queries = 1;
  row.position = s.position + i;
  row.q.clear();
  row.bias.clear();
  row.mask.clear();
  for (Int h = 0; h < Hq; ++h) {
    const auto take = [&](const auto& from, auto& to, Int columns) {
      if (from.empty()) return;
      const auto first = from.begin() + (h * s.queries + i) * columns;
      to.insert(to.end(), first, first + columns);
    };
    take(s.q, row.q, D);
    take(s.bias, row.bias, s.keys);
    take(s.mask, row.mask, s.keys);
  }
  return row;
}

bool allowed(Int head, Int position, Int key) {  // far positions included, so nothing may overflow
  return ((position % 5 * 7 + key % 5 * 3 + head) % 5 + 5) % 5 != 0;
}

heed_rectangle ask(void*, Int head, Int i_begin, Int i_end, Int j_begin, Int j_end) {
  bool any = false, all = true;
  for (Int i = i_begin; i < i_end; ++i) {
    for (Int j = j_begin; j < j_end; ++j) {
      any = any || allowed(head, i, j);
      all = all && allowed(head, i, j);
    }
  }
  return all ? HEED_ALL : any ? HEED_SOME : HEED_NONE;
}

float change(void*, Int head, Int position, Int key, float score) {
  const auto sum = static_cast<Int>(static_cast<std::uint64_t>(position) + static_cast<std::uint64_t>(key + head));
  return score * 0.5f + static_cast<float>(sum % 3) * 0.25f;
}

}  // namespace heed::test

#include "attention_coded.hpp"

namespace heed::test {
namespace {

bool allowed(std::int64_t head, std::int64_t i, std::int64_t j) { return ((i * 7 + j * 3 + head) % 5 + 5) % 5 != 0; }

// Knows only single pairs, and keys far behind.
heed_rectangle ask(void*, std::int64_t head, std::int64_t i_begin, std::int64_t i_end, std::int64_t j_begin,
                   std::int64_t j_end) {
  if (j_end <= i_begin - 300) return HEED_NONE;
  if (i_end - i_begin > 1 || j_end - j_begin > 1) return HEED_SOME;
  return allowed(head, i_begin, j_begin) ? HEED_ALL : HEED_NONE;
}

float change_score(void*, std::int64_t head, std::int64_t position, std::int64_t key, float score) {
  return score * 0.5f + static_cast<float>((position + key + head) % 3) * 0.25f;
}

std::size_t size(std::int64_t n) { return static_cast<std::size_t>(n); }

}  // namespace

ModelProblem plain_coded(Random& random, std::int64_t Lq, std::int64_t Lkv, std::int64_t D, std::int64_t Dv) {
  ModelProblem p;
  p.Lq = Lq;
  p.Lkv = Lkv;
  p.D = D;
  p.Dv = Dv;
  p.scale = 0.25f;
  p.q = codes(random, Lq * D);
  p.k = codes(random, Lkv * D);
  p.v = codes(random, Lkv * Dv);
  return p;
}

CodedProblem draw_coded(Random& random, std::int64_t Lq, std::int64_t Lkv) {
  CodedProblem drawn;
  ModelProblem& p = drawn.numbers;
  p.B = random.between(1, 2);
  p.Hkv = random.between(1, 2);
  p.Hq = p.Hkv * random.between(1, 3);
  p.Lq = Lq;
  p.Lkv = Lkv;
  p.D = random.once_in(3) ? random.between(1, 70) : random.between(1, 20);
  p.Dv = random.once_in(3) ? random.between(1, 70) : random.between(1, 20);
  p.scale = 0.25f;
  p.q = codes(random, p.B * p.Hq * Lq * p.D);
  p.k = codes(random, p.B * p.Hkv * Lkv * p.D);
  p.v = codes(random, p.B * p.Hkv * Lkv * p.Dv);
  drawn.words = "Lq " + std::to_string(Lq) + ", Lkv " + std::to_string(Lkv);
  const auto option = [&](const char* name) {
    if (!random.once_in(4)) return false;
    drawn.words += std::string(", ") + name;
    return true;
  };
  const auto per_sequence = [&](std::vector<std::int64_t>& values, const auto& value) {
    for (std::int64_t b = 0; b < p.B; ++b) values.push_back(value(b));
  };
  if (option("lengths")) per_sequence(p.kv_lengths, [&](std::int64_t) { return random.between(0, Lkv); });
  if (option("key_begin")) {
    per_sequence(p.key_begin,
                 [&](std::int64_t b) { return random.between(0, p.kv_lengths.empty() ? Lkv : p.kv_lengths[size(b)]); });
  }
  if (option("key_offset")) per_sequence(p.key_offset, [&](std::int64_t) { return random.between(-20, 100); });
  p.causal = option("causal");
  if (option("window")) {
    p.window_left = random.between(-1, 60);
    p.window_right = random.between(-1, 10);
  }
  if (option("offsets")) {
    p.alignment = Alignment::kOffsets;
    per_sequence(p.offsets, [&](std::int64_t) { return random.between(-5, Lkv); });
  } else if (option("top-left")) {
    p.alignment = Alignment::kTopLeft;
  }
  const std::int64_t pairs = p.B * p.Hq * Lq * Lkv;
  if (option("mask")) {
    for (std::int64_t n = 0; n < pairs; ++n) {
      p.mask.push_back(static_cast<unsigned char>(random.once_in(3) ? 0 : random.between(1, 255)));
    }
  }
  if (option("bias")) {
    p.bias = codes(random, pairs);
    for (float& x : p.bias) x = random.once_in(5) ? -kInfinity : x;
  }
  if (option("ALiBi")) p.alibi_slopes = codes(random, p.Hq);
  if (option("sinks")) p.sinks = codes(random, p.Hq);
  const float cap = option("soft-cap") ? 2.5f : 0.0f;
  const bool asks = p.mask.empty() && option("mask callback"), changes = option("score callback");
  drawn.change = [cap, asks, changes](heed_attention_args& args) {
    args.softcap = cap;
    args.mask_callback = asks ? ask : nullptr;
    args.score_callback = changes ? change_score : nullptr;
  };
  return drawn;
}

}  // namespace heed::test

// Attention over parts of the keys, each part's state the start of the next: the bits of one call if the parts are cut
// at splits, and near it otherwise.
#include <cmath>

#include "fuzz/rows.hpp"
#include "fuzz/state_memory.hpp"
#include "fuzz/states.hpp"

namespace heed::fuzz {
namespace {

constexpr Int kSplitKeys = 512;

struct Problem {
  Int B, Hq, Hkv, Lq, Lkv, D, Dv;
  Block q, k, v;

  Problem(Input& in)
      : B(in.between(1, 2)),
        Hq(0),
        Hkv(in.between(1, 2)),
        Lq(in.between(1, 3)),
        Lkv(3 * in.between(0, 255) + in.byte() * 2),
        D(in.between(1, 5)),
        Dv(in.between(1, 20)),
        q(bytes(B * Hkv * 2 * Lq * D)),
        k(bytes(B * Hkv * Lkv * D)),
        v(bytes(B * Hkv * Lkv * Dv)) {
    Hq = Hkv * in.between(1, 2);
    const test::Kind kind = in.pick({test::Kind::kTame, test::Kind::kTame, test::Kind::kHostile});
    const std::uint8_t seed = in.byte();
    fill(q.data(), q.size(), HEED_F32, kind, seed);
    fill(k.data(), k.size(), HEED_F32, kind, seed + 1u);
    fill(v.data(), v.size(), HEED_F32, kind, seed + 2u);
    tame = kind == test::Kind::kTame;
  }
  static std::size_t bytes(Int floats) { return static_cast<std::size_t>(floats) * 4; }

  // The keys [begin, end).
  heed_attention_args args(Int begin, Int end) const {
    heed_attention_args a{};
    a.struct_size = sizeof a;
    a.B = B;
    a.Hq = Hq;
    a.Hkv = Hkv;
    a.Lq = Lq;
    a.Lkv = end - begin;
    a.D = D;
    a.Dv = Dv;
    a.q = {q.data(), Hq * Lq * D, Lq * D, D, HEED_F32};
    a.k = {reinterpret_cast<const float*>(k.data()) + begin * D, Hkv * Lkv * D, Lkv * D, D, HEED_F32};
    a.v = {reinterpret_cast<const float*>(v.data()) + begin * Dv, Hkv * Lkv * Dv, Lkv * Dv, Dv, HEED_F32};
    return a;
  }
  bool tame = false;
};

// Cuts of the keys: multiples of a split, or anywhere.
std::vector<Int> draw_cuts(const Problem& p, bool at_splits, Input& in) {
  std::vector<Int> cuts{0};
  for (int n = in.byte() % 4; n > 0 && cuts.back() < p.Lkv; --n) {
    const Int next = cuts.back() + (at_splits ? kSplitKeys * in.between(0, 2) : 3 * in.between(0, 255));
    cuts.push_back(std::min(next, p.Lkv));
  }
  cuts.push_back(p.Lkv);
  return cuts;
}

}  // namespace

void attend_in_parts(Input& in) {
  const Problem p(in);
  const bool at_splits = in.flag(), causal = in.flag();
  const std::vector<Int> cuts = draw_cuts(p, at_splits, in);
  const std::vector<Int> positions(static_cast<std::size_t>(p.B), p.Lkv - p.Lq);
  const Int rows = p.B * p.Hq * p.Lq;
  const Block whole(Problem::bytes(rows * p.Dv)), whole_lse(Problem::bytes(rows)), out(whole.size()),
      lse(whole_lse.size());
  const heed_tensor_out to{whole.data(), p.Hq * p.Lq * p.Dv, p.Lq * p.Dv, p.Dv, HEED_F32};
  heed_status status;
  expect_same_on_rows(in.byte(), "attention in parts", [&](const test::Table&) {
    heed_attention_args a = p.args(0, p.Lkv);
    a.causal = causal ? 1 : 0;
    a.out = to;
    a.lse = reinterpret_cast<float*>(whole_lse.data());
    expect(expect_status(heed_attention(&a, &status), status), "attention was refused");
    Input none(nullptr, 0);
    StateMemory state(p.B, p.Hq, p.Lq, p.Dv, test::Kind::kTame, 1, none);
    for (std::size_t n = 0; n + 1 < cuts.size(); ++n) {
      heed_attention_args part = p.args(cuts[n], cuts[n + 1]);
      const std::vector<Int> starts(static_cast<std::size_t>(p.B), cuts[n]);
      part.causal = a.causal;
      part.alignment = HEED_OFFSETS;
      part.offsets = positions.data();
      part.key_offset = {starts.data(), HEED_INT64};
      part.start = n == 0 ? nullptr : &state.state;
      part.end = &state.state;
      expect(expect_status(heed_attention(&part, &status), status), "a part was refused");
    }
    heed_tensor_out parts = to;
    parts.data = out.data();
    auto* const parts_lse = reinterpret_cast<float*>(lse.data());
    expect(heed_state_finish(&state.state, nullptr, &parts, parts_lse, &status) == HEED_OK, "a finish was refused");
    const auto* x = reinterpret_cast<const float*>(whole.data());
    const auto* y = reinterpret_cast<const float*>(out.data());
    for (Int n = 0; n < rows * p.Dv; ++n) {
      const bool same = test::bits_of(x[n]) == test::bits_of(y[n]);
      expect(same || !at_splits, "parts cut at splits give other bits than the whole");
      expect(same || !p.tame || std::fabs(x[n] - y[n]) <= 1e-5f, "parts are far from the whole");
    }
    expect(!at_splits || std::memcmp(lse.data(), whole_lse.data(), lse.size()) == 0, "parts have another lse");
    return std::string(reinterpret_cast<const char*>(out.data()), out.size());
  });
}

}  // namespace heed::fuzz

// Masks that callers bring along: chunks, a prefix without direction, a tree of drafted tokens. Each as a callback that
// answers for rectangles and as bits: one set of bits, and the reference's numbers. A mask that excludes whole tiles
// is asked about them and nothing else.
#include <catch2/catch_message.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cmath>

#include "attention_coded.hpp"
#include "attention_forms.hpp"
#include "heed/reference.hpp"
#include "reference/attended.hpp"
#include "support/each_row.hpp"

namespace heed::test {
namespace {

using Int = std::int64_t;

// Causal within chunks of `size` tokens: a query attends the keys of its own chunk up to itself.
struct Chunks {
  Int size;
  bool attends(Int i, Int j) const { return i / size == j / size && j <= i; }
  heed_rectangle ask(Int i_begin, Int i_end, Int j_begin, Int j_end) const {
    const Int first = i_begin / size * size;  // the least key that any row attends
    if (j_end <= first || j_begin >= i_end) return HEED_NONE;
    const bool all = first == (i_end - 1) / size * size && j_begin >= first && j_end <= i_begin + 1;
    return all ? HEED_ALL : HEED_SOME;
  }
};

// The first `prefix` tokens see each other, the others all before them.
struct PrefixLm {
  Int prefix;
  bool attends(Int i, Int j) const { return j <= i || j < prefix; }
  heed_rectangle ask(Int i_begin, Int i_end, Int j_begin, Int j_end) const {
    if (j_end <= prefix || j_end <= i_begin + 1) return HEED_ALL;
    return j_begin >= prefix && j_begin >= i_end ? HEED_NONE : HEED_SOME;
  }
};

// `committed` tokens in a row, then drafts, each with its parent among the tokens before it: a draft sees the row and
// its own ancestors.
struct Tree {
  Int committed;
  std::vector<Int> parents;  // of draft n; -1: the last committed token
  bool attends(Int i, Int j) const {
    if (i < committed) return j <= i;
    if (j < committed) return true;
    Int n = i - committed;
    while (n >= 0 && n != j - committed) n = parents[static_cast<std::size_t>(n)];
    return n >= 0;
  }
  heed_rectangle ask(Int i_begin, Int i_end, Int j_begin, Int j_end) const {
    if (i_begin >= committed && j_end <= committed) return HEED_ALL;
    if (j_begin >= i_end) return HEED_NONE;
    if (i_end - i_begin == 1 && j_end - j_begin == 1) return attends(i_begin, j_begin) ? HEED_ALL : HEED_NONE;
    return HEED_SOME;
  }
};

template <class Mask>
struct Asked {
  const Mask& mask;
  std::int64_t questions = 0;

  static heed_rectangle answer(void* context, Int, Int i_begin, Int i_end, Int j_begin, Int j_end) {
    auto& self = *static_cast<Asked*>(context);
    ++self.questions;
    return self.mask.ask(i_begin, i_end, j_begin, j_end);
  }
};

// Queries are the last Lq tokens.
template <class Mask>
void check_mask(const Mask& mask, Int Lq, Int Lkv, std::uint64_t seed, bool in_every_form = false) {
  Random random(seed);
  ModelProblem with_bits = plain_coded(random, Lq, Lkv, 6, 19);
  with_bits.Hq = 2;
  with_bits.q = codes(random, 2 * Lq * 6);
  const ModelProblem plain = with_bits;
  for (Int n = 0; n < 2 * Lq * Lkv; ++n) {
    with_bits.mask.push_back(mask.attends(n / Lkv % Lq + Lkv - Lq, n % Lkv) ? 1 : 0);
  }
  Form bits;
  bits.bit_mask = true;
  Call dense_bits(with_bits, Layout::kHeadsFirst), dense(plain, Layout::kHeadsFirst);
  FormedCall masked(dense_bits.args, bits);
  Asked<Mask> asked{mask};
  dense.args.mask_callback = Asked<Mask>::answer;
  dense.args.mask_context = &asked;
  std::vector<double> exact(static_cast<std::size_t>(2 * Lq * 19)), exact_lse(static_cast<std::size_t>(2 * Lq));
  reference::attention(masked.args, exact.data(), exact_lse.data());
  for_each_row([&](const Table& row) {
    const ForcedRow forced(row);
    INFO("Lq " << Lq << ", Lkv " << Lkv);
    const Result by_bits = masked.run(), by_callback = dense.run();
    REQUIRE(by_bits.failure == "");
    REQUIRE(difference(by_callback, by_bits.out, by_bits.lse) == "");
    for (std::size_t n = 0; n < exact.size(); ++n) {
      REQUIRE(std::abs(static_cast<double>(by_bits.out[n]) - exact[n]) <= 2e-5);
    }
    for (std::size_t n = 0; n < exact_lse.size(); ++n) {
      REQUIRE(std::abs(static_cast<double>(by_bits.lse[n]) - exact_lse[n]) <= 2e-5);
    }
  });
  if (!in_every_form) return;
  ModelProblem one_head = plain;
  one_head.Hq = 1;
  one_head.q.resize(one_head.q.size() / 2);
  check_every_form(
      one_head,
      [&](heed_attention_args& args) {
        args.mask_callback = Asked<Mask>::answer;
        args.mask_context = &asked;
      },
      [&](const Result& found) { CHECK(found.failure == ""); });
}

TEST_CASE("chunked causal masks, as bits and as callback", "[attention][masks]") {
  for (const Int size : {1, 7, 16, 100, 128, 200}) {
    INFO("chunks of " << size);
    check_mask(Chunks{size}, 1, 300, 1);
    check_mask(Chunks{size}, 40, 300, 2);
    check_mask(Chunks{size}, 10, 150, 9, size == 100);
    check_mask(Chunks{size}, 90, 90, 3);
  }
}

TEST_CASE("prefix masks, as bits and as callback", "[attention][masks]") {
  for (const Int prefix : {0, 5, 64, 130}) {
    INFO("prefix " << prefix);
    check_mask(PrefixLm{prefix}, 60, 60, 4);
    check_mask(PrefixLm{prefix}, 12, 12, 9, prefix == 5);
    check_mask(PrefixLm{prefix}, 80, 180, 5);
  }
}

TEST_CASE("tree masks of drafted tokens, as bits and as callback", "[attention][masks]") {
  Random random(6);
  for (const Int committed : {1, 125, 520}) {
    for (const Int drafts : {3, 24}) {
      Tree tree{committed, {}};
      for (Int n = 0; n < drafts; ++n) tree.parents.push_back(random.between(-1, n - 1));
      INFO(committed << " committed tokens, " << drafts << " drafts");
      check_mask(tree, drafts, committed + drafts, 7, drafts == 3);
    }
  }
}

// One question per query head, row and block at most where the answer is HEED_NONE or HEED_ALL, and none where causal,
// window or length leave nothing to ask about.
TEST_CASE("rectangles that a mask excludes cost one question each", "[attention][masks]") {
  constexpr Int kLq = 60, kLkv = 1300, kBlocks = (kLkv + 127) / 128;
  struct Count {
    Int questions = 0, outside = 0;
    Int from = 0;          // keys before it are excluded
    Int window_left = -1;  // as the call has it
  };
  const auto ask = [](void* context, Int, Int i_begin, Int i_end, Int j_begin, Int j_end) -> heed_rectangle {
    auto& count = *static_cast<Count*>(context);
    ++count.questions;
    const bool before = count.window_left >= 0 && j_begin < i_begin - count.window_left;
    if (before || j_end > i_end) ++count.outside;
    return j_end <= count.from ? HEED_NONE : j_begin >= count.from ? HEED_ALL : HEED_SOME;
  };
  Random random(8);
  const ModelProblem p = plain_coded(random, kLq, kLkv, 5, 18);
  const auto ask_from = [&](Int from, Int window_left, const Table& row) {
    const ForcedRow forced(row);
    Call call(p, Layout::kHeadsFirst);
    Count count;
    count.from = from;
    count.window_left = window_left;
    call.args.mask_callback = ask;
    call.args.mask_context = &count;
    call.args.causal = 1;
    call.args.has_window = window_left >= 0 ? 1 : 0;
    call.args.window_left = window_left;
    call.args.window_right = -1;
    const Result found = call.run();
    CHECK(found.failure == "");
    if (from >= kLkv) {
      for (const float x : found.lse) CHECK(x == -kInfinity);
    }
    return count;
  };
  for_each_row([&](const Table& row) {
    const Count nothing = ask_from(kLkv, -1, row), all = ask_from(0, -1, row);
    CHECK(nothing.questions <= kLq * kBlocks);
    CHECK(all.questions <= kLq * kBlocks);
    const Count from_third_block = ask_from(256, -1, row);
    CHECK(from_third_block.questions <= kLq * kBlocks);
    // A window of 100 keys meets at most two blocks.
    const Count windowed = ask_from(0, 99, row);
    CHECK(windowed.questions <= kLq * 2);
    for (const Count& count : {nothing, all, from_third_block, windowed}) CHECK(count.outside == 0);
  });
}

// A score callback is told of the pairs that are attended, whatever excludes the others, and of no others.
TEST_CASE("the score callback sees attended pairs only", "[attention][masks]") {
  constexpr Int kLq = 20, kLkv = 200;
  Random random(9);
  ModelProblem p = plain_coded(random, kLq, kLkv, 5, 18);
  p.window_left = 150;
  p.window_right = 2;
  p.kv_lengths = {190};
  p.key_begin = {3};
  for (Int n = 0; n < kLq * kLkv; ++n) {
    p.mask.push_back(random.once_in(3) ? 0 : 1);
    p.bias.push_back(random.once_in(4) ? -kInfinity : 0.0f);
  }
  using Pairs = std::vector<int>;
  const auto tell = [](void* context, Int, Int position, Int key, float score) {
    ++(*static_cast<Pairs*>(context))[static_cast<std::size_t>((position - 167) * kLkv + key)];
    return score;
  };
  Call call(p, Layout::kHeadsFirst);
  Pairs right(kLq * kLkv);
  const reference::Sequence sequence(call.args, 0);
  for (Int i = 0; i < kLq; ++i) {
    for (Int slot = 3; slot < 190; ++slot) {
      if (reference::attended(sequence, 0, i, slot)) right[static_cast<std::size_t>(i * kLkv + slot - 3)] = 1;
    }
  }
  call.args.score_callback = tell;
  for_each_row([&](const Table& row) {
    const ForcedRow forced(row);
    for (const std::int64_t page : {0, 16}) {
      Pairs told(kLq * kLkv);
      Form form;
      form.storage = page == 0 ? Storage::kDense : Storage::kPageTable;
      form.page_size = page;
      call.args.score_context = &told;
      REQUIRE(FormedCall(call.args, form).run().failure == "");
      const bool same = told == right;
      CHECK(same);
    }
  });
}

TEST_CASE("a mask callback that answers with another number excludes", "[attention][mask]") {
  Random random(7);
  const ModelProblem problem = plain_coded(random, 3, 40, 5, 6);
  for_each_row([&](const Table& row) {
    const ForcedRow forced(row);
    for (const heed_rectangle answer : {-1, 3, 77}) {
      static heed_rectangle said;
      said = answer;
      Call call(problem, Layout::kHeadsFirst);
      call.args.mask_callback = [](void*, std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t) {
        return said;
      };
      const Result found = call.run();
      for (const float x : found.out) CHECK(bits_of(x) == 0u);
      std::vector<double> out(found.out.size());
      reference::attention(call.args, out.data(), nullptr);
      for (const double x : out) CHECK(x == 0.0);
    }
  });
}

// What the callback says of single pairs counts, whatever the mask allows, and the other way round.
TEST_CASE("a mask and a mask callback exclude side by side", "[attention][mask]") {
  Random random(8);
  ModelProblem problem = plain_coded(random, 3, 150, 5, 6);
  for (int n = 0; n < 3 * 150; ++n) problem.mask.push_back(random.once_in(3) ? 0 : 1);
  ModelProblem both = problem;
  for (std::size_t n = 0; n < both.mask.size(); ++n) {
    if (n % 150 % 3 == 1) both.mask[n] = 0;
  }
  for_each_row([&](const Table& row) {
    const ForcedRow forced(row);
    Call call(problem, Layout::kHeadsFirst);
    call.args.mask_callback = [](void*, std::int64_t, std::int64_t, std::int64_t, std::int64_t begin,
                                 std::int64_t end) -> heed_rectangle {
      return end - begin > 1 ? HEED_SOME : begin % 3 == 1 ? HEED_NONE : HEED_SOME;
    };
    const Result expected = attend(both);
    CHECK(difference(call.run(), expected.out, expected.lse) == "");
  });
}

}  // namespace
}  // namespace heed::test

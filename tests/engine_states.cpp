// States: parts of the keys in calls of their own, folded, have the bits of one call over all keys.
#include <cmath>
#include <cstring>
#include <limits>

#include "engine_problem.hpp"
#include "executors.hpp"

namespace heed::test {
namespace {

constexpr std::int64_t kSplitKeys = 512;

// A shape with the awkward numbers, and data in which every special case happens.
EngineProblem& with_specials(EngineProblem& p, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto chance = [&](int percent) { return static_cast<int>(random() % 100) < percent; };
  const auto at = [&](Floats& x) -> float& { return x[random() % x.size()]; };
  if (chance(20)) at(p.v) = kEngineNan;
  if (chance(20)) at(p.v) = kEngineInfinity;
  if (chance(20)) at(p.k) = -kEngineInfinity;
  if (chance(15)) at(p.k) = kEngineNan;
  if (chance(15)) at(p.q) = kEngineNan;
  p.args.causal = chance(50) ? 1 : 0;
  if (chance(30)) {
    p.args.has_window = 1;
    p.args.window_left = static_cast<std::int64_t>(random() % 700);
    p.args.window_right = chance(50) ? -1 : 3;
  }
  return p;
}

EngineShape draw_shape(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto between = [&](std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(high - low + 1));
  };
  EngineShape s;
  s.B = between(1, 2);
  s.Hkv = between(1, 2);
  s.Hq = s.Hkv * between(1, 3);
  s.Lq = random() % 2 != 0 ? 1 : between(1, 20);
  s.Lkv = between(1, 2200);
  s.D = between(1, 24);
  s.Dv = between(1, 40);
  return s;
}

std::string finished(EngineProblem& p, const StateMemory& memory, const float* sinks = nullptr) {
  const Status status = finish(memory.state, p.args.out, p.lse.data(), sinks);
  REQUIRE(std::string(status.message()) == "");
  return p.take();
}

TEST_CASE("parts that continue a state have the bits of one call", "[engine][states]") {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    INFO("seed " << seed);
    EngineProblem p(draw_shape(seed), seed);
    with_specials(p, seed);
    const Floats sinks = random_floats(p.shape.Hq, seed + 9);
    std::int32_t threads = 1 + static_cast<std::int32_t>(seed % 6);
    for_each_row([&](const Table& row) {
      const ForcedRow forced(row);
      p.args.sinks = sinks.data();
      const std::string expected = p.run();
      p.args.sinks = nullptr;
      p.args.executor = {on_threads, &threads, threads};
      StateMemory memory(p.shape);
      std::int64_t begin = 0;
      const std::int64_t step = kSplitKeys * (1 + static_cast<std::int64_t>(seed % 3));
      do {
        const std::int64_t end = std::min(begin + step, p.shape.Lkv);
        const AttentionArgs part = p.part(begin, end);
        const Status status =
            begin == 0 ? attention_state(part, memory.state) : attention_state(part, memory.state, memory.state);
        REQUIRE(std::string(status.message()) == "");
        begin = end;
      } while (begin < p.shape.Lkv);
      p.args.executor = {};
      const bool same = finished(p, memory, sinks.data()) == expected;
      CHECK(same);
    });
  }
}

TEST_CASE("states of one split each, merged from the left, have the bits of one call", "[engine][states]") {
  for (std::uint64_t seed = 101; seed <= 140; ++seed) {
    INFO("seed " << seed);
    EngineProblem p(draw_shape(seed), seed);
    with_specials(p, seed);
    for_each_row([&](const Table& row) {
      const ForcedRow forced(row);
      const std::string expected = p.run();
      StateMemory all(p.shape), one(p.shape);
      for (std::int64_t begin = 0; begin < p.shape.Lkv; begin += kSplitKeys) {
        const AttentionArgs part = p.part(begin, std::min(begin + kSplitKeys, p.shape.Lkv));
        REQUIRE(attention_state(part, begin == 0 ? all.state : one.state).ok());
        if (begin > 0) REQUIRE(merge(all.state, one.state, all.state).ok());
      }
      const bool same = finished(p, all) == expected;
      CHECK(same);
    });
  }
}

TEST_CASE("a start without an end finishes the call", "[engine][states]") {
  EngineProblem p({2, 4, 2, 3, 1300, 17, 19}, 5);
  for_each_row([&](const Table& row) {
    const ForcedRow forced(row);
    const std::string expected = p.run();
    StateMemory first(p.shape);
    REQUIRE(attention_state(p.part(0, 1024), first.state).ok());
    AttentionArgs rest = p.part(1024, 1300);
    rest.start = &first.state;
    REQUIRE(attention(rest).ok());
    const bool same = p.take() == expected;
    CHECK(same);
  });
}

TEST_CASE("strides of o alone leave m and l contiguous", "[engine][states]") {
  EngineProblem p({1, 2, 1, 3, 40, 4, 5}, 19);
  StateMemory plain(p.shape), spread(p.shape);
  spread.state.o_stride_batch = 30;
  spread.state.o_stride_head = 15;
  spread.state.o_stride_token = 5;
  REQUIRE(attention_state(p.args, plain.state).ok());
  REQUIRE(attention_state(p.args, spread.state).ok());
  const bool same = plain.bytes() == spread.bytes();
  CHECK(same);
}

TEST_CASE("the empty state changes nothing", "[engine][states]") {
  EngineProblem p({1, 2, 1, 3, 700, 8, 21}, 7);
  p.v[3] = -kEngineInfinity;
  for_each_row([&](const Table& row) {
    const ForcedRow forced(row);
    StateMemory some(p.shape), empty(p.shape), merged(p.shape);
    REQUIRE(attention_state(p.part(0, 700), some.state).ok());
    REQUIRE(attention_state(p.part(0, 0), empty.state).ok());
    for (const float m : empty.m) CHECK(m == -kEngineInfinity);
    for (const float l : empty.l) CHECK((l == 0.0f && !std::signbit(l)));
    for (const float o : empty.o) CHECK((o == 0.0f && !std::signbit(o)));
    const auto unchanged = [&](const State& a, const State& b) {
      REQUIRE(merge(a, b, merged.state).ok());
      return merged.bytes() == some.bytes();
    };
    const bool left = unchanged(empty.state, some.state), right = unchanged(some.state, empty.state);
    CHECK(left);
    CHECK(right);
    StateMemory on(p.shape);
    REQUIRE(attention_state(p.part(700, 700), some.state, on.state).ok());
    const bool kept = on.bytes() == some.bytes();
    CHECK(kept);
  });
}

// x86's maximum can lose a NaN, so m alone proves nothing: l is what counts.
TEST_CASE("a stored state is canonical", "[engine][states]") {
  EngineProblem p({1, 1, 1, 1, 40, 2, 3}, 11);
  std::uint32_t odd_nan = 0xFFC12345u;
  std::memcpy(&p.k[0], &odd_nan, 4);
  p.v.assign(p.v.size(), -0.0f);
  for_each_row([&](const Table& row) {
    const ForcedRow forced(row);
    StateMemory memory(p.shape);
    REQUIRE(attention_state(p.part(0, 40), memory.state).ok());
    std::uint32_t words[2];
    std::memcpy(&words[0], &memory.m[0], 4);
    std::memcpy(&words[1], &memory.l[0], 4);
    CHECK(words[0] == 0x7FC00000u);
    CHECK(words[1] == 0x7FC00000u);
    StateMemory zeros(p.shape);
    REQUIRE(attention_state(p.part(1, 40), zeros.state).ok());
    for (const float o : zeros.o) CHECK((o == 0.0f && !std::signbit(o)));
  });
}

TEST_CASE("(out, lse) pairs of other libraries", "[engine][states]") {
  EngineProblem p({1, 2, 2, 4, 900, 16, 20}, 13);
  for_each_row([&](const Table& row) {
    const ForcedRow forced(row);
    p.run();
    REQUIRE(attention(p.args).ok());
    const Floats whole = p.out, whole_lse = p.lse;
    const auto part = [&](std::int64_t begin, std::int64_t end) {
      REQUIRE(attention(p.part(begin, end)).ok());
      return std::pair<Floats, Floats>(p.out, p.lse);
    };
    const auto [a, a_lse] = part(0, 333);
    const auto [b, b_lse] = part(333, 900);
    const auto [none, none_lse] = part(0, 0);
    const auto result = [&](const Floats& out, const Floats& lse) {
      return Result{heads_first(out.data(), p.shape.Hq, p.shape.Lq, p.shape.Dv), lse.data()};
    };
    const auto merged = [&](const Result& x, const Result& y) {
      REQUIRE(merge_lse(1, 2, 4, 20, x, y, p.args.out, p.lse.data()).ok());
    };
    merged(result(a, a_lse), result(b, b_lse));
    for (std::size_t n = 0; n < whole.size(); ++n) CHECK(std::abs(p.out[n] - whole[n]) <= 1e-6f);
    for (std::size_t n = 0; n < whole_lse.size(); ++n) CHECK(std::abs(p.lse[n] - whole_lse[n]) <= 2e-6f);
    Floats stale = none;
    stale.assign(stale.size(), kEngineNan);  // a result without keys may hold anything
    merged(result(a, a_lse), result(stale, none_lse));
    const bool kept = std::memcmp(p.out.data(), a.data(), a.size() * sizeof(float)) == 0;
    CHECK(kept);
    merged(result(none, none_lse), result(none, none_lse));
    for (const float lse : p.lse) CHECK(lse == -kEngineInfinity);
    for (const float out : p.out) CHECK((out == 0.0f && !std::signbit(out)));
  });
}

}  // namespace
}  // namespace heed::test

// A dense problem of random floats with what an engine keeps around a call: outputs to compare, positions, parts of the
// keys.
#pragma once

#include <catch2/catch_test_macros.hpp>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "heed/heed.hpp"
#include "support/each_row.hpp"

namespace heed::test {

using Floats = std::vector<float>;

struct EngineShape {
  std::int64_t B = 1, Hq = 1, Hkv = 1, Lq = 1, Lkv = 1, D = 1, Dv = 1;
};

inline Floats random_floats(std::int64_t count, std::uint64_t seed, float sigma = 1.0f) {
  std::mt19937_64 random(seed);
  std::normal_distribution<float> normal(0.0f, sigma);
  Floats x(static_cast<std::size_t>(count));
  for (float& value : x) value = normal(random);
  return x;
}

struct EngineProblem {
  explicit EngineProblem(const EngineShape& s, std::uint64_t seed = 1)
      : shape(s),
        q(random_floats(s.B * s.Hq * s.Lq * s.D, seed, 1.5f)),
        k(random_floats(s.B * s.Hkv * s.Lkv * s.D, seed + 1)),
        v(random_floats(s.B * s.Hkv * s.Lkv * s.Dv, seed + 2)),
        out(static_cast<std::size_t>(s.B * s.Hq * s.Lq * s.Dv)),
        lse(static_cast<std::size_t>(s.B * s.Hq * s.Lq)) {
    args.B = s.B;
    args.Hq = s.Hq;
    args.Hkv = s.Hkv;
    args.Lq = s.Lq;
    args.Lkv = s.Lkv;
    args.D = s.D;
    args.Dv = s.Dv;
    args.q = heads_first(static_cast<const float*>(q.data()), s.Hq, s.Lq, s.D);
    args.k = heads_first(static_cast<const float*>(k.data()), s.Hkv, s.Lkv, s.D);
    args.v = heads_first(static_cast<const float*>(v.data()), s.Hkv, s.Lkv, s.Dv);
    args.out = heads_first(out.data(), s.Hq, s.Lq, s.Dv);
    args.lse = lse.data();
  }
  EngineProblem(const EngineProblem&) = delete;
  EngineProblem& operator=(const EngineProblem&) = delete;

  // The outputs' bits, which are then forgotten.
  std::string take() {
    std::string bytes(reinterpret_cast<const char*>(out.data()), out.size() * sizeof(float));
    bytes.append(reinterpret_cast<const char*>(lse.data()), lse.size() * sizeof(float));
    out.assign(out.size(), -7.0f);
    lse.assign(lse.size(), -7.0f);
    return bytes;
  }
  std::string run() {
    const Status status = attention(args);
    REQUIRE(std::string(status.message()) == "");
    return take();
  }

  // The keys [begin, end) of every sequence only; positions as in the whole.
  AttentionArgs part(std::int64_t begin, std::int64_t end) {
    AttentionArgs a = args;
    a.Lkv = end - begin;
    a.k.data = k.data() + begin * shape.D;
    a.v.data = v.data() + begin * shape.Dv;
    positions.assign(static_cast<std::size_t>(shape.B), shape.Lkv - shape.Lq);
    starts.assign(static_cast<std::size_t>(shape.B), begin);
    a.alignment = HEED_OFFSETS;
    a.offsets = positions.data();
    a.key_offset = {starts.data(), HEED_INT64};
    return a;
  }

  EngineShape shape;
  Floats q, k, v, out, lse;
  std::vector<std::int64_t> positions, starts;
  AttentionArgs args;
};

// Memory of one state for a problem's rows.
struct StateMemory {
  explicit StateMemory(const EngineShape& s)
      : m(static_cast<std::size_t>(s.B * s.Hq * s.Lq), -7.0f),
        l(m.size(), -7.0f),
        o(m.size() * static_cast<std::size_t>(s.Dv), -7.0f),
        state(m.data(), l.data(), o.data(), s.B, s.Hq, s.Lq, s.Dv) {}
  StateMemory(const StateMemory&) = delete;
  StateMemory& operator=(const StateMemory&) = delete;

  std::string bytes() const {
    std::string all;
    for (const Floats* part : {&m, &l, &o}) {
      all.append(reinterpret_cast<const char*>(part->data()), part->size() * sizeof(float));
    }
    return all;
  }

  Floats m, l, o;
  State state;
};

inline constexpr float kEngineInfinity = std::numeric_limits<float>::infinity();
inline constexpr float kEngineNan = std::numeric_limits<float>::quiet_NaN();

}  // namespace heed::test

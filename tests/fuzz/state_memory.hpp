// A state in heap blocks of its own.
#pragma once

#include <cmath>

#include "fuzz/placement.hpp"

namespace heed::fuzz {

struct StateMemory {
  StateMemory(Int B, Int Hq, Int Lq, Int Dv, test::Kind kind, std::uint64_t seed, Input& in)
      : state{B, Hq, Lq, Dv, nullptr, nullptr, nullptr, 0, 0, 0, 0, 0, 0},
        m(static_cast<std::size_t>(B * Hq * Lq) * 4),
        l(m.size()),
        o(m.size() * static_cast<std::size_t>(Dv)) {
    fill(m.data(), m.size(), HEED_F32, kind, seed);
    fill(l.data(), l.size(), HEED_F32, kind, seed + 1);
    fill(o.data(), o.size(), HEED_F32, kind, seed + 2);
    for (std::size_t n = 0; n < m.size() / 4; ++n) {
      if (kind != test::Kind::kTame) break;
      float* const sum = reinterpret_cast<float*>(l.data()) + n;
      *sum = std::fabs(*sum) + 1;
    }
    state.m = reinterpret_cast<float*>(m.data());
    state.l = reinterpret_cast<float*>(l.data());
    state.o = reinterpret_cast<float*>(o.data());
    if (!in.flag()) return;  // tokens first
    state.stride_batch = Hq * Lq;
    state.stride_head = 1;
    state.stride_token = Hq;
    state.o_stride_batch = Hq * Lq * Dv;
    state.o_stride_head = Dv;
    state.o_stride_token = Hq * Dv;
  }
  std::string bytes() const {
    std::string all;
    for (const Block* part : {&m, &l, &o}) all.append(reinterpret_cast<const char*>(part->data()), part->size());
    return all;
  }
  void set(const std::string& all) {
    std::size_t at = 0;
    for (const Block* part : {&m, &l, &o}) {
      std::memcpy(part->data(), all.data() + at, part->size());
      at += part->size();
    }
  }
  heed_state state;
  Block m, l, o;
};

}  // namespace heed::fuzz

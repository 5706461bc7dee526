// A small attention problem for tests of the double reference: random f32 inputs that a test may rearrange.
#pragma once

#include <cstdint>
#include <random>
#include <utility>
#include <vector>

#include "heed/heed.hpp"

namespace heed::tests {

struct ReferenceProblem {
  heed_attention_args args{};
  std::vector<float> q, k, v;

  ReferenceProblem(std::int64_t B, std::int64_t Hq, std::int64_t Hkv, std::int64_t Lq, std::int64_t Lkv, std::int64_t D,
                   std::int64_t Dv) {
    args.struct_size = sizeof args;
    args.B = B, args.Hq = Hq, args.Hkv = Hkv, args.Lq = Lq, args.Lkv = Lkv, args.D = D, args.Dv = Dv;
    std::mt19937 engine(7);
    const auto fill = [&](std::vector<float>& x, std::int64_t n) {
      x.resize(static_cast<std::size_t>(n));
      for (float& value : x) value = static_cast<float>(engine() % 2001) / 500.0f - 2.0f;
    };
    fill(q, B * Hq * Lq * D);
    fill(k, B * Hkv * Lkv * D);
    fill(v, B * Hkv * Lkv * Dv);
    args.q = heads_first(std::as_const(q).data(), Hq, Lq, D);
    args.k = heads_first(std::as_const(k).data(), Hkv, Lkv, D);
    args.v = heads_first(std::as_const(v).data(), Hkv, Lkv, Dv);
  }
};

struct ReferenceResult {
  std::vector<double> out, lse, view;
  bool operator==(const ReferenceResult&) const = default;
};

// A view is asked for where what is not negative.
inline ReferenceResult reference_of(heed_attention_args args, heed_inspect what = -1) {
  const auto rows = static_cast<std::size_t>(args.B * args.Hq * args.Lq);
  ReferenceResult r;
  r.out.resize(rows * static_cast<std::size_t>(args.Dv), 99.0);
  r.lse.resize(rows, 99.0);
  if (what >= 0) r.view.resize(rows * static_cast<std::size_t>(args.Lkv), 99.0);
  args.inspect_what = what >= 0 ? what : HEED_SCORES_SCALED;
  reference::attention(args, r.out.data(), r.lse.data(), what >= 0 ? r.view.data() : nullptr);
  return r;
}

}  // namespace heed::tests

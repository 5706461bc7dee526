// Sizes, types and strides of a drafted call.
#include <algorithm>

#include "fuzz/draft.hpp"

namespace heed::fuzz {
namespace {

// A multiple of `step`, or one less or more.
Int around(Input& in, Int step, Int most) { return step * in.between(1, most) + in.between(-1, 1); }

Int draw_keys(Input& in) {
  switch (in.byte() % 8) {
    case 0:
    case 1:
      return in.between(1, 40);
    case 2:
      return in.between(0, 20);
    case 3:
    case 4:
      return around(in, 128, 2);
    case 5:
      return around(in, 512, 1);
    case 6:
      return in.between(250, 500);
    default:
      return 400 + 4 * in.between(0, 255);
  }
}

Int draw_queries(Input& in) {
  switch (in.byte() % 8) {
    case 6:
      return around(in, 16, 4);
    case 7:
      return in.between(0, 255) + in.between(0, 60);
    default:
      return in.between(1, 9);
  }
}

Int draw_columns(Input& in) {
  switch (in.byte() % 4) {
    case 2:
      return around(in, 16, 2);
    case 3:
      return in.between(1, 80);
    default:
      return in.between(1, 9);
  }
}

}  // namespace

void fit(Sizes& s, Int work) {
  while (s.B * s.Hq * s.Lq * s.Lkv * (s.D + s.Dv) > work) {
    if (s.D + s.Dv > 20) {
      s.D = (s.D + 1) / 2;
      s.Dv = (s.Dv + 1) / 2;
    } else if (s.B * s.Hq > 2) {
      s.B = (s.B + 1) / 2;
      s.Hq = s.Hkv > 1 ? s.Hq / s.Hkv : (s.Hq + 1) / 2;
      s.Hkv = 1;
    } else if (s.Lq > 2) {
      s.Lq = (s.Lq + 1) / 2;
    } else {
      s.Lkv /= 2;
    }
  }
}

Sizes draw_sizes(Input& in) {
  Sizes s;
  s.B = in.pick<Int>({1, 1, 2, 3, 2, 1, 4, 0});
  s.Hkv = in.pick<Int>({1, 1, 2, 3});
  s.Hq = s.Hkv * in.pick<Int>({1, 1, 2, 3, 4, 7, 8, 0});
  s.Lkv = draw_keys(in);
  s.Lq = in.once_in(32) ? 0 : draw_queries(in);
  s.D = draw_columns(in);
  s.Dv = in.flag() ? s.D : draw_columns(in);
  s.q = static_cast<heed_type>(in.between(HEED_F32, HEED_BF16));
  s.k = static_cast<heed_type>(in.between(HEED_F32, HEED_FP8_E5M2));
  s.v = static_cast<heed_type>(in.between(HEED_F32, HEED_FP8_E5M2));
  s.out = static_cast<heed_type>(in.between(HEED_F32, HEED_BF16));
  const std::uint8_t paged = in.byte();
  if (paged % 8 < 5) {
    if (paged % 8 > 2) s.page_size = in.flag() ? 16 * in.between(1, 9) : in.between(1, 60);
    s.panels = paged % 8 == 4 && s.page_size % 16 == 0 && s.page_size > 0;
  }
  fit(s, 20'000);
  return s;
}

Strides draw_strides(Input& in, Int batches, Int heads, Int tokens, Int columns) {
  constexpr int orders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};  // outermost first
  const std::uint8_t choice = in.byte();
  const Int gap = choice / 6 % 3, counts[3] = {batches, heads, tokens};
  const bool backwards = choice / 18 % 4 == 3;
  Int strides[3], stride = columns + gap;
  for (int n = 3; n-- > 0;) {
    const int axis = orders[choice % 6][n];
    strides[axis] = backwards ? -stride : stride;
    stride = stride * std::max<Int>(counts[axis], 1) + gap;
  }
  return {strides[0], strides[1], strides[2]};
}

}  // namespace heed::fuzz

// The problems of attention. A new one goes to the end of its list: nothing depends on the order.
#include "attention.hpp"

namespace heed::golden {
namespace {

constexpr heed_type kRowTypes[] = {HEED_F32, HEED_F16, HEED_BF16};
constexpr heed_type kKeyTypes[] = {HEED_F32, HEED_F16, HEED_BF16, HEED_INT8};

// A prefill, a decode and a chunk, with grouped heads: what an option is tried on.
template <class Change>
void on_each_shape(Lines& lines, const Change& change) {
  for (Attention p : {Attention{.Hq = 2, .Lq = 35, .Lkv = 35, .D = 20, .Dv = 17},
                      Attention{.B = 2, .Hq = 6, .Hkv = 2, .Lq = 1, .Lkv = 530, .D = 24, .Dv = 16},
                      Attention{.Hq = 4, .Hkv = 2, .Lq = 19, .Lkv = 150, .D = 33, .Dv = 40}}) {
    change(p);
    add(lines, p);
  }
}

}  // namespace

void shape_problems(Lines& lines) {
  for (const std::int64_t D : {1, 2, 3, 5, 8, 15, 16, 17, 31, 33, 63, 64, 65, 80, 96, 128, 129, 256}) {
    add(lines, {.Hq = 2, .Lq = 1, .Lkv = 131, .D = D, .Dv = D});
    add(lines, {.Lq = 21, .Lkv = 40, .D = D, .Dv = D, .causal = true});
  }
  for (const auto& [D, Dv] : {std::pair{1, 64}, {64, 1}, {3, 129}, {128, 17}, {192, 128}, {80, 96}}) {
    add(lines, {.Lq = 3, .Lkv = 145, .D = D, .Dv = Dv});
  }
  add(lines, {.Hq = 16, .Lq = 2, .Lkv = 140, .D = 576, .Dv = 512, .k = HEED_BF16, .v = HEED_BF16});  // latent attention
  for (const std::int64_t Lkv :
       {0, 1, 2, 15, 16, 17, 31, 33, 127, 128, 129, 255, 257, 511, 512, 513, 640, 1023, 1024, 1025, 1537}) {
    add(lines, {.Lq = 1, .Lkv = Lkv, .D = 12, .Dv = 10});
    add(lines, {.Hq = 4, .Lq = 1, .Lkv = Lkv, .D = 32, .Dv = 32, .scale = 0.5f, .has_scale = true});
  }
  for (const std::int64_t L : {2, 15, 16, 17, 47, 48, 49, 97, 127, 128, 129, 257}) {
    add(lines, {.Lq = L, .Lkv = L, .D = 16, .Dv = 16, .causal = true});
    add(lines, {.Lq = L, .Lkv = L, .D = 9, .Dv = 7});
  }
  for (const std::int64_t Lq : {1, 2, 3, 4, 5, 7, 8, 13, 24}) add(lines, {.Lq = Lq, .Lkv = 513, .D = 18, .Dv = 18});
  add(lines, {.Lq = 530, .Lkv = 530, .D = 8, .Dv = 8, .causal = true});
  add(lines, {.Lq = 5, .Lkv = 2, .D = 8, .Dv = 8, .causal = true});
  add(lines, {.Lq = 0, .Lkv = 7});
  for (const auto& [Hq, Hkv] : {std::pair{4, 2}, {6, 3}, {28, 4}, {8, 1}, {12, 12}}) {
    add(lines, {.B = 2, .Hq = Hq, .Hkv = Hkv, .Lq = 1, .Lkv = 70, .D = 16, .Dv = 16});
    add(lines, {.Hq = Hq, .Hkv = Hkv, .Lq = 9, .Lkv = 33, .D = 16, .Dv = 16, .causal = true});
  }
  for (const heed_type q : kRowTypes) {
    for (const heed_type out : kRowTypes) add(lines, {.Lq = 7, .Lkv = 140, .D = 33, .Dv = 35, .q = q, .out = out});
  }
  for (const heed_type k : kKeyTypes) {
    for (const heed_type v : kKeyTypes) {
      add(lines, {.Hq = 4, .Lq = 1, .Lkv = 150, .D = 40, .Dv = 35, .k = k, .v = v});
      add(lines, {.Lq = 52, .Lkv = 140, .D = 33, .Dv = 24, .q = HEED_F16, .k = k, .v = v, .out = HEED_BF16});
    }
  }
}

void option_problems(Lines& lines) {
  for (const float scale : {0.0f, -1.0f, 8.0f}) {
    on_each_shape(lines, [=](Attention& p) { p.scale = scale, p.has_scale = true; });
  }
  for (const float cap : {2.0f, 30.0f}) on_each_shape(lines, [=](Attention& p) { p.softcap = cap; });
  on_each_shape(lines, [](Attention& p) { p.alibi = true; });
  for (const heed_type type : kRowTypes) on_each_shape(lines, [=](Attention& p) { p.bias = true, p.bias_type = type; });
  on_each_shape(lines, [](Attention& p) { p.score_callback = true; });
  on_each_shape(lines, [](Attention& p) { p.causal = true; });
  on_each_shape(lines, [](Attention& p) { p.causal = true, p.alignment = HEED_TOP_LEFT; });
  for (const std::int64_t offset : {-9, 0, 140}) {
    on_each_shape(lines, [=](Attention& p) {
      p.causal = true, p.alignment = HEED_OFFSETS;
      for (std::int64_t b = 0; b < p.B; ++b) p.offsets.push_back(offset + b);
    });
  }
  for (const auto& window : {std::pair{0, 0}, {2, 1}, {15, 0}, {129, -1}, {-1, 3}, {-1, -1}}) {
    on_each_shape(lines, [=](Attention& p) { p.has_window = true, p.left = window.first, p.right = window.second; });
  }
  on_each_shape(lines, [](Attention& p) { p.causal = p.has_window = true, p.left = 20, p.right = 4; });
  for (const std::int64_t length : {0, 1, 17, 33}) {
    on_each_shape(lines, [=](Attention& p) {
      p.causal = true;
      for (std::int64_t b = 0; b < p.B; ++b) p.kv_lengths.push_back(length + b);
    });
  }
  for (const std::int64_t begin : {1, 17, 33}) {
    on_each_shape(lines, [=](Attention& p) {
      p.alibi = true;
      for (std::int64_t b = 0; b < p.B; ++b) p.key_begin.push_back(begin + b);
    });
  }
  on_each_shape(lines, [](Attention& p) {
    p.alibi = p.has_window = true, p.left = 12, p.right = 0;
    for (std::int64_t b = 0; b < p.B; ++b) p.key_offset.push_back(1000 + b);
  });
  for (const Mask mask : {Mask::kBytes, Mask::kBits, Mask::kCallback, Mask::kBytesAndCallback}) {
    on_each_shape(lines, [=](Attention& p) { p.mask = mask; });
  }
  on_each_shape(lines, [](Attention& p) { p.sinks = true; });
  on_each_shape(lines, [](Attention& p) { p.sinks = true, p.kv_lengths = Integers(static_cast<std::size_t>(p.B)); });
  for (const int view : {0, 1, 2, 3}) {
    on_each_shape(lines, [=](Attention& p) { p.inspect = view, p.softcap = 4.0f, p.bias = p.causal = true; });
  }
  on_each_shape(lines, [](Attention& p) { p.backwards = true, p.causal = true; });
  add(lines, {.B = 2, .Hq = 2, .Hkv = 2, .Lq = 1, .Lkv = 1600, .D = 16, .Dv = 16, .backwards = true});
}

void layout_problems(Lines& lines) {
  for (const Layout layout :
       {Layout::kHeadsFirst, Layout::kTokensFirst, Layout::kPadded, Layout::kFused, Layout::kReversed}) {
    add(lines, {.B = 2, .Hq = 4, .Hkv = 2, .Lq = 20, .Lkv = 20, .D = 17, .Dv = 24, .layout = layout});
    add(lines, {.B = 3,
                .Hq = 4,
                .Hkv = 4,
                .Lq = 1,
                .Lkv = 140,
                .D = 16,
                .Dv = 9,
                .k = HEED_F16,
                .v = HEED_BF16,
                .layout = layout});
    add(lines, {.Hq = 2,
                .Hkv = 1,
                .Lq = 9,
                .Lkv = 60,
                .D = 10,
                .Dv = 33,
                .k = HEED_INT8,
                .v = HEED_INT8,
                .layout = layout,
                .causal = true});
  }
  for (const bool small : {false, true}) {
    add(lines, {.B = 4,
                .Hq = 4,
                .Hkv = 2,
                .Lq = 33,
                .Lkv = 600,
                .D = 16,
                .Dv = 20,
                .layout = Layout::kRagged,
                .small_indices = small,
                .q_lengths = {1, 33, 0, 5},
                .kv_lengths = {600, 33, 7, 0},
                .causal = true});
    add(lines, {.B = 3,
                .Hq = 2,
                .Lq = 4,
                .Lkv = 130,
                .D = 24,
                .Dv = 16,
                .q = HEED_BF16,
                .k = HEED_INT8,
                .v = HEED_F16,
                .out = HEED_F16,
                .layout = Layout::kRagged,
                .small_indices = small,
                .q_lengths = {2, 4, 1},
                .kv_lengths = {127, 128, 130},
                .alibi = true});
  }
  for (const std::int64_t page_size : {1, 3, 16, 17, 64, 100}) {
    for (const Layout layout : {Layout::kBlockTable, Layout::kPageIndices}) {
      add(lines, {.B = 3,
                  .Hq = 4,
                  .Hkv = 2,
                  .Lq = 2,
                  .Lkv = 131,
                  .D = 16,
                  .Dv = 17,
                  .layout = layout,
                  .page_size = page_size,
                  .small_indices = page_size % 2 == 1,
                  .kv_lengths = {131, 1, 64},
                  .causal = true});
      add(lines, {.B = 2,
                  .Hq = 2,
                  .Hkv = 2,
                  .Lq = 1,
                  .Lkv = 540,
                  .D = 24,
                  .Dv = 16,
                  .k = HEED_F16,
                  .v = HEED_INT8,
                  .layout = layout,
                  .page_size = page_size,
                  .kv_lengths = {540, 130}});
    }
  }
  add(lines, {.B = 2,
              .Hq = 2,
              .Lq = 30,
              .Lkv = 150,
              .D = 16,
              .Dv = 16,
              .layout = Layout::kBlockTable,
              .page_size = 16,
              .missing_page = 2,
              .kv_lengths = {150, 40}});
  add(lines, {.B = 2,
              .Hq = 2,
              .Lq = 5,
              .Lkv = 300,
              .D = 16,
              .Dv = 16,
              .layout = Layout::kPageIndices,
              .page_size = 128,
              .missing_page = 1,
              .kv_lengths = {300, 290},
              .key_begin = {3, 129},
              .causal = true});
}

void special_problems(Lines& lines) {
  const auto with = [&lines](Attention p, std::vector<Place> specials) {
    p.specials = std::move(specials);
    add(lines, p);
  };
  const Attention prefill{.Hq = 2, .Lq = 20, .Lkv = 20, .D = 9, .Dv = 10, .causal = true};
  const Attention decode{.Hq = 4, .Lq = 1, .Lkv = 700, .D = 9, .Dv = 10};
  constexpr Special kAll[] = {Special::kNan, Special::kInfinity, Special::kMinusInfinity, Special::kMinusZero};
  with({.Lq = 1, .Lkv = 2}, {{kV, 0, 4, Special::kSubnormal}, {kV, 1, 4, Special::kSubnormal}});
  for (const Attention& p : {prefill, decode}) {
    for (const Special special : kAll) {
      with(p, {{kQ, p.Lq / 2, 3, special}});
      with(p, {{kK, 7, 8, special}});
      with(p, {{kV, 7, 4, special}});
    }
    with(p, {{kK, p.Lkv - 1, 8, Special::kNan}});
    with(p, {{kV, p.Lkv - 1, 4, Special::kInfinity}, {kV, 0, 4, Special::kMinusInfinity}});
    Attention half = p;  // rows of f16 and bf16 have canonical NaNs of their own
    half.q = half.k = half.v = half.out = HEED_F16;
    with(half, {{kV, 3, 1, Special::kNan}});
    half.k = half.v = half.out = HEED_BF16;
    with(half, {{kV, 3, 1, Special::kNan}});
    with(half, {{kK, 3, 1, Special::kMinusInfinity}});
    Attention windowed = p;  // what is not attended has no influence
    windowed.has_window = true, windowed.left = 4, windowed.right = 0;
    with(windowed, {{kK, 3, 1, Special::kNan}, {kV, 3, 1, Special::kInfinity}});
    Attention sunk = p;
    sunk.sinks = true;
    for (const Special special : {Special::kNan, Special::kInfinity, Special::kMinusInfinity}) {
      with(sunk, {{kSinks, 1, 0, special}});
    }
  }
}

void mixed_problems(Lines& lines) {
  constexpr Layout kLayouts[] = {Layout::kHeadsFirst, Layout::kRagged, Layout::kBlockTable, Layout::kTokensFirst,
                                 Layout::kPageIndices};
  for (int n = 0; n < 30; ++n) {
    Attention p{.B = 2, .Hq = 4, .Hkv = n % 3 == 0 ? 4 : 2, .Lq = 1 + n * 7 % 40, .Lkv = 60 + n * 37 % 500};
    p.D = 5 + n * 11 % 61;
    p.Dv = 4 + n * 13 % 70;
    p.q = kRowTypes[n % 3];
    p.k = kKeyTypes[n % 4];
    p.v = kKeyTypes[n / 4 % 4];
    p.out = kRowTypes[n / 3 % 3];
    p.layout = kLayouts[n % 5];
    p.small_indices = n % 2 == 0;
    p.kv_lengths = {p.Lkv, p.Lkv - 3 - n};
    if (p.layout == Layout::kRagged) p.q_lengths = {p.Lq / 2, p.Lq};
    if (p.layout == Layout::kBlockTable || p.layout == Layout::kPageIndices) p.page_size = 1 + n * 5 % 40;
    p.softcap = n % 3 == 1 ? 10.0f : 0.0f;
    p.alibi = n % 4 < 2;
    p.bias = n % 5 < 2;
    p.bias_type = kRowTypes[n / 2 % 3];
    p.score_callback = n % 7 == 3;
    p.causal = n % 3 != 1;
    p.has_window = n % 4 == 2;
    p.left = 30 + n;
    p.right = n % 8 == 2 ? 2 : -1;
    p.mask = static_cast<Mask>(n % 5);
    if (p.mask != Mask::kBytesAndCallback) {  // that one describes slots
      if (n % 4 == 1) p.key_begin = {0, 19};
      if (n % 6 == 2) p.key_offset = {100, 0};
    }
    p.sinks = n % 3 == 2;
    p.backwards = n % 2 == 1;
    add(lines, p);
  }
}

}  // namespace heed::golden

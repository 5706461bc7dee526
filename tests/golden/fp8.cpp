// Keys and values of 8 bits.
#include "attention.hpp"

namespace heed::golden {
namespace {

constexpr heed_type kFp8Types[] = {HEED_FP8_E4M3, HEED_FP8_E5M2};
constexpr heed_type kOtherTypes[] = {HEED_F32, HEED_F16, HEED_BF16, HEED_INT8};

}  // namespace

void fp8_problems(Lines& lines) {
  const auto both = [&lines](heed_type k, heed_type v) {
    add(lines, {.Hq = 4, .Lq = 1, .Lkv = 150, .D = 40, .Dv = 35, .k = k, .v = v});
    add(lines, {.Lq = 52, .Lkv = 140, .D = 33, .Dv = 24, .q = HEED_F16, .k = k, .v = v, .out = HEED_BF16});
  };
  for (const heed_type type : kFp8Types) {
    for (const heed_type other : kOtherTypes) both(type, other), both(other, type);
    for (const heed_type other : kFp8Types) both(type, other);
    for (const std::int64_t L : {1, 16, 17, 129, 513}) {
      add(lines, {.Lq = 1, .Lkv = L, .D = 16, .Dv = 16, .k = type, .v = type});
      add(lines, {.Hq = 2, .Lq = 30, .Lkv = L, .D = 17, .Dv = 15, .k = type, .v = type, .causal = true});
    }
    add(lines, {.B = 2,
                .Hq = 4,
                .Hkv = 2,
                .Lq = 3,
                .Lkv = 131,
                .D = 16,
                .Dv = 17,
                .k = type,
                .v = type,
                .layout = Layout::kBlockTable,
                .page_size = 17,
                .kv_lengths = {131, 64},
                .softcap = 8.0f,
                .alibi = true,
                .causal = true,
                .sinks = true});
    add(lines, {.B = 2,
                .Hq = 2,
                .Lq = 33,
                .Lkv = 150,
                .D = 24,
                .Dv = 18,
                .k = type,
                .v = type,
                .layout = Layout::kRagged,
                .q_lengths = {33, 1},
                .kv_lengths = {150, 129},
                .mask = Mask::kBits});
    for (const std::int64_t Lq : {1, 20}) {
      const Attention p{.Hq = 2, .Lq = Lq, .Lkv = 20, .D = 9, .Dv = 10, .k = type, .v = type};
      for (const Stream stream : {kK, kV}) {
        for (const Special special : {Special::kNan, Special::kMinusZero}) {
          Attention with = p;
          with.specials = {{stream, 7, 4, special}};
          add(lines, with);
        }
      }
    }
  }
  for (const Special special : {Special::kInfinity, Special::kMinusInfinity}) {
    for (const Stream stream : {kK, kV}) {
      add(lines, {.Lq = 5,
                  .Lkv = 20,
                  .D = 9,
                  .Dv = 10,
                  .k = HEED_FP8_E5M2,
                  .v = HEED_FP8_E5M2,
                  .specials = {{stream, 7, 4, special}}});
    }
  }
}

}  // namespace heed::golden

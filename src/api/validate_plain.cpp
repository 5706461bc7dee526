// Which calls keep every rule at a glance.
#include <cmath>
#include <initializer_list>

#include "api/validate.hpp"

namespace heed::api {
namespace {

// Four sizes below 2^15 make no more than 2^60 elements, and three of them times strides below 2^40 reach no further.
constexpr int kSizeBits = 15, kStrideBits = 40;
constexpr std::uint64_t kMostStride = std::uint64_t{1} << kStrideBits;

constexpr Types kUnscaledTypes = kStoredTypes & ~only(HEED_INT8);

// Not 0: a bit of something that isn't there, or not aligned.
template <class Tensor>
std::uintptr_t misplaced(const Tensor& t) {
  const auto address = reinterpret_cast<std::uintptr_t>(t.data);
  return (address & static_cast<std::uintptr_t>(element_bytes(t.type) - 1)) | (address == 0 ? 1 : 0);
}

template <class Tensor>
std::uint64_t widest(const Tensor& t) {  // bits from 2 * kMostStride on: of strides that aren't within +-kMostStride
  const auto above_least = [](std::int64_t stride) { return static_cast<std::uint64_t>(stride) + kMostStride; };
  return above_least(t.stride_batch) | above_least(t.stride_head) | above_least(t.stride_token);
}

// Rows of so many columns, each axis around all that lies inside it.
bool nested(std::int64_t columns, const Axis& inner, const Axis& middle, const Axis& outer) {
  const std::int64_t row = columns + (inner.count - 1) * inner.stride;
  const std::int64_t matrix = row + (middle.count - 1) * middle.stride;
  return (inner.count == 1 || inner.stride >= columns) && (middle.count == 1 || middle.stride >= row) &&
         (outer.count == 1 || outer.stride >= matrix);
}

}  // namespace

// Nearly all small calls are like this, and they notice what a look at each rule costs: 1200 of the 6500 instructions
// that attention over 3 tokens took. So everything is or-ed together and looked at once.
bool is_plain(const heed_attention_args& a) {
  std::uint64_t sizes = 0;
  for (const std::int64_t size : {a.B, a.Hq, a.Hkv, a.Lq, a.Lkv, a.D, a.Dv}) {
    sizes |= static_cast<std::uint64_t>(size) - 1;  // that of 0 and less is large
  }
  if (sizes >> kSizeBits != 0) return false;
  const auto heads = static_cast<std::uint32_t>(a.Hq), kv_heads = static_cast<std::uint32_t>(a.Hkv);
  const bool types = is_one_of(a.q.type, kFloatTypes) && is_one_of(a.out.type, kFloatTypes) &&
                     is_one_of(a.k.type, kUnscaledTypes) && is_one_of(a.v.type, kUnscaledTypes);
  if (heads % kv_heads != 0 || !types) return false;

  const auto word = [](const auto* pointer) { return reinterpret_cast<std::uintptr_t>(pointer); };
  const std::uintptr_t layouts = word(a.kv_lengths.data) | word(a.key_begin.data) | word(a.key_offset.data) |
                                 word(a.q_indptr.data) | word(a.kv_indptr.data) | word(a.block_table.data) |
                                 word(a.page_indices.data) | word(a.page_indptr.data) | word(a.table_rows.data) |
                                 word(a.offsets) | static_cast<std::uintptr_t>(a.page_size) |
                                 static_cast<std::uint32_t>(a.kv_panels);
  const std::uintptr_t extras = word(a.k_scales.data) | word(a.v_scales.data) | word(a.inspect.data) | word(a.start) |
                                word(a.end) | word(a.bias.data) | static_cast<std::uint32_t>(a.mask_kind) |
                                static_cast<std::uint64_t>(a.lse_stride_batch | a.lse_stride_head | a.lse_stride_token);
  const std::uintptr_t unaligned = (word(a.alibi_slopes) | word(a.sinks) | word(a.lse)) & 3;
  const std::uintptr_t addresses = misplaced(a.q) | misplaced(a.k) | misplaced(a.v) | misplaced(a.out);
  const std::uint64_t strides = (widest(a.q) | widest(a.k) | widest(a.v) | widest(a.out)) >> (kStrideBits + 1);
  if ((layouts | extras | unaligned | addresses | strides) != 0) return false;

  const bool scores = (a.has_scale == 0 || std::isfinite(a.scale)) && a.softcap >= 0.0f && std::isfinite(a.softcap);
  const bool ranges = static_cast<std::uint32_t>(a.alignment) <= HEED_TOP_LEFT &&
                      (a.has_window == 0 || (a.window_left >= -1 && a.window_right >= -1));
  const bool calls = static_cast<std::uint32_t>(a.executor.threads) <= 1 &&
                     (a.allocator.allocate == nullptr) == (a.allocator.release == nullptr);
  const Axis batch{a.B, a.out.stride_batch}, head{a.Hq, a.out.stride_head}, token{a.Lq, a.out.stride_token};
  return scores && ranges && calls && a.out.data != a.q.data &&
         (nested(a.Dv, token, head, batch) || nested(a.Dv, head, token, batch));
}

}  // namespace heed::api

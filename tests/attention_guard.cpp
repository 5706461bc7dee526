#include "attention_guard.hpp"

#include <algorithm>

#include "attention_forms.hpp"
#include "reference/sequence.hpp"
#include "support/storage.hpp"

namespace heed::test {

using reference::index_or;

namespace {

std::int64_t length(const heed_attention_args& args, std::int64_t b) { return reference::Sequence(args, b).end; }

// Entries of a table of pages that are read for sequence b.
std::int64_t pages_of(const heed_attention_args& args, std::int64_t b) {
  return (length(args, b) + args.page_size - 1) / args.page_size;
}

}  // namespace

template <class Pointer>
void GuardedCall::move(Pointer& array, const Pieces& pieces, std::size_t element_bytes, bool writable) {
  if (array == nullptr) return;
  std::int64_t first = 0, last = 0;
  for (const Piece& piece : pieces) {
    first = std::min(&piece == pieces.data() ? piece.at : first, piece.at);
    last = std::max(&piece == pieces.data() ? piece.at : last, piece.at + piece.length);
  }
  const auto element = static_cast<std::int64_t>(element_bytes);
  std::vector<unsigned char> bytes(static_cast<std::size_t>((last - first) * element));
  std::vector<bool> is_element(bytes.size(), false);
  const auto* data = reinterpret_cast<const unsigned char*>(array);
  for (const Piece& piece : pieces) {
    for (std::int64_t byte = piece.at * element; byte < (piece.at + piece.length) * element; ++byte) {
      bytes[static_cast<std::size_t>(byte - first * element)] = data[byte];
      is_element[static_cast<std::size_t>(byte - first * element)] = true;
    }
  }
  array = reinterpret_cast<Pointer>(arena_.scattered(bytes, is_element, element_bytes, writable) - first * element);
}

void GuardedCall::move(heed_index& array, const Pieces& pieces) {
  move(array.data, pieces, array.type == HEED_INT32 ? 4 : 8);
}

template <class Tensor>
GuardedCall::Pieces GuardedCall::query_rows(const Tensor& t, std::int64_t columns) const {
  Pieces pieces;
  for (std::int64_t b = 0; b < from_.B; ++b) {
    const bool ragged = from_.q_indptr.data != nullptr;
    const std::int64_t first = index_or(from_.q_indptr, b, 0);
    const std::int64_t end = ragged ? index_or(from_.q_indptr, b + 1, 0) : from_.Lq;
    for (std::int64_t h = 0; h < from_.Hq; ++h) {
      for (std::int64_t token = first; token < end; ++token) {
        pieces.push_back({(ragged ? 0 : b * t.stride_batch) + h * t.stride_head + token * t.stride_token, columns});
      }
    }
  }
  return pieces;
}

template <class Tensor>
GuardedCall::Pieces GuardedCall::rows_by_sequence(const Tensor& t, std::int64_t columns) const {
  Pieces pieces;
  for (std::int64_t b = 0; b < from_.B; ++b) {
    for (std::int64_t h = 0; h < from_.Hq; ++h) {
      for (std::int64_t i = 0; i < reference::Sequence(from_, b).queries; ++i) {
        pieces.push_back({b * t.stride_batch + h * t.stride_head + i * t.stride_token, columns});
      }
    }
  }
  return pieces;
}

GuardedCall::Pieces GuardedCall::slots(const heed_tensor& t, std::int64_t columns) const {
  const bool paged = from_.block_table.data != nullptr || from_.page_indices.data != nullptr;
  const bool ragged = from_.kv_indptr.data != nullptr;
  Pieces pieces;
  for (std::int64_t b = 0; b < from_.B; ++b) {
    for (std::int64_t slot = index_or(from_.key_begin, b, 0); slot < length(from_, b); ++slot) {
      std::int64_t at = ragged ? (index_or(from_.kv_indptr, b, 0) + slot) * t.stride_token
                               : b * t.stride_batch + slot * t.stride_token;
      if (paged) {
        const std::int64_t entry = slot / from_.page_size;
        const std::int64_t page = from_.block_table.data != nullptr
                                      ? index_or(from_.block_table, b * from_.block_table_stride + entry, 0)
                                      : index_or(from_.page_indices, index_or(from_.page_indptr, b, 0) + entry, 0);
        if (page < 0) continue;
        at = page * t.stride_batch + slot % from_.page_size * t.stride_token;
      }
      for (std::int64_t h = 0; h < from_.Hkv; ++h) pieces.push_back({at + h * t.stride_head, columns});
    }
  }
  return pieces;
}

void GuardedCall::move_pages() {
  Pieces entries;
  for (std::int64_t b = 0; b < from_.B; ++b) {
    if (from_.block_table.data != nullptr) entries.push_back({b * from_.block_table_stride, pages_of(from_, b)});
    if (from_.page_indices.data != nullptr) entries.push_back({index_or(from_.page_indptr, b, 0), pages_of(from_, b)});
  }
  move(args.block_table, entries);
  move(args.page_indices, entries);
  move(args.page_indptr, {{0, from_.B + 1}});
}

GuardedCall::GuardedCall(const heed_attention_args& from, kernel::Placement placement)
    : args(from), from_(from), arena_(placement) {
  const Pieces batch = {{0, from.B}}, heads = {{0, from.Hq}};
  move(args.q.data, query_rows(from.q, from.D), bytes_of(from.q.type));
  move(args.k.data, slots(from.k, from.D), bytes_of(from.k.type));
  move(args.v.data, slots(from.v, from.Dv), bytes_of(from.v.type));
  move(args.k_scales.data, slots(from.k_scales, 1), sizeof(float));
  move(args.v_scales.data, slots(from.v_scales, 1), sizeof(float));
  move(args.out.data, query_rows(from.out, from.Dv), bytes_of(from.out.type), true);
  move(args.lse, query_rows(strides_of_lse(from), 1), sizeof(float), true);
  move(args.bias.data, rows_by_sequence(from.bias, from.Lkv), bytes_of(from.bias.type));
  move(args.inspect.data, rows_by_sequence(from.inspect, from.Lkv), sizeof(float), true);
  const heed_tensor mask{from.mask, from.mask_stride_batch, from.mask_stride_head, from.mask_stride_token, HEED_INT8};
  move(args.mask, rows_by_sequence(mask, from.mask_kind == HEED_BIT_MASK ? (from.Lkv + 7) / 8 : from.Lkv), 1);
  move(args.alibi_slopes, heads, sizeof(float));
  move(args.sinks, heads, sizeof(float));
  move(args.offsets, batch, sizeof(std::int64_t));
  for (heed_index* array : {&args.kv_lengths, &args.key_begin, &args.key_offset}) move(*array, batch);
  for (heed_index* array : {&args.q_indptr, &args.kv_indptr}) move(*array, {{0, from.B + 1}});
  if (from.page_size > 0) move_pages();
  args.allocator = {allocate, release, this};
}

void* GuardedCall::allocate(void* context, std::size_t bytes) {
  constexpr std::size_t kAlignment = 64;
  std::vector<bool> is_element(bytes, true);
  is_element.resize((bytes + kAlignment - 1) / kAlignment * kAlignment, false);
  const std::vector<unsigned char> contents(is_element.size(), 0xFF);  // every float in it is a NaN
  return static_cast<GuardedCall*>(context)->arena_.scattered(contents, is_element, kAlignment, true);
}

Result GuardedCall::run() {
  const heed_attention_args* placed = &args;  // the struct itself, too
  move(placed, {{0, sizeof args / 8}}, 8);
  heed_status status;
  Result result;
  if (heed_attention(placed, &status) != HEED_OK) {
    result.failure = std::string("the call failed: ") + status.message;
    return result;
  }
  result = result_of(args);
  result.failure = arena_.violation();
  return result;
}

}  // namespace heed::test

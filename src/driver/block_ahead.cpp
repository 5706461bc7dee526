// What a block's kernels are told to fetch: the values while scores are computed, the next block's keys while values
// are added.
#include "driver/block.hpp"
#include "integers.hpp"

namespace heed {
namespace {

// Unsigned: the stride of a single row may be any number.
std::uint64_t product(std::int64_t a, std::int64_t b) {
  return static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b);
}

Ahead rows_ahead(const char* data, std::int64_t stride, std::int64_t columns, heed_type type, std::int64_t rows) {
  return {data, static_cast<std::int64_t>(product(stride, element_bytes(type))), columns * element_bytes(type), rows};
}

}  // namespace

Ahead part_of(const Ahead& ahead, std::int64_t first, std::int64_t rows) {
  Ahead part = ahead;
  part.rows = rows;
  if (ahead.pieces != nullptr) {
    part.first += first;
  } else {
    const auto at = reinterpret_cast<std::uintptr_t>(ahead.data) + product(first, ahead.stride);
    part.data = reinterpret_cast<const void*>(at);
  }
  return part;
}

bool Block::fetch_ahead(const Sequence& sequence, std::int64_t kv_head) {
  // What may be in the second-level cache already, where asking for it costs up to a half: all of a single head, or a
  // quarter as much of several, between whose tokens an engine's other layers have passed through that cache.
  const bool single = args_.Hkv == 1 && args_.B == 1;
  const std::int64_t near_bytes = single ? std::int64_t{1} << 20 : std::int64_t{1} << 18;
  const std::int64_t key_bytes = args_.D * element_bytes(args_.k.type) + args_.Dv * element_bytes(args_.v.type);
  if (sequence.keys <= near_bytes / key_bytes / args_.Hkv / args_.B) return false;

  values_ahead_ = in_pieces_ ? pages_ahead(args_.v, value_step(), sequence, kv_head, begin_, value_pages_)
                             : rows_ahead(values_.data, values_.row, args_.Dv, values_.type, keys_count_);
  if (begin_ + kBlock < sequence.keys) fetch_keys(sequence, kv_head, begin_ + kBlock);
  return true;
}

void Block::fetch_first_keys(const Sequence& sequence, std::int64_t kv_head) {
  if (sequence.keys > 0) fetch_keys(sequence, kv_head, 0);
}

void Block::fetch_keys(const Sequence& sequence, std::int64_t kv_head, std::int64_t begin) {
  if (args_.page_size > 0) {
    next_keys_ahead_ = pages_ahead(args_.k, key_step(), sequence, kv_head, begin, next_key_pages_);
    return;
  }
  std::int64_t run = 0;
  const char* keys = problem_.slot(args_.k, sequence, kv_head, sequence.begin + begin, &run);
  next_keys_ahead_ = rows_ahead(keys, args_.k.stride_token, args_.D, args_.k.type, least(run, kBlock));
}

// A block's keys or values in those of its pages that are there: rows in pieces of 16, panels in a piece for each page.
// The last piece of a page is as long as the others: a hint may say too much.
Ahead Block::pages_ahead(const heed_tensor& tensor, std::int64_t step, const Sequence& sequence, std::int64_t kv_head,
                         std::int64_t begin, const void** pages) const {
  if (args_.page_size < kPanel) return {};
  const std::int64_t end = least(begin + kBlock, sequence.keys);
  const std::int64_t slots = args_.kv_panels != 0 ? least(args_.page_size, kBlock) : kPanel;
  std::int64_t count = 0;
  for (std::int64_t j = begin, run = 0; j < end; j += run) {
    const std::int64_t slot = sequence.begin + j, within = slot % args_.page_size;
    const std::int64_t page = problem_.page_of(sequence, slot);
    run = least(args_.page_size - within, end - j);
    for (std::int64_t x = 0; x < run && page >= 0; x += slots) {
      pages[count++] = in_page(tensor, step, page, kv_head, within + x);
    }
  }
  if (count == 0) return {};
  pages[count] = pages[count - 1];
  const bool keys = &tensor == &args_.k;
  Ahead ahead = rows_ahead(nullptr, tensor.stride_token, keys ? args_.D : args_.Dv, tensor.type, count * slots);
  ahead.pieces = pages;
  ahead.piece_rows = slots;
  if (args_.kv_panels == 0) return ahead;
  // A head's keys are one row of a page; its values one of each 16 columns.
  const std::int64_t bytes = element_bytes(tensor.type);
  ahead.piece_rows = keys ? 1 : at_.o_row / kPanel;
  ahead.stride = args_.page_size * kPanel * bytes;
  ahead.bytes = slots * (keys ? args_.D : kPanel) * bytes;
  ahead.rows = count * ahead.piece_rows;
  return ahead;
}

}  // namespace heed

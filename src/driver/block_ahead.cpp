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
  if (ahead.data == nullptr) return ahead;
  const auto at = reinterpret_cast<std::uintptr_t>(ahead.data) + product(first, ahead.stride);
  return {reinterpret_cast<const void*>(at), ahead.stride, ahead.bytes, rows};
}

bool Block::fetch_ahead(const Sequence& sequence, std::int64_t kv_head) {
  // So little may be in the second-level cache already. More could be too, but an engine's other layers have passed
  // through it since the last token.
  constexpr std::int64_t kNearBytes = std::int64_t{1} << 18;
  const std::int64_t key_bytes = args_.D * element_bytes(args_.k.type) + args_.Dv * element_bytes(args_.v.type);
  if (sequence.keys <= kNearBytes / key_bytes / args_.Hkv / args_.B) return false;

  const std::int64_t next = begin_ + kBlock;
  fetches_ = true;
  for (int n = 0; n < piece_count_; ++n) {  // whose next keys are in a page of their own
    Piece& piece = pieces_[n];
    const std::int64_t key = next + piece.first, slot = sequence.begin + key;
    const std::int64_t page = key < sequence.keys ? problem_.page_of(sequence, slot) : -1;
    if (page >= 0) piece.next_keys = in_page(args_.k, key_step(), page, kv_head, slot % args_.page_size);
  }
  if (piece_count_ == 0) {
    values_ahead_ = rows_ahead(values_.data, values_.row, args_.Dv, values_.type, keys_count_);
    if (next < sequence.keys) fetch_keys(sequence, kv_head, sequence.begin + next);
  }
  return true;
}

Ahead Block::ahead_of_scores(const Piece& piece) const {
  if (!fetches_) return {};
  if (args_.kv_panels == 0) return rows_ahead(piece.v, args_.v.stride_token, args_.Dv, args_.v.type, piece.keys);
  const std::int64_t step = kPanel * element_bytes(args_.v.type);
  return {piece.v, args_.page_size * step, piece.keys * step, at_.o_row / kPanel};
}

Ahead Block::ahead_of_values(const Piece& piece) const {
  return rows_ahead(piece.next_keys, key_step(), args_.D, args_.k.type, piece.keys);
}

void Block::fetch_first_keys(const Sequence& sequence, std::int64_t kv_head) {
  if (piece_count_ == 0 && sequence.keys > 0) fetch_keys(sequence, kv_head, sequence.begin);
}

void Block::fetch_keys(const Sequence& sequence, std::int64_t kv_head, std::int64_t slot) {
  std::int64_t run = 0;
  const char* keys = problem_.slot(args_.k, sequence, kv_head, slot, &run);
  next_keys_ahead_ = rows_ahead(keys, args_.k.stride_token, args_.D, args_.k.type, least(run, kBlock));
}

}  // namespace heed

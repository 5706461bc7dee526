#include "sequence.hpp"

#include <cmath>
#include <cstring>

namespace heed::reference {
namespace {

double half(std::uint16_t bits) {
  const double sign = bits >> 15 ? -1 : 1;
  const int exponent = bits >> 10 & 31;
  const int fraction = bits & 1023;
  if (exponent == 31) return fraction ? std::nan("") : sign * HUGE_VAL;
  return sign * (exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25));
}

double brain_float(std::uint16_t bits) {  // the upper half of a float
  const std::uint32_t wide = static_cast<std::uint32_t>(bits) << 16;
  float value;
  std::memcpy(&value, &wide, sizeof value);
  return value;
}

double e4m3(std::uint8_t bits) {
  const double sign = bits >> 7 ? -1 : 1;
  const int exponent = bits >> 3 & 15;
  const int fraction = bits & 7;
  if (exponent == 15 && fraction == 7) return std::nan("");  // no infinity: 0x7E is 448
  return sign * (exponent == 0 ? std::ldexp(fraction, -9) : std::ldexp(8 + fraction, exponent - 10));
}

double e5m2(std::uint8_t bits) { return half(static_cast<std::uint16_t>(bits << 8)); }

bool is_paged(const heed_attention_args& args) { return args.block_table.data || args.page_indices.data; }

}  // namespace

double element(const void* data, heed_type type, std::int64_t index) {
  switch (type) {
    case HEED_F16:
      return half(static_cast<const std::uint16_t*>(data)[index]);
    case HEED_BF16:
      return brain_float(static_cast<const std::uint16_t*>(data)[index]);
    case HEED_INT8:
      return static_cast<const std::int8_t*>(data)[index];
    case HEED_FP8_E4M3:
      return e4m3(static_cast<const std::uint8_t*>(data)[index]);
    case HEED_FP8_E5M2:
      return e5m2(static_cast<const std::uint8_t*>(data)[index]);
    default:
      return static_cast<const float*>(data)[index];
  }
}

std::int64_t index_or(const heed_index& array, std::int64_t index, std::int64_t otherwise) {
  if (!array.data) return otherwise;
  return array.type == HEED_INT32 ? static_cast<const std::int32_t*>(array.data)[index]
                                  : static_cast<const std::int64_t*>(array.data)[index];
}

Sequence::Sequence(const heed_attention_args& problem, std::int64_t batch)
    : args(problem), b(batch), row(index_or(problem.table_rows, batch, batch)) {
  // Ragged batches say their lengths by differences.
  queries = args.q_indptr.data ? index_or(args.q_indptr, b + 1, 0) - index_or(args.q_indptr, b, 0) : args.Lq;
  const std::int64_t room =
      args.kv_indptr.data ? index_or(args.kv_indptr, b + 1, 0) - index_or(args.kv_indptr, b, 0) : args.Lkv;
  begin = index_or(args.key_begin, row, 0);
  end = index_or(args.kv_lengths, row, room);

  if (args.alignment == HEED_OFFSETS) {
    first_position = args.offsets[b];
  } else if (args.alignment == HEED_TOP_LEFT) {
    first_position = 0;
  } else {  // the last query stands at the last key: row queries - 1 at position (end - begin) - 1 + key_offset
    first_position = (end - begin) - queries + index_or(args.key_offset, row, 0);
  }
}

std::int64_t Sequence::key_position(std::int64_t slot) const {
  return slot - begin + index_or(args.key_offset, row, 0);
}

bool Sequence::key_exists(std::int64_t slot) const {
  return begin <= slot && slot < end && (!is_paged(args) || page(slot) >= 0);
}

std::int64_t Sequence::page(std::int64_t slot) const {
  const std::int64_t nth = slot / args.page_size;
  if (args.block_table.data) return index_or(args.block_table, row * args.block_table_stride + nth, -1);
  return index_or(args.page_indices, index_or(args.page_indptr, row, 0) + nth, -1);
}

double Sequence::query(std::int64_t head, std::int64_t i, std::int64_t d) const {
  const heed_tensor& q = args.q;
  const std::int64_t row = args.q_indptr.data ? (index_or(args.q_indptr, b, 0) + i) * q.stride_token
                                              : b * q.stride_batch + i * q.stride_token;
  return element(q.data, q.type, row + head * q.stride_head + d);
}

// A panel of keys is [D][16]: the lane is the slot. A panel of values is [page_size][16]: the lane is the column.
double Sequence::key(std::int64_t kv_head, std::int64_t slot, std::int64_t d) const {
  if (!args.kv_panels) return row_major(args.k, kv_head, slot, d);
  const std::int64_t in_page = slot % args.page_size;
  return in_panels(args.k, kv_head, slot, (in_page / 16 * args.D + d) * 16 + in_page % 16);
}

double Sequence::value(std::int64_t kv_head, std::int64_t slot, std::int64_t d) const {
  if (!args.kv_panels) return row_major(args.v, kv_head, slot, d);
  return in_panels(args.v, kv_head, slot, (d / 16 * args.page_size + slot % args.page_size) * 16 + d % 16);
}

double Sequence::in_panels(const heed_tensor& tensor, std::int64_t kv_head, std::int64_t slot,
                           std::int64_t within) const {
  return element(tensor.data, tensor.type, page(slot) * tensor.stride_batch + kv_head * tensor.stride_head + within);
}

double Sequence::row_major(const heed_tensor& tensor, std::int64_t kv_head, std::int64_t slot, std::int64_t d) const {
  std::int64_t first;
  if (is_paged(args)) {
    first = page(slot) * tensor.stride_batch + slot % args.page_size * tensor.stride_token;
  } else if (args.kv_indptr.data) {
    first = (index_or(args.kv_indptr, b, 0) + slot) * tensor.stride_token;
  } else {
    first = b * tensor.stride_batch + slot * tensor.stride_token;
  }
  return element(tensor.data, tensor.type, first + kv_head * tensor.stride_head + d);
}

}  // namespace heed::reference

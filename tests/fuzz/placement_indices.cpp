// The index arrays of a placement: as many entries as the arguments describe.
#include <algorithm>

#include "fuzz/placement.hpp"

namespace heed::fuzz {

// 0 where it overflows.
Int Placement::difference(Int a, Int b) {
  Int result = 0;
  return __builtin_sub_overflow(a, b, &result) ? 0 : result;
}

// An array of `count` entries; one that would be long isn't given. `values` becomes what it holds.
void Placement::index(heed_index& array, std::vector<Int>& values, Int count) {
  if (array.data == nullptr) return;
  if (count < 0 || count > kMostEntries) {
    array.data = nullptr;
    return;
  }
  values.resize(static_cast<std::size_t>(count));
  const bool narrow = array.type == HEED_INT32, off = array.data == beside();
  const std::size_t element = narrow ? 4 : 8, n = block(values.size() * element + (off ? 1 : 0));
  unsigned char* at = blocks_[n]->data() + (off ? 1 : 0);
  array.data = at;
  for (Int& value : values) {
    const auto short_value = static_cast<std::int32_t>(value);
    if (narrow) value = short_value;
    std::memcpy(at, narrow ? static_cast<const void*>(&short_value) : &value, element);
    at += element;
  }
}

Placement::Slots Placement::slots(Int b) const {
  const Int room =
      a_.kv_indptr.data == nullptr ? a_.Lkv : difference(at(draft_.kv_indptr, b + 1), at(draft_.kv_indptr, b));
  return {a_.key_begin.data == nullptr ? 0 : at(draft_.key_begin, row(b)),
          a_.kv_lengths.data == nullptr ? room : at(draft_.kv_lengths, row(b))};
}

Int Placement::pages_needed(Int b) const {
  const Int length = slots(b).end;
  if (length <= 0 || a_.page_size <= 0 || a_.Lkv <= 0) return 0;
  return length / a_.page_size + (length % a_.page_size != 0 ? 1 : 0);
}

// 0 where there is no such entry.
Int Placement::page_of(Int b, Int entry) const {
  const bool table = a_.block_table.data != nullptr;
  Int first = table ? 0 : at(draft_.page_indptr, row(b)), index = 0;
  if (table && __builtin_mul_overflow(row(b), a_.block_table_stride, &first)) return 0;
  if (__builtin_add_overflow(first, entry, &index)) return 0;
  return at(table ? draft_.block_table : draft_.page_indices, index);
}

void Placement::place_pages() {
  const Int rows = table_rows();
  index(a_.page_indptr, draft_.page_indptr, rows < 0 || rows > kMostEntries ? -1 : rows + 1);
  Int table_entries = 0, listed = 0;
  bool table_given = a_.B <= kMostEntries, list_given = table_given;
  for (Int b = 0; b < std::min(a_.B, kMostEntries); ++b) {
    const Int needed = std::min(pages_needed(b), a_.block_table_stride);
    Int first = 0, end = 0;
    if (needed > 0 && !__builtin_mul_overflow(row(b), a_.block_table_stride, &first) &&
        !__builtin_add_overflow(first, needed, &end)) {
      table_entries = std::max(table_entries, end);
    } else {
      table_given = table_given && needed <= 0;
    }
    const Int entry = std::clamp<Int>(row(b), -1, kMostEntries);
    first = at(draft_.page_indptr, entry);
    const Int most = std::max<Int>(0, difference(at(draft_.page_indptr, entry + 1), first));
    list_given = list_given && !__builtin_add_overflow(first, std::min(pages_needed(b), most), &end);
    listed = std::max(listed, end);
  }
  // A table that is refused for its stride is not read.
  const bool refused = rows > 1 && a_.block_table_stride > (Int{1} << 60) / rows;
  index(a_.block_table, draft_.block_table, refused ? 0 : table_given ? table_entries : -1);
  index(a_.page_indices, draft_.page_indices, list_given ? listed : -1);
}

void Placement::place_indices() {
  const Int one_more = a_.B < 0 || a_.B > kMostEntries ? -1 : a_.B + 1;
  index(a_.table_rows, draft_.table_rows, a_.B);
  index(a_.q_indptr, draft_.q_indptr, one_more);
  index(a_.kv_indptr, draft_.kv_indptr, one_more);
  index(a_.kv_lengths, draft_.kv_lengths, table_rows());
  index(a_.key_begin, draft_.key_begin, table_rows());
  index(a_.key_offset, draft_.key_offset, table_rows());
  heed_index offsets{a_.offsets, HEED_INT64};
  index(offsets, draft_.offsets, a_.B);
  a_.offsets = static_cast<const std::int64_t*>(offsets.data);
  place_pages();
}

}  // namespace heed::fuzz

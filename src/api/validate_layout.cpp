// Rules of lengths, ragged batches and pages.
#include <cmath>

#include "api/checks.hpp"

namespace heed::api {

bool Checks::index(const char* name, const heed_index& array) {
  if (array.data == nullptr) return false;
  if (array.type != HEED_INT64 && array.type != HEED_INT32) {
    return invalid("%s.type: %d is not an index type", name, static_cast<int>(array.type));
  }
  return address(name, array.data, array.type == HEED_INT32 ? 4 : 8);
}

bool Checks::indices() {
  if (index("kv_lengths", a_.kv_lengths) || index("key_begin", a_.key_begin) || index("key_offset", a_.key_offset) ||
      index("q_indptr", a_.q_indptr) || index("kv_indptr", a_.kv_indptr) || index("block_table", a_.block_table) ||
      index("page_indices", a_.page_indices) || index("page_indptr", a_.page_indptr) ||
      index("table_rows", a_.table_rows)) {
    return true;
  }
  return a_.offsets != nullptr && address("offsets", a_.offsets, 8);
}

bool Checks::rows_of_tables() {
  if (a_.table_rows.data == nullptr) return false;
  if (a_.kv_indptr.data != nullptr) return invalid("table_rows: is given beside kv_indptr");
  for (std::int64_t b = 0; b < a_.B; ++b) {
    if (row(b) < 0 || row(b) >= a_.table_row_count) {
      return invalid("table_rows[%" PRId64 "]: row %" PRId64 " is not among table_row_count = %" PRId64, b, row(b),
                     a_.table_row_count);
    }
  }
  return false;
}

bool Checks::indptr(const char* name, const heed_index& array, std::int64_t rows, const char* length_name,
                    std::int64_t length) {
  if (array.data == nullptr) return false;
  for (std::int64_t b = 0; b <= rows; ++b) {
    const std::int64_t here = index_at(array, b), before = b == 0 ? 0 : index_at(array, b - 1);
    if (here < before || here > kLargestExtent) {
      return invalid("%s[%" PRId64 "]: %" PRId64 " is negative, smaller than the entry before it, or beyond 2^60", name,
                     b, here);
    }
    if (b > 0 && here - before > length) {
      return invalid("%s[%" PRId64 "]: the sequence has %" PRId64 " tokens, %s = %" PRId64 " is the most", name, b,
                     here - before, length_name, length);
    }
  }
  return false;
}

bool Checks::ragged() {
  return indptr("q_indptr", a_.q_indptr, a_.B, "Lq", a_.Lq) || indptr("kv_indptr", a_.kv_indptr, a_.B, "Lkv", a_.Lkv);
}

bool Checks::lengths() {
  if (a_.kv_lengths.data == nullptr && a_.key_begin.data == nullptr && a_.key_offset.data == nullptr) return false;
  for (std::int64_t b = 0; b < a_.B; ++b) {
    if (a_.kv_lengths.data != nullptr && (length(b) < 0 || length(b) > room(b))) {
      return invalid("kv_lengths[%" PRId64 "]: %" PRId64 " is not between 0 and %" PRId64, row(b), length(b), room(b));
    }
    const std::int64_t begin = index_or(a_.key_begin, row(b), 0), offset = index_or(a_.key_offset, row(b), 0);
    if (begin < 0 || begin > length(b)) {
      return invalid("key_begin[%" PRId64 "]: %" PRId64 " is not between 0 and the length %" PRId64, row(b), begin,
                     length(b));
    }
    if (offset < -kLargestPosition || offset > kLargestPosition) {
      return invalid("key_offset[%" PRId64 "]: %" PRId64 " is beyond 2^61", row(b), offset);
    }
  }
  return false;
}

// -1 is a page that isn't there; its keys are excluded.
bool Checks::page_ids(const char* name, const heed_index& ids, std::int64_t first, std::int64_t count) {
  for (std::int64_t i = first; i < first + count; ++i) {
    const std::int64_t id = index_at(ids, i);
    if (id < -1 || id >= a_.page_count) {
      return invalid("%s[%" PRId64 "]: page %" PRId64 " is not among the pool's page_count = %" PRId64, name, i, id,
                     a_.page_count);
    }
  }
  return false;
}

bool Checks::pages() {
  if (!paged()) {
    if (a_.page_indptr.data != nullptr) return invalid("page_indptr: is given without page_indices");
    if (a_.page_size != 0) return invalid("page_size: is given, but neither block_table nor page_indices");
    return false;
  }
  if (a_.block_table.data != nullptr && a_.page_indices.data != nullptr) {
    return invalid("page_indices: is given beside block_table");
  }
  if (a_.kv_indptr.data != nullptr) return invalid("kv_indptr: is given beside pages");
  if (at_least("page_size", a_.page_size, 1) || at_least("page_count", a_.page_count, 0)) return true;
  if (a_.page_size > kLargestExtent) return invalid("page_size: %" PRId64 " is beyond 2^60", a_.page_size);
  if (a_.page_indices.data != nullptr) {
    if (a_.page_indptr.data == nullptr) return invalid("page_indptr: is null beside page_indices");
    const std::int64_t rows = a_.table_rows.data == nullptr ? a_.B : a_.table_row_count;
    if (indptr("page_indptr", a_.page_indptr, rows, "2^60", kLargestExtent)) return true;
  }
  if (a_.block_table.data != nullptr) {
    const std::int64_t rows = a_.table_rows.data == nullptr ? a_.B : a_.table_row_count;
    if (at_least("block_table_stride", a_.block_table_stride, 0)) return true;
    if (rows > 1 && a_.block_table_stride > kLargestExtent / rows) {
      return invalid("block_table_stride: %" PRId64 " is too large: the table has more than 2^60 entries",
                     a_.block_table_stride);
    }
  }
  for (std::int64_t b = 0; b < a_.B && a_.Lkv > 0; ++b) {
    const std::int64_t needed = length(b) / a_.page_size + (length(b) % a_.page_size != 0 ? 1 : 0);
    if (a_.block_table.data != nullptr) {
      if (needed > a_.block_table_stride) {
        return invalid("block_table_stride: is %" PRId64 ", sequence %" PRId64 " needs %" PRId64 " pages",
                       a_.block_table_stride, b, needed);
      }
      if (page_ids("block_table", a_.block_table, row(b) * a_.block_table_stride, needed)) return true;
    } else {
      const std::int64_t first = index_at(a_.page_indptr, row(b));
      const std::int64_t listed = index_at(a_.page_indptr, row(b) + 1) - first;
      if (needed > listed) {
        return invalid("page_indptr[%" PRId64 "]: lists %" PRId64 " pages, sequence %" PRId64 " needs %" PRId64,
                       row(b) + 1, listed, b, needed);
      }
      if (page_ids("page_indices", a_.page_indices, first, needed)) return true;
    }
  }
  return false;
}

bool Checks::panels() {
  if (a_.kv_panels == 0) return false;
  if (a_.kv_panels != 1) return invalid("kv_panels: is %d, must be 0 or 1", static_cast<int>(a_.kv_panels));
  if (!paged()) return invalid("kv_panels: needs pages, and neither block_table nor page_indices is given");
  if (a_.page_size % kPanel != 0) {
    return invalid("page_size: %" PRId64 " is not a multiple of %d, as kv_panels needs it", a_.page_size, kPanel);
  }
  for (std::int64_t b = 0; b < a_.B && a_.key_begin.data != nullptr; ++b) {
    if (index_at(a_.key_begin, row(b)) % kPanel != 0) {
      return invalid("key_begin[%" PRId64 "]: %" PRId64 " is not a multiple of %d, as kv_panels needs it", row(b),
                     index_at(a_.key_begin, row(b)), kPanel);
    }
  }
  return false;
}

// The panels of a head, and those of a page, must not reach into the next ones.
bool Checks::panel_strides(const char* name, const heed_tensor& t, std::int64_t columns) {
  const auto size = [](std::int64_t stride) { return std::abs(static_cast<double>(stride)); };
  const double head = size(t.stride_head), page = size(t.stride_batch);
  const double panels = size(a_.page_size) * size(columns);
  if (a_.Hkv > 1 && head != 0 && head < panels) {
    return invalid("%s.stride_head: is %" PRId64 ", the panels of a head are %.0f elements", name, t.stride_head,
                   panels);
  }
  // All heads of a page lie between two pages, or all pages of a head between two heads.
  const double heads = size(a_.Hkv - 1) * head + panels, pages = size(a_.page_count - 1) * page + panels;
  if (a_.page_count > 1 && page != 0 && (page < panels || (a_.Hkv > 1 && page < heads && head < pages))) {
    return invalid("%s.stride_batch: is %" PRId64 ", the panels of a page are %.0f elements", name, t.stride_batch,
                   heads);
  }
  return false;
}

bool Checks::page_size_of_plan() {
  if (at_least("page_size", a_.page_size, 0)) return true;
  if (a_.page_size > kLargestExtent) return invalid("page_size: %" PRId64 " is beyond 2^60", a_.page_size);
  if (a_.kv_panels != 0 && a_.kv_panels != 1) {
    return invalid("kv_panels: is %d, must be 0 or 1", static_cast<int>(a_.kv_panels));
  }
  if (a_.kv_panels != 0 && (a_.page_size == 0 || a_.page_size % kPanel != 0)) {
    return invalid("page_size: %" PRId64 " is not a positive multiple of %d, as kv_panels needs it", a_.page_size,
                   kPanel);
  }
  return false;
}

}  // namespace heed::api

// Rules of lengths, ragged batches and pages.
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
      index("page_indices", a_.page_indices) || index("page_indptr", a_.page_indptr)) {
    return true;
  }
  return a_.offsets != nullptr && address("offsets", a_.offsets, 8);
}

bool Checks::indptr(const char* name, const heed_index& array, const char* length_name, std::int64_t length) {
  if (array.data == nullptr) return false;
  for (std::int64_t b = 0; b <= a_.B; ++b) {
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
  return indptr("q_indptr", a_.q_indptr, "Lq", a_.Lq) || indptr("kv_indptr", a_.kv_indptr, "Lkv", a_.Lkv);
}

bool Checks::lengths() {
  for (std::int64_t b = 0; b < a_.B; ++b) {
    if (a_.kv_lengths.data != nullptr && (length(b) < 0 || length(b) > room(b))) {
      return invalid("kv_lengths[%" PRId64 "]: %" PRId64 " is not between 0 and %" PRId64, b, length(b), room(b));
    }
    if (a_.key_begin.data != nullptr && (index_at(a_.key_begin, b) < 0 || index_at(a_.key_begin, b) > length(b))) {
      return invalid("key_begin[%" PRId64 "]: %" PRId64 " is not between 0 and the length %" PRId64, b,
                     index_at(a_.key_begin, b), length(b));
    }
    if (a_.key_offset.data != nullptr &&
        (index_at(a_.key_offset, b) < -kLargestPosition || index_at(a_.key_offset, b) > kLargestPosition)) {
      return invalid("key_offset[%" PRId64 "]: %" PRId64 " is beyond 2^61", b, index_at(a_.key_offset, b));
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
    if (indptr("page_indptr", a_.page_indptr, "2^60", kLargestExtent)) return true;
  }
  for (std::int64_t b = 0; b < a_.B; ++b) {
    const std::int64_t needed = length(b) / a_.page_size + (length(b) % a_.page_size != 0 ? 1 : 0);
    if (a_.block_table.data != nullptr) {
      if (needed > a_.block_table_stride) {
        return invalid("block_table_stride: is %" PRId64 ", sequence %" PRId64 " needs %" PRId64 " pages",
                       a_.block_table_stride, b, needed);
      }
      if (page_ids("block_table", a_.block_table, b * a_.block_table_stride, needed)) return true;
    } else {
      const std::int64_t first = index_at(a_.page_indptr, b), listed = index_at(a_.page_indptr, b + 1) - first;
      if (needed > listed) {
        return invalid("page_indptr[%" PRId64 "]: lists %" PRId64 " pages, sequence %" PRId64 " needs %" PRId64, b + 1,
                       listed, b, needed);
      }
      if (page_ids("page_indices", a_.page_indices, first, needed)) return true;
    }
  }
  return false;
}

}  // namespace heed::api

// A paged cache of keys and values in panels: who has which page, and how tokens get into it. Everything lies in one
// piece of the caller's memory.
#pragma once

#include <cstddef>
#include <cstdint>

#include "dispatch/table.hpp"
#include "heed/heed.h"

namespace heed {

struct CacheShape {
  std::int64_t Hkv, D, Dv;
  heed_type k_type, v_type;
  std::int64_t page_size, page_count, max_sequences, max_pages;
};

// Where the parts lie, in bytes from the cache's start.
struct CacheLayout {
  std::int64_t lengths, offsets, tables, references, free, rows, codes;
  std::int64_t k, k_scales, v, v_scales;
  std::int64_t k_page, v_page, scale_page;  // bytes of one page
  std::int64_t bytes;                       // of all; -1: more than memory can have
};
CacheLayout cache_layout(const CacheShape& shape);

}  // namespace heed

// The caller's handle is the start of that memory.
struct heed_cache {
  heed::CacheShape shape;
  heed::CacheLayout at;
  std::int64_t free_count;

  template <class T>
  T* part(std::int64_t bytes) {
    return reinterpret_cast<T*>(reinterpret_cast<char*>(this) + bytes);
  }
  template <class T>
  const T* part(std::int64_t bytes) const {
    return reinterpret_cast<const T*>(reinterpret_cast<const char*>(this) + bytes);
  }
  std::int64_t* lengths() { return part<std::int64_t>(at.lengths); }  // -1: not open
  const std::int64_t* lengths() const { return part<std::int64_t>(at.lengths); }
  std::int64_t* offsets() { return part<std::int64_t>(at.offsets); }
  const std::int64_t* offsets() const { return part<std::int64_t>(at.offsets); }
  std::int32_t* table(std::int64_t sequence) { return part<std::int32_t>(at.tables) + sequence * shape.max_pages; }
  std::int32_t* references() { return part<std::int32_t>(at.references); }  // per page
  std::int32_t* free() { return part<std::int32_t>(at.free); }              // a stack of free_count page ids

  bool is_open(std::int64_t sequence) const {
    return sequence >= 0 && sequence < shape.max_sequences && lengths()[sequence] >= 0;
  }
  std::int64_t pages(std::int64_t sequence) const {
    return (lengths()[sequence] + shape.page_size - 1) / shape.page_size;
  }
};

namespace heed {

void clear(heed_cache& cache);
void release_pages(heed_cache& cache, std::int64_t sequence, std::int64_t first, std::int64_t last);

// How many pages appending takes, the copy of a last page that others share included.
std::int64_t pages_to_append(heed_cache& cache, std::int64_t sequence, std::int64_t tokens);

// There are enough pages. k, v: [1][Hkv][tokens][D], f32, f16 or bf16.
void append(heed_cache& cache, std::int64_t sequence, const heed_tensor& k, const heed_tensor& v, std::int64_t tokens,
            const dispatch::Table& table);

}  // namespace heed

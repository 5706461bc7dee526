// The cache's calls: checks, and then what src/cache does.
#include "cache/cache.hpp"

#include <cinttypes>
#include <cstring>
#include <new>

#include "api/checks.hpp"
#include "api/status.hpp"
#include "api/validate.hpp"
#include "arithmetic.hpp"

using namespace heed;

namespace {

heed_code invalid(heed_status* status, const char* name, std::int64_t value, const char* why) {
  return api::fail(status, HEED_INVALID_ARGUMENT, "%s: is %" PRId64 ", must be %s", name, value, why);
}

heed_code check_config(const heed_cache_config* config, CacheShape* shape, CacheLayout* at, heed_status* status) {
  if (config == nullptr) return api::fail(status, HEED_INVALID_ARGUMENT, "config: is null");
  if (config->struct_size < sizeof(heed_cache_config)) {
    return api::fail(status, HEED_INVALID_ARGUMENT, "struct_size: is %zu, set it to sizeof(heed_cache_config)",
                     config->struct_size);
  }
  HEED_RETURN_IF_FAILED(api::check_newer(config, sizeof *config, config->struct_size, status));
  const heed_cache_config& c = *config;
  if (c.Hkv < 1) return invalid(status, "Hkv", c.Hkv, "at least 1");
  if (c.D < 1 || c.D > api::kLargestDimension) return invalid(status, "D", c.D, "between 1 and 2^24");
  if (c.Dv < 1 || c.Dv > api::kLargestDimension) return invalid(status, "Dv", c.Dv, "between 1 and 2^24");
  if (!api::is_type(c.k_type)) return invalid(status, "k_type", c.k_type, "a type");
  if (!api::is_type(c.v_type)) return invalid(status, "v_type", c.v_type, "a type");
  if (c.page_size < 0 || c.page_size % kPanel != 0) {
    return invalid(status, "page_size", c.page_size, "a multiple of 16, or 0");
  }
  if (c.page_count < 0 || c.page_count > INT32_MAX) {
    return invalid(status, "page_count", c.page_count, "between 0 and 2^31 - 1");
  }
  if (c.max_sequences < 0) return invalid(status, "max_sequences", c.max_sequences, "at least 0");
  if (c.max_pages < 0) return invalid(status, "max_pages", c.max_pages, "at least 0");
  *shape = {c.Hkv,
            c.D,
            c.Dv,
            c.k_type,
            c.v_type,
            c.page_size == 0 ? kBlock : c.page_size,
            c.page_count,
            c.max_sequences,
            c.max_pages == 0 ? c.page_count : c.max_pages};
  *at = cache_layout(*shape);
  if (at->bytes < 0) {
    return api::fail(status, HEED_INVALID_ARGUMENT, "page_count: such a cache has more than 2^60 bytes");
  }
  return HEED_OK;
}

heed_code check_sequence(const heed_cache* cache, std::int64_t sequence, heed_status* status) {
  if (cache == nullptr) return api::fail(status, HEED_INVALID_ARGUMENT, "cache: is null");
  if (cache->is_open(sequence)) return HEED_OK;
  return invalid(status, "sequence", sequence, "an open sequence");
}

heed_code check_tokens(const char* name, const heed_tensor* t, std::int64_t heads, std::int64_t tokens,
                       std::int64_t columns, heed_status* status) {
  if (t == nullptr) return api::fail(status, HEED_INVALID_ARGUMENT, "%s: is null", name);
  if (!api::is_one_of(t->type, api::kRoundedTypes)) {
    return api::fail(status, HEED_INVALID_ARGUMENT, "%s.type: %d is not a type that it may have", name,
                     static_cast<int>(t->type));
  }
  const api::Axes axes{{1, 0}, {heads, t->stride_head}, {tokens, t->stride_token}, columns};
  if (axes.empty()) return HEED_OK;
  HEED_RETURN_IF_FAILED(api::check_address(name, ".data", t->data, element_bytes(t->type), status));
  return api::check_reach(name, axes, status);
}

// The first sequence that isn't open, or -1.
std::int64_t closed_sequence(const heed_cache& cache) {
  for (std::int64_t s = 0; s < cache.shape.max_sequences; ++s) {
    if (!cache.is_open(s)) return s;
  }
  return -1;
}

heed_code no_sequence(const heed_cache& cache, heed_status* status) {
  return api::fail(status, HEED_FULL, "cache: all max_sequences = %" PRId64 " are open", cache.shape.max_sequences);
}

}  // namespace

std::size_t heed_cache_bytes(const heed_cache_config* config, heed_status* status) noexcept {
  CacheShape shape;
  CacheLayout at{};  // GCC cannot see that HEED_OK means it is filled in
  if (api::check_isa(status) != HEED_OK || check_config(config, &shape, &at, status) != HEED_OK) return 0;
  api::succeed(status);
  return static_cast<std::size_t>(at.bytes);
}

heed_code heed_cache_create(const heed_cache_config* config, void* memory, std::size_t bytes, heed_cache** cache,
                            heed_status* status) noexcept {
  HEED_RETURN_IF_FAILED(api::check_isa(status));
  CacheShape shape;
  CacheLayout at;
  HEED_RETURN_IF_FAILED(check_config(config, &shape, &at, status));
  if (cache == nullptr) return api::fail(status, HEED_INVALID_ARGUMENT, "cache: is null");
  if (memory == nullptr) return api::fail(status, HEED_INVALID_ARGUMENT, "memory: is null");
  if (reinterpret_cast<std::uintptr_t>(memory) % 64 != 0) {
    return api::fail(status, HEED_INVALID_ARGUMENT, "memory: the address is not a multiple of 64 bytes");
  }
  if (bytes < static_cast<std::size_t>(at.bytes)) {
    return api::fail(status, HEED_INVALID_ARGUMENT, "bytes: is %zu, the cache needs %" PRId64, bytes, at.bytes);
  }
  *cache = new (memory) heed_cache{shape, at, 0};
  clear(**cache);
  return api::succeed(status);
}

heed_code heed_cache_open(heed_cache* cache, std::int64_t* sequence, heed_status* status) noexcept {
  HEED_RETURN_IF_FAILED(api::check_isa(status));
  if (cache == nullptr) return api::fail(status, HEED_INVALID_ARGUMENT, "cache: is null");
  if (sequence == nullptr) return api::fail(status, HEED_INVALID_ARGUMENT, "sequence: is null");
  const std::int64_t s = closed_sequence(*cache);
  if (s < 0) return no_sequence(*cache, status);
  cache->lengths()[s] = cache->offsets()[s] = 0;
  *sequence = s;
  return api::succeed(status);
}

heed_code heed_cache_close(heed_cache* cache, std::int64_t sequence, heed_status* status) noexcept {
  HEED_RETURN_IF_FAILED(api::check_isa(status));
  HEED_RETURN_IF_FAILED(check_sequence(cache, sequence, status));
  release_pages(*cache, sequence, 0, cache->pages(sequence));
  cache->lengths()[sequence] = -1;
  return api::succeed(status);
}

heed_code heed_cache_append(heed_cache* cache, std::int64_t sequence, const heed_tensor* k, const heed_tensor* v,
                            std::int64_t tokens, heed_status* status) noexcept {
  heed_code code = HEED_OK;
  const dispatch::Table* table = api::table_or_fail(status, &code);
  if (table == nullptr) return code;
  HEED_RETURN_IF_FAILED(check_sequence(cache, sequence, status));
  const CacheShape& shape = cache->shape;
  if (tokens < 0 || tokens > api::kLargestExtent) return invalid(status, "tokens", tokens, "between 0 and 2^60");
  HEED_RETURN_IF_FAILED(check_tokens("k", k, shape.Hkv, tokens, shape.D, status));
  HEED_RETURN_IF_FAILED(check_tokens("v", v, shape.Hkv, tokens, shape.Dv, status));
  const std::int64_t pages = pages_to_append(*cache, sequence, tokens);
  if (pages > cache->free_count) {
    return api::fail(status, HEED_FULL, "cache: %" PRId64 " pages are needed, %" PRId64 " are free", pages,
                     cache->free_count);
  }
  if ((cache->lengths()[sequence] + tokens - 1) / shape.page_size >= shape.max_pages && tokens > 0) {
    return api::fail(status, HEED_FULL, "cache: the sequence would have more than max_pages = %" PRId64 " pages",
                     shape.max_pages);
  }
  append(*cache, sequence, *k, *v, tokens, *table);
  return api::succeed(status);
}

heed_code heed_cache_fork(heed_cache* cache, std::int64_t sequence, std::int64_t* fork, heed_status* status) noexcept {
  HEED_RETURN_IF_FAILED(api::check_isa(status));
  HEED_RETURN_IF_FAILED(check_sequence(cache, sequence, status));
  if (fork == nullptr) return api::fail(status, HEED_INVALID_ARGUMENT, "fork: is null");
  const std::int64_t s = closed_sequence(*cache), pages = cache->pages(sequence);
  if (s < 0) return no_sequence(*cache, status);
  std::memcpy(cache->table(s), cache->table(sequence), static_cast<std::size_t>(pages) * sizeof(std::int32_t));
  for (std::int64_t n = 0; n < pages; ++n) ++cache->references()[cache->table(s)[n]];
  cache->lengths()[s] = cache->lengths()[sequence];
  cache->offsets()[s] = cache->offsets()[sequence];
  *fork = s;
  return api::succeed(status);
}

heed_code heed_cache_truncate(heed_cache* cache, std::int64_t sequence, std::int64_t length,
                              heed_status* status) noexcept {
  HEED_RETURN_IF_FAILED(api::check_isa(status));
  HEED_RETURN_IF_FAILED(check_sequence(cache, sequence, status));
  if (length < 0 || length > cache->lengths()[sequence]) {
    return invalid(status, "length", length, "between 0 and the tokens that the sequence holds");
  }
  const std::int64_t before = cache->pages(sequence);
  cache->lengths()[sequence] = length;
  release_pages(*cache, sequence, cache->pages(sequence), before);
  return api::succeed(status);
}

heed_code heed_cache_drop(heed_cache* cache, std::int64_t sequence, std::int64_t tokens, heed_status* status) noexcept {
  HEED_RETURN_IF_FAILED(api::check_isa(status));
  HEED_RETURN_IF_FAILED(check_sequence(cache, sequence, status));
  if (tokens < 0 || tokens > cache->lengths()[sequence]) {
    return invalid(status, "tokens", tokens, "between 0 and the tokens that the sequence holds");
  }
  const std::int64_t pages = tokens / cache->shape.page_size, left = cache->pages(sequence) - pages;
  release_pages(*cache, sequence, 0, pages);
  std::int32_t* table = cache->table(sequence);
  std::memmove(table, table + pages, static_cast<std::size_t>(left) * sizeof(std::int32_t));
  cache->lengths()[sequence] -= pages * cache->shape.page_size;
  cache->offsets()[sequence] += pages * cache->shape.page_size;
  return api::succeed(status);
}

std::int64_t heed_cache_length(const heed_cache* cache, std::int64_t sequence) noexcept {
  return cache != nullptr && cache->is_open(sequence) ? cache->lengths()[sequence] : -1;
}

std::int64_t heed_cache_position(const heed_cache* cache, std::int64_t sequence) noexcept {
  return cache != nullptr && cache->is_open(sequence) ? cache->offsets()[sequence] : -1;
}

std::int64_t heed_cache_free_pages(const heed_cache* cache) noexcept {
  return cache != nullptr ? cache->free_count : 0;
}

heed_code heed_cache_bind(const heed_cache* cache, const std::int64_t* sequences, std::int64_t B,
                          heed_attention_args* args, heed_status* status) noexcept {
  HEED_RETURN_IF_FAILED(api::check_isa(status));
  if (cache == nullptr) return api::fail(status, HEED_INVALID_ARGUMENT, "cache: is null");
  if (args == nullptr) return api::fail(status, HEED_INVALID_ARGUMENT, "args: is null");
  if (args->struct_size < sizeof(heed_attention_args)) {
    return api::fail(status, HEED_INVALID_ARGUMENT, "struct_size: is %zu, set it to sizeof(heed_attention_args)",
                     args->struct_size);
  }
  if (B < 0) return invalid(status, "B", B, "at least 0");
  if (B > 0 && sequences == nullptr) return api::fail(status, HEED_INVALID_ARGUMENT, "sequences: is null");
  std::int64_t longest = 0;
  for (std::int64_t b = 0; b < B; ++b) {
    if (!cache->is_open(sequences[b])) {
      return api::fail(status, HEED_INVALID_ARGUMENT, "sequences[%" PRId64 "]: %" PRId64 " is not an open sequence", b,
                       sequences[b]);
    }
    const std::int64_t length = cache->lengths()[sequences[b]];
    longest = length > longest ? length : longest;
  }
  const CacheShape& shape = cache->shape;
  const CacheLayout& at = cache->at;
  const auto pages_of = [&](std::int64_t first, std::int64_t page_bytes, heed_type type) {
    const std::int64_t elements = page_bytes / element_bytes(type);
    return heed_tensor{cache->part<char>(first), elements, elements / shape.Hkv, 1, type};
  };
  args->B = B;
  args->Hkv = shape.Hkv;
  args->Lkv = longest;
  args->D = shape.D;
  args->Dv = shape.Dv;
  args->k = pages_of(at.k, at.k_page, shape.k_type);
  args->v = pages_of(at.v, at.v_page, shape.v_type);
  args->k_scales = shape.k_type == HEED_INT8 ? pages_of(at.k_scales, at.scale_page, HEED_F32) : heed_tensor{};
  args->v_scales = shape.v_type == HEED_INT8 ? pages_of(at.v_scales, at.scale_page, HEED_F32) : heed_tensor{};
  args->kv_lengths = {cache->lengths(), HEED_INT64};
  args->key_begin = {};
  args->key_offset = {cache->offsets(), HEED_INT64};
  args->kv_indptr = args->page_indices = args->page_indptr = {};
  args->block_table = {cache->part<char>(at.tables), HEED_INT32};
  args->block_table_stride = shape.max_pages;
  args->page_size = shape.page_size;
  args->page_count = shape.page_count;
  args->table_rows = {sequences, HEED_INT64};
  args->table_row_count = shape.max_sequences;
  args->kv_panels = 1;
  return api::succeed(status);
}

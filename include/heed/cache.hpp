// heed's own cache of keys and values: pages in panels, appended token by token, shared by forks. See heed.h for each
// call's errors.
#pragma once

#include <cstddef>
#include <cstdint>

#include "heed/attention.hpp"

namespace heed {

struct CacheConfig : heed_cache_config {
  CacheConfig() noexcept : heed_cache_config{} { struct_size = sizeof(heed_cache_config); }
  // 0: the configuration is wrong; Cache::create says why.
  std::size_t bytes() const noexcept { return heed_cache_bytes(this, nullptr); }
};

// A handle to a cache in the caller's memory; copies are handles to the same cache.
class Cache {
 public:
  Status create(const CacheConfig& config, void* memory, std::size_t bytes) noexcept {
    Status status;
    heed_cache_create(&config, memory, bytes, &raw_, &status.raw());
    return status;
  }
  Status open(std::int64_t* sequence) noexcept {
    Status status;
    heed_cache_open(raw_, sequence, &status.raw());
    return status;
  }
  Status close(std::int64_t sequence) noexcept {
    Status status;
    heed_cache_close(raw_, sequence, &status.raw());
    return status;
  }
  // k [Hkv][tokens][D], v [Hkv][tokens][Dv]
  Status append(std::int64_t sequence, const heed_tensor& k, const heed_tensor& v, std::int64_t tokens) noexcept {
    Status status;
    heed_cache_append(raw_, sequence, &k, &v, tokens, &status.raw());
    return status;
  }
  Status fork(std::int64_t sequence, std::int64_t* fork) noexcept {
    Status status;
    heed_cache_fork(raw_, sequence, fork, &status.raw());
    return status;
  }
  Status truncate(std::int64_t sequence, std::int64_t length) noexcept {
    Status status;
    heed_cache_truncate(raw_, sequence, length, &status.raw());
    return status;
  }
  Status drop(std::int64_t sequence, std::int64_t tokens) noexcept {
    Status status;
    heed_cache_drop(raw_, sequence, tokens, &status.raw());
    return status;
  }
  std::int64_t length(std::int64_t sequence) const noexcept { return heed_cache_length(raw_, sequence); }
  std::int64_t position(std::int64_t sequence) const noexcept { return heed_cache_position(raw_, sequence); }
  std::int64_t free_pages() const noexcept { return heed_cache_free_pages(raw_); }
  Status bind(const std::int64_t* sequences, std::int64_t B, AttentionArgs* args) const noexcept {
    Status status;
    heed_cache_bind(raw_, sequences, B, args, &status.raw());
    return status;
  }
  heed_cache* raw() noexcept { return raw_; }

 private:
  heed_cache* raw_ = nullptr;
};

}  // namespace heed

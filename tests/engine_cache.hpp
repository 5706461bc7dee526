// A cache in memory of its own, and what it should hold: row-major tensors of the same numbers.
#pragma once

#include <cstdlib>
#include <cstring>
#include <memory>
#include <utility>

#include "engine_problem.hpp"
#include "executors.hpp"
#include "support/storage.hpp"

namespace heed::test {

struct CacheMemory {
  explicit CacheMemory(const CacheConfig& config) : bytes(config.bytes()) {
    REQUIRE(bytes > 0);
    memory.reset(std::aligned_alloc(64, bytes));
    std::memset(memory.get(), 0xFF, bytes);
    const Status status = cache.create(config, memory.get(), bytes);
    REQUIRE(std::string(status.message()) == "");
  }
  struct Free {
    void operator()(void* p) const { std::free(p); }
  };
  std::size_t bytes;
  std::unique_ptr<void, Free> memory;
  Cache cache;
};

inline CacheConfig config_of(std::int64_t Hkv, std::int64_t D, std::int64_t Dv, heed_type k, heed_type v,
                             std::int64_t page_size, std::int64_t pages) {
  CacheConfig config;
  config.Hkv = Hkv;
  config.D = D;
  config.Dv = Dv;
  config.k_type = k;
  config.v_type = v;
  config.page_size = page_size;
  config.page_count = pages;
  config.max_sequences = 6;
  return config;
}

// What a sequence holds by right: [token][head][D] floats, converted to the cache's type when asked.
struct Tokens {
  Floats k, v;
  std::int64_t dropped = 0;
};

struct StoredTokens {
  std::vector<char> data;
  Floats scales;
  heed_tensor tensor, scale_tensor{};
};

inline StoredTokens stored_as(const Floats& x, std::int64_t tokens, std::int64_t heads, std::int64_t columns,
                              heed_type type) {
  StoredTokens s;
  s.data.resize(x.size() * bytes_of(type) + 64);
  const heed_matrix from{x.data(), tokens * heads, columns, columns, HEED_F32};
  if (type == HEED_INT8) {
    s.scales.resize(static_cast<std::size_t>(tokens * heads));
    REQUIRE(heed_quantize_int8(&from, reinterpret_cast<std::int8_t*>(s.data.data()), columns, s.scales.data(),
                               nullptr) == HEED_OK);
    s.scale_tensor = {s.scales.data(), 0, 1, heads, HEED_F32};
  } else {
    const heed_matrix_out to{s.data.data(), tokens * heads, columns, columns, type};
    REQUIRE(heed_convert(&from, &to, nullptr) == HEED_OK);
  }
  s.tensor = {s.data.data(), 0, columns, heads * columns, type};
  return s;
}

// The rows of one sequence, from row-major tensors and from the cache, in bits.
struct Compared {
  std::string plain, cached;
};

inline std::string bits_of_call(AttentionArgs args, Floats& out, Floats& lse) {
  out.assign(out.size(), -7.0f);
  lse.assign(lse.size(), -7.0f);
  args.lse = lse.data();
  const Status status = attention(args);
  REQUIRE(std::string(status.message()) == "");
  std::string bytes(reinterpret_cast<const char*>(out.data()), out.size() * sizeof(float));
  return bytes.append(reinterpret_cast<const char*>(lse.data()), lse.size() * sizeof(float));
}

inline Compared compare(const Cache& cache, const CacheConfig& config, std::int64_t sequence, const Tokens& tokens,
                        std::int64_t group, std::int64_t Lq, std::uint64_t seed) {
  const std::int64_t Hq = config.Hkv * group;
  const std::int64_t length = static_cast<std::int64_t>(tokens.k.size()) / (config.Hkv * config.D);
  const Floats q = random_floats(Hq * Lq * config.D, seed, 1.5f);
  Floats out(static_cast<std::size_t>(Hq * Lq * config.Dv)), lse(static_cast<std::size_t>(Hq * Lq));
  AttentionArgs args;
  args.B = 1;
  args.Hq = Hq;
  args.Lq = Lq;
  args.causal = Lq > 1 ? 1 : 0;
  args.q = heads_first(q.data(), Hq, Lq, config.D);
  args.out = heads_first(out.data(), Hq, Lq, config.Dv);
  std::int32_t threads = 3;
  if (seed % 2 != 0) args.executor = {on_threads, &threads, threads};

  AttentionArgs plain = args;
  const StoredTokens k = stored_as(tokens.k, length, config.Hkv, config.D, config.k_type);
  const StoredTokens v = stored_as(tokens.v, length, config.Hkv, config.Dv, config.v_type);
  plain.Hkv = config.Hkv;
  plain.Lkv = length;
  plain.D = config.D;
  plain.Dv = config.Dv;
  plain.k = k.tensor;
  plain.v = v.tensor;
  plain.k_scales = k.scale_tensor;
  plain.v_scales = v.scale_tensor;
  plain.key_offset = {&tokens.dropped, HEED_INT64};
  Compared result;
  result.plain = bits_of_call(plain, out, lse);

  const Status bound = cache.bind(&sequence, 1, &args);
  REQUIRE(std::string(bound.message()) == "");
  CHECK(args.Lkv == length);
  result.cached = bits_of_call(args, out, lse);
  return result;
}

// Appends `count` random tokens, with strides of all kinds, to the cache and to what it should hold.
inline void append(Cache& cache, const CacheConfig& config, std::int64_t sequence, Tokens& tokens, std::int64_t count,
                   std::uint64_t seed) {
  const std::int64_t heads = config.Hkv, gap = static_cast<std::int64_t>(seed % 3);
  const heed_type type = static_cast<heed_type>(seed % 3);
  const bool heads_first_order = seed % 2 == 0;
  const auto rows = [&](std::int64_t columns, Floats& into, std::uint64_t at) {
    const Floats x = random_floats(count * heads * columns, at);
    const StoredTokens source = stored_as(x, count, heads, columns, type);
    Floats exact(x.size());  // what the source's type holds
    const heed_matrix from{source.data.data(), 1, count * heads * columns, 0, type};
    const heed_matrix_out to{exact.data(), 1, count * heads * columns, 0, HEED_F32};
    REQUIRE(heed_convert(&from, &to, nullptr) == HEED_OK);
    into.insert(into.end(), exact.begin(), exact.end());
    // Laid out once more, as the call's strides say.
    const std::int64_t row = columns + gap;
    auto data = std::make_shared<std::vector<char>>(static_cast<std::size_t>(count * heads * row) * bytes_of(type),
                                                    static_cast<char>(0xFF));
    heed_tensor t{data->data(), 0, heads_first_order ? count * row : row, heads_first_order ? row : heads * row, type};
    for (std::int64_t token = 0; token < count; ++token) {
      for (std::int64_t h = 0; h < heads; ++h) {
        const auto byte = [&](std::int64_t at) { return static_cast<std::size_t>(at) * bytes_of(type); };
        std::memcpy(data->data() + byte(h * t.stride_head + token * t.stride_token),
                    source.data.data() + byte((token * heads + h) * columns),
                    static_cast<std::size_t>(columns) * bytes_of(type));
      }
    }
    return std::make_pair(data, t);
  };
  const auto k = rows(config.D, tokens.k, seed), v = rows(config.Dv, tokens.v, seed + 1);
  const Status status = cache.append(sequence, k.second, v.second, count);
  REQUIRE(std::string(status.message()) == "");
}

}  // namespace heed::test

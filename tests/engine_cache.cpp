// heed's cache: what is appended is attended, with the bits of row-major tensors, whatever was forked, cut and dropped.
#include <cstdlib>
#include <cstring>
#include <limits>
#include <map>
#include <memory>

#include "engine_problem.hpp"
#include "executors.hpp"

namespace heed::test {
namespace {

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

CacheConfig config_of(std::int64_t Hkv, std::int64_t D, std::int64_t Dv, heed_type k, heed_type v,
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

std::int64_t bytes_of(heed_type type) { return type == HEED_F32 ? 4 : type <= HEED_BF16 ? 2 : 1; }

// What a sequence holds by right: [token][head][D] floats, converted to the cache's type when asked.
struct Tokens {
  Floats k, v;
  std::int64_t dropped = 0;
};

struct Stored {
  std::vector<char> data;
  Floats scales;
  heed_tensor tensor, scale_tensor{};
};

Stored stored_as(const Floats& x, std::int64_t tokens, std::int64_t heads, std::int64_t columns, heed_type type) {
  Stored s;
  s.data.resize(x.size() * static_cast<std::size_t>(bytes_of(type)) + 64);
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

std::string call(AttentionArgs args, Floats& out, Floats& lse) {
  out.assign(out.size(), -7.0f);
  lse.assign(lse.size(), -7.0f);
  args.lse = lse.data();
  const Status status = attention(args);
  REQUIRE(std::string(status.message()) == "");
  std::string bytes(reinterpret_cast<const char*>(out.data()), out.size() * sizeof(float));
  return bytes.append(reinterpret_cast<const char*>(lse.data()), lse.size() * sizeof(float));
}

Compared compare(const Cache& cache, const CacheConfig& config, std::int64_t sequence, const Tokens& tokens,
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
  const Stored k = stored_as(tokens.k, length, config.Hkv, config.D, config.k_type);
  const Stored v = stored_as(tokens.v, length, config.Hkv, config.Dv, config.v_type);
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
  result.plain = call(plain, out, lse);

  const Status bound = cache.bind(&sequence, 1, &args);
  REQUIRE(std::string(bound.message()) == "");
  CHECK(args.Lkv == length);
  result.cached = call(args, out, lse);
  return result;
}

// Appends `count` random tokens, with strides of all kinds, to the cache and to what it should hold.
void append(Cache& cache, const CacheConfig& config, std::int64_t sequence, Tokens& tokens, std::int64_t count,
            std::uint64_t seed) {
  const std::int64_t heads = config.Hkv, gap = static_cast<std::int64_t>(seed % 3);
  const heed_type type = static_cast<heed_type>(seed % 3);
  const bool heads_first_order = seed % 2 == 0;
  const auto rows = [&](std::int64_t columns, Floats& into, std::uint64_t at) {
    const Floats x = random_floats(count * heads * columns, at);
    const Stored source = stored_as(x, count, heads, columns, type);
    Floats exact(x.size());  // what the source's type holds
    const heed_matrix from{source.data.data(), 1, count * heads * columns, 0, type};
    const heed_matrix_out to{exact.data(), 1, count * heads * columns, 0, HEED_F32};
    REQUIRE(heed_convert(&from, &to, nullptr) == HEED_OK);
    into.insert(into.end(), exact.begin(), exact.end());
    // Laid out once more, as the call's strides say.
    const std::int64_t row = columns + gap;
    auto data = std::make_shared<std::vector<char>>(static_cast<std::size_t>(count * heads * row * bytes_of(type)),
                                                    static_cast<char>(0xFF));
    heed_tensor t{data->data(), 0, heads_first_order ? count * row : row, heads_first_order ? row : heads * row, type};
    for (std::int64_t token = 0; token < count; ++token) {
      for (std::int64_t h = 0; h < heads; ++h) {
        std::memcpy(data->data() + (h * t.stride_head + token * t.stride_token) * bytes_of(type),
                    source.data.data() + (token * heads + h) * columns * bytes_of(type),
                    static_cast<std::size_t>(columns * bytes_of(type)));
      }
    }
    return std::make_pair(data, t);
  };
  const auto k = rows(config.D, tokens.k, seed), v = rows(config.Dv, tokens.v, seed + 1);
  const Status status = cache.append(sequence, k.second, v.second, count);
  REQUIRE(std::string(status.message()) == "");
}

TEST_CASE("the cache has the bits of row-major tensors, for every type and page size", "[engine][cache][I4]") {
  const heed_type types[] = {HEED_F32, HEED_F16, HEED_BF16, HEED_INT8, HEED_FP8_E4M3, HEED_FP8_E5M2};
  std::uint64_t seed = 0;
  for (const heed_type k_type : types) {
    for (const heed_type v_type : types) {
      for (int i = 0; i < 2; ++i) {
        const std::int64_t page_sizes[] = {16, 48, 128, 256}, page_size = page_sizes[++seed % 4];
        INFO("k " << k_type << ", v " << v_type << ", page size " << page_size);
        const CacheConfig config = config_of(1 + static_cast<std::int64_t>(seed % 2), 1 + (seed * 7) % 40,
                                             1 + (seed * 5) % 40, k_type, v_type, page_size, 80);
        for_each_row([&](const Table& row) {
          const ForcedRow forced(row);
          CacheMemory memory(config);
          std::int64_t sequence = -1;
          REQUIRE(memory.cache.open(&sequence).ok());
          Tokens tokens;
          for (const std::int64_t count : {1, 15, 30, 83, 1, 400}) {
            append(memory.cache, config, sequence, tokens, count, seed + static_cast<std::uint64_t>(count));
            const Compared decode = compare(memory.cache, config, sequence, tokens, 1 + seed % 4, 1, seed);
            const Compared prefill = compare(memory.cache, config, sequence, tokens, 3, 17, seed + 1);
            const bool same_decode = decode.plain == decode.cached, same_prefill = prefill.plain == prefill.cached;
            REQUIRE(same_decode);
            REQUIRE(same_prefill);
          }
        });
      }
    }
  }
}

// A story of random operations, against what each sequence should hold.
TEST_CASE("open, append, fork, truncate, drop, close", "[engine][cache]") {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    INFO("seed " << seed);
    std::mt19937_64 random(seed);
    const auto between = [&](std::int64_t low, std::int64_t high) {
      return low + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(high - low + 1));
    };
    const heed_type type = static_cast<heed_type>(between(HEED_F32, HEED_FP8_E5M2));
    const CacheConfig config =
        config_of(between(1, 2), between(1, 9), between(1, 20), type, type, 16 * between(1, 3), 60);
    CacheMemory memory(config);
    std::map<std::int64_t, Tokens> held;
    for (int step = 0; step < 40; ++step) {
      const std::int64_t action = between(0, 9);
      std::int64_t sequence = -1;
      if (held.empty() || action == 0) {
        const Status status = memory.cache.open(&sequence);
        if (held.size() == 6) {
          CHECK(status.code() == HEED_FULL);
        } else {
          REQUIRE(status.ok());
          CHECK(held.count(sequence) == 0);
          held[sequence] = {};
        }
        continue;
      }
      auto chosen = std::next(held.begin(), between(0, static_cast<std::int64_t>(held.size()) - 1));
      sequence = chosen->first;
      Tokens& tokens = chosen->second;
      const std::int64_t k_row = config.Hkv * config.D, v_row = config.Hkv * config.Dv;
      const std::int64_t length = static_cast<std::int64_t>(tokens.k.size()) / k_row;
      if (action == 1) {
        REQUIRE(memory.cache.close(sequence).ok());
        held.erase(chosen);
      } else if (action == 2 && held.size() < 6) {
        std::int64_t fork = -1;
        REQUIRE(memory.cache.fork(sequence, &fork).ok());
        CHECK(held.count(fork) == 0);
        held[fork] = tokens;
      } else if (action == 3) {
        const std::int64_t left = between(0, length);
        REQUIRE(memory.cache.truncate(sequence, left).ok());
        tokens.k.resize(static_cast<std::size_t>(left * k_row));
        tokens.v.resize(static_cast<std::size_t>(left * v_row));
      } else if (action == 4) {
        const std::int64_t gone = between(0, length), pages = gone / config.page_size * config.page_size;
        REQUIRE(memory.cache.drop(sequence, gone).ok());
        tokens.k.erase(tokens.k.begin(), tokens.k.begin() + pages * k_row);
        tokens.v.erase(tokens.v.begin(), tokens.v.begin() + pages * v_row);
        tokens.dropped += pages;
      } else if (length < 100) {
        const std::int64_t free = memory.cache.free_pages(), count = between(0, 40);
        if (free >= 4) append(memory.cache, config, sequence, tokens, count, random());
      }
      for (const auto& [id, expected] : held) {
        REQUIRE(memory.cache.length(id) == static_cast<std::int64_t>(expected.k.size()) / k_row);
        REQUIRE(memory.cache.position(id) == expected.dropped);
        const Compared both = compare(memory.cache, config, id, expected, 2, 1, seed);
        const bool same = both.plain == both.cached;
        REQUIRE(same);
      }
    }
    while (!held.empty()) {
      REQUIRE(memory.cache.close(held.begin()->first).ok());
      held.erase(held.begin());
    }
    CHECK(memory.cache.free_pages() == 60);  // none was lost
  }
}

TEST_CASE("a batch of the cache's sequences, in any order and more than once", "[engine][cache][I2]") {
  const CacheConfig config = config_of(2, 12, 20, HEED_F16, HEED_F32, 32, 60);
  for_each_row([&](const Table& row) {
    const ForcedRow forced(row);
    CacheMemory memory(config);
    std::int64_t ids[4];
    std::vector<std::string> alone;
    Floats q = random_floats(4 * 12, 3), out(4 * 20), lse(4);
    AttentionArgs args;
    args.Hq = 4;
    args.Lq = 1;
    args.q = {q.data(), 0, 12, 12, HEED_F32};
    for (int n = 0; n < 4; ++n) {
      REQUIRE(memory.cache.open(&ids[n]).ok());
      Tokens tokens;
      append(memory.cache, config, ids[n], tokens, n * 130, static_cast<std::uint64_t>(n));
    }
    for (int n = 0; n < 4; ++n) {
      REQUIRE(memory.cache.bind(&ids[n], 1, &args).ok());
      args.out = heads_first(out.data(), 4, 1, 20);
      alone.push_back(call(args, out, lse));
    }
    const std::int64_t batch[] = {ids[2], ids[0], ids[3], ids[2]};
    const int origin[] = {2, 0, 3, 2};
    Floats all(4 * 4 * 20), all_lse(16);
    REQUIRE(memory.cache.bind(batch, 4, &args).ok());
    args.out = heads_first(all.data(), 4, 1, 20);
    args.lse = all_lse.data();
    REQUIRE(attention(args).ok());
    for (int b = 0; b < 4; ++b) {
      const bool same =
          std::memcmp(alone[static_cast<std::size_t>(origin[b])].data(), all.data() + b * 80, 80 * sizeof(float)) == 0;
      CHECK(same);
    }
  });
}

TEST_CASE("a full cache says so and stays as it is", "[engine][cache]") {
  CacheConfig config = config_of(1, 4, 4, HEED_F32, HEED_F32, 16, 3);
  config.max_sequences = 3;
  config.max_pages = 2;
  CacheMemory memory(config);
  std::int64_t a = -1, b = -1, c = -1, last = -1;
  REQUIRE(memory.cache.open(&a).ok());
  REQUIRE(memory.cache.open(&b).ok());
  REQUIRE(memory.cache.open(&last).ok());
  CHECK(memory.cache.open(&c).code() == HEED_FULL);
  CHECK(memory.cache.fork(a, &c).code() == HEED_FULL);
  const Floats x = random_floats(64 * 4, 1);
  const heed_tensor t{x.data(), 0, 0, 4, HEED_F32};
  const std::vector<char> before(static_cast<char*>(memory.memory.get()),
                                 static_cast<char*>(memory.memory.get()) + memory.bytes);
  const auto unchanged = [&] { return std::memcmp(before.data(), memory.memory.get(), before.size()) == 0; };
  CHECK(memory.cache.append(a, t, t, 33).code() == HEED_FULL);  // more than max_pages
  CHECK(memory.cache.append(a, t, t, 64).code() == HEED_FULL);  // more than there are
  CHECK(unchanged());
  REQUIRE(memory.cache.append(a, t, t, 32).ok());
  REQUIRE(memory.cache.append(b, t, t, 10).ok());
  CHECK(memory.cache.append(b, t, t, 7).code() == HEED_FULL);
  REQUIRE(memory.cache.truncate(a, 20).ok());
  REQUIRE(memory.cache.close(b).ok());
  REQUIRE(memory.cache.fork(a, &b).ok());
  CHECK(memory.cache.free_pages() == 1);
  REQUIRE(memory.cache.append(b, t, t, 1).ok());  // takes the last page for its copy
  CHECK(memory.cache.free_pages() == 0);
  REQUIRE(memory.cache.close(last).ok());
  REQUIRE(memory.cache.fork(b, &last).ok());
  CHECK(memory.cache.append(last, t, t, 1).code() == HEED_FULL);  // no page for a copy of the last one
  CHECK(memory.cache.length(last) == 21);
  REQUIRE(memory.cache.append(a, t, t, 12).ok());  // the old one is its own now
}

}  // namespace
}  // namespace heed::test

// heed's cache: what is appended is attended, with the bits of row-major tensors, whatever was forked, cut and dropped.
#include <limits>
#include <map>

#include "engine_cache.hpp"

namespace heed::test {
namespace {

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
      alone.push_back(bits_of_call(args, out, lse));
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

// More than a second-level cache holds, so that what comes next is asked for; pages that are not there included.
TEST_CASE("long sequences in panels, and pages that are missing", "[engine][cache]") {
  const CacheConfig config = config_of(1, 64, 64, HEED_F32, HEED_F32, 128, 18);
  CacheMemory memory(config);
  std::int64_t id = -1;
  REQUIRE(memory.cache.open(&id).ok());
  Tokens tokens;
  append(memory.cache, config, id, tokens, 2180, 6);
  Floats out(4 * 64), lse(4);
  std::vector<std::int32_t> table;
  for_each_row([&](const Table& row) {
    const ForcedRow forced(row);
    const Compared whole = compare(memory.cache, config, id, tokens, 4, 1, 6);
    const bool same = whole.cached == whole.plain;
    CHECK(same);

    AttentionArgs holes;
    holes.B = holes.Lq = 1;
    holes.Hq = 4;
    const Floats q = random_floats(4 * 64, 7);
    holes.q = heads_first(q.data(), 4, 1, 64);
    holes.out = heads_first(out.data(), 4, 1, 64);
    REQUIRE(memory.cache.bind(&id, 1, &holes).ok());
    std::vector<unsigned char> mask(static_cast<std::size_t>(holes.Lkv), 1);
    const auto* pages = static_cast<const std::int32_t*>(holes.block_table.data) + id * holes.block_table_stride;
    table.assign(pages, pages + 18);
    AttentionArgs masked = holes;
    for (const std::size_t gone : {0, 5, 6, 17}) {
      table[gone] = -1;
      for (std::size_t j = gone * 128; j < mask.size() && j < gone * 128 + 128; ++j) mask[j] = 0;
    }
    masked.mask_kind = HEED_BYTE_MASK;
    masked.mask = mask.data();
    holes.block_table = {table.data(), HEED_INT32};
    holes.table_rows = {};
    const bool alike = bits_of_call(holes, out, lse) == bits_of_call(masked, out, lse);
    CHECK(alike);
  });
}

TEST_CASE("a pool without pages: every page is missing, and strides of panels mean nothing", "[engine][cache]") {
  const float nothing = 0.0f, q[4] = {1, 2, 3, 4};
  const std::int32_t table[] = {-1, -1};
  Floats out(4, -7.0f), lse(4, -7.0f);
  AttentionArgs args;
  args.B = args.Lq = args.D = args.Dv = 1;
  args.Hq = 4;
  args.Hkv = 2;
  args.Lkv = 20;
  args.q = heads_first(q, 4, 1, 1);
  args.k = args.v = {&nothing, 4, 4, 1, HEED_F32};
  args.out = heads_first(out.data(), 4, 1, 1);
  args.lse = lse.data();
  args.kv_panels = 1;
  args.page_size = 16;
  args.block_table = {table, HEED_INT32};
  args.block_table_stride = 2;
  REQUIRE(attention(args).ok());
  CHECK(out == Floats(4, 0.0f));
  CHECK(lse == Floats(4, -kEngineInfinity));
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

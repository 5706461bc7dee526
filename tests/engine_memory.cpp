// Memory that an engine hands over whole, a plan's workspace and a cache, between unmapped pages: not one byte before
// or behind it is touched, at every length of up to three panels and one, for every type and row.
#include "engine_cache.hpp"
#include "support/memory.hpp"
#include "support/sparse.hpp"

namespace heed::test {
namespace {

using kernel::Arena;
using kernel::Placement;

constexpr Placement kAtPages[] = {Placement::kEndsAtHole, Placement::kBeginsAfterHole};

// So many bytes at an unmapped page, full of NaN.
void* at_page(Arena& arena, std::size_t bytes) {
  REQUIRE(bytes % 64 == 0);  // or it could not end there
  return arena.inout(std::vector<unsigned char>(bytes, 0xFF));
}

constexpr std::int64_t kLongest = 3 * 16 + 1;
constexpr heed_type kTypes[] = {HEED_F32, HEED_F16, HEED_BF16, HEED_INT8, HEED_FP8_E4M3, HEED_FP8_E5M2};

TEST_CASE("H13: a cache between unmapped pages", "[engine][cache][memory][H13]") {
  std::uint64_t seed = 0;
  for (const heed_type type : kTypes) {
    for (std::int64_t length = 0; length <= kLongest; ++length) {
      ++seed;
      const heed_type other = kTypes[seed % std::size(kTypes)];
      CacheConfig config = config_of(1 + static_cast<std::int64_t>(seed % 2), 1 + (seed * 7) % 33, 1 + (seed * 5) % 35,
                                     type, other, seed % 3 == 0 ? 32 : 16, 4);
      config.max_sequences = 1;
      for_each_row([&](const Table& row) {
        const ForcedRow forced(row);
        const Placement placement = kAtPages[seed % 2];
        INFO("k " << type << ", v " << other << ", " << length << " tokens, row " << row.name << ", "
                  << kernel::name_of(placement));
        Arena arena(placement);
        Cache cache;
        std::int64_t sequence = -1;
        REQUIRE(cache.create(config, at_page(arena, config.bytes()), config.bytes()).ok());
        REQUIRE(cache.open(&sequence).ok());
        Tokens tokens;
        append(cache, config, sequence, tokens, length, seed);
        for (const std::int64_t Lq : {1, 11}) {
          const Compared got = compare(cache, config, sequence, tokens, 1 + seed % 3, Lq, seed);
          const bool same = got.plain == got.cached;
          REQUIRE(same);
        }
        CHECK(arena.violation() == "");
      });
    }
  }
}

TEST_CASE("H13: a workspace between unmapped pages", "[engine][plan][memory][H13]") {
  std::uint64_t seed = 0;
  for (const heed_type type : kTypes) {
    for (std::int64_t Lkv = 0; Lkv <= kLongest; ++Lkv) {
      ++seed;
      const std::int64_t Lq = seed % 4 == 0 ? 30 : static_cast<std::int64_t>(seed % 3), D = 1 + (seed * 7) % 33,
                         Dv = 1 + (seed * 5) % 35;
      EngineProblem p({2, 4, 2, Lq, Lkv + (seed % 5 == 0 ? 1100 : 0), D, Dv}, seed);
      const std::int64_t tokens = 2 * 2 * p.shape.Lkv;
      const StoredTokens k = stored_as(p.k, tokens, 1, D, type), v = stored_as(p.v, tokens, 1, Dv, type);
      const auto small = [&](heed_tensor& t, const StoredTokens& from) {  // the same strides, another type
        t.data = from.data.data();
        t.type = type;
      };
      small(p.args.k, k);
      small(p.args.v, v);
      if (type == HEED_INT8) {
        const std::int64_t rows = p.shape.Lkv;
        p.args.k_scales = {k.scales.data(), 2 * rows, rows, 1, HEED_F32};
        p.args.v_scales = {v.scales.data(), 2 * rows, rows, 1, HEED_F32};
      }
      const Floats bias = random_floats(p.shape.Lkv + 1, seed + 3);  // what lies last in a workspace
      p.args.bias = {bias.data(), 0, 0, 0, HEED_F32};
      std::int32_t threads = 1 + static_cast<std::int32_t>(seed % 3);
      if (threads > 1) p.args.executor = {on_threads, &threads, threads};
      for_each_row([&](const Table& row) {
        const ForcedRow forced(row);
        const std::string expected = p.run();
        Plan plan;
        REQUIRE(plan.make(p.args).ok());
        for (const Placement placement : kAtPages) {
          INFO("type " << type << ", Lq " << Lq << ", Lkv " << p.shape.Lkv << ", row " << row.name << ", "
                       << kernel::name_of(placement));
          Arena arena(placement);
          void* workspace = at_page(arena, plan.workspace_bytes());
          REQUIRE(plan.run(p.args, workspace, plan.workspace_bytes()).ok());
          const bool same = p.take() == expected;
          REQUIRE(same);
          CHECK(arena.violation() == "");
        }
      });
    }
  }
}

TEST_CASE("H15: pages of a cache beyond 2^31 elements", "[engine][cache][memory][H15]") {
  const SparseRegion region;
  REQUIRE(region.mapped());
  for (const heed_type type : {HEED_FP8_E5M2, HEED_INT8}) {
    CacheConfig config = config_of(2, 16, 16, type, type, std::int64_t{1} << 24, 8);
    config.max_sequences = 8;
    REQUIRE(config.bytes() <= SparseRegion::kBytes);
    Cache cache;
    REQUIRE(cache.create(config, region.floats(), SparseRegion::kBytes).ok());
    for (std::int64_t n = 0; n < 8; ++n) {  // a page each
      INFO("type " << type << ", page " << n);
      std::int64_t sequence = -1;
      REQUIRE(cache.open(&sequence).ok());
      Tokens tokens;
      append(cache, config, sequence, tokens, 21, 7 + static_cast<std::uint64_t>(n));
      const Compared got = compare(cache, config, sequence, tokens, 2, 3, 9);
      const bool same = got.plain == got.cached;
      CHECK(same);
    }
  }
}

TEST_CASE("H15: states whose rows lie 2^31 elements apart", "[engine][states][memory][H15]") {
  const SparseRegion region;
  REQUIRE(region.mapped());
  constexpr std::int64_t kFar = (std::int64_t{1} << 31) + 16;
  EngineProblem p({1, 1, 1, 2, 40, 8, 9}, 5);
  StateMemory near(p.shape);
  float* memory = region.floats();
  State far(memory, memory + 1, memory + 2, 1, 1, 2, 9);
  far.stride_batch = far.stride_head = far.stride_token = kFar;
  far.o_stride_batch = far.o_stride_head = far.o_stride_token = kFar;
  heed_tensor_out out = p.args.out;
  out.data = memory + 64;
  out.stride_token = kFar;
  REQUIRE(attention_state(p.args, far).ok());
  REQUIRE(attention_state(p.args, near.state).ok());
  REQUIRE(merge(far, far, far).ok());  // the same keys twice: another lse, the same output
  REQUIRE(merge(near.state, near.state, near.state).ok());
  for (std::int64_t row = 0; row < 2; ++row) {
    CHECK(memory[row * kFar] == near.m[static_cast<std::size_t>(row)]);
    CHECK(memory[row * kFar + 1] == near.l[static_cast<std::size_t>(row)]);
    for (std::int64_t d = 0; d < 9; ++d)
      CHECK(memory[row * kFar + 2 + d] == near.o[static_cast<std::size_t>(row * 9 + d)]);
  }
  REQUIRE(finish(far, out, memory + 3).ok());
  REQUIRE(finish(near.state, p.args.out, p.lse.data()).ok());
  for (std::int64_t row = 0; row < 2; ++row) {
    CHECK(memory[row * kFar + 3] == p.lse[static_cast<std::size_t>(row)]);
    for (std::int64_t d = 0; d < 9; ++d)
      CHECK(memory[row * kFar + 64 + d] == p.out[static_cast<std::size_t>(row * 9 + d)]);
  }
}

}  // namespace
}  // namespace heed::test

// Bad arguments of the cache, one line per rule.
#include "engine_rules.hpp"

namespace heed::test {
namespace {

heed_code create(Engine& e, heed_status* s) {
  return heed_cache_create(&e.config, e.spare, sizeof e.spare, &e.other, s);
}
heed_code cache_bytes(Engine& e, heed_status* s) {
  heed_status status;
  const bool none = heed_cache_bytes(&e.config, &status) == 0 && heed_cache_bytes(&e.config, nullptr) == 0;
  if (s != nullptr) *s = status;
  return none ? status.code : HEED_OK;
}
heed_code append(Engine& e, heed_status* s) {
  return heed_cache_append(e.cache, e.sequence, &e.tokens, &e.tokens, 3, s);
}
heed_code bind(Engine& e, heed_status* s) { return heed_cache_bind(e.cache, e.sequences, 2, &e.bound, s); }
heed_code attend_bound(Engine& e, heed_status* s) {
  AttentionArgs args = e.p.args;
  REQUIRE(heed_cache_bind(e.cache, e.sequences, 2, &args, nullptr) == HEED_OK);
  args.Hkv = e.config.Hkv, args.D = e.config.D, args.Dv = e.config.Dv;
  return heed_attention(&args, s);
}

template <class Change>
heed_code attend_changed(Engine& e, heed_status* s, const Change& change) {
  AttentionArgs args = e.p.args;
  REQUIRE(heed_cache_bind(e.cache, e.sequences, 2, &args, nullptr) == HEED_OK);
  change(args);
  return heed_attention(&args, s);
}

const std::int64_t g_ones[] = {1, 1, 1}, g_beyond[] = {0, 2}, g_below[] = {-1, 0};

// A call that is bound to a cache, and then changed.
#define BOUND_RULE(argument, why, ...)                                                                        \
  {                                                                                                           \
    argument, why,                                                                                            \
        [](Engine& e, heed_status* s) { return attend_changed(e, s, [](AttentionArgs& a) { __VA_ARGS__; }); } \
  }

const Rule kCacheRules[] = {
    {"config:", "null",
     [](Engine& e, heed_status* s) { return heed_cache_create(nullptr, e.spare, sizeof e.spare, &e.other, s); }},
    RULE(create, "struct_size:", "is 0", e.config.struct_size = 0),
    RULE(cache_bytes, "struct_size:", "is 8", e.config.struct_size = 8),
    RULE(create, "struct_size:", "no version", e.config.struct_size = sizeof e.config + 4),
    RULE(cache_bytes, "struct_size:", "no version", e.config.struct_size = SIZE_MAX - 7),
    RULE(create, "Hkv:", "at least 1", e.config.Hkv = 0),
    RULE(cache_bytes, "Hkv:", "at least 1", e.config.Hkv = kLeastInt),
    RULE(create, "D:", "2^24", e.config.D = 0),
    RULE(create, "D:", "2^24", e.config.D = two_to(24) + 1),
    RULE(create, "Dv:", "2^24", e.config.Dv = -1),
    RULE(create, "Dv:", "2^24", e.config.Dv = kMostInt),
    RULE(create, "k_type:", "77", e.config.k_type = 77),
    RULE(create, "v_type:", "-1", e.config.v_type = -1),
    RULE(create, "page_size:", "multiple of 16", e.config.page_size = 24),
    RULE(create, "page_size:", "-16", e.config.page_size = -16),
    RULE(create, "page_count:", "2^31", e.config.page_count = two_to(31)),
    RULE(create, "page_count:", "-1", e.config.page_count = -1),
    RULE(create, "max_sequences:", "-1", e.config.max_sequences = -1),
    RULE(create, "max_pages:", "-1", e.config.max_pages = -1),
    RULE(create, "page_count:", "2^60 bytes", e.config.Hkv = two_to(58)),
    RULE(cache_bytes, "page_count:", "2^60 bytes", e.config.max_sequences = two_to(61)),
    RULE(create, "page_count:", "2^60 bytes", e.config.max_pages = kMostInt),
    RULE(create, "page_count:", "2^60 bytes", e.config.page_size = kMostInt / 16 * 16),
    {"cache:", "null",
     [](Engine& e, heed_status* s) { return heed_cache_create(&e.config, e.spare, sizeof e.spare, nullptr, s); }},
    {"memory:", "null",
     [](Engine& e, heed_status* s) { return heed_cache_create(&e.config, nullptr, sizeof e.spare, &e.other, s); }},
    {"memory:", "multiple of 64",
     [](Engine& e, heed_status* s) {
       return heed_cache_create(&e.config, e.spare + 8, sizeof e.spare - 8, &e.other, s);
     }},
    {"bytes:", "the cache needs",
     [](Engine& e, heed_status* s) {
       return heed_cache_create(&e.config, e.spare, heed_cache_bytes(&e.config, nullptr) - 1, &e.other, s);
     }},

    {"cache:", "null", [](Engine& e, heed_status* s) { return heed_cache_open(nullptr, &e.fork, s); }},
    {"sequence:", "null", [](Engine& e, heed_status* s) { return heed_cache_open(e.cache, nullptr, s); }},
    {"cache:", "null", [](Engine&, heed_status* s) { return heed_cache_close(nullptr, 0, s); }},
    {"sequence:", "is 1, must be an open", [](Engine& e, heed_status* s) { return heed_cache_close(e.cache, 1, s); }},
    {"sequence:", "-1", [](Engine& e, heed_status* s) { return heed_cache_close(e.cache, -1, s); }},
    RULE(append, "cache:", "null", e.cache = nullptr),
    RULE(append, "sequence:", "is 2", e.sequence = 2),
    RULE(append, "sequence:", "open", e.sequence = kLeastInt),
    {"tokens:", "-1",
     [](Engine& e, heed_status* s) { return heed_cache_append(e.cache, 0, &e.tokens, &e.tokens, -1, s); }},
    {"tokens:", "2^60",
     [](Engine& e, heed_status* s) { return heed_cache_append(e.cache, 0, &e.tokens, &e.tokens, kMostInt, s); }},
    {"k:", "null", [](Engine& e, heed_status* s) { return heed_cache_append(e.cache, 0, nullptr, &e.tokens, 1, s); }},
    {"v:", "null", [](Engine& e, heed_status* s) { return heed_cache_append(e.cache, 0, &e.tokens, nullptr, 1, s); }},
    RULE(append, "k.data:", "null", e.tokens.data = nullptr),
    RULE(append, "k.data:", "multiple", e.tokens.data = one_byte_on(e.tokens.data)),
    RULE(append, "k.type:", "3", e.tokens.type = HEED_INT8),
    RULE(append, "k.type:", "6", e.tokens.type = 6),
    RULE(append, "k.stride:", "2^60", e.tokens.stride_token = two_to(59)),
    RULE(append, "k.stride:", "2^60", e.tokens.stride_head = kLeastInt),
    {"sequence:", "is 1", [](Engine& e, heed_status* s) { return heed_cache_fork(e.cache, 1, &e.fork, s); }},
    {"fork:", "null", [](Engine& e, heed_status* s) { return heed_cache_fork(e.cache, 0, nullptr, s); }},
    {"sequence:", "is 1", [](Engine& e, heed_status* s) { return heed_cache_truncate(e.cache, 1, 0, s); }},
    {"length:", "is 6", [](Engine& e, heed_status* s) { return heed_cache_truncate(e.cache, 0, 6, s); }},
    {"length:", "-1", [](Engine& e, heed_status* s) { return heed_cache_truncate(e.cache, 0, -1, s); }},
    {"sequence:", "is 9", [](Engine& e, heed_status* s) { return heed_cache_drop(e.cache, 9, 0, s); }},
    {"tokens:", "is 6", [](Engine& e, heed_status* s) { return heed_cache_drop(e.cache, 0, 6, s); }},
    {"tokens:", "between", [](Engine& e, heed_status* s) { return heed_cache_drop(e.cache, 0, kLeastInt, s); }},
    RULE(bind, "cache:", "null", e.cache = nullptr),
    RULE(bind, "struct_size:", "is 8", e.bound.struct_size = 8),
    RULE(bind, "sequences[1]:", "1 is not", e.sequences[1] = 1),
    RULE(bind, "sequences[0]:", "not an open", e.sequences[0] = kMostInt),
    {"args:", "null", [](Engine& e, heed_status* s) { return heed_cache_bind(e.cache, e.sequences, 1, nullptr, s); }},
    {"B:", "-1", [](Engine& e, heed_status* s) { return heed_cache_bind(e.cache, e.sequences, -1, &e.bound, s); }},
    {"sequences:", "null", [](Engine& e, heed_status* s) { return heed_cache_bind(e.cache, nullptr, 1, &e.bound, s); }},
    // A call that is bound to one cache and takes its sizes from another.
    RULE(attend_bound, "k.stride_batch:", "panels of a page", e.config.Hkv = 4),
    RULE(attend_bound, "k.stride_head:", "panels of a head", e.config.D = 8),
    RULE(attend_bound, "v.stride_head:", "panels of a head", e.config.Dv = 17, e.p.args.out.stride_token = 17,
         e.p.args.out.stride_head = 51, e.p.args.out.stride_batch = 204),
    BOUND_RULE("page_size:", "24 is not a multiple of 16", a.page_size = 24),
    BOUND_RULE("key_begin[0]:", "1 is not a multiple of 16", a.key_begin = {g_ones, HEED_INT64}),
    BOUND_RULE("kv_panels:", "is 2", a.kv_panels = 2),
    BOUND_RULE("kv_panels:", "needs pages", a.block_table = a.kv_lengths = a.key_offset = a.table_rows = {},
               a.page_size = 0),
    BOUND_RULE("table_rows[1]:", "row 2 is not among table_row_count = 2", a.table_rows = {g_beyond, HEED_INT64}),
    BOUND_RULE("table_rows[0]:", "row -1", a.table_rows = {g_below, HEED_INT64}),
    BOUND_RULE("table_rows:", "beside kv_indptr", a.kv_indptr = {g_ones, HEED_INT64}),
};

TEST_CASE("the cache: a broken rule is named, and nothing is written", "[engine][cache][arguments]") {
  check(kCacheRules, std::size(kCacheRules));
  Engine e;
  CHECK(heed_cache_length(nullptr, 0) == -1);
  CHECK(heed_cache_position(nullptr, 0) == -1);
  CHECK(heed_cache_free_pages(nullptr) == 0);
  CHECK(heed_cache_length(e.cache, 1) == -1);
  CHECK(heed_cache_position(e.cache, -1) == -1);
  CHECK(heed_cache_length(e.cache, 0) == 5);
  e.tokens.data = nullptr;
  CHECK(heed_cache_append(e.cache, 0, &e.tokens, &e.tokens, 0, nullptr) == HEED_OK);  // nothing, from nowhere
}

TEST_CASE("a newer cache configuration is refused only where it says something", "[engine][cache][arguments]") {
  struct Newer {
    heed_cache_config config;
    unsigned char more[24] = {};
  } newer;
  Engine e;
  newer.config = e.config;
  newer.config.struct_size = sizeof newer;
  REQUIRE(heed_cache_create(&newer.config, e.spare, sizeof e.spare, &e.other, nullptr) == HEED_OK);
  newer.more[9] = 1;
  heed_status status;
  CHECK(heed_cache_create(&newer.config, e.spare, sizeof e.spare, &e.other, &status) == HEED_UNSUPPORTED);
  CHECK(std::string(status.message).rfind("struct_size:", 0) == 0);
}

}  // namespace
}  // namespace heed::test

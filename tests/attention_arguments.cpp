// Bad arguments: which code, which words, and that nothing is written. One line per rule.
#include <catch2/catch_message.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cstring>
#include <limits>
#include <string>

#include "attention_call.hpp"
#include "attention_random.hpp"

namespace heed::test {
namespace {

constexpr std::int64_t kMostInt = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kLeastInt = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t two_to(int n) { return std::int64_t{1} << n; }

// A call that takes all it is given and nothing else.
ModelProblem valid() {
  Spec spec;
  spec.B = 2;
  spec.Hq = 4;
  spec.Hkv = 2;
  spec.Lq = 3;
  spec.Lkv = 5;
  spec.D = 4;
  spec.Dv = 6;
  return problem_of(spec);
}

const char* one_byte_on(const void* data) { return static_cast<const char*>(data) + 1; }

using Args = heed_attention_args;

struct Rule {
  heed_code code;
  const char* argument;  // how the message starts
  const char* why;       // what it says somewhere
  void (*broken)(Args&);
};

constexpr heed_code kInvalid = HEED_INVALID_ARGUMENT, kUnsupported = HEED_UNSUPPORTED;

std::int64_t g_offsets[2];
float g_floats[2];
float callback(void*, std::int64_t, std::int64_t, std::int64_t, float score) { return score; }
heed_rectangle rectangle(void*, std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t) {
  return HEED_SOME;
}
void* allocate(void*, size_t) { return nullptr; }
void release(void*, void*, size_t) {}

const Rule kRules[] = {
    {kInvalid, "struct_size:", "0", [](Args& a) { a.struct_size = 0; }},
    {kInvalid, "struct_size:", "smaller", [](Args& a) { a.struct_size = sizeof a - 1; }},
    {kInvalid, "struct_size:", "8 is smaller", [](Args& a) { a.struct_size = 8; }},

    {kInvalid, "B:", "-1", [](Args& a) { a.B = -1; }},
    {kInvalid, "Hq:", "-4", [](Args& a) { a.Hq = -4; }},
    {kInvalid, "Hkv:", "-2", [](Args& a) { a.Hkv = -2; }},
    {kInvalid, "Lq:", "at least 0", [](Args& a) { a.Lq = kLeastInt; }},
    {kInvalid, "Lkv:", "-1", [](Args& a) { a.Lkv = -1; }},
    {kInvalid, "D:", "is 0, must be at least 1", [](Args& a) { a.D = 0; }},
    {kInvalid, "D:", "-3", [](Args& a) { a.D = -3; }},
    {kInvalid, "Dv:", "is 0, must be at least 1", [](Args& a) { a.Dv = 0; }},
    {kInvalid, "D:", "2^24", [](Args& a) { a.D = two_to(24) + 1; }},
    {kInvalid, "Dv:", "2^24", [](Args& a) { a.Dv = kMostInt; }},
    {kInvalid, "Lq:", "2^60", [](Args& a) { a.Lq = two_to(62); }},
    {kInvalid, "Lq:", "2^60", [](Args& a) { a.Lq = kMostInt; }},
    {kInvalid, "Lkv:", "2^60", [](Args& a) { a.Lkv = two_to(62); }},
    {kInvalid, "Lkv:", "2^60", [](Args& a) { a.Lkv = kMostInt; }},
    {kInvalid, "B:", "2^60", [](Args& a) { a.B = two_to(62); }},
    {kInvalid, "Hq:", "2^60", [](Args& a) { a.Hq = two_to(62); }},
    {kInvalid, "Hkv:", "2^60", [](Args& a) { a.Hq = a.Hkv = two_to(61); }},
    {kInvalid, "Lq:", "2^60", [](Args& a) { a.B = a.Hq = a.Hkv = two_to(15), a.Lq = two_to(31); }},

    {kInvalid, "Hkv:", "0 while Hq is 4", [](Args& a) { a.Hkv = 0; }},
    {kInvalid, "Hq:", "multiple", [](Args& a) { a.Hq = 7; }},
    {kInvalid, "Hq:", "multiple", [](Args& a) { a.Hkv = 8; }},

    {kInvalid, "q.type:", "4", [](Args& a) { a.q.type = 4; }},
    {kInvalid, "k.type:", "-1", [](Args& a) { a.k.type = -1; }},
    {kInvalid, "v.type:", "99", [](Args& a) { a.v.type = 99; }},
    {kInvalid, "out.type:", "4", [](Args& a) { a.out.type = 4; }},
    {kUnsupported, "q.type:", "f32", [](Args& a) { a.q.type = HEED_F16; }},
    {kUnsupported, "k.type:", "f32", [](Args& a) { a.k.type = HEED_INT8; }},
    {kUnsupported, "v.type:", "f32", [](Args& a) { a.v.type = HEED_BF16; }},
    {kUnsupported, "out.type:", "f32", [](Args& a) { a.out.type = HEED_F16; }},

    {kInvalid, "q.data:", "null", [](Args& a) { a.q.data = nullptr; }},
    {kInvalid, "k.data:", "null", [](Args& a) { a.k.data = nullptr; }},
    {kInvalid, "v.data:", "null", [](Args& a) { a.v.data = nullptr; }},
    {kInvalid, "out.data:", "null", [](Args& a) { a.out.data = nullptr; }},
    {kInvalid, "q.data:", "multiple", [](Args& a) { a.q.data = one_byte_on(a.q.data); }},
    {kInvalid, "k.data:", "multiple", [](Args& a) { a.k.data = one_byte_on(a.k.data); }},
    {kInvalid, "v.data:", "multiple", [](Args& a) { a.v.data = one_byte_on(a.v.data); }},
    {kInvalid, "out.data:", "multiple", [](Args& a) { a.out.data = const_cast<char*>(one_byte_on(a.out.data)); }},
    {kInvalid, "lse", "multiple",
     [](Args& a) { a.lse = reinterpret_cast<float*>(const_cast<char*>(one_byte_on(a.lse))); }},

    {kInvalid, "q.stride", "2^60", [](Args& a) { a.q.stride_batch = two_to(62); }},
    {kInvalid, "q.stride", "2^60", [](Args& a) { a.q.stride_head = kMostInt; }},
    {kInvalid, "q.stride", "2^60", [](Args& a) { a.q.stride_token = kLeastInt; }},
    {kInvalid, "k.stride", "2^60", [](Args& a) { a.k.stride_batch = two_to(60); }},
    {kInvalid, "k.stride", "2^60", [](Args& a) { a.k.stride_head = -two_to(60); }},
    {kInvalid, "k.stride", "2^60", [](Args& a) { a.k.stride_token = two_to(58); }},
    {kInvalid, "v.stride", "2^60", [](Args& a) { a.v.stride_batch = a.v.stride_head = two_to(59); }},
    {kInvalid, "v.stride", "2^60", [](Args& a) { a.v.stride_batch = two_to(59), a.v.stride_head = -two_to(59); }},
    {kInvalid, "out.stride", "2^60", [](Args& a) { a.out.stride_token = kMostInt; }},
    {kInvalid, "out.stride", "2^60", [](Args& a) { a.out.stride_batch = kLeastInt; }},
    {kInvalid, "lse.stride", "2^60", [](Args& a) { a.lse_stride_batch = two_to(62); }},
    {kInvalid, "lse.stride", "2^60", [](Args& a) { a.lse_stride_head = kLeastInt; }},
    {kInvalid, "lse.stride", "2^60", [](Args& a) { a.lse_stride_token = kMostInt; }},

    {kInvalid, "scale:", "finite", [](Args& a) { a.scale = std::numeric_limits<float>::quiet_NaN(); }},
    {kInvalid, "scale:", "finite", [](Args& a) { a.scale = -kInfinity; }},
    {kInvalid, "softcap:", "negative", [](Args& a) { a.softcap = -1.0f; }},
    {kInvalid, "softcap:", "finite", [](Args& a) { a.softcap = kInfinity; }},
    {kInvalid, "softcap:", "finite", [](Args& a) { a.softcap = std::numeric_limits<float>::quiet_NaN(); }},
    {kInvalid, "alignment:", "3", [](Args& a) { a.alignment = 3; }},
    {kInvalid, "alignment:", "-1", [](Args& a) { a.alignment = -1; }},
    {kInvalid, "offsets:", "null", [](Args& a) { a.alignment = HEED_OFFSETS, a.offsets = nullptr; }},
    {kInvalid, "offsets[1]:", "2^61",
     [](Args& a) { a.alignment = HEED_OFFSETS, g_offsets[1] = two_to(61) + 1, a.offsets = g_offsets; }},
    {kInvalid, "offsets[1]:", "2^61",
     [](Args& a) { a.alignment = HEED_OFFSETS, g_offsets[1] = kLeastInt, a.offsets = g_offsets; }},
    {kInvalid, "window_left:", "-2", [](Args& a) { a.has_window = 1, a.window_left = -2; }},
    {kInvalid, "window_right:", "-1", [](Args& a) { a.has_window = 1, a.window_right = kLeastInt; }},

    {kInvalid, "executor.threads:", "-1", [](Args& a) { a.executor.threads = -1; }},
    {kInvalid, "executor.threads:", "4097", [](Args& a) { a.executor.threads = 4097; }},
    {kInvalid, "executor.parallel_for:", "null", [](Args& a) { a.executor.threads = 2; }},
    {kInvalid, "allocator:", "together", [](Args& a) { a.allocator.allocate = allocate; }},
    {kInvalid, "allocator:", "together", [](Args& a) { a.allocator.release = release; }},

    // What has its place in the struct and is refused until it works.
    {kUnsupported, "softcap:", "not supported", [](Args& a) { a.softcap = 30.0f; }},  // H10
    {kUnsupported, "alibi_slopes:", "not supported", [](Args& a) { a.alibi_slopes = g_floats; }},
    {kUnsupported, "bias:", "not supported", [](Args& a) { a.bias.data = g_floats; }},  // H01, H02
    {kUnsupported, "score_callback:", "not supported", [](Args& a) { a.score_callback = callback; }},
    {kUnsupported, "window:", "not supported", [](Args& a) { a.has_window = 1, a.window_left = 3; }},  // H07
    {kUnsupported, "window:", "not supported", [](Args& a) { a.has_window = 1, a.window_left = a.window_right = -1; }},
    {kUnsupported, "kv_lengths:", "not supported", [](Args& a) { a.kv_lengths.data = g_offsets; }},  // H03
    {kUnsupported, "key_begin:", "not supported", [](Args& a) { a.key_begin.data = g_offsets; }},
    {kUnsupported, "key_offset:", "not supported", [](Args& a) { a.key_offset.data = g_offsets; }},
    {kUnsupported, "mask:", "not supported", [](Args& a) { a.mask_kind = HEED_BYTE_MASK, a.mask = g_floats; }},
    {kUnsupported, "mask:", "not supported", [](Args& a) { a.mask_kind = HEED_BIT_MASK, a.mask = g_floats; }},
    {kUnsupported, "mask_callback:", "not supported", [](Args& a) { a.mask_callback = rectangle; }},
    {kUnsupported, "k_scales:", "not supported", [](Args& a) { a.k_scales.data = g_floats; }},
    {kUnsupported, "v_scales:", "not supported", [](Args& a) { a.v_scales.data = g_floats; }},
    {kUnsupported, "q_indptr:", "not supported", [](Args& a) { a.q_indptr.data = g_offsets; }},
    {kUnsupported, "kv_indptr:", "not supported", [](Args& a) { a.kv_indptr.data = g_offsets; }},
    {kUnsupported, "block_table:", "not supported", [](Args& a) { a.block_table.data = g_offsets; }},
    {kUnsupported, "page_indices:", "not supported", [](Args& a) { a.page_indices.data = g_offsets; }},
    {kUnsupported, "inspect:", "not supported", [](Args& a) { a.inspect.data = g_floats; }},
};

TEST_CASE("a broken rule is named, and nothing is written", "[attention][arguments]") {
  const ModelProblem problem = valid();
  int number = 0;
  for (const Rule& rule : kRules) {
    Call call(problem, Layout::kPadded);
    rule.broken(call.args);
    heed_status status;
    std::memset(&status, 'x', sizeof status);
    const heed_code code = heed_attention(&call.args, &status);
    INFO("rule " << number++ << ", " << rule.argument << ' ' << rule.why);
    REQUIRE(std::memchr(status.message, '\0', sizeof status.message) != nullptr);
    const std::string message = status.message;
    INFO("code " << code << ", message: " << message);
    CHECK(code == rule.code);
    CHECK(status.code == rule.code);
    CHECK(message.compare(0, std::strlen(rule.argument), rule.argument) == 0);
    CHECK(message.find(rule.why) != std::string::npos);
    CHECK(message.find('\n') == std::string::npos);
    CHECK(message.size() + 1 < sizeof status.message);  // nothing was cut off
    CHECK(call.untouched());
    CHECK(heed_attention(&call.args, nullptr) == rule.code);
    CHECK(call.untouched());
  }
}

TEST_CASE("no arguments at all", "[attention][arguments]") {
  heed_status status;
  CHECK(heed_attention(nullptr, &status) == HEED_INVALID_ARGUMENT);
  CHECK(std::string(status.message) == "args: is null");
  CHECK(heed_attention(nullptr, nullptr) == HEED_INVALID_ARGUMENT);
}

TEST_CASE("what is at the edge of a rule and legal", "[attention][arguments]") {
  const ModelProblem problem = valid();
  const Result expected = attend(problem);
  void (*const legal[])(Args&) = {
      [](Args& a) { a.window_left = -9; },   // no has_window: not looked at
      [](Args& a) { a.offsets = nullptr; },  // nor these
      [](Args& a) { a.executor.threads = 1; },
      [](Args& a) { a.executor.parallel_for = nullptr, a.executor.threads = 0; },
      [](Args& a) { a.mask = g_floats; },                    // no mask_kind
      [](Args& a) { a.page_size = 16, a.page_count = -3; },  // no pages
  };
  for (const auto& change : legal) {
    Call call(problem, Layout::kPadded);
    change(call.args);
    CHECK(difference(call.run(), expected.out, expected.lse) == "");
  }
  ModelProblem one = problem;  // a stride along an axis of one element reaches nowhere
  one.B = 1;
  one.q.resize(one.q.size() / 2);
  one.k.resize(one.k.size() / 2);
  one.v.resize(one.v.size() / 2);
  Call call(one, Layout::kHeadsFirst);
  call.args.q.stride_batch = kMostInt;
  call.args.k.stride_batch = kLeastInt;
  call.args.out.stride_batch = two_to(60);
  const Result expected_one = attend(one);
  CHECK(difference(call.run(), expected_one.out, expected_one.lse) == "");
}

// A caller built against a newer heed: what this library doesn't know must be zero.
TEST_CASE("a larger struct", "[attention][arguments]") {
  const ModelProblem problem = valid();
  const Result expected = attend(problem);
  struct Newer {
    heed_attention_args args;
    unsigned char more[40];
  };
  Call call(problem, Layout::kHeadsFirst);
  Newer newer{};
  newer.args = call.args;
  newer.args.struct_size = sizeof newer;
  heed_status status;
  for (std::size_t set = 0; set < sizeof newer.more; set += 13) {
    newer.more[set] = 1;
    CHECK(heed_attention(&newer.args, &status) == HEED_UNSUPPORTED);
    CHECK(std::string(status.message).compare(0, 12, "struct_size:") == 0);
    CHECK(std::string(status.message).find(std::to_string(sizeof newer.args + set)) != std::string::npos);
    CHECK(call.untouched());
    newer.more[set] = 0;
  }
  REQUIRE(heed_attention(&newer.args, &status) == HEED_OK);
  CHECK(status.code == HEED_OK);
  CHECK(std::string(status.message).empty());
  CHECK(difference(call.run(), expected.out, expected.lse) == "");
}

}  // namespace
}  // namespace heed::test

// Bad arguments: which code, which words, and that nothing is written. One line per rule.
#include <catch2/catch_message.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cstring>
#include <limits>
#include <memory>
#include <string>

#include "attention_call.hpp"
#include "attention_coded.hpp"
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

constexpr heed_code kInvalid = HEED_INVALID_ARGUMENT;

std::int64_t g_offsets[3];
float g_floats[2];
// The entries of an index array.
const std::int64_t* numbers(std::int64_t a, std::int64_t b, std::int64_t c = 0) {
  g_offsets[0] = a, g_offsets[1] = b, g_offsets[2] = c;
  return g_offsets;
}
void* allocate(void*, size_t) { return nullptr; }
void release(void*, void*, size_t) {}

const Rule kRules[] = {
    {kInvalid, "struct_size:", "0", [](Args& a) { a.struct_size = 0; }},
    {kInvalid, "struct_size:", "smaller", [](Args& a) { a.struct_size = offsetof(Args, table_rows) - 1; }},
    {kInvalid, "struct_size:", "no version", [](Args& a) { a.struct_size = offsetof(Args, end) + 4; }},
    {kInvalid, "struct_size:", "no version", [](Args& a) { a.struct_size = SIZE_MAX - 7; }},
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
    {kInvalid, "Lq:", "2^60", [](Args& a) { a.B = 0, a.Hq = a.Hkv = two_to(40), a.Lq = two_to(40); }},
    {kInvalid, "Lq:", "2^60", [](Args& a) { a.B = a.Hq = a.Hkv = two_to(15), a.Lq = two_to(31); }},

    {kInvalid, "Hkv:", "0 while Hq is 4", [](Args& a) { a.Hkv = 0; }},
    {kInvalid, "Hq:", "multiple", [](Args& a) { a.Hq = 7; }},
    {kInvalid, "Hq:", "multiple", [](Args& a) { a.Hkv = 8; }},

    {kInvalid, "q.type:", "4", [](Args& a) { a.q.type = 4; }},
    {kInvalid, "k.type:", "-1", [](Args& a) { a.k.type = -1; }},
    {kInvalid, "v.type:", "99", [](Args& a) { a.v.type = 99; }},
    {kInvalid, "out.type:", "4", [](Args& a) { a.out.type = 4; }},
    {kInvalid, "q.type:", "int8", [](Args& a) { a.q.type = HEED_INT8; }},
    {kInvalid, "out.type:", "int8", [](Args& a) { a.out.type = HEED_INT8; }},
    {kInvalid, "q.type:", "fp8 e4m3", [](Args& a) { a.q.type = HEED_FP8_E4M3; }},
    {kInvalid, "out.type:", "fp8 e5m2", [](Args& a) { a.out.type = HEED_FP8_E5M2; }},
    {kInvalid, "k.type:", "6 is not a type", [](Args& a) { a.k.type = 6; }},
    {kInvalid, "v.type:", "-1 is not a type", [](Args& a) { a.v.type = -1; }},

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

    {kInvalid, "k_scales:", "not int8", [](Args& a) { a.k_scales.data = g_floats; }},
    {kInvalid, "v_scales:", "not int8", [](Args& a) { a.v_scales.data = g_floats; }},
    {kInvalid, "k_scales:", "not int8", [](Args& a) { a.k.type = HEED_FP8_E4M3, a.k_scales.data = g_floats; }},
    {kInvalid, "v_scales:", "not int8", [](Args& a) { a.v.type = HEED_FP8_E5M2, a.v_scales.data = g_floats; }},
    {kInvalid, "k_scales.data:", "null", [](Args& a) { a.k.type = HEED_INT8; }},
    {kInvalid, "v_scales.data:", "null", [](Args& a) { a.v.type = HEED_INT8; }},
    {kInvalid, "v_scales.type:", "not a type", [](Args& a) { a.v.type = HEED_INT8, a.v_scales.type = HEED_F16; }},
    {kInvalid, "bias.type:", "int8", [](Args& a) { a.bias.data = g_floats, a.bias.type = HEED_INT8; }},
    {kInvalid, "bias.type:", "e5m2", [](Args& a) { a.bias.data = g_floats, a.bias.type = HEED_FP8_E5M2; }},
    {kInvalid, "bias.data:", "multiple", [](Args& a) { a.bias.data = one_byte_on(g_floats); }},
    {kInvalid, "bias.stride", "2^60", [](Args& a) { a.bias.data = g_floats, a.bias.stride_head = two_to(60); }},
    {kInvalid, "mask_kind:", "3", [](Args& a) { a.mask_kind = 3, a.mask = g_floats; }},
    {kInvalid, "mask.data:", "null", [](Args& a) { a.mask_kind = HEED_BIT_MASK; }},
    {kInvalid, "mask.stride", "2^60",
     [](Args& a) { a.mask_kind = HEED_BYTE_MASK, a.mask = g_floats, a.mask_stride_token = kMostInt; }},
    {kInvalid, "inspect_what:", "4", [](Args& a) { a.inspect.data = g_floats, a.inspect_what = 4; }},
    {kInvalid, "inspect.type:", "f32", [](Args& a) { a.inspect.data = g_floats, a.inspect.type = HEED_BF16; }},
    {kInvalid, "inspect.stride", "2^60", [](Args& a) { a.inspect.data = g_floats, a.inspect.stride_head = kMostInt; }},
    {kInvalid, "alibi_slopes.data:", "multiple",
     [](Args& a) { a.alibi_slopes = reinterpret_cast<const float*>(one_byte_on(g_floats)); }},

    {kInvalid, "kv_lengths.type:", "2", [](Args& a) { a.kv_lengths = {g_offsets, 2}; }},
    {kInvalid, "kv_lengths.data:", "multiple", [](Args& a) { a.kv_lengths.data = one_byte_on(g_offsets); }},
    {kInvalid, "kv_lengths[1]:", "-1", [](Args& a) { a.kv_lengths.data = numbers(a.Lkv, -1); }},
    {kInvalid, "kv_lengths[0]:", "between 0 and",
     [](Args& a) { a.kv_lengths.data = numbers(a.Lkv + 1, 0); }},
    {kInvalid, "key_begin[1]:", "between 0 and", [](Args& a) { a.key_begin.data = numbers(a.Lkv, a.Lkv + 1); }},
    {kInvalid, "key_begin[0]:", "-1", [](Args& a) { a.key_begin.data = numbers(-1, 0); }},
    {kInvalid, "key_offset[1]:", "2^61", [](Args& a) { a.key_offset.data = numbers(0, kLeastInt); }},
    {kInvalid, "q_indptr[0]:", "negative", [](Args& a) { a.q_indptr.data = numbers(-1, 0, 0); }},
    {kInvalid, "q_indptr[2]:", "smaller", [](Args& a) { a.q_indptr.data = numbers(0, 1, 0); }},
    {kInvalid, "q_indptr[1]:", "Lq", [](Args& a) { a.q_indptr.data = numbers(0, a.Lq + 1, a.Lq + 1); }},
    {kInvalid, "kv_indptr[2]:", "2^60", [](Args& a) { a.kv_indptr.data = numbers(0, 0, two_to(61)); }},
    {kInvalid, "kv_indptr[1]:", "Lkv", [](Args& a) { a.kv_indptr.data = numbers(0, a.Lkv + 1, a.Lkv + 1); }},
    {kInvalid, "page_size:", "at least 1", [](Args& a) { a.block_table.data = g_offsets; }},
    {kInvalid, "page_count:", "-1", [](Args& a) { a.block_table.data = g_offsets, a.page_size = 16, a.page_count = -1; }},
    {kInvalid, "block_table_stride:", "needs", [](Args& a) { a.block_table.data = g_offsets, a.page_size = 1; }},
    {kInvalid, "block_table[0]:", "page 7",
     [](Args& a) {
       a.block_table.data = numbers(7, 0);
       a.block_table_stride = 1, a.page_size = a.Lkv, a.page_count = 7;
     }},
    {kInvalid, "block_table[1]:", "page -2",
     [](Args& a) {
       a.block_table.data = numbers(6, -2);
       a.block_table_stride = 1, a.page_size = a.Lkv, a.page_count = 7;
     }},
    {kInvalid, "page_indptr:", "null", [](Args& a) { a.page_indices.data = g_offsets, a.page_size = 16; }},
    {kInvalid, "page_indptr:", "without", [](Args& a) { a.page_indptr.data = g_offsets; }},
    {kInvalid, "page_indptr[1]:", "needs 1",
     [](Args& a) {
       a.page_indices.data = g_offsets, a.page_indptr.data = numbers(0, 0, 0);
       a.page_size = a.Lkv, a.page_count = 1;
     }},
    {kInvalid, "page_indices:", "beside",
     [](Args& a) { a.block_table.data = a.page_indices.data = g_offsets, a.page_size = 16; }},
    {kInvalid, "kv_indptr:", "beside",
     [](Args& a) { a.block_table.data = g_offsets, a.page_size = 16, a.kv_indptr.data = numbers(0, 0, 0); }},

    // A table whose rows lie further apart than memory reaches.
    {kInvalid, "block_table_stride:", "2^60",
     [](Args& a) {
       a.block_table = {numbers(0, 0), HEED_INT64};
       a.block_table_stride = kMostInt;
       a.page_size = 1024;
       a.page_count = 1;
     }},

    {kInvalid, "page_size:", "neither block_table nor page_indices", [](Args& a) { a.page_size = 16; }},

    // Results over each other.
    {kInvalid, "out.stride_token:", "is 0", [](Args& a) { a.out.stride_token = 0; }},
    {kInvalid, "out.stride_head:", "is 0", [](Args& a) { a.out.stride_head = 0; }},
    {kInvalid, "out.stride_token:", "is 5", [](Args& a) { a.out.stride_token = 5; }},
    {kInvalid, "out.stride_head:", "is 1", [](Args& a) { a.out.stride_head = -1; }},
    {kInvalid, "out.stride_batch:", "is 17", [](Args& a) { a.out.stride_batch = 17; }},
    {kInvalid, "out.stride_batch:", "is ", [](Args& a) { a.out.stride_batch = a.out.stride_head; }},
    {kInvalid, "out.stride_batch:", "is ", [](Args& a) { a.out.stride_batch = 3 * a.out.stride_head; }},
    {kInvalid, "inspect.stride_token:", "is 4",
     [](Args& a) { a.inspect = {g_floats, 400, 100, 4, HEED_F32}; }},
    {kInvalid, "out.data:", "that of q",
     [](Args& a) { a.out.data = const_cast<void*>(a.q.data); }},
    {kInvalid, "out.data:", "that of q",
     [](Args& a) { a.Dv = a.D, a.out = {const_cast<void*>(a.q.data), 100, 25, 5, HEED_F32}; }},
    {kInvalid, "out.data:", "that of q",
     [](Args& a) {
       a.Dv = a.D, a.out = {const_cast<void*>(a.q.data), a.q.stride_batch, a.q.stride_head, a.q.stride_token, HEED_F16};
     }},
    {kInvalid, "lse.stride_token:", "is 0",
     [](Args& a) {
       a.lse_stride_batch = a.lse_stride_head = 64;
       a.lse_stride_token = 0;
     }},
    {kInvalid, "inspect.stride_token:", "is 0", [](Args& a) { a.inspect = {g_floats, 64, 64, 0, HEED_F32}; }},
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

// A call without anything unusual is looked at as a whole, not rule by rule.
TEST_CASE("plain calls: results over each other are refused", "[attention][arguments]") {
  ModelProblem problem = valid();
  problem.offsets.clear();
  const std::int64_t row = problem.Lq * problem.Dv, matrix = problem.Hq * row;
  for (const std::int64_t stride : {row, 3 * row, matrix - 1, matrix}) {
    Call call(problem, Layout::kHeadsFirst, false);
    call.args.out.stride_batch = stride;
    INFO("stride " << stride);
    CHECK(heed_attention(&call.args, nullptr) == (stride < matrix ? HEED_INVALID_ARGUMENT : HEED_OK));
    if (stride < matrix) CHECK(call.untouched());
  }
}

TEST_CASE("memory that is not aligned is refused, and given back", "[attention][arguments]") {
  Random random(3);
  const ModelProblem problem = plain_coded(random, 40, 200, 8, 8);  // more than the stack holds
  for (const std::size_t off : {1, 4, 32}) {
    struct Memory {
      std::size_t off;
      alignas(64) unsigned char bytes[1 << 20];
      int taken = 0, released = 0;
    };
    const auto memory = std::make_unique<Memory>(Memory{off, {}, 0, 0});
    Call call(problem, Layout::kHeadsFirst);
    call.args.allocator = {[](void* context, std::size_t bytes) -> void* {
                             auto* m = static_cast<Memory*>(context);
                             ++m->taken;
                             return bytes + m->off <= sizeof m->bytes ? m->bytes + m->off : nullptr;
                           },
                           [](void* context, void*, std::size_t) { ++static_cast<Memory*>(context)->released; },
                           memory.get()};
    heed_status status;
    CHECK(heed_attention(&call.args, &status) == HEED_INVALID_ARGUMENT);
    CHECK(std::string(status.message) == "allocator: its memory is not aligned to 64 bytes");
    CHECK(call.untouched());
    CHECK(memory->taken == 1);
    CHECK(memory->released == 1);
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
      [](Args& a) { a.window_left = -9; },  // no has_window: not looked at
      [](Args& a) { a.offsets = nullptr; },  // nor these
      [](Args& a) { a.executor.threads = 1; },
      [](Args& a) { a.executor.parallel_for = nullptr, a.executor.threads = 0; },
      [](Args& a) { a.mask = g_floats; },  // no mask_kind
      [](Args& a) { a.page_count = -3; },  // no pages
  };
  for (const auto& change : legal) {
    Call call(problem, Layout::kPadded);
    change(call.args);
    CHECK(difference(call.run(), expected.out, expected.lse) == "");
  }
  {  // rows of a ragged batch begin at its first token: what lies before is nobody's
    std::vector<float> results(4 * 4 * 6, 7.0f);
    Call call(problem, Layout::kPadded);
    Args& a = call.args;
    a.q = {nullptr, 0, 0, 0, HEED_F32};
    a.q.data = problem.q.data();
    a.q_indptr = {numbers(10, 11, 12), HEED_INT64};
    a.out = {results.data() - 10 * 6, 0, 2 * 6, 6, HEED_F32};  // tokens 10 and 11 of a head are those that there are
    a.lse = nullptr;
    CHECK(heed_attention(&a, nullptr) == HEED_OK);
    CHECK(results[2 * 4 * 6 - 1] != 7.0f);
    CHECK(results[2 * 4 * 6] == 7.0f);
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

// Checks look at no more sequences than there is something to check of.
TEST_CASE("a batch of nothing ends at once, however large", "[attention][arguments]") {
  Args args{};
  args.struct_size = sizeof args;
  args.B = two_to(57);
  args.Hkv = args.Lq = args.Lkv = args.D = args.Dv = 1;
  CHECK(heed_attention(&args, nullptr) == HEED_OK);
  args.Hq = 1;
  args.Lq = 0;
  CHECK(heed_attention(&args, nullptr) == HEED_OK);
}

// Legal by every rule, and more than a machine has.
TEST_CASE("a workspace that no memory holds is not asked for", "[attention][arguments]") {
  const float q = 1.0f;
  float out = 77.0f;
  Args args{};
  args.struct_size = sizeof args;
  args.B = two_to(57);
  args.Hq = args.Hkv = args.Lq = args.D = args.Dv = 1;
  args.q = {&q, 0, 0, 0, HEED_F32};
  args.out = {&out, 1, 0, 0, HEED_F32};
  heed_status status;
  CHECK(heed_attention(&args, &status) == HEED_OUT_OF_MEMORY);
  CHECK(std::string(status.message) == "allocator: the workspace has no size");
  CHECK(out == 77.0f);
}

// A caller built against the first version: the fields that came later are at their defaults, whatever lies there.
TEST_CASE("a smaller struct", "[attention][arguments]") {
  const ModelProblem problem = valid();
  const Result expected = attend(problem);
  Call call(problem, Layout::kHeadsFirst);
  const std::size_t first = offsetof(Args, table_rows);
  std::memset(reinterpret_cast<char*>(&call.args) + first, 0x5A, sizeof(Args) - first);
  call.args.struct_size = first;
  CHECK(difference(call.run(), expected.out, expected.lse) == "");
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

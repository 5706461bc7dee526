#include <cstddef>
#include <cstdint>
#include <limits>

#include "attention_arguments.hpp"
#include "support/floats.hpp"

namespace heed::test {
namespace {

constexpr std::int64_t kMostInt = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kLeastInt = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t two_to(int n) { return std::int64_t{1} << n; }

const char* one_byte_on(const void* data) { return static_cast<const char*>(data) + 1; }

using Args = heed_attention_args;

std::int64_t g_offsets[3];
float g_floats[2];
// The entries of an index array.
const std::int64_t* numbers(std::int64_t a, std::int64_t b, std::int64_t c = 0) {
  g_offsets[0] = a, g_offsets[1] = b, g_offsets[2] = c;
  return g_offsets;
}
void* allocate(void*, size_t) { return nullptr; }
void release(void*, void*, size_t) {}

constexpr Rule kAll[] = {
    {"struct_size:", "0", [](Args& a) { a.struct_size = 0; }},
    {"struct_size:", "smaller", [](Args& a) { a.struct_size = offsetof(Args, table_rows) - 1; }},
    {"struct_size:", "no version", [](Args& a) { a.struct_size = offsetof(Args, end) + 4; }},
    {"struct_size:", "no version", [](Args& a) { a.struct_size = SIZE_MAX - 7; }},
    {"struct_size:", "8 is smaller", [](Args& a) { a.struct_size = 8; }},

    {"B:", "-1", [](Args& a) { a.B = -1; }},
    {"Hq:", "-4", [](Args& a) { a.Hq = -4; }},
    {"Hkv:", "-2", [](Args& a) { a.Hkv = -2; }},
    {"Lq:", "at least 0", [](Args& a) { a.Lq = kLeastInt; }},
    {"Lkv:", "-1", [](Args& a) { a.Lkv = -1; }},
    {"D:", "is 0, must be at least 1", [](Args& a) { a.D = 0; }},
    {"D:", "-3", [](Args& a) { a.D = -3; }},
    {"Dv:", "is 0, must be at least 1", [](Args& a) { a.Dv = 0; }},
    {"D:", "2^24", [](Args& a) { a.D = two_to(24) + 1; }},
    {"Dv:", "2^24", [](Args& a) { a.Dv = kMostInt; }},
    {"Lq:", "2^60", [](Args& a) { a.Lq = two_to(62); }},
    {"Lq:", "2^60", [](Args& a) { a.Lq = kMostInt; }},
    {"Lkv:", "2^60", [](Args& a) { a.Lkv = two_to(62); }},
    {"Lkv:", "2^60", [](Args& a) { a.Lkv = kMostInt; }},
    {"B:", "2^60", [](Args& a) { a.B = two_to(62); }},
    {"Hq:", "2^60", [](Args& a) { a.Hq = two_to(62); }},
    {"Hkv:", "2^60", [](Args& a) { a.Hq = a.Hkv = two_to(61); }},
    {"Lq:", "2^60", [](Args& a) { a.B = 0, a.Hq = a.Hkv = two_to(40), a.Lq = two_to(40); }},
    {"Lq:", "2^60", [](Args& a) { a.B = a.Hq = a.Hkv = two_to(15), a.Lq = two_to(31); }},

    {"Hkv:", "0 while Hq is 4", [](Args& a) { a.Hkv = 0; }},
    {"Hq:", "multiple", [](Args& a) { a.Hq = 7; }},
    {"Hq:", "multiple", [](Args& a) { a.Hkv = 8; }},

    {"q.type:", "4", [](Args& a) { a.q.type = 4; }},
    {"k.type:", "-1", [](Args& a) { a.k.type = -1; }},
    {"v.type:", "99", [](Args& a) { a.v.type = 99; }},
    {"out.type:", "4", [](Args& a) { a.out.type = 4; }},
    {"q.type:", "int8", [](Args& a) { a.q.type = HEED_INT8; }},
    {"out.type:", "int8", [](Args& a) { a.out.type = HEED_INT8; }},
    {"q.type:", "fp8 e4m3", [](Args& a) { a.q.type = HEED_FP8_E4M3; }},
    {"out.type:", "fp8 e5m2", [](Args& a) { a.out.type = HEED_FP8_E5M2; }},
    {"k.type:", "6 is not a type", [](Args& a) { a.k.type = 6; }},
    {"v.type:", "-1 is not a type", [](Args& a) { a.v.type = -1; }},

    {"q.data:", "null", [](Args& a) { a.q.data = nullptr; }},
    {"k.data:", "null", [](Args& a) { a.k.data = nullptr; }},
    {"v.data:", "null", [](Args& a) { a.v.data = nullptr; }},
    {"out.data:", "null", [](Args& a) { a.out.data = nullptr; }},
    {"q.data:", "multiple", [](Args& a) { a.q.data = one_byte_on(a.q.data); }},
    {"k.data:", "multiple", [](Args& a) { a.k.data = one_byte_on(a.k.data); }},
    {"v.data:", "multiple", [](Args& a) { a.v.data = one_byte_on(a.v.data); }},
    {"out.data:", "multiple", [](Args& a) { a.out.data = const_cast<char*>(one_byte_on(a.out.data)); }},
    {"lse", "multiple",
     [](Args& a) { a.lse = reinterpret_cast<float*>(const_cast<char*>(one_byte_on(a.lse))); }},

    {"q.stride", "2^60", [](Args& a) { a.q.stride_batch = two_to(62); }},
    {"q.stride", "2^60", [](Args& a) { a.q.stride_head = kMostInt; }},
    {"q.stride", "2^60", [](Args& a) { a.q.stride_token = kLeastInt; }},
    {"k.stride", "2^60", [](Args& a) { a.k.stride_batch = two_to(60); }},
    {"k.stride", "2^60", [](Args& a) { a.k.stride_head = -two_to(60); }},
    {"k.stride", "2^60", [](Args& a) { a.k.stride_token = two_to(58); }},
    {"v.stride", "2^60", [](Args& a) { a.v.stride_batch = a.v.stride_head = two_to(59); }},
    {"v.stride", "2^60", [](Args& a) { a.v.stride_batch = two_to(59), a.v.stride_head = -two_to(59); }},
    {"out.stride", "2^60", [](Args& a) { a.out.stride_token = kMostInt; }},
    {"out.stride", "2^60", [](Args& a) { a.out.stride_batch = kLeastInt; }},
    {"lse.stride", "2^60", [](Args& a) { a.lse_stride_batch = two_to(62); }},
    {"lse.stride", "2^60", [](Args& a) { a.lse_stride_head = kLeastInt; }},
    {"lse.stride", "2^60", [](Args& a) { a.lse_stride_token = kMostInt; }},

    {"scale:", "finite", [](Args& a) { a.scale = std::numeric_limits<float>::quiet_NaN(); }},
    {"scale:", "finite", [](Args& a) { a.scale = -kInfinity; }},
    {"softcap:", "negative", [](Args& a) { a.softcap = -1.0f; }},
    {"softcap:", "finite", [](Args& a) { a.softcap = kInfinity; }},
    {"softcap:", "finite", [](Args& a) { a.softcap = std::numeric_limits<float>::quiet_NaN(); }},
    {"alignment:", "3", [](Args& a) { a.alignment = 3; }},
    {"alignment:", "-1", [](Args& a) { a.alignment = -1; }},
    {"offsets:", "null", [](Args& a) { a.alignment = HEED_OFFSETS, a.offsets = nullptr; }},
    {"offsets[1]:", "2^61",
     [](Args& a) { a.alignment = HEED_OFFSETS, g_offsets[1] = two_to(61) + 1, a.offsets = g_offsets; }},
    {"offsets[1]:", "2^61",
     [](Args& a) { a.alignment = HEED_OFFSETS, g_offsets[1] = kLeastInt, a.offsets = g_offsets; }},
    {"window_left:", "-2", [](Args& a) { a.has_window = 1, a.window_left = -2; }},
    {"window_right:", "-1", [](Args& a) { a.has_window = 1, a.window_right = kLeastInt; }},

    {"executor.threads:", "-1", [](Args& a) { a.executor.threads = -1; }},
    {"executor.threads:", "4097", [](Args& a) { a.executor.threads = 4097; }},
    {"executor.parallel_for:", "null", [](Args& a) { a.executor.threads = 2; }},
    {"allocator:", "together", [](Args& a) { a.allocator.allocate = allocate; }},
    {"allocator:", "together", [](Args& a) { a.allocator.release = release; }},

    {"k_scales:", "not int8", [](Args& a) { a.k_scales.data = g_floats; }},
    {"v_scales:", "not int8", [](Args& a) { a.v_scales.data = g_floats; }},
    {"k_scales:", "not int8", [](Args& a) { a.k.type = HEED_FP8_E4M3, a.k_scales.data = g_floats; }},
    {"v_scales:", "not int8", [](Args& a) { a.v.type = HEED_FP8_E5M2, a.v_scales.data = g_floats; }},
    {"k_scales.data:", "null", [](Args& a) { a.k.type = HEED_INT8; }},
    {"v_scales.data:", "null", [](Args& a) { a.v.type = HEED_INT8; }},
    {"v_scales.type:", "not a type", [](Args& a) { a.v.type = HEED_INT8, a.v_scales.type = HEED_F16; }},
    {"bias.type:", "int8", [](Args& a) { a.bias.data = g_floats, a.bias.type = HEED_INT8; }},
    {"bias.type:", "e5m2", [](Args& a) { a.bias.data = g_floats, a.bias.type = HEED_FP8_E5M2; }},
    {"bias.data:", "multiple", [](Args& a) { a.bias.data = one_byte_on(g_floats); }},
    {"bias.stride", "2^60", [](Args& a) { a.bias.data = g_floats, a.bias.stride_head = two_to(60); }},
    {"mask_kind:", "3", [](Args& a) { a.mask_kind = 3, a.mask = g_floats; }},
    {"mask.data:", "null", [](Args& a) { a.mask_kind = HEED_BIT_MASK; }},
    {"mask.stride", "2^60",
     [](Args& a) { a.mask_kind = HEED_BYTE_MASK, a.mask = g_floats, a.mask_stride_token = kMostInt; }},
    {"inspect_what:", "4", [](Args& a) { a.inspect.data = g_floats, a.inspect_what = 4; }},
    {"inspect.type:", "f32", [](Args& a) { a.inspect.data = g_floats, a.inspect.type = HEED_BF16; }},
    {"inspect.stride", "2^60", [](Args& a) { a.inspect.data = g_floats, a.inspect.stride_head = kMostInt; }},
    {"alibi_slopes.data:", "multiple",
     [](Args& a) { a.alibi_slopes = reinterpret_cast<const float*>(one_byte_on(g_floats)); }},

    {"kv_lengths.type:", "2", [](Args& a) { a.kv_lengths = {g_offsets, 2}; }},
    {"kv_lengths.data:", "multiple", [](Args& a) { a.kv_lengths.data = one_byte_on(g_offsets); }},
    {"kv_lengths[1]:", "-1", [](Args& a) { a.kv_lengths.data = numbers(a.Lkv, -1); }},
    {"kv_lengths[0]:", "between 0 and",
     [](Args& a) { a.kv_lengths.data = numbers(a.Lkv + 1, 0); }},
    {"key_begin[1]:", "between 0 and", [](Args& a) { a.key_begin.data = numbers(a.Lkv, a.Lkv + 1); }},
    {"key_begin[0]:", "-1", [](Args& a) { a.key_begin.data = numbers(-1, 0); }},
    {"key_offset[1]:", "2^61", [](Args& a) { a.key_offset.data = numbers(0, kLeastInt); }},
    {"q_indptr[0]:", "negative", [](Args& a) { a.q_indptr.data = numbers(-1, 0, 0); }},
    {"q_indptr[2]:", "smaller", [](Args& a) { a.q_indptr.data = numbers(0, 1, 0); }},
    {"q_indptr[1]:", "Lq", [](Args& a) { a.q_indptr.data = numbers(0, a.Lq + 1, a.Lq + 1); }},
    {"kv_indptr[2]:", "2^60", [](Args& a) { a.kv_indptr.data = numbers(0, 0, two_to(61)); }},
    {"kv_indptr[1]:", "Lkv", [](Args& a) { a.kv_indptr.data = numbers(0, a.Lkv + 1, a.Lkv + 1); }},
    {"page_size:", "at least 1", [](Args& a) { a.block_table.data = g_offsets; }},
    {"page_count:", "-1", [](Args& a) { a.block_table.data = g_offsets, a.page_size = 16, a.page_count = -1; }},
    {"block_table_stride:", "needs", [](Args& a) { a.block_table.data = g_offsets, a.page_size = 1; }},
    {"block_table[0]:", "page 7",
     [](Args& a) {
       a.block_table.data = numbers(7, 0);
       a.block_table_stride = 1, a.page_size = a.Lkv, a.page_count = 7;
     }},
    {"block_table[1]:", "page -2",
     [](Args& a) {
       a.block_table.data = numbers(6, -2);
       a.block_table_stride = 1, a.page_size = a.Lkv, a.page_count = 7;
     }},
    {"page_indptr:", "null", [](Args& a) { a.page_indices.data = g_offsets, a.page_size = 16; }},
    {"page_indptr:", "without", [](Args& a) { a.page_indptr.data = g_offsets; }},
    {"page_indptr[1]:", "needs 1",
     [](Args& a) {
       a.page_indices.data = g_offsets, a.page_indptr.data = numbers(0, 0, 0);
       a.page_size = a.Lkv, a.page_count = 1;
     }},
    {"page_indices:", "beside",
     [](Args& a) { a.block_table.data = a.page_indices.data = g_offsets, a.page_size = 16; }},
    {"kv_indptr:", "beside",
     [](Args& a) { a.block_table.data = g_offsets, a.page_size = 16, a.kv_indptr.data = numbers(0, 0, 0); }},

    // A table whose rows lie further apart than memory reaches.
    {"block_table_stride:", "2^60",
     [](Args& a) {
       a.block_table = {numbers(0, 0), HEED_INT64};
       a.block_table_stride = kMostInt;
       a.page_size = 1024;
       a.page_count = 1;
     }},

    {"page_size:", "neither block_table nor page_indices", [](Args& a) { a.page_size = 16; }},

    // Results over each other.
    {"out.stride_token:", "is 0", [](Args& a) { a.out.stride_token = 0; }},
    {"out.stride_head:", "is 0", [](Args& a) { a.out.stride_head = 0; }},
    {"out.stride_token:", "is 5", [](Args& a) { a.out.stride_token = 5; }},
    {"out.stride_head:", "is 1", [](Args& a) { a.out.stride_head = -1; }},
    {"out.stride_batch:", "is 17", [](Args& a) { a.out.stride_batch = 17; }},
    {"out.stride_batch:", "is ", [](Args& a) { a.out.stride_batch = a.out.stride_head; }},
    {"out.stride_batch:", "is ", [](Args& a) { a.out.stride_batch = 3 * a.out.stride_head; }},
    {"inspect.stride_token:", "is 4",
     [](Args& a) { a.inspect = {g_floats, 400, 100, 4, HEED_F32}; }},
    {"out.data:", "that of q",
     [](Args& a) { a.out.data = const_cast<void*>(a.q.data); }},
    {"out.data:", "that of q",
     [](Args& a) { a.Dv = a.D, a.out = {const_cast<void*>(a.q.data), 100, 25, 5, HEED_F32}; }},
    {"out.data:", "that of q",
     [](Args& a) {
       a.Dv = a.D, a.out = {const_cast<void*>(a.q.data), a.q.stride_batch, a.q.stride_head, a.q.stride_token, HEED_F16};
     }},
    {"lse.stride_token:", "is 0",
     [](Args& a) {
       a.lse_stride_batch = a.lse_stride_head = 64;
       a.lse_stride_token = 0;
     }},
    {"inspect.stride_token:", "is 0", [](Args& a) { a.inspect = {g_floats, 64, 64, 0, HEED_F32}; }},
};

}  // namespace

const std::span<const Rule> kRules = kAll;

}  // namespace heed::test

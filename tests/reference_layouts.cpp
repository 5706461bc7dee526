// The double reference reads every layout and type that the argument struct can describe. The same numbers laid out
// differently give the same doubles, so these tests have no tolerance.
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "reference/sequence.hpp"
#include "reference_problem.hpp"

using namespace heed::tests;

namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

// Options that look at positions, so that a token taken for another one is noticed.
void add_positions(heed_attention_args& args, const std::vector<float>& slopes) {
  args.alibi_slopes = slopes.data();
  args.causal = 1;
  args.has_window = 1;
  args.window_left = 4;
  args.window_right = -1;
}

}  // namespace

TEST_CASE("reference: tokens first and heads first") {
  ReferenceProblem p(2, 4, 2, 3, 7, 5, 6);
  const ReferenceResult expected = reference_of(p.args);
  std::vector<float> k(p.k.size()), q(p.q.size());
  for (std::int64_t b = 0; b < 2; ++b)
    for (std::int64_t h = 0; h < 4; ++h)
      for (std::int64_t t = 0; t < 7; ++t)
        for (std::int64_t d = 0; d < 5; ++d) {
          if (h < 2) k[((b * 7 + t) * 2 + h) * 5 + d] = p.k[((b * 2 + h) * 7 + t) * 5 + d];
          if (t < 3) q[((b * 3 + t) * 4 + h) * 5 + d] = p.q[((b * 4 + h) * 3 + t) * 5 + d];
        }
  p.args.k = heed::tokens_first(std::as_const(k).data(), 2, 7, 5);
  p.args.q = heed::tokens_first(std::as_const(q).data(), 4, 3, 5);
  CHECK(reference_of(p.args) == expected);
}

TEST_CASE("reference: pages") {
  ReferenceProblem p(2, 2, 1, 3, 8, 4, 4);
  const std::vector<float> slopes = {0.5f, 0.25f};
  const std::vector<std::int64_t> lengths = {8, 5};
  add_positions(p.args, slopes);
  p.args.kv_lengths = {lengths.data(), HEED_INT64};
  const ReferenceResult expected = reference_of(p.args, HEED_WEIGHTS);

  // A pool of 7 pages of 3 tokens; whatever no token was written to is NaN.
  const std::vector<std::int32_t> table = {4, 0, 6, 2, 5, -1};
  std::vector<float> k(7 * 3 * 4, kNaN), v(7 * 3 * 4, kNaN);
  for (std::int64_t b = 0; b < 2; ++b)
    for (std::int64_t t = 0; t < lengths[b]; ++t)
      for (std::int64_t d = 0; d < 4; ++d) {
        const std::int64_t at = (table[b * 3 + t / 3] * 3 + t % 3) * 4 + d;
        k[at] = p.k[(b * 8 + t) * 4 + d];
        v[at] = p.v[(b * 8 + t) * 4 + d];
      }
  p.args.k = {k.data(), 12, 12, 4, HEED_F32};
  p.args.v = {v.data(), 12, 12, 4, HEED_F32};
  p.args.page_size = 3;
  p.args.page_count = 7;
  p.args.block_table = {table.data(), HEED_INT32};
  p.args.block_table_stride = 3;
  CHECK(reference_of(p.args, HEED_WEIGHTS) == expected);

  SECTION("as a list") {
    const std::vector<std::int64_t> pages = {4, 0, 6, 2, 5}, indptr = {0, 3, 5};
    p.args.block_table = {};
    p.args.page_indices = {pages.data(), HEED_INT64};
    p.args.page_indptr = {indptr.data(), HEED_INT64};
    CHECK(reference_of(p.args, HEED_WEIGHTS) == expected);
  }
  SECTION("keys of a page that is not listed do not exist") {
    const std::vector<std::int32_t> hole = {4, -1, 6, 2, 5, -1};
    std::vector<unsigned char> mask(8, 1);
    mask[3] = mask[4] = mask[5] = 0;
    ReferenceProblem dense(2, 2, 1, 3, 8, 4, 4);
    add_positions(dense.args, slopes);
    dense.args.mask_kind = HEED_BYTE_MASK;
    dense.args.mask = mask.data();
    p.args.block_table = {hole.data(), HEED_INT32};
    p.args.B = dense.args.B = 1;
    CHECK(reference_of(p.args, HEED_WEIGHTS) == reference_of(dense.args, HEED_WEIGHTS));
  }
}

// The tables of a cache: rows in another order than the batch, pages of panels.
TEST_CASE("reference: rows of tables, and panels") {
  constexpr std::int64_t kD = 3, kDv = 18, kPage = 32, kPages = 4;
  ReferenceProblem p(2, 2, 1, 3, 40, kD, kDv);
  const std::vector<float> slopes = {0.5f, 0.25f};
  const std::vector<std::int64_t> lengths = {40, 17};
  add_positions(p.args, slopes);
  p.args.kv_lengths = {lengths.data(), HEED_INT64};
  const ReferenceResult expected = reference_of(p.args, HEED_WEIGHTS);

  const std::vector<std::int64_t> rows = {2, 0}, row_lengths = {17, 99, 40};
  const std::vector<std::int32_t> table = {3, -1, 77, 77, 1, 2};  // row 1 is nobody's
  std::vector<float> k(kPages * kPage * kD, kNaN), v(kPages * kPage * 32, kNaN);
  for (std::int64_t b = 0; b < 2; ++b)
    for (std::int64_t t = 0; t < lengths[b]; ++t) {
      const std::int64_t page = table[rows[b] * 2 + t / kPage], slot = t % kPage;
      for (std::int64_t d = 0; d < kD; ++d)
        k[page * kPage * kD + (slot / 16 * kD + d) * 16 + slot % 16] = p.k[(b * 40 + t) * kD + d];
      for (std::int64_t d = 0; d < kDv; ++d)
        v[page * kPage * 32 + (d / 16 * kPage + slot) * 16 + d % 16] = p.v[(b * 40 + t) * kDv + d];
    }
  p.args.k = {k.data(), kPage * kD, kPage * kD, 12345, HEED_F32};
  p.args.v = {v.data(), kPage * 32, kPage * 32, 12345, HEED_F32};
  p.args.kv_panels = 1;
  p.args.page_size = kPage;
  p.args.page_count = kPages;
  p.args.block_table = {table.data(), HEED_INT32};
  p.args.block_table_stride = 2;
  p.args.table_rows = {rows.data(), HEED_INT64};
  p.args.table_row_count = 3;
  p.args.kv_lengths = {row_lengths.data(), HEED_INT64};
  CHECK(reference_of(p.args, HEED_WEIGHTS) == expected);
}

TEST_CASE("reference: what a cache binds: panels, and rows of tables") {
  constexpr std::int64_t kHeads = 2, kD = 5, kDv = 18;
  ReferenceProblem p(2, 4, kHeads, 3, 40, kD, kDv);
  const std::vector<float> slopes = {0.5f, 0.25f, 1, 2};
  const std::vector<std::int64_t> lengths = {40, 21}, dropped = {0, 16};
  add_positions(p.args, slopes);
  heed::AttentionArgs bound;
  static_cast<heed_attention_args&>(bound) = p.args;
  p.args.kv_lengths = {lengths.data(), HEED_INT64};
  p.args.key_offset = {dropped.data(), HEED_INT64};

  heed::CacheConfig config;
  config.Hkv = kHeads;
  config.D = kD;
  config.Dv = kDv;
  const bool quantized = GENERATE(false, true);
  config.k_type = quantized ? HEED_INT8 : HEED_F32;
  config.v_type = HEED_F32;
  config.page_size = 16;
  config.page_count = 9;
  config.max_sequences = 3;
  std::vector<double> memory(config.bytes() / sizeof(double) + 8, std::numeric_limits<double>::quiet_NaN());
  void* start = memory.data();
  std::size_t room = memory.size() * sizeof(double);
  REQUIRE(std::align(64, config.bytes(), start, room) != nullptr);
  heed::Cache cache;
  REQUIRE(cache.create(config, start, config.bytes()).ok());
  std::int64_t unused = -1, sequences[2] = {-1, -1};
  REQUIRE(cache.open(&unused).ok());
  for (const std::int64_t b : {1, 0}) {  // so that their rows are not their places in the batch
    REQUIRE(cache.open(&sequences[b]).ok());
    heed_tensor k = p.args.k, v = p.args.v;
    k.data = p.k.data() + b * kHeads * 40 * kD;
    v.data = p.v.data() + b * kHeads * 40 * kDv;
    if (b == 1) {  // a page that is dropped again
      REQUIRE(cache.append(sequences[b], k, v, 16).ok());
      REQUIRE(cache.drop(sequences[b], 16).ok());
    }
    REQUIRE(cache.append(sequences[b], k, v, lengths[b]).ok());
  }
  REQUIRE(cache.bind(sequences, 2, &bound).ok());
  CHECK(sequences[0] != 0);
  bound.Lkv = p.args.Lkv;

  if (!quantized) {
    CHECK(reference_of(bound, HEED_WEIGHTS) == reference_of(p.args, HEED_WEIGHTS));
  } else {  // codes are within a 254th of a row's largest number: a wrong place would show
    const ReferenceResult got = reference_of(bound), expected = reference_of(p.args);
    for (std::size_t i = 0; i < got.out.size(); ++i) CHECK(std::fabs(got.out[i] - expected.out[i]) <= 0.1);
  }
}

TEST_CASE("reference: ragged batches") {
  const std::vector<std::int32_t> q_indptr = {0, 2, 2, 5}, kv_indptr = {0, 6, 7, 13};
  const std::vector<float> slopes = {0.5f};
  ReferenceProblem tokens(1, 1, 1, 5, 13, 4, 3);
  heed_attention_args ragged = tokens.args;
  add_positions(ragged, slopes);
  ragged.B = 3;
  ragged.Lq = 3;
  ragged.Lkv = 6;
  ragged.q_indptr = {q_indptr.data(), HEED_INT32};
  ragged.kv_indptr = {kv_indptr.data(), HEED_INT32};
  const ReferenceResult all = reference_of(ragged);
  for (std::int64_t b = 0; b < 3; ++b) {
    heed_attention_args alone = tokens.args;
    add_positions(alone, slopes);
    alone.Lq = q_indptr[b + 1] - q_indptr[b];
    alone.Lkv = kv_indptr[b + 1] - kv_indptr[b];
    alone.q.data = tokens.q.data() + q_indptr[b] * 4;
    alone.k.data = tokens.k.data() + kv_indptr[b] * 4;
    alone.v.data = tokens.v.data() + kv_indptr[b] * 3;
    const ReferenceResult one = reference_of(alone);
    for (std::int64_t i = 0; i < 3; ++i) {
      const bool there = i < alone.Lq;
      CHECK(all.lse[b * 3 + i] == (there ? one.lse[i] : 99.0));
      for (std::int64_t d = 0; d < 3; ++d) CHECK(all.out[(b * 3 + i) * 3 + d] == (there ? one.out[i * 3 + d] : 99.0));
    }
  }
}

TEST_CASE("reference: left-padded is unpadded") {
  ReferenceProblem p(1, 1, 1, 2, 6, 4, 4);
  const std::vector<float> slopes = {0.5f};
  add_positions(p.args, slopes);
  const ReferenceResult expected = reference_of(p.args);
  std::vector<float> k(3 * 4, kNaN), v(3 * 4, kNaN);
  k.insert(k.end(), p.k.begin(), p.k.end());
  v.insert(v.end(), p.v.begin(), p.v.end());
  const std::int64_t begin = 3;
  p.args.Lkv = 9;
  p.args.k.data = k.data();
  p.args.v.data = v.data();
  p.args.key_begin = {&begin, HEED_INT64};
  CHECK(reference_of(p.args) == expected);
}

TEST_CASE("reference: a cache that has dropped its first keys") {
  ReferenceProblem p(1, 1, 1, 2, 9, 4, 4);
  const std::vector<float> slopes = {0.5f};
  add_positions(p.args, slopes);
  p.args.window_left = 3;  // keys 0 to 3 are out of every window
  const ReferenceResult expected = reference_of(p.args);
  const std::int64_t dropped = 4, first_query = 7;
  p.args.Lkv = 5;
  p.args.k.data = p.k.data() + 4 * 4;
  p.args.v.data = p.v.data() + 4 * 4;
  p.args.key_offset = {&dropped, HEED_INT64};
  CHECK(reference_of(p.args) == expected);
  p.args.alignment = HEED_OFFSETS;
  p.args.offsets = &first_query;
  CHECK(reference_of(p.args) == expected);
}

TEST_CASE("reference: the ways to exclude a key agree") {
  ReferenceProblem p(1, 2, 1, 3, 11, 4, 4);
  const auto excluded = [](std::int64_t i, std::int64_t j) { return (3 * i + j) % 4 == 1 || j == 9; };
  std::vector<unsigned char> bytes(3 * 11), bits(3 * 2);
  std::vector<float> bias(3 * 11);
  std::vector<std::uint16_t> f16_bias(3 * 11), bf16_bias(3 * 11);
  for (std::int64_t i = 0; i < 3; ++i)
    for (std::int64_t j = 0; j < 11; ++j) {
      const bool out = excluded(i, j);
      bytes[i * 11 + j] = out ? 0 : 255;
      if (!out) bits[i * 2 + j / 8] = static_cast<unsigned char>(bits[i * 2 + j / 8] | 1 << j % 8);
      bias[i * 11 + j] = out ? -INFINITY : 0.0f;
      f16_bias[i * 11 + j] = out ? 0xFC00 : 0;
      bf16_bias[i * 11 + j] = out ? 0xFF80 : 0;
      if (i == 0 && j == 9) p.k[j * 4] = p.v[j * 4] = kNaN;  // no row attends it
    }
  heed_attention_args args = p.args;
  args.mask_kind = HEED_BYTE_MASK;
  args.mask = bytes.data();
  args.mask_stride_token = 11;
  const ReferenceResult expected = reference_of(args, HEED_WEIGHTS);
  CHECK(std::isfinite(expected.out[0]));

  args.mask_kind = HEED_BIT_MASK;
  args.mask = bits.data();
  args.mask_stride_token = 2;
  CHECK(reference_of(args, HEED_WEIGHTS) == expected);

  args = p.args;
  args.bias = {bias.data(), 0, 0, 11, HEED_F32};
  CHECK(reference_of(args, HEED_WEIGHTS) == expected);
  args.bias = {f16_bias.data(), 0, 0, 11, HEED_F16};
  CHECK(reference_of(args, HEED_WEIGHTS) == expected);
  args.bias = {bf16_bias.data(), 0, 0, 11, HEED_BF16};
  CHECK(reference_of(args, HEED_WEIGHTS) == expected);

  args = p.args;
  args.mask_callback = [](void* context, std::int64_t, std::int64_t i, std::int64_t, std::int64_t j,
                          std::int64_t) -> heed_rectangle {
    const auto& predicate = *static_cast<const decltype(excluded)*>(context);
    return predicate(i - 8, j) ? HEED_NONE : HEED_ALL;  // i is the position: row 0 of 3 stands at key 8 of 11
  };
  args.mask_context = const_cast<void*>(static_cast<const void*>(&excluded));
  CHECK(reference_of(args, HEED_WEIGHTS) == expected);
}

TEST_CASE("reference: storage types") {
  using heed::reference::element;
  const std::uint16_t f16[] = {0x0000, 0x0001, 0x03FF, 0x0400, 0x3C00, 0x7BFF, 0xC000, 0x7C00, 0xFC00};
  const double f16_values[] = {0, 0x1p-24, 0x1.ff8p-15, 0x1p-14, 1, 65504, -2, kInf, -kInf};
  for (int i = 0; i < 9; ++i) CHECK(element(f16, HEED_F16, i) == f16_values[i]);
  const std::uint16_t nan16 = 0x7E01, negative_zero = 0x8000, bf16[] = {0x3F80, 0xC0A0, 0x0001, 0x7F80};
  CHECK(std::isnan(element(&nan16, HEED_F16, 0)));
  CHECK(std::signbit(element(&negative_zero, HEED_F16, 0)));
  const double bf16_values[] = {1, -5, 0x1p-133, kInf};
  for (int i = 0; i < 4; ++i) CHECK(element(bf16, HEED_BF16, i) == bf16_values[i]);
  const std::uint8_t e4m3[] = {0x00, 0x01, 0x07, 0x08, 0x38, 0x7E, 0xC0, 0x78};
  const double e4m3_values[] = {0, 0x1p-9, 0x1.cp-7, 0x1p-6, 1, 448, -2, 256};
  for (int i = 0; i < 8; ++i) CHECK(element(e4m3, HEED_FP8_E4M3, i) == e4m3_values[i]);
  const std::uint8_t e5m2[] = {0x00, 0x01, 0x03, 0x04, 0x3C, 0x7B, 0xC0, 0x7C, 0xFC};
  const double e5m2_values[] = {0, 0x1p-16, 0x1.8p-15, 0x1p-14, 1, 57344, -2, kInf, -kInf};
  for (int i = 0; i < 9; ++i) CHECK(element(e5m2, HEED_FP8_E5M2, i) == e5m2_values[i]);
  const std::uint8_t nan8[] = {0x7F, 0xFF, 0x7D};
  CHECK(std::isnan(element(nan8, HEED_FP8_E4M3, 0)));
  CHECK(std::isnan(element(nan8, HEED_FP8_E4M3, 1)));
  CHECK(std::isnan(element(nan8, HEED_FP8_E5M2, 2)));
  const std::int8_t int8[] = {-128, 127};
  CHECK(element(int8, HEED_INT8, 0) == -128);
  CHECK(element(int8, HEED_INT8, 1) == 127);
}

TEST_CASE("reference: int8 keys and values with their scales") {
  ReferenceProblem p(1, 2, 2, 2, 5, 4, 4);
  std::vector<std::int8_t> k, v;
  std::vector<float> k_scales, v_scales;
  for (std::size_t i = 0; i < p.k.size(); ++i) {
    const auto token = static_cast<float>(i / 4);
    if (i % 4 == 0) k_scales.push_back(0.5f + token), v_scales.push_back(2.0f + token / 4);
    k.push_back(static_cast<std::int8_t>(p.k[i] * 8)), v.push_back(static_cast<std::int8_t>(p.v[i] * 60));
    p.k[i] = static_cast<float>(k[i]) * k_scales.back();  // small whole numbers: exact
    p.v[i] = static_cast<float>(v[i]) * v_scales.back();
  }
  const ReferenceResult expected = reference_of(p.args);
  p.args.k.data = k.data(), p.args.k.type = HEED_INT8;
  p.args.v.data = v.data(), p.args.v.type = HEED_INT8;
  p.args.k_scales = {k_scales.data(), 10, 5, 1, HEED_F32};
  p.args.v_scales = {v_scales.data(), 10, 5, 1, HEED_F32};
  const ReferenceResult got = reference_of(p.args);
  for (std::size_t i = 0; i < got.out.size(); ++i) CHECK(std::fabs(got.out[i] - expected.out[i]) <= 1e-12 * 600);
  for (std::size_t i = 0; i < got.lse.size(); ++i) CHECK(std::fabs(got.lse[i] - expected.lse[i]) <= 1e-12 * 600);
}

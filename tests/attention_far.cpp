// H15: strides past 2^31 elements, in a region of which only a few pages ever exist.
#include <catch2/catch_message.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <cstring>
#include <utility>

#include "attention_call.hpp"
#include "attention_coded.hpp"
#include "attention_forms.hpp"
#include "attention_random.hpp"
#include "support/each_row.hpp"
#include "support/sparse.hpp"
#include "support/storage.hpp"

namespace heed::test {
namespace {

constexpr std::int64_t kFar = (std::int64_t{1} << 31) + 16;

// The strides of one tensor with one axis of two elements that lie far apart.
enum class Axis { kToken, kHead, kBatch };

TEST_CASE("H15: strides past 2^31 elements", "[attention][H15]") {
  const Axis axis = GENERATE(Axis::kToken, Axis::kHead, Axis::kBatch);
  const std::int64_t group = GENERATE(1, 12);  // few rows, and many
  const bool backwards = GENERATE(false, true);
  const SparseRegion region;
  REQUIRE(region.mapped());

  Spec spec;
  spec.seed = 15;
  spec.B = axis == Axis::kBatch ? 2 : 1;
  spec.Hkv = axis == Axis::kHead ? 2 : 1;
  spec.Hq = spec.Hkv * group;
  spec.Lq = axis == Axis::kToken ? 2 : 1;
  spec.Lkv = 2;
  spec.D = 5;
  spec.Dv = 18;
  const ModelProblem problem = problem_of(spec);

  // Tensors lie side by side at the start and again kFar elements later (or earlier).
  std::int64_t next = backwards ? kFar + 64 : 0;
  const auto place = [&](std::int64_t heads, std::int64_t tokens, std::int64_t columns, bool far_heads) {
    const std::int64_t far = backwards ? -kFar : kFar;
    Strides s{next, heads * tokens * columns, tokens * columns, columns};
    next += spec.B * heads * tokens * columns + 3;
    if (axis == Axis::kToken) s.token = far;
    if (axis == Axis::kHead && far_heads) s.head = far;
    if (axis == Axis::kBatch) s.batch = far;
    return s;
  };
  const Strides k = place(spec.Hkv, 2, 5, true), v = place(spec.Hkv, 2, 18, true);
  const bool far_queries = group == 1;  // with more heads than two the last would be outside
  const Strides q = place(spec.Hq, spec.Lq, 5, far_queries), out = place(spec.Hq, spec.Lq, 18, far_queries);
  const Strides lse = place(spec.Hq, spec.Lq, 1, far_queries);
  float* memory = region.floats();
  const auto at = [&](const Strides& s, std::int64_t b, std::int64_t h, std::int64_t t) {
    return memory + s.at + b * s.batch + h * s.head + t * s.token;
  };
  const auto copy = [&](const Strides& s, const std::vector<float>& from, std::int64_t heads, std::int64_t tokens,
                        std::int64_t columns) {
    const float* x = from.data();
    for (std::int64_t b = 0; b < spec.B; ++b) {
      for (std::int64_t h = 0; h < heads; ++h) {
        for (std::int64_t t = 0; t < tokens; ++t, x += columns) std::copy(x, x + columns, at(s, b, h, t));
      }
    }
  };
  copy(q, problem.q, spec.Hq, spec.Lq, 5);
  copy(k, problem.k, spec.Hkv, 2, 5);
  copy(v, problem.v, spec.Hkv, 2, 18);

  for_each_row([&](const Table& row) {
    const ForcedRow forced(row);
    const Result expected = attend(problem);
    Call call(problem, Layout::kHeadsFirst);
    heed_attention_args& args = call.args;
    args.q = {at(q, 0, 0, 0), q.batch, q.head, q.token, HEED_F32};
    args.k = {at(k, 0, 0, 0), k.batch, k.head, k.token, HEED_F32};
    args.v = {at(v, 0, 0, 0), v.batch, v.head, v.token, HEED_F32};
    args.out = {at(out, 0, 0, 0), out.batch, out.head, out.token, HEED_F32};
    args.lse = at(lse, 0, 0, 0);
    args.lse_stride_batch = lse.batch;
    args.lse_stride_head = lse.head;
    args.lse_stride_token = lse.token;
    heed_status status;
    REQUIRE(heed_attention(&args, &status) == HEED_OK);
    Result found;
    for (std::int64_t b = 0; b < spec.B; ++b) {
      for (std::int64_t h = 0; h < spec.Hq; ++h) {
        for (std::int64_t i = 0; i < spec.Lq; ++i) {
          const float* x = at(out, b, h, i);
          found.out.insert(found.out.end(), x, x + 18);
          found.lse.push_back(*at(lse, b, h, i));
          std::fill(at(out, b, h, i), at(out, b, h, i) + 18, 0.0f);
        }
      }
    }
    CHECK(difference(found, expected.out, expected.lse) == "");
  });
}

// Where a tensor of compact rows goes: its rows at these strides from a byte of the region.
struct Far {
  std::size_t byte;
  std::int64_t batch, token;
};

// Copies rows (b, t) of one head and says where they are now.
heed_tensor move_away(const SparseRegion& region, const heed_tensor& from, std::int64_t columns, const Far& to,
                      const std::vector<std::pair<std::int64_t, std::int64_t>>& rows) {
  auto* base = reinterpret_cast<unsigned char*>(region.floats()) + to.byte;
  const auto element = static_cast<std::int64_t>(bytes_of(from.type));
  for (const auto& [b, t] : rows) {
    const auto* x =
        static_cast<const unsigned char*>(from.data) + (b * from.stride_batch + t * from.stride_token) * element;
    std::memcpy(base + (b * to.batch + t * to.token) * element, x, static_cast<std::size_t>(columns * element));
  }
  return {base, to.batch, 0, to.token, from.type};
}

void move_keys(const SparseRegion& region, heed_attention_args& args, std::int64_t batch, std::int64_t token,
               const std::vector<std::pair<std::int64_t, std::int64_t>>& rows) {
  // Bases that differ by less than any stride keep the tensors apart.
  args.k = move_away(region, args.k, args.D, {0, batch, token}, rows);
  args.v = move_away(region, args.v, args.Dv, {1 << 14, batch, token}, rows);
  if (args.k_scales.data != nullptr) args.k_scales = move_away(region, args.k_scales, 1, {2 << 14, batch, token}, rows);
  if (args.v_scales.data != nullptr) args.v_scales = move_away(region, args.v_scales, 1, {3 << 14, batch, token}, rows);
}

constexpr heed_type kCacheTypes[] = {HEED_F32, HEED_F16, HEED_BF16, HEED_INT8};

TEST_CASE("H15: tokens of every storage type 2^31 elements apart", "[attention][H15]") {
  const SparseRegion region;
  REQUIRE(region.mapped());
  Random random(151);
  for (const heed_type type : kCacheTypes) {
    for (const std::int64_t Lq : {1, 12}) {
      const ModelProblem p = plain_coded(random, Lq, 2, 5, 18);
      Call dense(p, Layout::kHeadsFirst);
      Form form;
      form.k = form.v = type;
      for_each_row([&](const Table& row) {
        const ForcedRow forced(row);
        INFO(name_of(type) << ", Lq " << Lq);
        FormedCall compact(dense.args, form), far(dense.args, form);
        const Result expected = compact.run();
        move_keys(region, far.args, 0, kFar, {{0, 0}, {0, 1}});
        REQUIRE(difference(far.run(), expected.out, expected.lse) == "");
      });
    }
  }
}

TEST_CASE("H15: pages 2^20 elements apart, and their ids", "[attention][H15]") {
  const SparseRegion region;
  REQUIRE(region.mapped());
  Random random(152);
  const std::vector<std::int32_t> ids = {2047, 2048, 2049, 4096};
  for (const heed_type type : kCacheTypes) {
    for (const std::int64_t Lq : {1, 12}) {
      const ModelProblem p = plain_coded(random, Lq, 8, 5, 18);
      Call dense(p, Layout::kHeadsFirst);
      Form form;
      form.k = form.v = type;
      for_each_row([&](const Table& row) {
        const ForcedRow forced(row);
        INFO(name_of(type) << ", Lq " << Lq);
        FormedCall compact(dense.args, form), paged(dense.args, form);
        const Result expected = compact.run();
        // Token t of the compact tensor is slot t % 2 of page ids[t / 2].
        heed_attention_args& args = paged.args;
        std::size_t next = 0;
        for (heed_tensor* t : {&args.k, &args.v, &args.k_scales, &args.v_scales}) {
          if (t->data == nullptr) continue;
          const auto element = static_cast<std::int64_t>(bytes_of(t->type));
          const std::int64_t columns = t == &args.k ? 5 : t == &args.v ? 18 : 1;
          auto* base = reinterpret_cast<unsigned char*>(region.floats()) + 16384 * next++;
          for (std::int64_t slot = 0; slot < 8; ++slot) {
            std::memcpy(
                base + (ids[static_cast<std::size_t>(slot / 2)] * (std::int64_t{1} << 20) + slot % 2 * 32) * element,
                static_cast<const unsigned char*>(t->data) + slot * t->stride_token * element,
                static_cast<std::size_t>(columns * element));
          }
          *t = {base, std::int64_t{1} << 20, 0, 32, t->type};
        }
        args.block_table = {ids.data(), HEED_INT32};
        args.block_table_stride = 4;
        args.page_size = 2;
        args.page_count = 4097;
        REQUIRE(difference(paged.run(), expected.out, expected.lse) == "");
      });
    }
  }
}

TEST_CASE("H15: rows of a mask and of a bias far apart", "[attention][mask][bias][H15]") {
  const SparseRegion region;
  REQUIRE(region.mapped());
  Random random(153);
  ModelProblem p = plain_coded(random, 2, 70, 5, 18);
  for (int n = 0; n < 2 * 70; ++n) p.mask.push_back(random.once_in(2) ? 1 : 0);
  p.bias = codes(random, 2 * 70);
  Call dense(p, Layout::kHeadsFirst);
  for (const bool bits : {false, true}) {
    Form form;
    form.bit_mask = bits;
    for_each_row([&](const Table& row) {
      const ForcedRow forced(row);
      FormedCall compact(dense.args, form), far(dense.args, form);
      const Result expected = compact.run();
      heed_attention_args& args = far.args;
      const heed_tensor mask{args.mask, 0, 0, args.mask_stride_token, HEED_INT8};
      const std::int64_t bytes = bits ? 9 : 70;
      args.mask = move_away(region, mask, bytes, {0, 0, (std::int64_t{1} << 31) + 64}, {{0, 0}, {0, 1}}).data;
      args.mask_stride_token = (std::int64_t{1} << 31) + 64;
      args.bias = move_away(region, args.bias, 70, {1 << 14, 0, kFar}, {{0, 0}, {0, 1}});
      REQUIRE(difference(far.run(), expected.out, expected.lse) == "");
    });
  }
}

}  // namespace
}  // namespace heed::test

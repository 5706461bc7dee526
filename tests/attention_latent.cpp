// Latent attention: one kv head of 576 elements per token, whose first 512 are the value too, under 128 query heads.
#include <catch2/catch_message.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cmath>

#include "attention_forms.hpp"
#include "heed/reference.hpp"
#include "support/each_row.hpp"
#include "support/storage.hpp"

namespace heed::test {
namespace {

constexpr std::int64_t kHeads = 128, kDk = 576, kDv = 512;

struct Latent {
  std::int64_t Lq, Lkv;
  heed_type type;
  bool paged;
};

// Values are the keys' first elements, in the same memory or in memory of their own.
void check(const Latent& shape, Random& random) {
  const std::int64_t page = 16, pages = (shape.Lkv + page - 1) / page;
  TensorMemory q, latent, values, out;
  q.make(HEED_F32, 1, kHeads, shape.Lq, kDk, true);
  latent.make(shape.type, shape.paged ? pages : 1, 1, shape.paged ? page : shape.Lkv, kDk, true);
  values.make(shape.type, shape.paged ? pages : 1, 1, shape.paged ? page : shape.Lkv, kDv, true);
  out.make(HEED_F32, 1, kHeads, shape.Lq, kDv, true);
  for (std::int64_t h = 0; h < kHeads; ++h) {
    for (std::int64_t i = 0; i < shape.Lq; ++i) {
      for (std::int64_t d = 0; d < kDk; ++d) put(HEED_F32, q.at(0, h, i) + d * 4, bits_of(random.number(Kind::kTame)));
    }
  }
  const auto element = static_cast<std::int64_t>(bytes_of(shape.type));
  for (std::int64_t j = 0; j < shape.Lkv; ++j) {
    const std::int64_t b = shape.paged ? j / page : 0, t = shape.paged ? j % page : j;
    for (std::int64_t d = 0; d < kDk; ++d) {
      const Code code = encoded(shape.type, random.number(Kind::kTame));
      put(shape.type, latent.at(b, 0, t) + d * element, code);
      if (d < kDv) put(shape.type, values.at(b, 0, t) + d * element, code);
    }
  }
  std::vector<float> lse(static_cast<std::size_t>(kHeads * shape.Lq));
  std::vector<std::int32_t> table;
  for (std::int64_t n = 0; n < pages; ++n) table.push_back(static_cast<std::int32_t>(n));

  heed_attention_args args{};
  args.struct_size = sizeof args;
  args.B = args.Hkv = 1;
  args.Hq = kHeads;
  args.Lq = shape.Lq;
  args.Lkv = shape.Lkv;
  args.D = kDk;
  args.Dv = kDv;
  args.causal = 1;
  args.scale = 0.0721687836f;  // 1/sqrt(192), as such models have it
  args.has_scale = 1;
  args.q = q.view<heed_tensor>();
  args.k = args.v = latent.view<heed_tensor>();
  args.out = out.view<heed_tensor_out>();
  args.lse = lse.data();
  if (shape.paged) {
    args.block_table = {table.data(), HEED_INT32};
    args.block_table_stride = args.page_count = pages;
    args.page_size = page;
  }
  heed_attention_args apart = args;
  apart.v = values.view<heed_tensor>();

  std::vector<double> exact(static_cast<std::size_t>(kHeads * shape.Lq * kDv)), exact_lse(lse.size());
  reference::attention(args, exact.data(), exact_lse.data());
  for_each_row([&](const Table& row) {
    const ForcedRow forced(row);
    REQUIRE(heed_attention(&args, nullptr) == HEED_OK);
    const Result shared = result_of(args);
    REQUIRE(heed_attention(&apart, nullptr) == HEED_OK);
    REQUIRE(difference(result_of(apart), shared.out, shared.lse) == "");
    double worst = 0, worst_lse = 0;
    for (std::size_t n = 0; n < exact.size(); ++n) {
      worst = std::fmax(worst, std::fabs(static_cast<double>(shared.out[n]) - exact[n]));
    }
    for (std::size_t n = 0; n < exact_lse.size(); ++n) {
      worst_lse = std::fmax(worst_lse, std::fabs(static_cast<double>(shared.lse[n]) - exact_lse[n]));
    }
    CHECK(worst <= 1e-5);  // values are at most 1
    CHECK(worst_lse <= 1e-5);
  });
}

TEST_CASE("latent attention: values are a view of the keys", "[attention][latent]") {
  Random random(576);
  for (const Latent& shape :
       {Latent{1, 600, HEED_F32, false}, Latent{3, 70, HEED_F32, true}, Latent{1, 600, HEED_F16, true},
        Latent{2, 140, HEED_F16, false}, Latent{1, 70, HEED_BF16, false}, Latent{2, 140, HEED_BF16, true}}) {
    INFO(name_of(shape.type) << ", Lq " << shape.Lq << ", Lkv " << shape.Lkv << (shape.paged ? ", paged" : ""));
    check(shape, random);
  }
}

}  // namespace
}  // namespace heed::test

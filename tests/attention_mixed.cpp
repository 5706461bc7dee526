// Prefill and decode in one call over a pool of pages that sequences share: each sequence's result has the bits of a
// call of its own on keys and values that lie side by side.
#include <catch2/catch_message.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cstring>

#include "attention_coded.hpp"
#include "attention_forms.hpp"
#include "executors.hpp"
#include "support/each_row.hpp"
#include "support/storage.hpp"

namespace heed::test {
namespace {

constexpr heed_type kCacheTypes[] = {HEED_F32, HEED_F16, HEED_BF16, HEED_INT8};

std::size_t size(std::int64_t n) { return static_cast<std::size_t>(n); }

void fill(TensorMemory& memory, Random& random) {
  for (std::size_t at = 0; at < memory.bytes.size(); at += bytes_of(memory.type)) {
    const auto number = static_cast<int>(random.between(-127, 127));
    const Code code =
        memory.type == HEED_INT8 ? static_cast<Code>(number) : encoded(memory.type, static_cast<float>(number) / 64.0f);
    put(memory.type, memory.bytes.data() + at, code);
  }
}

// A batch whose sequences begin with the same pages and go on with pages of their own.
class Batch {
 public:
  static constexpr std::int64_t kHq = 6, kHkv = 2, kD = 9, kDv = 21;
  struct Lengths {
    std::int64_t queries, keys;
  };

  Batch(Random& random, heed_type type, std::int64_t page_size, const std::vector<Lengths>& lengths)
      : lengths_(lengths), page_size_(page_size) {
    std::int64_t longest = 0, most_queries = 0, next = 1;
    ends_.push_back(2);
    for (const Lengths& l : lengths) {
      ends_.push_back(ends_.back() + l.queries);
      keys_.push_back(l.keys);
      longest = std::max(longest, l.keys);
      most_queries = std::max(most_queries, l.queries);
    }
    pages_ = (longest + page_size - 1) / page_size;
    const std::int64_t shared = pages_ / 3;
    for (std::size_t b = 0; b < lengths.size(); ++b) {
      for (std::int64_t n = 0; n < pages_; ++n) table_.push_back(n < shared ? pages_ + n : 2 * pages_ + 2 * next++);
    }
    const std::int64_t count = 2 * pages_ + 2 * next + 1;
    k_.make(type, count, kHkv, page_size, kD, false);
    v_.make(type, count, kHkv, page_size, kDv, true);
    q_.make(HEED_F32, 1, kHq, ends_.back(), kD, true);
    out_.make(HEED_F32, 1, kHq, ends_.back(), kDv, true);
    lse_.resize(size(ends_.back() * kHq));
    for (TensorMemory* memory : {&k_, &v_, &q_}) fill(*memory, random);
    args.struct_size = sizeof args;
    args.B = static_cast<std::int64_t>(lengths.size());
    args.Hq = kHq;
    args.Hkv = kHkv;
    args.Lq = most_queries;
    args.Lkv = longest;
    args.D = kD;
    args.Dv = kDv;
    args.causal = 1;
    args.scale = 0.25f;
    args.has_scale = 1;
    args.q = q_.view<heed_tensor>();
    args.k = k_.view<heed_tensor>();
    args.v = v_.view<heed_tensor>();
    args.out = out_.view<heed_tensor_out>();
    args.lse = lse_.data();
    args.q_indptr.data = ends_.data();
    args.kv_lengths.data = keys_.data();
    args.block_table.data = table_.data();
    args.block_table_stride = pages_;
    args.page_size = page_size;
    args.page_count = count;
    if (type == HEED_INT8) {
      k_scales_.make(HEED_F32, count, kHkv, page_size, 1, true);
      v_scales_.make(HEED_F32, count, kHkv, page_size, 1, false);
      fill(k_scales_, random);
      fill(v_scales_, random);
      args.k_scales = k_scales_.view<heed_tensor>();
      args.v_scales = v_scales_.view<heed_tensor>();
    }
  }

  // Sequence b in a call of its own. Page -1 becomes keys that a mask excludes.
  Result alone(std::int64_t b) {
    const Lengths& l = lengths_[size(b)];
    TensorMemory k = gathered(k_, b), v = gathered(v_, b), out;
    TensorMemory k_scales = gathered(k_scales_, b), v_scales = gathered(v_scales_, b);
    out.make(HEED_F32, 1, kHq, l.queries, kDv, false);
    std::vector<float> lse(size(kHq * l.queries));
    std::vector<unsigned char> mask(size(l.keys));
    for (std::int64_t slot = 0; slot < l.keys; ++slot) mask[size(slot)] = page(b, slot) >= 0 ? 1 : 0;
    heed_attention_args own = args;
    own.B = 1;
    own.Lq = l.queries;
    own.Lkv = l.keys;
    own.q.data = q_.at(0, 0, ends_[size(b)]);
    own.k = k.view<heed_tensor>();
    own.v = v.view<heed_tensor>();
    if (args.k.type == HEED_INT8) own.k_scales = k_scales.view<heed_tensor>();
    if (args.v.type == HEED_INT8) own.v_scales = v_scales.view<heed_tensor>();
    own.out = out.view<heed_tensor_out>();
    own.lse = lse.data();
    own.mask_kind = HEED_BYTE_MASK;
    own.mask = mask.data();
    own.q_indptr = own.kv_lengths = own.block_table = {};
    own.page_size = own.page_count = 0;
    own.executor = {};
    heed_status status;
    if (heed_attention(&own, &status) != HEED_OK) return {status.message, {}, {}};
    return result_of(own);
  }

  void drop(std::int64_t b, std::int64_t n) { table_[size(b * pages_ + n)] = -1; }
  std::int64_t pages() const { return pages_; }

  heed_attention_args args{};

 private:
  std::int64_t page(std::int64_t b, std::int64_t slot) const { return table_[size(b * pages_ + slot / page_size_)]; }

  // One sequence's tokens side by side; those of absent pages stay NaN.
  TensorMemory gathered(TensorMemory& pool, std::int64_t b) {
    TensorMemory own;
    if (pool.bytes.empty()) return own;
    const std::int64_t keys = lengths_[size(b)].keys;
    own.make(pool.type, 1, kHkv, keys, pool.columns, false);
    for (std::int64_t h = 0; h < kHkv; ++h) {
      for (std::int64_t slot = 0; slot < keys; ++slot) {
        if (page(b, slot) < 0) continue;
        std::memcpy(own.at(0, h, slot), pool.at(page(b, slot), h, slot % page_size_),
                    size(pool.columns) * bytes_of(pool.type));
      }
    }
    return own;
  }

  std::vector<Lengths> lengths_;
  std::int64_t page_size_, pages_ = 0;
  std::vector<std::int64_t> ends_, keys_, table_;
  std::vector<float> lse_;
  TensorMemory q_, k_, v_, k_scales_, v_scales_, out_;
};

void check(Batch& batch) {
  for_each_row([&](const Table& row) {
    const ForcedRow forced(row);
    Result expected;
    for (std::int64_t b = 0; b < batch.args.B; ++b) {
      const Result own = batch.alone(b);
      REQUIRE(own.failure == "");
      expected.out.insert(expected.out.end(), own.out.begin(), own.out.end());
      expected.lse.insert(expected.lse.end(), own.lse.begin(), own.lse.end());
    }
    for (std::int32_t threads : {1, 5}) {
      INFO(threads << " threads");
      batch.args.executor = {on_threads, &threads, threads};
      heed_status status;
      heed_attention(&batch.args, &status);
      REQUIRE(std::string(status.message) == "");
      REQUIRE(difference(result_of(batch.args), expected.out, expected.lse) == "");
    }
  });
}

const std::vector<Batch::Lengths> kMixed = {{1, 130}, {37, 37}, {1, 0}, {0, 65}, {45, 600},
                                            {1, 513}, {5, 2},   {1, 1}, {2, 129}};

TEST_CASE("prefill and decode mixed over shared pages", "[attention][paged][ragged][I2][I4]") {
  Random random(51);
  for (const std::int64_t page_size : {1, 3, 16, 17, 128}) {
    for (const heed_type type : kCacheTypes) {
      INFO("pages of " << page_size << ", " << name_of(type));
      Batch batch(random, type, page_size, kMixed);
      check(batch);
    }
  }
}

TEST_CASE("keys of pages that are not there are excluded", "[attention][paged]") {
  Random random(52);
  for (const std::int64_t page_size : {1, 3, 16, 17, 128, 200}) {
    for (const heed_type type : kCacheTypes) {
      INFO("pages of " << page_size << ", " << name_of(type));
      Batch batch(random, type, page_size, {{1, 130}, {37, 90}, {20, 640}, {1, 600}});
      for (std::int64_t b = 0; b < batch.args.B; ++b) {
        for (std::int64_t n = 0; n < batch.pages(); ++n) {
          if (random.once_in(b == 3 ? 2 : 5)) batch.drop(b, n);
        }
      }
      for (std::int64_t n = 0; n < batch.pages(); ++n) batch.drop(1, n);  // one sequence without any
      check(batch);
    }
  }
}

// Positions and blocks count from key_begin. Slots before it hold NaN.
TEST_CASE("keys padded on the left have the bits of unpadded keys", "[attention][I2]") {
  Random random(53);
  struct Padded {
    std::int64_t pad, keys;
  };
  for (const auto& [pad, keys] : {Padded{1, 5}, Padded{16, 140}, Padded{50, 530}, Padded{131, 30}}) {
    INFO(keys << " keys behind " << pad << " slots");
    ModelProblem plain = plain_coded(random, 4, keys, 7, 18);
    plain.causal = true;
    plain.window_left = 200;
    plain.alibi_slopes = {0.125f};
    ModelProblem padded = plain;
    padded.Lkv += pad;
    padded.key_begin = {pad};
    padded.k.insert(padded.k.begin(), size(pad * 7), float_of(0x7FC00000u));
    padded.v.insert(padded.v.begin(), size(pad * 18), float_of(0x7FC00000u));
    check_every_form(padded, nullptr, [&](const Result& found) {
      const Result expected = attend(plain);  // on the same row
      CHECK(difference(found, expected.out, expected.lse) == "");
    });
  }
}

}  // namespace
}  // namespace heed::test

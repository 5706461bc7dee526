// Every option, storage type and layout of attention at once, drawn at random: near the double reference on every row,
// one set of bits for all rows with fused multiply-add and for any number of threads.
#include <algorithm>
#include <array>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "executors.hpp"
#include "heed/heed.hpp"
#include "support/each_row.hpp"

namespace heed::test {
namespace {

using Int = std::int64_t;
constexpr float kInfinity = std::numeric_limits<float>::infinity();

// A rule that is neither all nor none on most rectangles.
bool allowed(Int head, Int i, Int j) { return ((i * 7 + j * 3 + head) % 5 + 5) % 5 != 0; }

heed_rectangle ask(void*, Int head, Int i_begin, Int i_end, Int j_begin, Int j_end) {
  bool any = false, all = true;
  for (Int i = i_begin; i < i_end; ++i) {
    for (Int j = j_begin; j < j_end; ++j) {
      any = any || allowed(head, i, j);
      all = all && allowed(head, i, j);
    }
  }
  return all ? HEED_ALL : any ? HEED_SOME : HEED_NONE;
}

float change(void*, Int head, Int position, Int key, float score) {
  return score * 0.5f + static_cast<float>((position + key + head) % 3) * 0.25f;
}

enum Option {
  kPaged,
  kRaggedKeys,
  kRaggedQueries,
  kLengths,
  kBegin,
  kOffset,
  kWindow,
  kCausal,
  kCap,
  kAlibi,
  kBias,
  kMask,
  kAsked,
  kChanged,
  kSinks,
  kInspected,
  kOptions
};
constexpr const char* kNames[kOptions] = {"paged",         "ragged keys",    "ragged queries", "kv_lengths",
                                          "key_begin",     "key_offset",     "window",         "causal",
                                          "soft-cap",      "ALiBi",          "bias",           "mask",
                                          "mask callback", "score callback", "sinks",          "inspection"};

// One problem and the memory behind it.
class OptionProblem {
 public:
  explicit OptionProblem(std::uint64_t seed) : random_(seed) {
    AttentionArgs& a = args;
    const Int group = chance(50) ? 1 : draw(1, 5);
    a.B = draw(1, 3);
    a.Hkv = draw(1, 3);
    a.Hq = a.Hkv * group;
    a.Lq = chance(40) ? 1 : chance(50) ? draw(1, 20) : draw(1, 70);
    a.Lkv = chance(30) ? draw(1, 40) : chance(50) ? draw(100, 300) : draw(400, 1200);
    a.D = chance(10) ? draw(64, 130) : draw(1, 40);
    a.Dv = draw(1, 40);
    a.q.type = static_cast<heed_type>(draw(HEED_F32, HEED_BF16));
    a.k.type = chance(40) ? HEED_F32 : static_cast<heed_type>(draw(HEED_F32, HEED_INT8));
    a.v.type = chance(40) ? HEED_F32 : static_cast<heed_type>(draw(HEED_F32, HEED_INT8));
    a.out.type = chance(50) ? HEED_F32 : static_cast<heed_type>(draw(HEED_F32, HEED_BF16));
    layout();
    exclusion();
    scores();
    if (chance(25)) {
      inspect.assign(static_cast<std::size_t>(a.B * a.Hq * a.Lq * a.Lkv), -7.0f);
      a.inspect = {inspect.data(), a.Hq * a.Lq * a.Lkv, a.Lq * a.Lkv, a.Lkv, HEED_F32};
      a.inspect_what = static_cast<heed_inspect>(draw(HEED_SCORES_SCALED, HEED_WEIGHTS));
      has[kInspected] = true;
    }
  }

  Int queries(Int b) const { return has[kRaggedQueries] ? q_ends_[b + 1] - q_ends_[b] : args.Lq; }
  Int token(Int b, Int i) const { return has[kRaggedQueries] ? q_ends_[b] + i : i; }
  double out_at(Int b, Int h, Int i, Int d) const {
    const heed_tensor_out& t = args.out;
    const Int element =
        (has[kRaggedQueries] ? 0 : b * t.stride_batch) + h * t.stride_head + token(b, i) * t.stride_token + d;
    float value;
    const heed_matrix from{static_cast<const char*>(t.data) + element * bytes_of(t.type), 1, 1, 1, t.type};
    const heed_matrix_out to{&value, 1, 1, 1, HEED_F32};
    heed_convert(&from, &to, nullptr);
    return value;
  }
  float lse_at(Int b, Int h, Int i) const {
    return lse[static_cast<std::size_t>(has[kRaggedQueries] ? token(b, i) * args.Hq + h
                                                            : (b * args.Hq + h) * args.Lq + i)];
  }
  std::string all_bytes() const {
    std::string bytes(out_bytes_->data(), out_bytes_->size());
    bytes.append(reinterpret_cast<const char*>(lse.data()), lse.size() * sizeof(float));
    return bytes.append(reinterpret_cast<const char*>(inspect.data()), inspect.size() * sizeof(float));
  }

  AttentionArgs args;
  std::array<bool, kOptions> has{};
  std::vector<float> lse, inspect;

 private:
  static Int bytes_of(heed_type type) { return type == HEED_F32 ? 4 : type == HEED_INT8 ? 1 : 2; }
  Int draw(Int low, Int high) { return std::uniform_int_distribution<Int>(low, high)(random_); }
  bool chance(int percent) { return draw(0, 99) < percent; }
  bool option(Option which, int percent) { return has[which] = chance(percent); }
  float normal() { return std::normal_distribution<float>()(random_); }

  std::vector<char>& memory(Int bytes) {
    memory_.push_back(std::make_unique<std::vector<char>>(static_cast<std::size_t>(bytes)));
    return *memory_.back();
  }
  template <class T>
  T* array(Int count) {
    return reinterpret_cast<T*>(memory(count * static_cast<Int>(sizeof(T))).data());
  }
  // An index array whose entries come from `entry`.
  template <class Entry>
  heed_index index(Int count, const Entry& entry) {
    if (chance(50)) {
      auto* data = array<std::int32_t>(count);
      for (Int i = 0; i < count; ++i) data[i] = static_cast<std::int32_t>(entry(i));
      return {data, HEED_INT32};
    }
    auto* data = array<Int>(count);
    for (Int i = 0; i < count; ++i) data[i] = entry(i);
    return {data, HEED_INT64};
  }
  void* numbers(Int count, heed_type type, float sigma) {
    char* data = memory(count * bytes_of(type)).data();
    std::vector<float> x(static_cast<std::size_t>(count));
    for (float& value : x) value = sigma * normal();
    if (type == HEED_INT8) {
      for (Int i = 0; i < count; ++i) data[i] = static_cast<char>(draw(-127, 127));
    } else {
      const heed_matrix from{x.data(), 1, count, count, HEED_F32};
      const heed_matrix_out to{data, 1, count, count, type};
      REQUIRE(heed_convert(&from, &to, nullptr) == HEED_OK);
    }
    return data;
  }
  // [batch][head][token] or [batch][token][head], rows a little apart.
  template <class Tensor>
  void tensor(Tensor& t, Int batches, Int heads, Int tokens, Int columns, float sigma) {
    const Int row = columns + draw(0, 4);
    const bool heads_first = chance(50);
    t.data = numbers(batches * heads * tokens * row, t.type, sigma);
    t.stride_batch = heads * tokens * row;
    t.stride_head = heads_first ? tokens * row : row;
    t.stride_token = heads_first ? row : heads * row;
  }
  void scales(heed_tensor& t, Int batches, Int tokens) {
    auto* data = array<float>(batches * args.Hkv * tokens);
    for (Int i = 0; i < batches * args.Hkv * tokens; ++i) data[i] = 0.01f + 0.001f * static_cast<float>(draw(0, 9));
    t = {data, args.Hkv * tokens, tokens, 1, HEED_F32};
  }

  void layout() {
    AttentionArgs& a = args;
    room_.assign(static_cast<std::size_t>(a.B), a.Lkv);
    Int q_batches = a.B, q_tokens = a.Lq, k_batches = a.B, k_tokens = a.Lkv;
    if (option(kRaggedQueries, 20)) {
      q_ends_.push_back(draw(0, 3));
      for (Int b = 0; b < a.B; ++b) q_ends_.push_back(q_ends_.back() + draw(0, a.Lq));
      a.q_indptr = index(a.B + 1, [&](Int b) { return q_ends_[static_cast<std::size_t>(b)]; });
      q_batches = 1;
      q_tokens = q_ends_.back();
    }
    if (option(kPaged, 30)) {
      a.page_size = chance(50) ? 16 * draw(1, 4) : draw(1, 50);
      const Int pages = (a.Lkv + a.page_size - 1) / a.page_size;
      a.page_count = pages * a.B + 3;
      k_batches = a.page_count;
      k_tokens = a.page_size;
      const heed_index ids = index(pages * a.B, [&](Int) { return chance(5) ? -1 : draw(0, a.page_count - 1); });
      if (chance(50)) {
        a.block_table = ids;
        a.block_table_stride = pages;
      } else {
        a.page_indices = ids;
        a.page_indptr = index(a.B + 1, [&](Int b) { return b * pages; });
      }
    } else if (option(kRaggedKeys, 25)) {
      std::vector<Int> ends{draw(0, 3)};
      for (Int b = 0; b < a.B; ++b) {
        room_[static_cast<std::size_t>(b)] = draw(0, a.Lkv);
        ends.push_back(ends.back() + room_[static_cast<std::size_t>(b)]);
      }
      a.kv_indptr = index(a.B + 1, [&](Int b) { return ends[static_cast<std::size_t>(b)]; });
      k_batches = 1;
      k_tokens = ends.back();
    }
    tensor(a.q, q_batches, a.Hq, q_tokens, a.D, 1.5f);
    tensor(a.k, k_batches, a.Hkv, k_tokens, a.D, 1.0f);
    tensor(a.v, k_batches, a.Hkv, k_tokens, a.Dv, 1.0f);
    if (a.k.type == HEED_INT8) scales(a.k_scales, k_batches, k_tokens);
    if (a.v.type == HEED_INT8) scales(a.v_scales, k_batches, k_tokens);
    tensor(a.out, q_batches, a.Hq, q_tokens, a.Dv, 0.0f);
    out_bytes_ = memory_.back().get();
    lse.assign(static_cast<std::size_t>(q_batches * a.Hq * q_tokens), 0.0f);
    a.lse = lse.empty() ? nullptr : lse.data();
  }

  void exclusion() {
    AttentionArgs& a = args;
    if (option(kLengths, 50)) {
      for (Int& length : room_) length = draw(0, length);
      a.kv_lengths = index(a.B, [&](Int b) { return room_[static_cast<std::size_t>(b)]; });
    }
    if (option(kBegin, 20))
      a.key_begin = index(a.B, [&](Int b) { return draw(0, room_[static_cast<std::size_t>(b)]); });
    if (option(kOffset, 20)) a.key_offset = index(a.B, [&](Int) { return draw(-20, 200); });
    a.causal = option(kCausal, 40) ? 1 : 0;
    if (option(kWindow, 25)) {
      a.has_window = 1;
      a.window_left = chance(20) ? -1 : draw(0, 100);
      a.window_right = chance(30) ? -1 : draw(0, 20);
    }
    a.alignment = static_cast<heed_alignment>(draw(HEED_BOTTOM_RIGHT, HEED_OFFSETS));
    auto* offsets = array<Int>(a.B);
    for (Int b = 0; b < a.B; ++b) offsets[b] = draw(-30, a.Lkv);
    a.offsets = offsets;
    if (option(kMask, 25)) {
      a.mask_kind = static_cast<heed_mask_kind>(draw(HEED_BYTE_MASK, HEED_BIT_MASK));
      const Int row = a.mask_kind == HEED_BYTE_MASK ? a.Lkv : (a.Lkv + 7) / 8;
      auto* mask = array<unsigned char>(a.B * a.Lq * row);
      for (Int i = 0; i < a.B * a.Lq * row; ++i) {
        mask[i] = static_cast<unsigned char>(a.mask_kind == HEED_BIT_MASK ? draw(0, 255)
                                             : chance(60)                 ? draw(1, 255)
                                                                          : 0);
      }
      a.mask = mask;
      a.mask_stride_batch = a.Lq * row;
      a.mask_stride_token = row;
    } else if (option(kAsked, 15)) {
      a.mask_callback = ask;
    }
  }

  void scores() {
    AttentionArgs& a = args;
    if (chance(30)) {
      a.has_scale = 1;
      a.scale = chance(20) ? 0.0f : normal() * 0.3f;
    }
    if (option(kCap, 25)) a.softcap = static_cast<float>(draw(1, 30)) * 0.5f;
    if (option(kAlibi, 25)) {
      auto* slopes = array<float>(a.Hq);
      REQUIRE(heed_alibi_slopes(a.Hq, slopes, nullptr) == HEED_OK);
      a.alibi_slopes = slopes;
    }
    if (option(kBias, 25)) {
      const bool batch = chance(50), head = chance(50), row = chance(70);
      const Int rows = row ? a.Lq : 1, heads = head ? a.Hq : 1, count = (batch ? a.B : 1) * heads * rows * a.Lkv;
      a.bias.type = static_cast<heed_type>(draw(HEED_F32, HEED_BF16));
      auto* data = static_cast<char*>(numbers(count, a.bias.type, 1.0f));
      for (Int i = 0; i < count; ++i) {
        const heed_matrix from{&kMinusInfinity, 1, 1, 1, HEED_F32};
        const heed_matrix_out to{data + i * bytes_of(a.bias.type), 1, 1, 1, a.bias.type};
        if (chance(15)) REQUIRE(heed_convert(&from, &to, nullptr) == HEED_OK);
      }
      a.bias.data = data;
      a.bias.stride_batch = batch ? heads * rows * a.Lkv : 0;
      a.bias.stride_head = head ? rows * a.Lkv : 0;
      a.bias.stride_token = row ? a.Lkv : 0;
    }
    if (option(kChanged, 15)) a.score_callback = change;
    if (option(kSinks, 25)) {
      auto* sinks = array<float>(a.Hq);
      for (Int h = 0; h < a.Hq; ++h) sinks[h] = chance(20) ? -kInfinity : normal();
      a.sinks = sinks;
    }
  }

  static constexpr float kMinusInfinity = -kInfinity;
  std::mt19937_64 random_;
  std::vector<std::unique_ptr<std::vector<char>>> memory_;
  const std::vector<char>* out_bytes_ = nullptr;
  std::vector<Int> q_ends_, room_;
};

// Scores of these problems stay below 100 and have at most 130 products, rows at most 1200 keys: 2e-5 holds their
// rounding errors (4e-6 is the largest seen), a store in 16 bits adds half of its last place.
double tolerance(heed_type type) { return type == HEED_F32 ? 2e-5 : type == HEED_F16 ? 1e-3 : 8e-3; }

bool near(double got, double expected, double tolerance) {
  if (std::isnan(expected)) return std::isnan(got);
  return got == expected || std::abs(got - expected) <= tolerance * std::max(1.0, std::abs(expected));
}

std::string compare(const OptionProblem& p, const std::vector<double>& out, const std::vector<double>& lse,
                    const std::vector<double>& view) {
  const AttentionArgs& a = p.args;
  for (Int b = 0; b < a.B; ++b) {
    for (Int h = 0; h < a.Hq; ++h) {
      for (Int i = 0; i < p.queries(b); ++i) {
        const std::size_t row = static_cast<std::size_t>((b * a.Hq + h) * a.Lq + i);
        const auto differs = [&](const char* what, Int x, double got, double expected) {
          return std::string(what) + " b " + std::to_string(b) + " h " + std::to_string(h) + " i " + std::to_string(i) +
                 " [" + std::to_string(x) + "]: got " + std::to_string(got) + ", expected " + std::to_string(expected);
        };
        for (Int d = 0; d < a.Dv; ++d) {
          const double expected = out[row * static_cast<std::size_t>(a.Dv) + static_cast<std::size_t>(d)];
          if (!near(p.out_at(b, h, i, d), expected, tolerance(a.out.type))) {
            return differs("out", d, p.out_at(b, h, i, d), expected);
          }
        }
        if (!near(p.lse_at(b, h, i), lse[row], 3e-5)) return differs("lse", 0, p.lse_at(b, h, i), lse[row]);
        for (Int j = 0; j < a.Lkv && p.has[kInspected]; ++j) {
          const std::size_t at = row * static_cast<std::size_t>(a.Lkv) + static_cast<std::size_t>(j);
          if (!near(p.inspect[at], view[at], 2e-5)) return differs("inspect", j, p.inspect[at], view[at]);
        }
      }
    }
  }
  return "";
}

TEST_CASE("every option at once: the reference's numbers, one set of bits", "[attention][options][I1][I5]") {
  const char* more = std::getenv("HEED_TEST_PROBLEMS");
  const int count = more == nullptr ? 250 : std::atoi(more);
  std::array<int, kOptions> seen{};
  for (int n = 0; n < count; ++n) {
    const std::uint64_t seed = 1000003u * 7u + static_cast<std::uint64_t>(n);
    INFO("seed " << seed);
    OptionProblem problem(seed);
    for (int o = 0; o < kOptions; ++o)
      seen[static_cast<std::size_t>(o)] += problem.has[static_cast<std::size_t>(o)] ? 1 : 0;
    const AttentionArgs& a = problem.args;
    std::vector<double> out(static_cast<std::size_t>(a.B * a.Hq * a.Lq * a.Dv));
    std::vector<double> lse(static_cast<std::size_t>(a.B * a.Hq * a.Lq)), view(problem.inspect.size());
    reference::attention(a, out.data(), lse.data(), view.empty() ? nullptr : view.data());

    std::string bits;
    std::int32_t threads = 1 + n % 9;
    for_each_row([&](const Table& row) {
      const ForcedRow forced(row);
      for (const bool threaded : {false, true}) {
        problem.args.executor = {};
        if (threaded) problem.args.executor = {on_threads, &threads, threads};
        const Status status = attention(problem.args);
        REQUIRE(std::string(status.message()) == "");
        REQUIRE(compare(problem, out, lse, view) == "");
        if (!row.fma) continue;
        if (bits.empty()) bits = problem.all_bytes();
        const bool same_bits = bits == problem.all_bytes();
        REQUIRE(same_bits);
      }
    });
  }
  for (int o = 0; o < kOptions; ++o) {
    INFO(kNames[o] << ": " << seen[static_cast<std::size_t>(o)] << " of " << count);
    CHECK(seen[static_cast<std::size_t>(o)] * 20 >= count);
  }
}

}  // namespace
}  // namespace heed::test

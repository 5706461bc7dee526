#include "operations.hpp"

#include <algorithm>

#include "numbers.hpp"

namespace heed::bench {
namespace {

std::vector<std::int64_t> doubling(std::int64_t from, std::int64_t to) {
  std::vector<std::int64_t> lengths;
  for (std::int64_t L = from; L <= to; L *= 2) lengths.push_back(L);
  return lengths;
}

constexpr std::int64_t kShortest = 16, kLongest = 131072, kLongestPrefill = 4096;
const std::vector<std::int64_t> kHeadDimensions = {64, 128};

class List {
 public:
  std::vector<Operation> operations;

  void kernel(const std::string& name, Kind kind) {
    operations.push_back({name, kind, Set::kUsual, kHeadDimensions, doubling(kShortest, kLongest)});
  }

  void prefill(const std::string& name, Set set, const Shape& shape, Kind kind = Kind::kAttention) {
    operations.push_back({name, kind, set, kHeadDimensions, doubling(kShortest, kLongestPrefill), shape, true});
  }

  void decode(const std::string& name, Set set, const Shape& shape, Kind kind = Kind::kAttention) {
    operations.push_back({name, kind, set, kHeadDimensions, doubling(kShortest, kLongest), shape, false});
  }
};

Shape with(heed_type type, std::int64_t group = 1, Layout layout = Layout::kRowMajor) {
  Shape shape;
  shape.type = type;
  shape.Hq = group;
  shape.layout = layout;
  return shape;
}

// What a plain prefill costs with one option on top of it.
void add_options(List& list) {
  Shape shape;
  shape.softcap = 20.0f;
  list.prefill("attention_f32_full_softcap", Set::kGoals, shape);
  shape = {};
  shape.alibi = true;
  list.prefill("attention_f32_full_alibi", Set::kGoals, shape);
  shape = {};
  shape.window_left = shape.window_right = 1024;
  list.prefill("attention_f32_full_window", Set::kGoals, shape);
  shape = {};
  shape.bit_mask = true;
  list.prefill("attention_f32_full_bit_mask", Set::kGoals, shape);
  shape = {};
  shape.bias = true;
  list.prefill("attention_f32_full_bias", Set::kGoals, shape);
}

// Every type, group and layout of the cache.
void add_decodes(List& list) {
  for (const heed_type type : {HEED_F32, HEED_F16, HEED_BF16, HEED_INT8}) {
    for (const int group : {1, 4, 8}) {
      const std::string name = std::string("attention_") + name_of(type) + "_decode" +
                               (group == 1 ? std::string() : "_g" + std::to_string(group));
      if (type != HEED_F32 || group == 8) list.decode(name, Set::kGoals, with(type, group));
      list.decode(name + "_panels", Set::kGoals, with(type, group, Layout::kPanels));
      if (type == HEED_F32) list.decode(name + "_pages", Set::kGoals, with(type, group, Layout::kPages));
    }
  }
}

// Several tokens against many keys, and many sequences in one call.
void add_batches(List& list) {
  for (const std::int64_t tokens : {2, 4, 8, 16, 32, 64}) {
    Shape shape;
    shape.causal = true;
    shape.Lq = tokens;
    list.decode("attention_f32_tokens" + std::to_string(tokens), Set::kGoals, shape);
  }
  for (const int group : {1, 4}) {
    Shape shape = with(HEED_F32, group);
    shape.B = 64;
    list.operations.push_back({std::string("attention_f32_decode64") + (group == 1 ? "" : "_g4"), Kind::kAttention,
                               Set::kGoals, kHeadDimensions, doubling(kShortest, 2048), shape});
  }
}

}  // namespace

std::int64_t Shape::first_key(std::int64_t i) const {
  return window_left < 0 ? 0 : std::max<std::int64_t>(0, i + Lkv - Lq - window_left);
}

std::int64_t Shape::last_key(std::int64_t i) const {
  const std::int64_t position = i + Lkv - Lq;
  const std::int64_t last = causal ? position : window_right < 0 ? Lkv - 1 : position + window_right;
  return std::min(last, Lkv - 1);
}

std::string describe(const Shape& shape) {
  const auto number = [](std::int64_t n) { return std::to_string(n); };
  std::string text = number(shape.Hq) + " heads";
  if (shape.Hkv != shape.Hq) text += " on " + number(shape.Hkv);
  text += ", D " + number(shape.D) + (shape.Dv == shape.D ? "" : " / " + number(shape.Dv));
  text += ", " + number(shape.Lq) + (shape.Lq == 1 ? " query × " : " queries × ") + number(shape.Lkv) + " keys, ";
  text += name_of(shape.type);
  if (shape.causal && shape.Lq > 1) text += ", causal";
  if (shape.window_left >= 0) text += ", window " + number(shape.window_left + 1);
  if (shape.softcap > 0.0f) text += ", soft-cap " + number(static_cast<std::int64_t>(shape.softcap));
  if (shape.latent) text += ", V within K";
  return text;
}

Shape Operation::at(std::int64_t D, std::int64_t L) const {
  Shape result = shape;
  result.D = D;
  if (result.Dv == 0) result.Dv = D;
  result.Lkv = L;
  if (as_many_queries) result.Lq = L;
  return result;
}

std::vector<Operation> list_operations() {
  List list;
  Shape causal;
  causal.causal = true;
  list.prefill("attention_f32_full", Set::kUsual, {});
  list.prefill("attention_f32_causal", Set::kUsual, causal);
  list.decode("attention_f32_decode", Set::kUsual, {});
  list.decode("attention_f32_decode_g4", Set::kUsual, with(HEED_F32, 4));
  list.kernel("scores_f32", Kind::kScores);
  list.kernel("softmax_f32", Kind::kSoftmax);
  list.kernel("weighted_sum_f32", Kind::kWeightedSum);
  list.kernel("attend_f32", Kind::kAttend);
  list.kernel("dot_f32", Kind::kDot);

  for (const heed_type type : {HEED_F16, HEED_BF16, HEED_INT8}) {
    list.prefill(std::string("attention_") + name_of(type) + "_full", Set::kGoals, with(type));
  }
  add_options(list);
  add_decodes(list);
  add_batches(list);
  // What fusing saves: scores, softmax and weighted sum one after the other, with all weights stored between.
  list.prefill("three_steps_f32_full", Set::kGoals, {}, Kind::kThreeSteps);
  list.decode("three_steps_f32_decode", Set::kGoals, {}, Kind::kThreeSteps);
  list.decode("three_steps_f32_decode_g4", Set::kGoals, with(HEED_F32, 4), Kind::kThreeSteps);
  // A row that no cache holds, and the smallest call that means something.
  list.operations.push_back({"softmax_f32_streamed", Kind::kSoftmax, Set::kGoals, {64}, {std::int64_t{1} << 26}});
  list.operations.push_back({"attention_f32_textbook", Kind::kAttention, Set::kGoals, {2}, {3}, {}, true});
  return list.operations;
}

}  // namespace heed::bench

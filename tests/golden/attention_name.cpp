#include "attention.hpp"

namespace heed::golden {
namespace {

// Words joined by blanks; a member that is default says nothing.
class Words {
 public:
  void word(const std::string& text) { text_ += " " + text; }
  void flag(const char* text, bool is) {
    if (is) word(text);
  }
  void number(const char* key, std::int64_t value, std::int64_t usual) {
    if (value != usual) word(key + std::to_string(value));
  }
  void list(const char* key, const Integers& values) {
    if (values.empty()) return;
    std::string text = key;
    for (const std::int64_t& value : values) text += (&value == values.data() ? "" : ",") + std::to_string(value);
    word(text);
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_ = "attention";
};

const char* name_of(Layout layout) {
  switch (layout) {
    case Layout::kHeadsFirst:
      return "heads_first";
    case Layout::kTokensFirst:
      return "tokens_first";
    case Layout::kPadded:
      return "padded";
    case Layout::kFused:
      return "fused";
    case Layout::kReversed:
      return "reversed";
    case Layout::kRagged:
      return "ragged";
    case Layout::kBlockTable:
      return "block_table";
    case Layout::kPageIndices:
      return "page_indices";
  }
  return "?";
}

const char* name_of(Mask mask) {
  switch (mask) {
    case Mask::kNone:
      return "none";
    case Mask::kBytes:
      return "bytes";
    case Mask::kBits:
      return "bits";
    case Mask::kCallback:
      return "callback";
    case Mask::kBytesAndCallback:
      return "bytes+callback";
  }
  return "?";
}

const char* name_of(Special special) {
  switch (special) {
    case Special::kNan:
      return "nan";
    case Special::kInfinity:
      return "inf";
    case Special::kMinusInfinity:
      return "-inf";
    case Special::kMinusZero:
      return "-0";
    case Special::kSubnormal:
      return "subnormal";
  }
  return "?";
}

// Scales and soft-caps are multiples of 1/64: exact as a fraction.
std::string fraction(float x) { return std::to_string(static_cast<int>(x * 64.0f)) + "/64"; }

}  // namespace

std::string Attention::name() const {
  Words words;
  words.number("B", B, 1);
  if (Hq != 1 || Hkv != 1) words.word("H" + std::to_string(Hq) + "/" + std::to_string(Hkv));
  words.word("L" + std::to_string(Lq) + "/" + std::to_string(Lkv));
  words.word("D" + std::to_string(D) + "/" + std::to_string(Dv));
  if (q != HEED_F32 || k != HEED_F32 || v != HEED_F32 || out != HEED_F32) {
    words.word(std::string(format_of(q).name) + "," + format_of(k).name + "," + format_of(v).name + "->" +
               format_of(out).name);
  }
  words.flag(name_of(layout), layout != Layout::kHeadsFirst);
  words.number("page_size=", page_size, 0);
  words.number("missing_page=", missing_page, -1);
  words.flag("int32", small_indices);
  words.list("q_lengths=", q_lengths);
  words.list("kv_lengths=", kv_lengths);
  words.list("key_begin=", key_begin);
  words.list("key_offset=", key_offset);
  if (has_scale) words.word("scale=" + fraction(scale));
  if (softcap != 0.0f) words.word("softcap=" + fraction(softcap));
  words.flag("alibi", alibi);
  if (bias) words.word(std::string("bias=") + format_of(bias_type).name);
  words.flag("score_callback", score_callback);
  words.flag("causal", causal);
  if (has_window) words.word("window=" + std::to_string(left) + "," + std::to_string(right));
  words.flag("top_left", alignment == HEED_TOP_LEFT);
  words.list("offsets=", offsets);
  if (mask != Mask::kNone) words.word(std::string("mask=") + name_of(mask));
  words.flag("sinks", sinks);
  words.number("inspect=", inspect, -1);
  words.flag("backwards", backwards);
  for (const Place& place : specials) {
    const char* tensor = place.stream == kQ ? "q" : place.stream == kK ? "k" : place.stream == kV ? "v" : "sinks";
    words.word(std::string(tensor) + "[" + std::to_string(place.t) + "," + std::to_string(place.d) +
               "]=" + name_of(place.special));
  }
  return words.text();
}

}  // namespace heed::golden

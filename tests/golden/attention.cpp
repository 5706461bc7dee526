#include "attention.hpp"

#include "storage.hpp"

namespace heed::golden {
namespace {

// A list of integers in the width that the problem asks for.
class Index {
 public:
  Index(const Integers& values, bool small) : wide_(values), small_(values.begin(), values.end()), is_small_(small) {}
  heed_index view() const {
    if (wide_.empty()) return {};
    if (is_small_) return {small_.data(), HEED_INT32};
    return {wide_.data(), HEED_INT64};
  }

 private:
  Integers wide_;
  std::vector<std::int32_t> small_;
  bool is_small_;
};

float score_callback(void*, std::int64_t head, std::int64_t position, std::int64_t key, float score) {
  return score + static_cast<float>((3 * head + position + 2 * key) % 5 - 2) * 0.25f;
}

// Pairs in the same chunk of 24 positions, and the keys of the first 4 positions for all.
heed_rectangle chunks(void*, std::int64_t, std::int64_t i_begin, std::int64_t i_end, std::int64_t j_begin,
                      std::int64_t j_end) {
  constexpr std::int64_t kChunk = 24, kFar = std::int64_t{1} << 40;  // so that no position is negative
  const auto chunk = [](std::int64_t position) { return (position + kChunk * kFar) / kChunk; };
  if (j_end <= 4) return HEED_ALL;
  if (j_begin < 4) return HEED_SOME;
  const std::int64_t i_first = chunk(i_begin), i_last = chunk(i_end - 1);
  const std::int64_t j_first = chunk(j_begin), j_last = chunk(j_end - 1);
  if (i_last < j_first || j_last < i_first) return HEED_NONE;
  return i_first == i_last && j_first == j_last ? HEED_ALL : HEED_SOME;
}

// Of 64 keys, 16 are for nobody: what a callback may say to spare the library a look at the mask.
bool is_gap(std::int64_t key) { return key % 64 / 16 == 2; }
heed_rectangle gaps(void*, std::int64_t, std::int64_t, std::int64_t, std::int64_t j_begin, std::int64_t j_end) {
  return is_gap(j_begin) && is_gap(j_end - 1) && j_begin / 64 == (j_end - 1) / 64 ? HEED_NONE : HEED_SOME;
}

void run_backwards(void*, std::int64_t count, void (*task)(void*, std::int64_t), void* context) {
  while (count > 0) task(context, --count);
}

// The memory and the arguments of one problem.
class Run {
 public:
  explicit Run(const Attention& problem)
      : p_(problem),
        storage_(problem),
        kv_lengths_(p_.kv_lengths, p_.small_indices),
        key_begin_(p_.key_begin, p_.small_indices),
        key_offset_(p_.key_offset, p_.small_indices),
        q_starts_(storage_.q_starts(), p_.small_indices),
        kv_starts_(storage_.kv_starts(), p_.small_indices),
        pages_(storage_.page_table(), p_.small_indices),
        page_starts_(storage_.page_starts(), p_.small_indices) {
    args_.B = p_.B;
    args_.Hq = p_.Hq;
    args_.Hkv = p_.Hkv;
    args_.Lq = p_.Lq;
    args_.Lkv = p_.Lkv;
    args_.D = p_.D;
    args_.Dv = p_.Dv;
    inputs();
    outputs();
    scores();
    exclusion();
    layout();
    if (p_.backwards) args_.executor = {run_backwards, nullptr, 3};
  }

  std::uint64_t hash() {
    heed_status status;
    must(heed_attention(&args_, &status), p_.name(), status.message);
    Hash hash;
    for (std::int64_t b = 0; b < p_.B; ++b) {
      for (std::int64_t h = 0; h < p_.Hq; ++h) {
        for (std::int64_t i = 0; i < storage_.queries(b); ++i) {
          hash.add(out_.data(), p_.out, storage_.at(out_at_, b, h, i, true), p_.Dv);
          const std::int64_t row = (b * p_.Hq + h) * p_.Lq + i;
          hash.add(lse_.data(), HEED_F32, storage_.ragged() ? (storage_.q_starts()[size(b)] + i) * p_.Hq + h : row, 1);
          if (p_.inspect >= 0) hash.add_any_nan(inspect_.data(), row * p_.Lkv, p_.Lkv);
        }
      }
    }
    return hash.value();
  }

 private:
  void inputs() {
    args_.q = storage_.fill(kQ, q_, p_.q, p_.Hq, p_.Lq, p_.D);
    args_.k = storage_.fill(kK, k_, p_.k, p_.Hkv, p_.Lkv, p_.D);
    args_.v = storage_.fill(kV, v_, p_.v, p_.Hkv, p_.Lkv, p_.Dv);
    // 2^-8 to 2^-2: the codes become numbers about as large as the other types'.
    if (p_.k == HEED_INT8) args_.k_scales = storage_.fill(kKScales, k_scales_, HEED_F32, p_.Hkv, p_.Lkv, 1, -4);
    if (p_.v == HEED_INT8) args_.v_scales = storage_.fill(kVScales, v_scales_, HEED_F32, p_.Hkv, p_.Lkv, 1, -4);
  }

  void outputs() {
    out_at_ = storage_.strides(p_.Hq, p_.Lq, p_.Dv, true);
    const int bytes = format_of(p_.out).bytes;
    out_.assign(size(storage_.elements(out_at_, p_.Dv, true) * bytes / 4 + 1), 0x55555555u);
    args_.out = {reinterpret_cast<char*>(out_.data()) + out_at_.first * bytes, out_at_.batch, out_at_.head,
                 out_at_.token, p_.out};
    lse_.assign(size(p_.B * p_.Hq * p_.Lq), 0.0f);
    args_.lse = lse_.data();
    if (p_.inspect < 0) return;
    inspect_.assign(size(p_.B * p_.Hq * p_.Lq * p_.Lkv), 0.0f);
    args_.inspect = {inspect_.data(), p_.Hq * p_.Lq * p_.Lkv, p_.Lq * p_.Lkv, p_.Lkv, HEED_F32};
    args_.inspect_what = static_cast<heed_inspect>(p_.inspect);
  }

  void scores() {
    args_.scale = p_.scale;
    args_.has_scale = p_.has_scale ? 1 : 0;
    args_.softcap = p_.softcap;
    if (p_.score_callback) args_.score_callback = score_callback;
    for (std::int64_t h = 0; h < p_.Hq; ++h) {
      slopes_.push_back(float_of(static_cast<std::uint32_t>(126 - h % 9) << 23));  // 2^-1, 2^-2, ...
      std::uint32_t sink = random_word(HEED_F32, random_bits(kSinks, 0, h, 0, 0));
      for (const Place& place : p_.specials) {
        if (place.stream == kSinks && place.t == h) sink = special_word(HEED_F32, place.special);
      }
      sinks_.push_back(float_of(sink));
    }
    if (p_.alibi) args_.alibi_slopes = slopes_.data();
    if (p_.sinks) args_.sinks = sinks_.data();
    if (!p_.bias) return;
    // Shared by the heads; one in eight excludes its pair.
    const int bytes = format_of(p_.bias_type).bytes;
    bias_.assign(size(p_.B * p_.Lq * p_.Lkv * bytes / 4 + 1), 0u);
    for (std::int64_t b = 0; b < p_.B; ++b) {
      for (std::int64_t i = 0; i < p_.Lq; ++i) {
        for (std::int64_t j = 0; j < p_.Lkv; ++j) {
          const std::uint64_t bits = random_bits(kBias, b, 0, i, j);
          store_word(
              bias_.data(), bytes, (b * p_.Lq + i) * p_.Lkv + j,
              bits % 8 == 0 ? special_word(p_.bias_type, Special::kMinusInfinity) : random_word(p_.bias_type, bits));
        }
      }
    }
    args_.bias = {bias_.data(), p_.Lq * p_.Lkv, 0, p_.Lkv, p_.bias_type};
  }

  void exclusion() {
    args_.causal = p_.causal ? 1 : 0;
    args_.has_window = p_.has_window ? 1 : 0;
    args_.window_left = p_.left;
    args_.window_right = p_.right;
    args_.alignment = p_.alignment;
    if (!p_.offsets.empty()) args_.offsets = p_.offsets.data();
    if (!storage_.ragged()) args_.kv_lengths = kv_lengths_.view();
    args_.key_begin = key_begin_.view();
    args_.key_offset = key_offset_.view();
    if (p_.mask == Mask::kCallback) args_.mask_callback = chunks;
    if (p_.mask == Mask::kBytesAndCallback) args_.mask_callback = gaps;
    if (p_.mask == Mask::kNone || p_.mask == Mask::kCallback) return;
    // Three of four pairs, in every eleventh row none; of its own for each query head, shared by the sequences.
    const bool bits = p_.mask == Mask::kBits;
    const std::int64_t row = bits ? (p_.Lkv + 7) / 8 + 1 : p_.Lkv;
    mask_.assign(size(p_.Hq * p_.Lq * row), 0);
    for (std::int64_t h = 0; h < p_.Hq; ++h) {
      for (std::int64_t i = 0; i < p_.Lq; ++i) {
        std::uint8_t* bytes = mask_.data() + (h * p_.Lq + i) * row;
        for (std::int64_t j = 0; j < p_.Lkv; ++j) {
          if (i % 11 == 3 || random_bits(kMask, 0, h, i, j) % 4 == 0) continue;
          if (p_.mask == Mask::kBytesAndCallback && is_gap(j)) continue;
          if (bits) {
            bytes[j / 8] = static_cast<std::uint8_t>(bytes[j / 8] | 1u << (j % 8));
          } else {
            bytes[j] = static_cast<std::uint8_t>(1 + j % 255);
          }
        }
      }
    }
    args_.mask_kind = bits ? HEED_BIT_MASK : HEED_BYTE_MASK;
    args_.mask = mask_.data();
    args_.mask_stride_head = p_.Lq * row;
    args_.mask_stride_token = row;
  }

  void layout() {
    args_.q_indptr = q_starts_.view();
    args_.kv_indptr = kv_starts_.view();
    if (!storage_.paged()) return;
    args_.page_size = p_.page_size;
    args_.page_count = storage_.page_count();
    if (p_.layout == Layout::kPageIndices) {
      args_.page_indices = pages_.view();
      args_.page_indptr = page_starts_.view();
    } else {
      args_.block_table = pages_.view();
      args_.block_table_stride = storage_.table_stride();
    }
  }

  const Attention& p_;
  Storage storage_;
  AttentionArgs args_;
  Memory q_, k_, v_, k_scales_, v_scales_, bias_, out_;
  std::vector<float> lse_, inspect_, slopes_, sinks_;
  std::vector<std::uint8_t> mask_;
  Strides out_at_{};
  Index kv_lengths_, key_begin_, key_offset_, q_starts_, kv_starts_, pages_, page_starts_;
};

}  // namespace

std::uint64_t Attention::hash() const { return Run(*this).hash(); }

}  // namespace heed::golden

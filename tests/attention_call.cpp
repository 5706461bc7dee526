#include "attention_call.hpp"

#include <cinttypes>
#include <cstdio>
#include <cstring>

namespace heed::test {
namespace {

constexpr std::uint32_t kCanary = 0x4B1D4B1Du;

std::size_t size(std::int64_t n) { return static_cast<std::size_t>(n); }

}  // namespace

const char* name_of(Layout layout) {
  switch (layout) {
    case Layout::kHeadsFirst:
      return "heads first";
    case Layout::kTokensFirst:
      return "tokens first";
    case Layout::kPadded:
      return "padded rows";
    case Layout::kFused:
      return "fused rows";
    case Layout::kReversed:
      return "negative strides";
    case Layout::kSharedBatch:
      return "shared keys and values";
  }
  return "?";
}

Call::Call(const ModelProblem& p, Layout layout, bool lse)
    : B_(p.B), Hq_(p.Hq), Hkv_(p.Hkv), Lq_(p.Lq), Lkv_(p.Lkv), D_(p.D), Dv_(p.Dv) {
  std::int64_t next = 1;  // so that the tensors start where no vector is aligned
  if (layout == Layout::kFused) {
    const std::int64_t row = Hq_ * D_ + Hkv_ * (D_ + Dv_), tokens = Lq_ > Lkv_ ? Lq_ : Lkv_;
    q_ = {next, tokens * row, D_, row};
    k_ = {next + Hq_ * D_, tokens * row, D_, row};
    v_ = {next + (Hq_ + Hkv_) * D_, tokens * row, Dv_, row};
    next += B_ * tokens * row;
  } else {
    q_ = place(layout, Hq_, Lq_, D_, &next);
    k_ = place(layout, Hkv_, Lkv_, D_, &next);
    v_ = place(layout, Hkv_, Lkv_, Dv_, &next);
    if (layout == Layout::kSharedBatch) k_.batch = v_.batch = 0;
  }
  inputs_.assign(size(next), float_of(0x7FC12345u));
  fill(p);

  std::int64_t end = 3;
  out_ = place(layout, Hq_, Lq_, Dv_, &end);
  lse_ = place(layout, Hq_, Lq_, 1, &end);
  outputs_.assign(size(end + 5), float_of(kCanary));

  args.struct_size = sizeof args;
  args.B = B_;
  args.Hq = Hq_;
  args.Hkv = Hkv_;
  args.Lq = Lq_;
  args.Lkv = Lkv_;
  args.D = D_;
  args.Dv = Dv_;
  args.q = {inputs_.data() + q_.at, q_.batch, q_.head, q_.token, HEED_F32};
  args.k = {inputs_.data() + k_.at, k_.batch, k_.head, k_.token, HEED_F32};
  args.v = {inputs_.data() + v_.at, v_.batch, v_.head, v_.token, HEED_F32};
  args.out = {outputs_.data() + out_.at, out_.batch, out_.head, out_.token, HEED_F32};
  if (lse) {
    args.lse = outputs_.data() + lse_.at;
    if (layout != Layout::kHeadsFirst) {  // there the default strides are the right ones
      args.lse_stride_batch = lse_.batch;
      args.lse_stride_head = lse_.head;
      args.lse_stride_token = lse_.token;
    }
  }
  args.scale = p.scale;
  args.has_scale = 1;
  args.causal = p.causal ? 1 : 0;
  args.alignment = p.alignment == Alignment::kBottomRight ? HEED_BOTTOM_RIGHT
                   : p.alignment == Alignment::kTopLeft   ? HEED_TOP_LEFT
                                                          : HEED_OFFSETS;
  args.offsets = p.offsets.empty() ? nullptr : p.offsets.data();
  args.has_window = p.window_left >= 0 || p.window_right >= 0 ? 1 : 0;
  args.window_left = p.window_left;
  args.window_right = p.window_right;
  args.alibi_slopes = p.alibi_slopes.empty() ? nullptr : p.alibi_slopes.data();
  if (!p.bias.empty()) args.bias = {p.bias.data(), Hq_ * Lq_ * Lkv_, Lq_ * Lkv_, Lkv_, HEED_F32};
  if (!p.mask.empty()) {
    args.mask_kind = HEED_BYTE_MASK;
    args.mask = p.mask.data();
    args.mask_stride_batch = Hq_ * Lq_ * Lkv_;
    args.mask_stride_head = Lq_ * Lkv_;
    args.mask_stride_token = Lkv_;
  }
  const auto index = [](const std::vector<std::int64_t>& values) {
    return heed_index{values.empty() ? nullptr : values.data(), HEED_INT64};
  };
  args.kv_lengths = index(p.kv_lengths);
  args.key_begin = index(p.key_begin);
  args.key_offset = index(p.key_offset);
  args.sinks = p.sinks.empty() ? nullptr : p.sinks.data();
}

Strides Call::place(Layout layout, std::int64_t heads, std::int64_t tokens, std::int64_t columns, std::int64_t* next) {
  Strides p{*next, heads * tokens * columns, tokens * columns, columns};
  std::int64_t length = B_ * heads * tokens * columns;
  if (layout == Layout::kTokensFirst) {
    p.head = columns;
    p.token = heads * columns;
  } else if (layout == Layout::kPadded) {
    p.token = columns + 3;
    p.head = tokens * p.token + 5;
    p.batch = heads * p.head + 7;
    length = B_ * p.batch;
  } else if (layout == Layout::kReversed && length > 0) {
    p.at += (B_ - 1) * p.batch + (heads - 1) * p.head + (tokens - 1) * p.token;
    p.batch = -p.batch;
    p.head = -p.head;
    p.token = -p.token;
  }
  *next += length + 1;
  return p;
}

void Call::fill(const ModelProblem& p) {
  const auto copy = [&](const Strides& to, const std::vector<float>& from, std::int64_t heads, std::int64_t tokens,
                        std::int64_t columns) {
    const float* x = from.data();
    for (std::int64_t b = 0; b < B_; ++b) {
      for (std::int64_t h = 0; h < heads; ++h) {
        for (std::int64_t t = 0; t < tokens; ++t, x += columns) {
          std::memcpy(element(to, b, h, t), x, size(columns) * sizeof(float));
        }
      }
    }
  };
  copy(q_, p.q, Hq_, Lq_, D_);
  copy(k_, p.k, Hkv_, Lkv_, D_);
  copy(v_, p.v, Hkv_, Lkv_, Dv_);
}

bool Call::untouched() const {
  for (const float x : outputs_) {
    if (bits_of(x) != kCanary) return false;
  }
  return true;
}

Result Call::run() {
  Result result;
  heed_status status;
  if (heed_attention(&args, &status) != HEED_OK) {
    result.failure = std::string("the call failed: ") + status.message;
    return result;
  }
  // What has been read is set back, so that anything else that was written shows.
  const auto take = [&](const Strides& from, std::int64_t columns, std::vector<float>& to) {
    for (std::int64_t b = 0; b < B_; ++b) {
      for (std::int64_t h = 0; h < Hq_; ++h) {
        for (std::int64_t t = 0; t < Lq_; ++t) {
          float* x = outputs_.data() + from.at + b * from.batch + h * from.head + t * from.token;
          to.insert(to.end(), x, x + columns);
          for (std::int64_t d = 0; d < columns; ++d) x[d] = float_of(kCanary);
        }
      }
    }
  };
  if (args.out.data == outputs_.data() + out_.at) take(out_, Dv_, result.out);
  if (args.lse != nullptr) take(lse_, 1, result.lse);
  if (!untouched()) result.failure = "something beside out and lse was written";
  return result;
}

std::string difference(const char* what, const std::vector<float>& found, const std::vector<float>& expected) {
  if (found.size() != expected.size()) return std::string(what) + ": has another size";
  for (std::size_t n = 0; n < found.size(); ++n) {
    if (bits_of(found[n]) == bits_of(expected[n])) continue;
    char text[160];
    std::snprintf(text, sizeof text, "%s[%zu]: is %a (%08" PRIX32 "), should be %a (%08" PRIX32 ")", what, n,
                  static_cast<double>(found[n]), bits_of(found[n]), static_cast<double>(expected[n]),
                  bits_of(expected[n]));
    return text;
  }
  return {};
}

std::string difference(const Result& found, const std::vector<float>& out, const std::vector<float>& lse) {
  if (!found.failure.empty()) return found.failure;
  std::string text = difference("out", found.out, out);
  if (text.empty() && !found.lse.empty()) text = difference("lse", found.lse, lse);
  return text;
}

}  // namespace heed::test

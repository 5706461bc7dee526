#include "option_problem.hpp"

#include <algorithm>

namespace heed::test {
namespace {

std::size_t size(Int n) { return static_cast<std::size_t>(n); }

}  // namespace

OptionProblem::OptionProblem(const Content& content, const Arrangement& arrangement)
    : how_(arrangement), random_(arrangement.seed), Hq_(content.spec.Hq) {
  args.B = content.B();
  args.Hq = Hq_;
  args.Hkv = content.spec.Hkv;
  args.D = content.spec.D;
  args.Dv = content.spec.Dv;
  for (const SequenceContent& s : content.sequences) {
    queries_.push_back(s.queries);
    keys_.push_back(s.keys);
    begins_.push_back(!how_.begin          ? 0
                      : how_.same_begin    ? s.begin
                      : how_.panels        ? 16 * random_.between(0, 5)
                      : random_.once_in(4) ? 16 * random_.between(1, 40) + random_.between(-1, 1)
                                           : random_.between(0, 40));
  }
  place_table_rows();
  place_slots();
  place_queries(content);
  place_keys(content);
  place_bias(content);
  place_mask(content);
  set_options(content);
  place_outputs(content);
}

Placed& OptionProblem::placed(heed_type type, Int batches, Int heads, Int tokens, Int columns) {
  tensors_.push_back(std::make_unique<Placed>(type, batches, heads, tokens, columns, random_));
  return *tensors_.back();
}

void OptionProblem::place_queries(const Content& content) {
  const Int B = args.B;
  Int most = 0;
  q_starts_.push_back(random_.between(0, 3));
  for (const Int queries : queries_) {
    most = std::max(most, queries);
    q_starts_.push_back(q_starts_.back() + queries);
  }
  args.Lq = most + (how_.ragged_queries ? random_.between(0, 2) : 0);
  if (how_.ragged_queries) args.q_indptr = index(B + 1, [&](Int b) { return q_starts_[size(b)]; });
  Placed& q = placed(stored_as(content.spec.q), how_.ragged_queries ? 1 : B, Hq_,
                     how_.ragged_queries ? q_starts_.back() : args.Lq, args.D);
  for (Int b = 0; b < B; ++b) {
    const float* x = content.sequences[size(b)].q.data();
    for (Int h = 0; h < Hq_; ++h) {
      for (Int i = 0; i < queries_[size(b)]; ++i) {
        for (Int d = 0; d < args.D; ++d) q.set(query_batch(b), h, query_token(b, i), d, *x++);
      }
    }
  }
  args.q = q.view();
  q_ = &q;
  if (how_.in_place) queries_before_ = q;
}

// How many batches, heads and rows of an array [B][Hq][Lq][Lkv] have to be stored, those that are the same only once.
template <class T>
OptionProblem::Axes OptionProblem::axes(const Content& content, std::vector<T> SequenceContent::*values) {
  const auto same = [&](Int b0, Int h0, Int i0, Int b, Int h, Int i) {
    const SequenceContent &s0 = content.sequences[size(b0)], &s = content.sequences[size(b)];
    if (i0 >= s0.queries || i >= s.queries || begins_[size(b0)] != begins_[size(b)]) return false;
    const T* row0 = (s0.*values).data() + (h0 * s0.queries + i0) * s0.keys;
    const T* row = (s.*values).data() + (h * s.queries + i) * s.keys;
    return std::equal(row, row + std::min(s.keys, s0.keys), row0);
  };
  bool of_batch = false, of_head = false, of_row = false;
  for (Int b = 0; b < args.B; ++b) {
    const Int queries = queries_[size(b)];
    of_batch = of_batch || queries != queries_[0] || keys_[size(b)] > keys_[0];
    for (Int h = 0; h < Hq_; ++h) {
      for (Int i = 0; i < queries; ++i) {
        of_batch = of_batch || !same(0, h, i, b, h, i);
        of_head = of_head || !same(b, 0, i, b, h, i);
        of_row = of_row || !same(b, h, 0, b, h, i);
      }
    }
  }
  const auto count = [&](bool needed, Int all) { return needed || random_.once_in(3) ? all : 1; };
  return {count(of_batch, args.B), count(of_head, Hq_), count(of_row, args.Lq)};
}

void OptionProblem::place_bias(const Content& content) {
  if (!content.has(kBias)) return;
  const Axes stored = axes(content, &SequenceContent::bias);
  Placed& bias = placed(stored_as(content.spec.bias), stored.batches, stored.heads, stored.rows, args.Lkv);
  for (Int b = 0; b < std::min(args.B, stored.batches); ++b) {
    const SequenceContent& s = content.sequences[size(b)];
    for (Int h = 0; h < stored.heads; ++h) {
      for (Int i = 0; i < std::min(stored.rows, s.queries); ++i) {
        const float* x = s.bias.data() + (h * s.queries + i) * s.keys;
        for (Int j = 0; j < s.keys; ++j) bias.set(b, h, i, begins_[size(b)] + j, x[j]);
      }
    }
  }
  args.bias = bias.view();
}

void OptionProblem::place_mask(const Content& content) {
  Content masked;  // where the mask stands for pages that aren't there too
  const Content* from = &content;
  if (how_.absent_by_mask) {
    masked = content;
    for (SequenceContent& s : masked.sequences) {
      if (s.mask.empty()) s.mask.resize(size(Hq_ * s.queries * s.keys), 1);
      for (Int pair = 0; pair < Hq_ * s.queries * s.keys; ++pair) {
        if (!s.absent.empty() && s.absent[size(pair % s.keys)] != 0) s.mask[size(pair)] = 0;
      }
    }
    from = &masked;
  } else if (!content.has(kMask)) {
    return;
  }
  const Axes stored = axes(*from, &SequenceContent::mask);
  const bool bits = random_.once_in(2);
  args.mask_kind = bits ? HEED_BIT_MASK : HEED_BYTE_MASK;
  Placed& mask = placed(HEED_INT8, stored.batches, stored.heads, stored.rows, bits ? (args.Lkv + 7) / 8 : args.Lkv);
  for (Int b = 0; b < std::min(args.B, stored.batches); ++b) {
    const SequenceContent& s = from->sequences[size(b)];
    for (Int h = 0; h < stored.heads; ++h) {
      for (Int i = 0; i < std::min(stored.rows, s.queries); ++i) {
        const unsigned char* on = s.mask.data() + (h * s.queries + i) * s.keys;
        for (Int j = 0; j < s.keys; ++j) {
          const Int slot = begins_[size(b)] + j;
          if (bits) {
            const Code bit = Code{1} << (slot % 8), rest = mask.code(b, h, i, slot / 8) & ~bit;
            mask.set_code(b, h, i, slot / 8, on[j] != 0 ? rest | bit : rest);
          } else {
            mask.set_code(b, h, i, slot, on[j] != 0 ? static_cast<Code>(random_.between(1, 255)) : 0);
          }
        }
      }
    }
  }
  const heed_tensor view = mask.view();
  args.mask = view.data;
  args.mask_stride_batch = view.stride_batch;
  args.mask_stride_head = view.stride_head;
  args.mask_stride_token = view.stride_token;
}

bool OptionProblem::positions_are(heed_alignment alignment, const Content& content) const {
  if (alignment == HEED_OFFSETS) return true;
  for (const SequenceContent& s : content.sequences) {
    const Int queries = how_.ragged_queries ? s.queries : args.Lq;
    if (s.position != (alignment == HEED_TOP_LEFT ? 0 : s.key_position + s.keys - queries)) return false;
  }
  return true;
}

// A field whose flag says that it is off holds something.
void OptionProblem::set_options(const Content& content) {
  args.has_scale = content.has(kScale) ? 1 : 0;
  args.scale = content.has(kScale) ? content.scale : 77.0f;
  args.softcap = content.softcap;
  args.causal = content.has(kCausal) ? 1 : 0;
  args.has_window = content.has(kWindow) ? 1 : 0;
  args.window_left = content.has(kWindow) ? content.window_left : 3;
  args.window_right = content.has(kWindow) ? content.window_right : 3;
  slopes_ = content.slopes;
  sinks_ = content.sinks;
  if (content.has(kAlibi)) args.alibi_slopes = slopes_.data();
  if (content.has(kSinks)) args.sinks = sinks_.data();
  if (content.has(kAsked)) args.mask_callback = ask;
  if (content.has(kChanged)) args.score_callback = change;
  bool offset = content.has(kOffset);
  for (const SequenceContent& s : content.sequences) offset = offset || s.key_position != 0;
  if (offset) {
    args.key_offset = by_row([&](Int b) { return content.sequences[size(b)].key_position; });
  }
  args.alignment = positions_are(how_.alignment, content) ? how_.alignment : HEED_OFFSETS;
  wide_.push_back(std::make_unique<std::vector<Int>>());
  for (const SequenceContent& s : content.sequences) {
    wide_.back()->push_back(args.alignment == HEED_OFFSETS ? s.position : 12345);
  }
  wide_.back()->push_back(0);
  args.offsets = wide_.back()->data();
}

}  // namespace heed::test

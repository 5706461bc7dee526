// The outputs of an OptionProblem: where they lie, and what a call left in them.
#include <cinttypes>
#include <cstdio>

#include "option_problem.hpp"

namespace heed::test {
namespace {

std::size_t size(Int n) { return static_cast<std::size_t>(n); }

float canonical(float x) { return is_nan(x) ? float_of(0x7FC00000u) : x; }

std::string differs(const char* what, Int b, Int h, Int i, Int x, float found, float expected, Code code, Code right) {
  char text[200];
  std::snprintf(text, sizeof text,
                "%s of sequence %" PRId64 ", head %" PRId64 ", query %" PRId64 " [%" PRId64 "]: is %.9g (%" PRIX32
                "), should be %.9g (%" PRIX32 ")",
                what, b, h, i, x, static_cast<double>(found), code, static_cast<double>(expected), right);
  return text;
}

std::string difference(const char* what, heed_type type, Int b, Int queries, Int columns,
                       const std::vector<Code>& found, const std::vector<Code>& expected) {
  if (found.size() != expected.size()) return std::string(what) + ": has another size";
  for (std::size_t n = 0; n < found.size(); ++n) {
    if (found[n] == expected[n]) continue;
    const Int at = static_cast<Int>(n), row = at / columns;
    return differs(what, b, row / queries, row % queries, at % columns, decoded(type, found[n]),
                   decoded(type, expected[n]), found[n], expected[n]);
  }
  return {};
}

std::vector<Code> codes_of(const Numbers& x) {
  std::vector<Code> codes;
  for (const float value : x) codes.push_back(bits_of(value));
  return codes;
}

}  // namespace

std::string difference(const Content& content, Int b, const SequenceResult& found, const SequenceResult& expected) {
  const SequenceContent& s = content.sequences[size(b)];
  std::string text = difference("out", content.spec.out, b, s.queries, content.spec.Dv, found.out, expected.out);
  if (text.empty() && !found.lse.empty() && !expected.lse.empty()) {
    text = difference("lse", HEED_F32, b, s.queries, 1, codes_of(found.lse), codes_of(expected.lse));
  }
  if (text.empty() && !found.view.empty() && !expected.view.empty()) {
    text = difference("view", HEED_F32, b, s.queries, s.keys, codes_of(found.view), codes_of(expected.view));
  }
  return text;
}

void OptionProblem::place_outputs(const Content& content) {
  const Int batches = how_.ragged_queries ? 1 : args.B;
  const Int tokens = how_.ragged_queries ? q_starts_.back() : args.Lq;
  out_ = how_.in_place ? q_ : &placed(content.spec.out, batches, Hq_, tokens, args.Dv);
  args.out = out_->out();
  if (how_.lse) {
    contiguous_lse_ = random_.once_in(2);
    lse_ = contiguous_lse_ ? &placed(HEED_F32, 1, 1, 1, batches * Hq_ * tokens)
                           : &placed(HEED_F32, batches, Hq_, tokens, 1);
    const heed_tensor_out lse = lse_->out();
    args.lse = static_cast<float*>(lse.data);
    args.lse_stride_batch = lse.stride_batch;
    args.lse_stride_head = lse.stride_head;
    args.lse_stride_token = lse.stride_token;
  }
  if (content.has(kInspected)) {
    view_ = &placed(HEED_F32, args.B, Hq_, args.Lq, args.Lkv);
    args.inspect = view_->out();
    args.inspect_what = content.spec.view;
  }
}

float OptionProblem::take_lse(Int b, Int h, Int i) {
  const Int token = query_token(b, i);
  if (!contiguous_lse_) return float_of(lse_->take(query_batch(b), h, token, 0));
  return float_of(lse_->take(0, 0, 0, how_.ragged_queries ? token * Hq_ + h : (b * Hq_ + h) * args.Lq + i));
}

std::string OptionProblem::call() {
  if (queries_before_) *q_ = *queries_before_;  // into the same memory
  const Status status = attention(args);
  return status.ok() ? std::string() : std::string("the call failed: ") + status.message();
}

std::string OptionProblem::run(std::vector<SequenceResult>* results) {
  const std::string failure = call();
  return failure.empty() ? take(results) : failure;
}

std::string OptionProblem::take(std::vector<SequenceResult>* results) {
  std::string failure;
  results->assign(size(args.B), {});
  const float nothing = args.inspect_what == HEED_WEIGHTS ? 0.0f : -kInfinity;
  for (Int b = 0; b < args.B; ++b) {
    SequenceResult& result = (*results)[size(b)];
    const Int begin = begins_[size(b)], keys = keys_[size(b)];
    for (Int h = 0; h < Hq_; ++h) {
      // Rows behind the sequence's own queries, where it has fewer than others, were computed too.
      for (Int i = 0; i < (how_.ragged_queries ? queries_[size(b)] : args.Lq); ++i) {
        const bool own = i < queries_[size(b)];
        for (Int d = 0; d < args.Dv; ++d) {
          const Code code = out_->take(query_batch(b), h, query_token(b, i), d);
          if (own) result.out.push_back(code);
        }
        if (lse_ != nullptr) {
          const float lse = take_lse(b, h, i);
          if (own) result.lse.push_back(lse);
        }
        for (Int slot = 0; slot < args.Lkv && view_ != nullptr; ++slot) {
          const float shown = float_of(view_->take(b, h, i, slot));
          const bool exists = slot >= begin && slot < begin + keys;
          if (own && exists) result.view.push_back(canonical(shown));
          if (!exists && bits_of(shown) != bits_of(nothing)) failure = "the view shows a key that doesn't exist";
        }
      }
    }
  }
  if (!out_->untouched() || (lse_ != nullptr && !lse_->untouched()) || (view_ != nullptr && !view_->untouched())) {
    failure = "something beside the outputs' elements was written";
  }
  return failure;
}

std::string OptionProblem::all_bytes() const {
  std::string all;
  for (const Placed* t : {out_, lse_, view_}) {
    if (t != nullptr) all.append(reinterpret_cast<const char*>(t->bytes().data()), t->bytes().size());
  }
  return all;
}

}  // namespace heed::test

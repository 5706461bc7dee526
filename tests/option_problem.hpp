// A call of heed_attention on a Content, laid out in memory in one of the many ways that the interface allows.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "content.hpp"
#include "heed/heed.hpp"
#include "placed.hpp"

namespace heed::test {

struct Arrangement {
  std::uint64_t seed = 0;  // of strides, gaps, page ids, index types and what lies where nothing is said
  bool paged = false, ragged_keys = false, ragged_queries = false;
  bool lengths = false;         // room behind the keys, and kv_lengths
  bool begin = false;           // room before them, and key_begin
  bool same_begin = false;      // as many slots before the keys as in the problem as it was drawn
  bool absent_by_mask = false;  // keys of pages that aren't there: their pages are there, but a mask excludes them
  bool widened = false;         // f16 and bf16 inputs are stored as f32
  bool in_place = false;        // the output is written over q, where D, Dv and the types allow it
  bool lse = true;
  bool panels = false;      // the pages hold panels of 16 keys
  bool table_rows = false;  // lengths and pages of the sequences are rows of larger tables, in another order
  heed_alignment alignment = HEED_OFFSETS;  // if it gives the content's positions, else offsets do
  Int page_size = 16;
};
Arrangement home_of(const Content& content);                               // as its spec says
Arrangement draw_arrangement(const Content& content, std::uint64_t seed);  // any that can hold it
std::string describe(const Arrangement& arrangement);

// What a call gave one sequence. NaNs of the view, which are the only ones that may differ, are made the same.
struct SequenceResult {
  std::vector<Code> out;  // [Hq][queries][Dv]
  Numbers lse, view;      // [Hq][queries], [Hq][queries][keys]; empty where not asked for
};

// Where they first differ in a bit; empty if nowhere. An lse or a view that one of them lacks is not compared.
std::string difference(const Content& content, Int b, const SequenceResult& found, const SequenceResult& expected);

class OptionProblem {
 public:
  OptionProblem(const Content& content, const Arrangement& arrangement);
  explicit OptionProblem(const Content& content) : OptionProblem(content, home_of(content)) {}
  explicit OptionProblem(std::uint64_t seed) : OptionProblem(content_of(draw_options(seed))) {}
  OptionProblem(const OptionProblem&) = delete;
  OptionProblem& operator=(const OptionProblem&) = delete;

  // Ready to call; for the caller to add an executor or an allocator.
  AttentionArgs args;

  // Calls heed_attention. Empty: it succeeded.
  std::string call();
  // What a call left in the outputs. Empty: it wrote what it should and nothing else.
  std::string take(std::vector<SequenceResult>* results);
  // Both.
  std::string run(std::vector<SequenceResult>* results);
  // All of the outputs' memory as a call left it, what lies between the elements included. take() and run() clear it.
  std::string all_bytes() const;

 private:
  void place_slots();
  void place_table_rows();
  void place_queries(const Content& content);
  void place_pages(const Content& content);
  void place_keys(const Content& content);
  void place_bias(const Content& content);
  void place_mask(const Content& content);
  void set_options(const Content& content);
  void place_outputs(const Content& content);
  bool positions_are(heed_alignment alignment, const Content& content) const;
  static Int common_keys(const Content& content, Int b);
  struct Axes {
    Int batches, heads, rows;
  };
  template <class T>
  Axes axes(const Content& content, std::vector<T> SequenceContent::*values);

  // Entry b of an array that table_rows may have put in another order.
  template <class Entry>
  heed_index by_row(const Entry& entry);
  template <class Entry>
  heed_index index(Int count, const Entry& entry);
  Placed& placed(heed_type type, Int batches, Int heads, Int tokens, Int columns);
  heed_type stored_as(heed_type type) const { return how_.widened && type != HEED_INT8 ? HEED_F32 : type; }
  // Where a slot of a sequence lies in k, v and their scales.
  struct Place {
    Int batch, token;
  };
  Place place_of(Int b, Int slot) const;
  float take_lse(Int b, Int h, Int i);
  Int query_batch(Int b) const { return how_.ragged_queries ? 0 : b; }
  Int query_token(Int b, Int i) const { return how_.ragged_queries ? q_starts_[static_cast<std::size_t>(b)] + i : i; }

  static constexpr Int kNobodyReads = 1 << 30;  // an entry of an index array
  Arrangement how_;
  Random random_;
  Int Hq_ = 0;
  std::vector<Int> queries_, keys_;  // of each sequence
  std::vector<Int> begins_, q_starts_, k_starts_;
  std::vector<std::vector<Int>> pages_;
  std::vector<Int> sequence_of_row_;  // of the tables; -1: none
  bool one_batch_of_keys_ = false, contiguous_lse_ = false;
  std::vector<std::unique_ptr<Placed>> tensors_;
  std::vector<std::unique_ptr<std::vector<Int>>> wide_;
  std::vector<std::unique_ptr<std::vector<std::int32_t>>> narrow_;
  Placed *q_ = nullptr, *out_ = nullptr, *lse_ = nullptr, *view_ = nullptr;
  std::optional<Placed> queries_before_;  // what q held, where the output is written over it
  Numbers slopes_, sinks_;
};

template <class Entry>
heed_index OptionProblem::index(Int count, const Entry& entry) {
  if (random_.once_in(2)) {
    narrow_.push_back(std::make_unique<std::vector<std::int32_t>>());
    for (Int i = 0; i < count; ++i) narrow_.back()->push_back(static_cast<std::int32_t>(entry(i)));
    narrow_.back()->push_back(-1000);  // so that there is an address
    return {narrow_.back()->data(), HEED_INT32};
  }
  wide_.push_back(std::make_unique<std::vector<Int>>());
  for (Int i = 0; i < count; ++i) wide_.back()->push_back(entry(i));
  wide_.back()->push_back(-1000);
  return {wide_.back()->data(), HEED_INT64};
}

template <class Entry>
heed_index OptionProblem::by_row(const Entry& entry) {
  return index(static_cast<Int>(sequence_of_row_.size()), [&](Int row) {
    const Int b = sequence_of_row_[static_cast<std::size_t>(row)];
    return b < 0 ? kNobodyReads : entry(b);
  });
}

}  // namespace heed::test

// A draft in memory: every tensor, table and array in a heap block of its own that holds what the arguments describe
// and nothing else, so that AddressSanitizer sees an access beside it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "fuzz/block.hpp"
#include "fuzz/draft.hpp"

namespace heed::fuzz {

class Placement {
 public:
  explicit Placement(const Draft& draft);
  Placement(const Placement&) = delete;
  Placement& operator=(const Placement&) = delete;

  const heed_attention_args* args() const { return reinterpret_cast<const heed_attention_args*>(args_->data()); }
  const heed_attention_args& copy() const { return a_; }  // args() in full, whatever its struct_size

  // Whether all that the arguments describe is there, and little work. If not, they may only be checked.
  bool complete() const { return complete_; }
  // Whether no element of an output shares memory with another one.
  bool disjoint() const { return disjoint_; }

  void reset();                 // outputs as before any call
  std::string outputs() const;  // their bytes; all NaNs of the view are one
  bool untouched() const;
  bool only_elements_written() const;

 private:
  struct Extent;
  static constexpr Int kMostElements = 1 << 16, kMostEntries = 1 << 14;
  struct Output {
    std::size_t block;
    std::vector<unsigned char> before, element;  // element: 1 for bytes that a call may write
    bool view;
  };

  std::size_t block(std::size_t bytes, std::size_t align = 16);
  void index(heed_index& array, std::vector<Int>& values, Int count);
  void place_indices();
  void place_pages();
  Int pages_needed(Int b) const;
  Int page_of(Int b, Int entry) const;
  void lse();
  void heads();
  void place_args();
  void* place(const void* mark, const Extent& extent, heed_type type, bool output, bool view = false);
  void mark_elements(Output& output, Int first, Int b, Int sb, Int h, Int sh, Int t, Int st, Int columns, Int bytes);
  template <class Tensor>
  void rows(Tensor& t, Int columns, bool output);
  void keys(heed_tensor& t, Int columns, bool panels);
  void pairs();
  void states();
  void state(heed_state& s, bool output);
  void calls();
  bool little_work() const;
  bool ragged() const { return a_.q_indptr.data != nullptr; }
  Int query_batches() const { return ragged() ? 1 : a_.B; }
  // The tokens of all sequences, and which one is the first.
  Int first_token() const { return ragged() ? at(draft_.q_indptr, 0) : 0; }
  Int query_tokens() const { return ragged() ? difference(at(draft_.q_indptr, a_.B), first_token()) : a_.Lq; }
  Int row(Int b) const { return a_.table_rows.data == nullptr ? b : at(draft_.table_rows, b); }
  Int table_rows() const { return a_.table_rows.data == nullptr ? a_.B : a_.table_row_count; }
  // Slots [begin, end) hold the keys of sequence b.
  struct Slots {
    Int begin, end;
  };
  Slots slots(Int b) const;
  static Int difference(Int a, Int b);
  static Int at(const std::vector<Int>& values, Int i) {
    return i < 0 || i >= static_cast<Int>(values.size()) ? 0 : values[static_cast<std::size_t>(i)];
  }

  Draft draft_;
  heed_attention_args a_;
  std::vector<std::unique_ptr<Block>> blocks_;
  std::vector<Output> outputs_;
  std::unique_ptr<Block> args_;
  bool complete_ = true, disjoint_ = true;
};

}  // namespace heed::fuzz

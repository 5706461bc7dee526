// A call whose every array lies at an unmapped page, or between canaries: what isn't an element is poison when it is
// read and noticed when it is written.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "attention_call.hpp"
#include "heed/heed.h"
#include "support/memory.hpp"

namespace heed::test {

class GuardedCall {
 public:
  // Copies all that `from` describes: of keys and values the slots that exist, of tables the entries that are read. The
  // call's own memory comes from here too.
  GuardedCall(const heed_attention_args& from, kernel::Placement placement);
  GuardedCall(const GuardedCall&) = delete;
  GuardedCall& operator=(const GuardedCall&) = delete;

  Result run();  // fails if something but the outputs' elements was written

  heed_attention_args args;

 private:
  struct Piece {
    std::int64_t at, length;  // in elements from the array's start
  };
  using Pieces = std::vector<Piece>;

  template <class Pointer>
  void move(Pointer& array, const Pieces& pieces, std::size_t element_bytes, bool writable = false);
  void move(heed_index& array, const Pieces& pieces);
  void move_pages();
  template <class Tensor>
  Pieces query_rows(const Tensor& t, std::int64_t columns) const;
  template <class Tensor>
  Pieces rows_by_sequence(const Tensor& t, std::int64_t columns) const;
  Pieces slots(const heed_tensor& t, std::int64_t columns) const;

  static void* allocate(void* context, std::size_t bytes);
  static void release(void*, void*, std::size_t) {}

  const heed_attention_args from_;
  kernel::Arena arena_;
};

}  // namespace heed::test

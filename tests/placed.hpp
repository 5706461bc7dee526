// A tensor [batch][head][token][columns] somewhere in memory, with its axes in any order.
#pragma once

#include <cstdint>
#include <vector>

#include "heed/heed.h"
#include "support/floats.hpp"
#include "support/storage.hpp"

namespace heed::test {

class Placed {
 public:
  // Order, gaps and direction of the axes come from `random`. Whatever isn't set is NaN; of int8 it is 127.
  Placed(heed_type type, std::int64_t batches, std::int64_t heads, std::int64_t tokens, std::int64_t columns,
         Random& random);

  // Column `first` and those behind it. An axis with one element has stride 0: it serves any number of them.
  heed_tensor view(std::int64_t first = 0) const;
  heed_tensor_out out();

  void set_code(std::int64_t b, std::int64_t h, std::int64_t t, std::int64_t column, Code code);
  void set(std::int64_t b, std::int64_t h, std::int64_t t, std::int64_t column, float x);
  Code code(std::int64_t b, std::int64_t h, std::int64_t t, std::int64_t column) const;

  // Of an output: the element, which is then as before the call, so that anything else that was written shows.
  Code take(std::int64_t b, std::int64_t h, std::int64_t t, std::int64_t column);
  bool untouched() const;

  const std::vector<unsigned char>& bytes() const { return bytes_; }

 private:
  std::size_t offset(std::int64_t b, std::int64_t h, std::int64_t t, std::int64_t column) const;

  heed_type type_;
  std::size_t element_;  // bytes
  std::int64_t counts_[3], strides_[3];
  std::int64_t first_ = 0;  // element (0, 0, 0, 0)
  std::vector<unsigned char> bytes_;
};

}  // namespace heed::test

// A matrix for a kernel, and edits that break it.
#pragma once

#include <string>
#include <vector>

#include "fuzz/block.hpp"
#include "support/storage.hpp"

namespace heed::fuzz {

// A matrix in a block that ends with its last element. Columns of gaps are not the call's.
struct Matrix {
  Matrix(Int r, Int c, heed_type t, Input& in)
      : rows(r), cols(c), stride(c + in.byte() % 3), type(t), backwards(in.once_in(8)), block(bytes()) {}

  std::size_t bytes() const {
    return rows > 0 && cols > 0 ? static_cast<std::size_t>((rows - 1) * stride + cols) * test::bytes_of(type) : 0;
  }
  void* data() const {
    const Int first = backwards && rows > 0 ? (rows - 1) * stride : 0;
    return block.data() + (rows > 0 && cols > 0 ? static_cast<std::size_t>(first) * test::bytes_of(type) : 0);
  }
  Int signed_stride() const { return backwards ? -stride : stride; }
  heed_matrix in() const { return {data(), rows, cols, signed_stride(), type}; }
  heed_matrix_out out() const { return {data(), rows, cols, signed_stride(), type}; }
  std::string all() const { return {reinterpret_cast<const char*>(block.data()), block.size()}; }
  float at(Int r, Int c) const {
    const auto* from =
        static_cast<const unsigned char*>(data()) + (r * signed_stride() + c) * Int(test::bytes_of(type));
    return test::decoded(type, test::code_at(type, from));
  }
  std::vector<float> packed() const {
    std::vector<float> x;
    for (Int r = 0; r < rows; ++r) {
      for (Int c = 0; c < cols; ++c) x.push_back(at(r, c));
    }
    return x;
  }

  Int rows, cols, stride;
  heed_type type;
  bool backwards;
  Block block;
};

// Breaks a matrix so that it must be refused; false: it is as it was.
template <class M>
bool edit(M& m, Input& in) {
  if (!in.once_in(16)) return false;
  const Int huge = (Int{1} << 60) + 1 + in.byte();
  switch (in.byte() % 6) {
    case 0:
      m.rows = in.flag() ? -1 - in.byte() : huge;
      return true;
    case 1:
      m.cols = in.flag() ? -1 - in.byte() : huge;
      return true;
    case 2:
      m.type = in.flag() ? -1 - in.byte() : 6 + in.byte();
      return true;
    case 3:
      if (m.rows < 2) return false;
      m.stride = in.flag() ? huge : INT64_MIN;
      return true;
    case 4:
      if (m.rows == 0 || m.cols == 0) return false;
      m.data = nullptr;
      return true;
    default:
      if (m.rows == 0 || m.cols == 0 || test::bytes_of(m.type) == 1) return false;
      m.data = static_cast<char*>(const_cast<void*>(static_cast<const void*>(m.data))) + 1;
      return true;
  }
}

}  // namespace heed::fuzz

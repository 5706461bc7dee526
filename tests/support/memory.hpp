// Buffers in places that show every access outside them.
#pragma once

#include <cstddef>
#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

#include "support/floats.hpp"
#include "support/storage.hpp"

namespace heed::test::kernel {

enum class Placement {
  kRoomy,           // aligned to 64 bytes, canaries on both sides
  kOddAddress,      // aligned to one element and no more, canaries on both sides
  kEndsAtHole,      // the byte behind the last element is not mapped
  kBeginsAfterHole  // the byte before the first element is not mapped
};
inline constexpr Placement kPlacements[] = {Placement::kRoomy, Placement::kOddAddress, Placement::kEndsAtHole,
                                            Placement::kBeginsAfterHole};
const char* name_of(Placement placement);

// The buffers of one call. Whatever isn't an element is poison: a NaN that nothing else here holds.
class Arena {
 public:
  explicit Arena(Placement placement) : placement_(placement) {}
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  // Row-major rows x cols with `stride` elements from row to row. The callee may read it, not write it.
  template <class T>
  const T* input(const std::vector<T>& values, std::int64_t rows, std::int64_t cols, std::int64_t stride) {
    return reinterpret_cast<const T*>(place(values.data(), sizeof(T), rows, cols, stride, false));
  }
  template <class T>
  const T* input(const std::vector<T>& values) {
    const auto n = static_cast<std::int64_t>(values.size());
    return input(values, 1, n, n);
  }

  const void* input(const Stored& values, std::int64_t rows, std::int64_t cols, std::int64_t stride) {
    return place(values.bytes.data(), bytes_of(values.type), rows, cols, stride, false);
  }
  const void* input(const Stored& values) {
    const auto n = static_cast<std::int64_t>(values.values.size());
    return input(values, 1, n, n);
  }

  // The callee may write its elements, and what it finds there is `values`, or poison.
  template <class T>
  T* inout(const std::vector<T>& values, std::int64_t rows, std::int64_t cols, std::int64_t stride) {
    return reinterpret_cast<T*>(place(values.data(), sizeof(T), rows, cols, stride, true));
  }
  template <class T>
  T* inout(const std::vector<T>& values) {
    const auto n = static_cast<std::int64_t>(values.size());
    return inout(values, 1, n, n);
  }
  float* output(std::int64_t rows, std::int64_t cols, std::int64_t stride) {
    return reinterpret_cast<float*>(place(nullptr, sizeof(float), rows, cols, stride, true));
  }
  float* output(std::int64_t n) { return output(1, n, n); }
  void* output(heed_type type, std::int64_t rows, std::int64_t cols, std::int64_t stride) {
    return place(nullptr, bytes_of(type), rows, cols, stride, true);
  }

  // Bytes of which some are elements, as `is_element` says; the others become poison.
  unsigned char* scattered(const std::vector<unsigned char>& bytes, const std::vector<bool>& is_element,
                           std::size_t element_bytes, bool writable);

  // The elements of all writable buffers, in the order in which they were asked for. Of a type other than f32: its
  // bytes as one number, or in twos if there are more.
  Numbers results() const;

  // Which byte that is nobody's to write was written; empty if none.
  std::string violation() const;

 private:
  struct Buffer {
    unsigned char* data;
    std::size_t element, rows, cols, stride;
    bool writable;
    unsigned char* seen;               // the stretch around the buffer that is watched ...
    std::vector<unsigned char> image;  // ... and what it held before the call
    std::vector<bool> is_element;      // of scattered bytes
  };
  unsigned char* place(const void* values, std::size_t element, std::int64_t rows, std::int64_t cols,
                       std::int64_t stride, bool writable);

  Placement placement_;
  std::vector<Buffer> buffers_;
};

}  // namespace heed::test::kernel

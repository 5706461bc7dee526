// 20 GiB of addresses, of which only the pages that are touched ever exist.
#pragma once

#include <sys/mman.h>

#include <cstddef>

namespace heed::test {

class SparseRegion {
 public:
  static constexpr std::size_t kBytes = std::size_t{20} << 30;
  SparseRegion()
      : memory_(mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) {}
  SparseRegion(const SparseRegion&) = delete;
  SparseRegion& operator=(const SparseRegion&) = delete;
  ~SparseRegion() {
    if (memory_ != MAP_FAILED) munmap(memory_, kBytes);
  }
  bool mapped() const { return memory_ != MAP_FAILED; }
  float* floats() const { return static_cast<float*>(memory_); }

 private:
  void* memory_;
};

}  // namespace heed::test

// Scratch memory of one call: on the stack while it is small, from the caller's allocator otherwise.
#pragma once

#include <cstddef>
#include <cstdlib>

#include "heed/heed.h"

namespace heed::api {

class Scratch {
 public:
  // Of the 16 KiB that a call may use: a test measures the rest.
  static constexpr std::size_t kStackBytes = 10 * 1024 - 256;

  Scratch(const heed_allocator& allocator, std::size_t bytes) : allocator_(allocator), bytes_(bytes) {
    if (bytes <= kStackBytes) {
      memory_ = stack_;
    } else if (allocator.allocate != nullptr) {
      memory_ = allocator.allocate(allocator.context, bytes);
    } else {
      memory_ = std::aligned_alloc(64, (bytes + 63) / 64 * 64);
    }
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch() {
    if (memory_ == stack_ || memory_ == nullptr) return;
    if (allocator_.allocate != nullptr) {
      allocator_.release(allocator_.context, memory_, bytes_);
    } else {
      std::free(memory_);
    }
  }

  void* data() { return memory_; }

 private:
  const heed_allocator& allocator_;
  std::size_t bytes_;
  void* memory_;
  alignas(64) unsigned char stack_[kStackBytes];
};

}  // namespace heed::api

// Heap that ends where its contents do.
#pragma once

#include <cstdlib>
#include <memory>

#include "fuzz/input.hpp"
#include "heed/heed.h"

namespace heed::fuzz {

// Exactly so many bytes of heap.
class Block {
 public:
  explicit Block(std::size_t bytes, std::size_t align = 16);
  unsigned char* data() const { return data_.get(); }
  std::size_t size() const { return bytes_; }

 private:
  struct Free {
    void operator()(void* p) const { std::free(p); }
  };
  std::size_t bytes_;
  std::unique_ptr<unsigned char, Free> data_;
};

// Fills memory with numbers of the type.
void fill(unsigned char* at, std::size_t bytes, heed_type type, test::Kind kind, std::uint64_t seed);

// As the storage tests' own, for any type; 4 for what is no type.
std::size_t element_size(heed_type type);

}  // namespace heed::fuzz

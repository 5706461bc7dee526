// What the larger examples share, and what an engine has anyway: numbers, memory, and what to do about an error.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

#include "heed/heed.hpp"

namespace example {

using Size = std::int64_t;
using Floats = std::vector<float>;

// Where a model would compute q, k or v.
inline Floats draw(Size count) {
  static std::mt19937 random(1);
  static std::normal_distribution<float> normal;
  Floats x(static_cast<std::size_t>(count));
  for (float& value : x) value = normal(random);
  return x;
}

inline void check(const heed::Status& status) {
  if (status) return;
  std::fprintf(stderr, "%s\n", status.message());
  std::exit(1);
}

// Memory for caches and workspaces, aligned to 64 bytes.
class Memory {
 public:
  explicit Memory(std::size_t bytes) : lines_((bytes + sizeof(Line) - 1) / sizeof(Line)) {}
  void* data() { return lines_.data(); }
  std::size_t bytes() const { return lines_.size() * sizeof(Line); }

 private:
  struct alignas(64) Line {
    char bytes[64];
  };
  std::vector<Line> lines_;
};

}  // namespace example

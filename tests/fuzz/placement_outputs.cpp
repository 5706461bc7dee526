// The outputs of a placement: which of their bytes a call may write, and which it wrote.
#include <algorithm>

#include "fuzz/placement.hpp"

namespace heed::fuzz {

// Which bytes of the last output are elements. first: element 0 in its block.
void Placement::mark_elements(Output& output, Int first, Int B, Int sb, Int H, Int sh, Int T, Int st, Int columns,
                              Int bytes) {
  bool few = columns <= kMostElements;
  Int count = 1;
  for (const Int n : {B, H, T}) {
    few = few && n >= 0 && n <= kMostElements / std::max<Int>(count, 1);
    count *= few ? n : 1;
  }
  output.element.assign(output.before.size(), few ? 0 : 1);
  if (!few) return;
  for (Int b = 0; b < B; ++b) {
    for (Int h = 0; h < H; ++h) {
      for (Int t = 0; t < T; ++t) {
        for (Int n = 0; n < std::max<Int>(columns, 0) * bytes; ++n) {
          unsigned char& mark =
              output.element[static_cast<std::size_t>((first + b * sb + h * sh + t * st) * bytes + n)];
          disjoint_ = disjoint_ && mark == 0;
          mark = 1;
        }
      }
    }
  }
}

bool Placement::untouched() const {
  for (const Output& output : outputs_) {
    if (output.before.empty()) continue;
    if (std::memcmp(blocks_[output.block]->data(), output.before.data(), output.before.size()) != 0) return false;
  }
  return true;
}

bool Placement::only_elements_written() const {
  for (const Output& output : outputs_) {
    const unsigned char* data = blocks_[output.block]->data();
    for (std::size_t n = 0; n < output.before.size(); ++n) {
      if (output.element[n] == 0 && data[n] != output.before[n]) return false;
    }
  }
  return true;
}

void Placement::reset() {
  for (const Output& output : outputs_) {
    if (output.before.empty()) continue;
    std::memcpy(blocks_[output.block]->data(), output.before.data(), output.before.size());
  }
}

std::string Placement::outputs() const {
  std::string all;
  for (const Output& output : outputs_) {
    const std::size_t start = all.size();
    all.append(reinterpret_cast<const char*>(blocks_[output.block]->data()), output.before.size());
    for (std::size_t n = start; output.view && n + 4 <= all.size(); n += 4) {
      float x;
      std::memcpy(&x, all.data() + n, sizeof x);
      const std::uint32_t canonical = 0x7FC00000u;
      if (test::is_nan(x)) std::memcpy(all.data() + n, &canonical, sizeof x);
    }
  }
  return all;
}

}  // namespace heed::fuzz

#include "support/memory.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace heed::test::kernel {
namespace {

constexpr std::size_t kRegionBytes = std::size_t{1} << 22;
constexpr std::size_t kCanaryBytes = 256;
constexpr std::uint32_t kPoison = 0x7FA57FA5u;  // a signalling NaN, and as f16 and bf16 NaNs too

// Region i of the process: mapped memory between two holes. Mapped once, used again by every arena.
unsigned char* region(std::size_t i) {
  static std::vector<unsigned char*> regions;
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  while (regions.size() <= i) {
    void* all = mmap(nullptr, kRegionBytes + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (all == MAP_FAILED) std::abort();
    unsigned char* middle = static_cast<unsigned char*>(all) + page;
    if (mprotect(middle, kRegionBytes, PROT_READ | PROT_WRITE) != 0) std::abort();
    regions.push_back(middle);
  }
  return regions[i];
}

// Fills [begin, end), whose first word starts at begin.
void poison(unsigned char* begin, unsigned char* end) {
  for (; begin < end; begin += sizeof kPoison) {
    std::memcpy(begin, &kPoison, std::min(sizeof kPoison, static_cast<std::size_t>(end - begin)));
  }
}

}  // namespace

const char* name_of(Placement placement) {
  switch (placement) {
    case Placement::kRoomy:
      return "aligned, with room on both sides";
    case Placement::kOddAddress:
      return "aligned to one element";
    case Placement::kEndsAtHole:
      return "ends at an unmapped page";
    case Placement::kBeginsAfterHole:
      return "begins after an unmapped page";
  }
  return "";
}

unsigned char* Arena::place(const void* values, std::size_t element, std::int64_t rows, std::int64_t cols,
                            std::int64_t stride, bool writable) {
  Buffer b{nullptr,
           element,
           static_cast<std::size_t>(rows),
           static_cast<std::size_t>(cols),
           static_cast<std::size_t>(stride),
           writable,
           nullptr,
           {},
           {}};
  const std::size_t bytes = rows == 0 || cols == 0 ? 0 : ((b.rows - 1) * b.stride + b.cols) * element;
  if (bytes + 3 * kCanaryBytes > kRegionBytes) std::abort();  // a test that asks for too much
  unsigned char* const first = region(buffers_.size());
  unsigned char* const last = first + kRegionBytes;
  switch (placement_) {
    case Placement::kRoomy:
      b.data = first + kCanaryBytes;
      break;
    case Placement::kOddAddress:
      b.data = first + kCanaryBytes + element;
      break;
    case Placement::kEndsAtHole:
      b.data = last - bytes;
      break;
    case Placement::kBeginsAfterHole:
      b.data = first;
      break;
  }
  b.seen = std::max(first, b.data - kCanaryBytes);
  unsigned char* const seen_end = std::min(last, b.data + bytes + kCanaryBytes);
  poison(b.seen, seen_end);
  if (values != nullptr) {
    for (std::size_t r = 0; r < b.rows && b.cols > 0; ++r) {
      std::memcpy(b.data + r * b.stride * element, static_cast<const unsigned char*>(values) + r * b.cols * element,
                  b.cols * element);
    }
  }
  b.image.assign(b.seen, seen_end);
  buffers_.push_back(b);
  return b.data;
}

unsigned char* Arena::scattered(const std::vector<unsigned char>& bytes, const std::vector<bool>& is_element,
                                std::size_t element_bytes, bool writable) {
  const auto elements = static_cast<std::int64_t>(bytes.size() / element_bytes);
  unsigned char* data = place(nullptr, element_bytes, 1, elements, elements, writable);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (is_element[i]) data[i] = bytes[i];
  }
  Buffer& b = buffers_.back();
  b.image.assign(b.seen, b.seen + b.image.size());
  b.is_element = is_element;
  return data;
}

Numbers Arena::results() const {
  Numbers all;
  for (const Buffer& b : buffers_) {
    if (!b.writable) continue;
    for (std::size_t r = 0; r < b.rows; ++r) {
      const unsigned char* row = b.data + r * b.stride * b.element;
      if (b.element == sizeof(float)) {
        const float* numbers = reinterpret_cast<const float*>(row);
        all.insert(all.end(), numbers, numbers + b.cols);
        continue;
      }
      const std::size_t piece = std::min<std::size_t>(b.element, 2);
      for (std::size_t byte = 0; byte < b.cols * b.element; byte += piece) {
        all.push_back(static_cast<float>(row[byte] + (piece == 2 ? 256 * row[byte + 1] : 0)));
      }
    }
  }
  return all;
}

std::string Arena::violation() const {
  for (std::size_t i = 0; i < buffers_.size(); ++i) {
    const Buffer& b = buffers_[i];
    if (std::memcmp(b.seen, b.image.data(), b.image.size()) == 0) continue;
    for (std::size_t byte = 0; byte < b.image.size(); ++byte) {
      if (b.seen[byte] == b.image[byte]) continue;
      const std::ptrdiff_t at = b.seen + byte - b.data;
      const std::size_t row_bytes = b.stride * b.element, place = static_cast<std::size_t>(at);
      const bool inside = at >= 0 && b.rows > 0 && b.cols > 0 &&
                          (b.is_element.empty() || (place < b.is_element.size() && b.is_element[place])) &&
                          (b.rows == 1 ? place < b.cols * b.element
                                       : place / row_bytes < b.rows && place % row_bytes < b.cols * b.element);
      if (b.writable && inside) continue;
      char text[120];
      std::snprintf(text, sizeof text, "buffer %zu (%zu x %zu, stride %zu): byte %td was written", i, b.rows, b.cols,
                    b.stride, at);
      return text;
    }
  }
  return {};
}

}  // namespace heed::test::kernel

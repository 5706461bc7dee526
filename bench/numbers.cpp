#include "numbers.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace heed::bench {
namespace {

// Converted once and then repeated: nobody looks at more than a few thousand of them at a time.
constexpr std::int64_t kConverted = std::int64_t{1} << 20;

}  // namespace

std::int64_t bytes_of(heed_type type) { return type == HEED_F32 ? 4 : type == HEED_F16 || type == HEED_BF16 ? 2 : 1; }

const char* name_of(heed_type type) {
  constexpr const char* kNames[] = {"f32", "f16", "bf16", "int8", "e4m3", "e5m2"};
  return kNames[type];
}

const Pages& Numbers::of(heed_type type) {
  if (type == HEED_F32) return floats_;
  Pages& pages = others_[type];
  if (pages.size_bytes() > 0) return pages;
  pages = Pages(size_bytes(), PageSize::kHuge);
  auto* data = reinterpret_cast<char*>(pages.floats());
  if (type == HEED_INT8) {
    for (std::int64_t i = 0; i < kConverted; ++i) {
      const float code = std::nearbyint(floats_.floats()[i] / kCodeScale);
      data[i] = static_cast<char>(std::clamp(code, -127.0f, 127.0f));
    }
  } else {
    const heed_matrix from{floats_.floats(), 1, kConverted, 0, HEED_F32};
    const heed_matrix_out to{data, 1, kConverted, 0, type};
    heed_convert(&from, &to, nullptr);
  }
  const auto filled = static_cast<std::size_t>(kConverted * bytes_of(type));
  for (std::size_t at = filled; at < size_bytes(); at += filled) {
    std::memcpy(data + at, data, std::min(filled, size_bytes() - at));
  }
  return pages;
}

}  // namespace heed::bench

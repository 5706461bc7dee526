// Smaller and larger of two counts, for the layers above the kernels.
#pragma once

#include <cstdint>

namespace heed {

constexpr std::int64_t least(std::int64_t a, std::int64_t b) { return a < b ? a : b; }
constexpr std::int64_t most(std::int64_t a, std::int64_t b) { return a > b ? a : b; }

}  // namespace heed

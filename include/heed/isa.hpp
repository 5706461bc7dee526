// Versions, and which row of kernels (instruction set) runs. See heed.h for what each call promises.
#pragma once

#include <cstdint>

#include "heed/status.hpp"

namespace heed {

inline const char* version() noexcept { return heed_version(); }
inline std::int32_t arithmetic() noexcept { return heed_arithmetic(); }
inline const char* isa() noexcept { return heed_isa(); }

inline Status force_isa(const char* name) noexcept {
  Status status;
  heed_force_isa(name, &status.raw());
  return status;
}

using IsaInfo = heed_isa_info;
inline std::int32_t isa_count() noexcept { return heed_isa_count(); }
inline IsaInfo isa_row(std::int32_t index) noexcept {
  IsaInfo info{};
  heed_isa_row(index, &info);
  return info;
}

}  // namespace heed

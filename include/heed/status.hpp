// What a call says of itself. The library never throws, prints or aborts.
#pragma once

#include "heed/heed.h"

namespace heed {

class [[nodiscard]] Status {
 public:
  Status() noexcept {  // leaves the unused text alone: most calls succeed, and small ones count their nanoseconds
    status_.code = HEED_OK;
    status_.message[0] = '\0';
  }
  explicit Status(const heed_status& status) noexcept : status_(status) {}

  bool ok() const noexcept { return status_.code == HEED_OK; }
  explicit operator bool() const noexcept { return ok(); }
  heed_code code() const noexcept { return status_.code; }
  const char* message() const noexcept { return status_.message; }
  heed_status& raw() noexcept { return status_; }

 private:
  heed_status status_;
};

}  // namespace heed

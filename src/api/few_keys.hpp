// Which calls the kernel for few keys serves.
#pragma once

#include "api/validate.hpp"
#include "driver/few_keys.hpp"

namespace heed::api {

inline bool is_plain_of_few_keys(const heed_attention_args* args) {
  return args != nullptr && args->struct_size == sizeof *args && has_few_keys(*args) && is_plain(*args);
}

}  // namespace heed::api

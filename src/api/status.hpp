// How a call says what is wrong.
#pragma once

#include "dispatch/table.hpp"
#include "heed/heed.h"

#define HEED_RETURN_IF_FAILED(check) \
  if (const heed_code failed = (check); failed != HEED_OK) return failed

namespace heed::api {

// Fills status (unless null) with a one-line message "argument: why" and returns code.
__attribute__((format(printf, 3, 4))) heed_code fail(heed_status* status, heed_code code, const char* format, ...);

// Says that nothing is wrong.
inline heed_code succeed(heed_status* status) {
  if (status != nullptr) {
    status->code = HEED_OK;
    status->message[0] = '\0';
  }
  return HEED_OK;
}

// Says that the executor has left out tasks.
inline heed_code cancelled(heed_status* status) {
  return fail(status, HEED_CANCELLED,
              "executor: returned before its tasks had done all the work; the outputs are incomplete");
}

// The row that a call with a status works with; null after it has failed because HEED_ISA or force_isa cannot be
// served.
const dispatch::Table* table_or_fail(heed_status* status, heed_code* code);
heed_code check_isa(heed_status* status);  // for a call that needs no row of its own

}  // namespace heed::api

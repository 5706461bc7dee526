#include <cstdarg>
#include <cstdio>
#include <cstring>

#include "api/status.hpp"
#include "arithmetic.hpp"
#include "dispatch/table.hpp"

namespace heed::api {

heed_code fail(heed_status* status, heed_code code, const char* format, ...) {
  if (status == nullptr) return code;
  status->code = code;
  va_list values;
  va_start(values, format);
  std::vsnprintf(status->message, sizeof status->message, format, values);
  va_end(values);
  return code;
}

const dispatch::Table* table_or_fail(heed_status* status, heed_code* code) {
  const dispatch::Choice choice = dispatch::choice();
  if (choice.failure == nullptr) return choice.table;
  char rows[64] = "";
  for (int i = 0; i < dispatch::row_count(); ++i) {
    const dispatch::Table& row = dispatch::row(i);
    const std::size_t used = std::strlen(rows);
    if (!row.automatic || !dispatch::supported(row)) continue;
    std::snprintf(rows + used, sizeof rows - used, "%s%s", used == 0 ? "" : ", ", row.name);
  }
  *code = fail(status, HEED_ISA_UNAVAILABLE, "isa: '%s' is none of this processor's: %s", choice.failure, rows);
  // The name is from elsewhere; a message is one line.
  for (char* c = status == nullptr ? rows : status->message; *c != '\0'; ++c) {
    if (static_cast<unsigned char>(*c) < ' ' || *c == 0x7F) *c = '?';
  }
  return nullptr;
}

heed_code check_isa(heed_status* status) {
  heed_code code = HEED_OK;
  (void)table_or_fail(status, &code);
  return code;
}

}  // namespace heed::api

using namespace heed;

#define HEED_TEXT_OF(x) #x
#define HEED_TEXT(x) HEED_TEXT_OF(x)

const char* heed_version(void) noexcept {
  return HEED_TEXT(HEED_VERSION_MAJOR) "." HEED_TEXT(HEED_VERSION_MINOR) "." HEED_TEXT(HEED_VERSION_PATCH);
}

int32_t heed_arithmetic(void) noexcept { return kArithmetic; }

const char* heed_isa(void) noexcept { return dispatch::table().name; }

heed_code heed_force_isa(const char* name, heed_status* status) noexcept {
  dispatch::force(name);
  heed_code code = HEED_OK;
  if (api::table_or_fail(status, &code) == nullptr) return code;
  return api::succeed(status);
}

int32_t heed_isa_count(void) noexcept { return dispatch::row_count(); }

int32_t heed_isa_row(int32_t index, heed_isa_info* info) noexcept {
  if (index < 0 || index >= dispatch::row_count() || info == nullptr) return 0;
  const dispatch::Table& row = dispatch::row(index);
  *info = {row.name, row.fma ? 1 : 0, dispatch::supported(row) ? 1 : 0, row.automatic ? 1 : 0};
  return 1;
}

#include "fuzz/finding.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace heed::fuzz {
namespace {

constexpr const char* kFields[] = {
#define HEED_FIELD(kind, name) #name,
#include "fuzz/fields.inc"
#undef HEED_FIELD
    "args", "executor", "allocator", "start", "end", "table_row_count"};

bool is_name_end(char c) { return c == ':' || c == '.' || c == '['; }

// Whether a message begins with this name; a nested field's name stands for the struct that it is in, too.
bool begins_with(const char* message, const char* name) {
  std::size_t n = 0;
  while (message[n] != '\0' && !is_name_end(message[n])) ++n;
  std::size_t length = 0;
  while (name[length] != '\0' && !is_name_end(name[length])) ++length;
  return n > 0 && n == length && std::strncmp(message, name, n) == 0 && std::strchr(message, ':') != nullptr;
}

}  // namespace

void finding(const std::string& what) {
  std::fprintf(stderr, "finding: %s\n", what.c_str());
  std::fflush(stderr);
  std::abort();
}

bool expect_status(heed_code code, const heed_status& status, std::initializer_list<const char*> names) {
  expect(status.code == code, "the status holds another code than was returned");
  const std::size_t length = strnlen(status.message, sizeof status.message);
  expect(length < sizeof status.message, "the message has no end");
  if (code == HEED_OK) {
    expect(length == 0, "a call that succeeded has a message");
    return true;
  }
  bool named = false;
  for (const char* name : names) named = named || begins_with(status.message, name);
  for (const char* name : kFields) named = named || (names.size() == 0 && begins_with(status.message, name));
  if (!named || std::strchr(status.message, '\n') != nullptr) {
    finding(std::string("a refusal that does not name an argument: ") + status.message);
  }
  return false;
}

}  // namespace heed::fuzz

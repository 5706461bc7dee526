#include "dispatch/table.hpp"

#include <atomic>
#include <cstdlib>
#include <cstring>

#include "dispatch/features.hpp"

#define HEED_FOR_EACH_ROW "kernels/declare_row.inc"
#include "heed_isa_rows.hpp"
#undef HEED_FOR_EACH_ROW

namespace heed::dispatch {
namespace {

const Table kRows[] = {
#define HEED_FOR_EACH_ROW "dispatch/table_row.inc"
#include "heed_isa_rows.hpp"
#undef HEED_FOR_EACH_ROW
};
constexpr int kCount = sizeof kRows / sizeof kRows[0];

int best() {
  for (int i = 0; i < kCount; ++i) {
    if (kRows[i].automatic && supported(kRows[i])) return i;
  }
  return kCount - 1;  // not reached: the row `scalar` needs nothing
}

// The resolved choice in one word, so that readers need no lock: the row's index, and whether a name was refused.
constexpr int kUnresolved = -1, kRefused = 1 << 16;
std::atomic<int> chosen{kUnresolved};
char refused_name[48];  // written before `chosen` says so

int resolve(const char* name) {
  if (name == nullptr || *name == '\0') return best();
  for (int i = 0; i < kCount; ++i) {
    if (std::strcmp(kRows[i].name, name) == 0 && supported(kRows[i])) return i;
  }
  std::strncpy(refused_name, name, sizeof refused_name - 1);
  return best() | kRefused;
}

}  // namespace

int row_count() { return kCount; }
const Table& row(int index) { return kRows[index]; }

bool supported(const Table& row) {
  static const std::uint32_t found = features();
  return (row.needs & ~found) == 0;
}

Choice choice() {
  int word = chosen.load(std::memory_order_acquire);
  if (word == kUnresolved) {  // two threads may both come here: they find the same answer
    word = resolve(std::getenv("HEED_ISA"));
    chosen.store(word, std::memory_order_release);
  }
  return {&kRows[word & ~kRefused], (word & kRefused) != 0 ? refused_name : nullptr};
}

void force(const char* name) { chosen.store(resolve(name), std::memory_order_release); }

}  // namespace heed::dispatch

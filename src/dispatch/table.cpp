#include "dispatch/table.hpp"

#include <cstdlib>
#include <cstring>

#include "dispatch/features.hpp"

#define HEED_FOR_EACH_ROW "kernels/declare_row.inc"
#include "heed_isa_rows.hpp"
#undef HEED_FOR_EACH_ROW

namespace heed::dispatch {

std::atomic<std::uintptr_t> chosen{kUnresolved};

namespace {

const Table kRows[] = {
#define HEED_FOR_EACH_ROW "dispatch/table_row.inc"
#include "heed_isa_rows.hpp"
#undef HEED_FOR_EACH_ROW
};
constexpr int kCount = sizeof kRows / sizeof kRows[0];

const Table& best() {
  int i = 0;
  while (!kRows[i].automatic || !supported(kRows[i])) ++i;  // ends: the row `scalar` needs nothing
  return kRows[i];
}

std::atomic<int> name_taken{0};  // by the first of several threads: refused_name is its to write
char refused_name[48];           // written before `chosen` says so

std::uintptr_t word_of(const Table& row) { return reinterpret_cast<std::uintptr_t>(&row); }

std::uintptr_t resolve(const char* name) {
  if (name == nullptr || *name == '\0') return word_of(best());
  for (const Table& row : kRows) {
    if (std::strcmp(row.name, name) == 0 && supported(row)) return word_of(row);
  }
  return word_of(best()) | kRefused;
}

void publish(std::uintptr_t word, const char* name) {
  if ((word & kRefused) != 0) std::strncpy(refused_name, name, sizeof refused_name - 1);
  chosen.store(word, std::memory_order_release);
}

}  // namespace

int row_count() { return kCount; }
const Table& row(int index) { return kRows[index]; }

bool supported(const Table& row) {
  constexpr std::uint32_t kUnknown = 1u << 31;
  static std::atomic<std::uint32_t> found{kUnknown};
  std::uint32_t known = found.load(std::memory_order_relaxed);
  if (known == kUnknown) {  // every thread that comes here finds the same
    known = features();
    found.store(known, std::memory_order_relaxed);
  }
  return (row.needs & ~known) == 0;
}

Choice choice() {
  std::uintptr_t word = chosen.load(std::memory_order_acquire);
  if (word == kUnresolved) {  // several threads may come here: they find the same answer
    const char* name = std::getenv("HEED_ISA");
    word = resolve(name);
    if ((word & kRefused) != 0 && name_taken.exchange(1) != 0) return {row_of(word), name};
    publish(word, name);
  }
  return {row_of(word), (word & kRefused) != 0 ? refused_name : nullptr};
}

void force(const char* name) { publish(resolve(name), name); }

}  // namespace heed::dispatch

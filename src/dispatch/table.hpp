// The table of function pointers that a call works with, and who chooses it.
#pragma once

#include <atomic>
#include <cstdint>

#include "heed/heed.h"
#include "kernels/kernels.hpp"

namespace heed::dispatch {

inline constexpr int kTypes = 6;  // storage types, as in heed_type

// Row of the ISA table: what it is, and its kernels by operation and storage type (null: the row has none).
struct Table {
  const char* name;
  bool fma;
  bool automatic;
  std::uint32_t needs;
#define HEED_OP(name) op::name* name[kTypes];
#include "kernels/kernels.inc"
};

inline constexpr int f32 = HEED_F32, f16 = HEED_F16, bf16 = HEED_BF16, int8 = HEED_INT8, e4m3 = HEED_FP8_E4M3,
                     e5m2 = HEED_FP8_E5M2;

// Rows of this build, best first.
int row_count();
const Table& row(int index);
bool supported(const Table& row);

// The row in use. While HEED_ISA or force_isa names one that cannot run, `failure` explains and `table` is the best
// row.
struct Choice {
  const Table* table;
  const char* failure;  // null: none; else the name that was asked for
};
Choice choice();
void force(const char* name);  // null: the automatic choice

// The resolved choice in one word: the row's address, and in the lowest bit whether a name was refused. There is no
// lock here, nor a static that is initialised under one: a process may fork while one of its threads makes the first
// call.
inline constexpr std::uintptr_t kUnresolved = 0, kRefused = 1;
static_assert(alignof(Table) > kRefused);
extern std::atomic<std::uintptr_t> chosen;

inline const Table* row_of(std::uintptr_t word) { return reinterpret_cast<const Table*>(word & ~kRefused); }

// The row in use, at once: for calls that take nanoseconds and have no Status.
inline const Table& table() {
  const std::uintptr_t word = chosen.load(std::memory_order_acquire);
  return word == kUnresolved ? *choice().table : *row_of(word);
}

}  // namespace heed::dispatch

// The instruction streams that the roofs are made of. They are compiled once per row with that row's flags, so that a
// row is held against what its own instructions can do; roofs.cpp does the timing.
#pragma once

#include <cstddef>
#include <cstdint>

namespace heed::bench {

// One way to read memory: how many streams run side by side, and how far ahead each asks for its lines.
struct Reader {
  int streams;
  int prefetch_bytes;  // 0: left to the hardware
  void (*read)(const void* data, std::size_t bytes);
};

struct Probes {
  int vector_bytes;
  bool fma;

  // Independent chains of multiply-adds (without FMA: of multiplications and additions), all in registers.
  void (*chains)(std::int64_t steps);
  std::int64_t operations_per_step;

  // A register tile of 6 rows and 2 vectors over packed operands in L1, which is what a kernel at its best would do:
  // a[6][depth], b[depth][tile_columns], c[6][tile_columns].
  void (*tile)(const float* a, const float* b, float* c, std::int64_t depth);
  int tile_columns;

  const Reader* readers;
  int reader_count;
};

inline constexpr int kTileRows = 6;

}  // namespace heed::bench

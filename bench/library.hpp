// The library that a measurement calls: the one that this program is linked with, or another build of it in a file.
#pragma once

#include <string>

#include "heed/heed.h"

namespace heed::bench {

// Every call of heed that is timed or that chooses what is.
#define HEED_BENCH_CALLS(HEED_BENCH_CALL) \
  HEED_BENCH_CALL(force_isa)              \
  HEED_BENCH_CALL(isa)                    \
  HEED_BENCH_CALL(version)                \
  HEED_BENCH_CALL(dot)                    \
  HEED_BENCH_CALL(scores)                 \
  HEED_BENCH_CALL(softmax)                \
  HEED_BENCH_CALL(weighted_sum)           \
  HEED_BENCH_CALL(attend)                 \
  HEED_BENCH_CALL(attention)

struct Library {
#define HEED_BENCH_CALL(name) decltype(&heed_##name) name;
  HEED_BENCH_CALLS(HEED_BENCH_CALL)
#undef HEED_BENCH_CALL
};

// The library of this program.
const Library& linked_library();

// A shared library from a file. The C interface says the size of each struct that it is handed, so a library of another
// version understands the structs of this program's header. Throws std::runtime_error.
Library load_library(const std::string& path);

}  // namespace heed::bench

// bench/roofs.cpp with C functions, as a shared object: scripts/bench --peers loads it into the process that measures.
#include "../roofs.hpp"

#include <memory>
#include <string_view>

#ifdef __linux__
#include <sched.h>
#endif

namespace heed::bench {

#define HEED_BENCH_ROW(name, limited) extern const Probes probes_##name;
#include "heed_bench_rows.hpp"
#undef HEED_BENCH_ROW

namespace {

const Probes* find_probes(std::string_view row) {
#define HEED_BENCH_ROW(name, limited) \
  if (row == #name) return &probes_##name;
#include "heed_bench_rows.hpp"
#undef HEED_BENCH_ROW
  return nullptr;
}

// Runs on the probes' own team of threads. Peers have threads of their own, so the caller is not kept on one processor.
struct Measured {
  Machine machine = probe_machine();
  Streamed streamed;
  std::unique_ptr<Team> team;
  std::unique_ptr<Roofs> roofs;

  Measured(const Probes& probes, int threads) {
#ifdef __linux__
    cpu_set_t before;
    sched_getaffinity(0, sizeof before, &before);
#endif
    team = std::make_unique<Team>(threads, machine.cpus);
    constexpr std::size_t kMost = std::size_t{640} << 20;
    const std::size_t bytes = std::min({2 * machine.llc_bytes, kMost, machine.available_bytes / 4}) >> 21 << 21;
    streamed = {Pages(bytes, PageSize::kHuge), Pages(bytes, PageSize::k4KiB)};
    streamed.huge.touch();
    streamed.small.touch();
    roofs = std::make_unique<Roofs>(probes, machine, streamed, *team);
#ifdef __linux__
    sched_setaffinity(0, sizeof before, &before);
#endif
  }
};

Roofs& roofs_of(void* measured) { return *static_cast<Measured*>(measured)->roofs; }

}  // namespace
}  // namespace heed::bench

extern "C" {

// Of the row's instructions, with so many threads; null if no row has that name. Lives as long as the process.
void* heed_roofs_make(const char* row, int threads) {
  const heed::bench::Probes* probes = heed::bench::find_probes(row);
  return probes == nullptr ? nullptr : new heed::bench::Measured(*probes, threads);
}

// Operations or bytes a second, of all threads together.
double heed_roofs_peak(void* roofs) { return heed::bench::roofs_of(roofs).fma_peak(); }
double heed_roofs_tile(void* roofs) { return heed::bench::roofs_of(roofs).tile(); }
double heed_roofs_bandwidth(void* roofs, int level) {
  return heed::bench::roofs_of(roofs).bandwidth(static_cast<heed::bench::Level>(level));
}
void heed_roofs_choose(void* roofs, int level) {
  heed::bench::roofs_of(roofs).choose(static_cast<heed::bench::Level>(level));
}
double heed_roofs_clock() { return heed::bench::clock_hz(); }

// Of L1, L2 and the last level.
double heed_roofs_cache_bytes(int which) {
  const heed::bench::Machine machine = heed::bench::probe_machine();
  const std::size_t sizes[] = {machine.l1_bytes, machine.l2_bytes, machine.llc_bytes};
  return static_cast<double>(sizes[which]);
}
}

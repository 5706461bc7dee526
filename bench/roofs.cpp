#include "roofs.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <numeric>

namespace heed::bench {
namespace {

// Repeats of a probe. The best one counts: a roof that was measured during an interruption is no roof.
constexpr int kRepeats = 8;
constexpr int kMemoryRepeats = 3;

template <class Body>
double fastest(int repeats, Body body) {
  double best = 1e30;
  for (int i = 0; i < repeats; ++i) {
    const double start = seconds_now();
    body();
    best = std::min(best, seconds_now() - start);
  }
  return best;
}

constexpr std::size_t kCachedBytes = std::size_t{64} << 20;  // most that a probe of the third level reads
constexpr std::size_t kDramBytes = std::size_t{12} << 20;    // that a probe of DRAM reads at a time
constexpr double kCacheProbeBytes = 4e6;                     // least that a probe of a cache reads in all

}  // namespace

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

const char* name_of(Level level) {
  constexpr const char* kNames[] = {"L1", "L2", "L3", "DRAM"};
  return kNames[static_cast<int>(level)];
}

double clock_hz() {
  constexpr std::int64_t kSteps = 120'000;
  constexpr int kUnrolled = 16;
  std::uint64_t sum = 1, term = 3;
  asm volatile("" : "+r"(term));
  const double seconds = fastest(kRepeats, [&] {
    for (std::int64_t i = 0; i < kSteps / kUnrolled; ++i) {
#pragma GCC unroll 16
      for (int x = 0; x < kUnrolled; ++x) {
        sum += term;
        asm volatile("" : "+r"(sum));
      }
    }
  });
  return kSteps / seconds;
}

Roofs::Roofs(const Probes& probes, const Machine& machine, const Streamed& streamed, Team& team)
    : probes_(probes), streamed_(streamed), team_(team), rates_(static_cast<std::size_t>(team.size())) {
  const std::size_t threads = rates_.size();
  // The middle of each level: half of it is used, and it is at least twice the level below where there is room.
  const std::size_t l3 = std::min({machine.llc_bytes / 2 / threads, kCachedBytes, 8 * machine.l2_bytes});
  footprint_ = {machine.l1_bytes / 2, machine.l2_bytes / 2, std::max(l3, machine.l2_bytes / 2), kDramBytes};
  const std::size_t cached = footprint_[static_cast<int>(Level::kL3)] * threads;
  cached_ = Pages(cached, PageSize::kHuge);
  cached_small_ = Pages(cached, PageSize::k4KiB);
  cached_.touch();
  cached_small_.touch();
  for (int level = 0; level < kLevels; ++level) choose(static_cast<Level>(level));
}

double Roofs::fma_peak() {
  constexpr std::int64_t kSteps = 5'000;
  team_.on_all([&](int member) {
    const double seconds = fastest(kRepeats, [&] { probes_.chains(kSteps); });
    rates_[static_cast<std::size_t>(member)] = static_cast<double>(kSteps * probes_.operations_per_step) / seconds;
  });
  return std::accumulate(rates_.begin(), rates_.end(), 0.0);
}

double Roofs::tile() {
  constexpr std::int64_t kDepth = 192, kCalls = 26;
  constexpr int kMaxColumns = 64;
  team_.on_all([&](int member) {
    alignas(64) thread_local float a[kTileRows * kDepth], b[kMaxColumns * kDepth], c[kTileRows * kMaxColumns];
    const double seconds = fastest(kRepeats, [&] {
      for (std::int64_t i = 0; i < kCalls; ++i) probes_.tile(a, b, c, kDepth);
    });
    const auto operations = static_cast<double>(2 * kTileRows * probes_.tile_columns * kDepth * kCalls);
    rates_[static_cast<std::size_t>(member)] = operations / seconds;
  });
  return std::accumulate(rates_.begin(), rates_.end(), 0.0);
}

double Roofs::read_once(Level level, const Reader& reader, PageSize pages) {
  const std::size_t bytes = footprint_[static_cast<std::size_t>(level)];
  const bool dram = level == Level::kDram;
  const Pages& memory = dram ? (pages == PageSize::kHuge ? streamed_.huge : streamed_.small)
                             : (pages == PageSize::kHuge ? cached_ : cached_small_);
  const std::size_t threads = rates_.size();
  const std::size_t part = memory.size_bytes() / threads / 4096 * 4096;
  const auto passes =
      std::max<std::int64_t>(1, static_cast<std::int64_t>(kCacheProbeBytes / static_cast<double>(bytes)));
  // Each thread walks on through its part, so that what it reads has long left the caches.
  const std::size_t turns = std::max<std::size_t>(1, part / bytes);
  const std::size_t first = dram ? streamed_at_ : 0;
  if (dram) streamed_at_ += kMemoryRepeats;
  team_.on_all([&](int member) {
    const char* mine = memory.bytes() + static_cast<std::size_t>(member) * part;
    if (!dram) reader.read(mine, bytes);  // into its cache
    std::size_t turn = first;
    const double seconds = fastest(kMemoryRepeats, [&] {
      const char* start = mine + (dram ? turn++ % turns * bytes : 0);
      for (std::int64_t pass = 0; pass < (dram ? 1 : passes); ++pass) reader.read(start, std::min(bytes, part));
    });
    rates_[static_cast<std::size_t>(member)] =
        static_cast<double>(std::min(bytes, part)) * static_cast<double>(dram ? 1 : passes) / seconds;
  });
  return std::accumulate(rates_.begin(), rates_.end(), 0.0);
}

void Roofs::choose(Level level) {
  Winner& winner = levels_[static_cast<std::size_t>(level)];
  winner = {};
  for (int i = 0; i < probes_.reader_count; ++i) {
    for (const PageSize pages : {PageSize::kHuge, PageSize::k4KiB}) {
      const double rate = read_once(level, probes_.readers[i], pages);
      if (rate > winner.best) winner = {&probes_.readers[i], pages, rate};
    }
  }
}

double Roofs::bandwidth(Level level) {
  const Winner& winner = levels_[static_cast<std::size_t>(level)];
  return read_once(level, *winner.reader, winner.pages);
}

std::string Roofs::describe(Level level) const {
  const Winner& winner = levels_[static_cast<std::size_t>(level)];
  std::string text = std::to_string(winner.reader->streams) + (winner.reader->streams == 1 ? " stream" : " streams");
  text += winner.reader->prefetch_bytes == 0
              ? ", no prefetch"
              : ", prefetch " + std::to_string(winner.reader->prefetch_bytes) + " bytes ahead";
  return text + (winner.pages == PageSize::kHuge ? ", huge pages" : ", 4 KiB pages");
}

}  // namespace heed::bench

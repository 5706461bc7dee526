// The roofs: what this processor can do at most, measured in the same run as the kernels and by the same threads.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include "machine.hpp"
#include "probes.hpp"
#include "team.hpp"

namespace heed::bench {

enum class Level { kL1, kL2, kL3, kDram };
inline constexpr int kLevels = 4;
const char* name_of(Level level);

double seconds_now();

// Dependent integer additions, one a clock.
double clock_hz();

// Memory larger than the last-level cache, the same for the probes and for the kernels that stream.
struct Streamed {
  Pages huge, small;
};

class Roofs {
 public:
  Roofs(const Probes& probes, const Machine& machine, const Streamed& streamed, Team& team);

  // Each measures now, on all threads at once, and returns their sum: operations or bytes per second.
  double fma_peak();
  double tile();
  double bandwidth(Level level);

  // Tries the whole family at a level and keeps the fastest. The constructor has done it for every level.
  void choose(Level level);

  std::string describe(Level level) const;  // of the winner, in words
  double chosen(Level level) const { return levels_[static_cast<std::size_t>(level)].best; }
  int vector_bits() const { return probes_.vector_bytes * 8; }
  bool fma() const { return probes_.fma; }

 private:
  struct Winner {
    const Reader* reader;
    PageSize pages;
    double best;
  };

  double read_once(Level level, const Reader& reader, PageSize pages);

  const Probes& probes_;
  const Streamed& streamed_;
  Pages cached_, cached_small_;  // for the caches, one part per thread
  Team& team_;
  std::array<std::size_t, kLevels> footprint_;  // bytes read at each level, per thread
  std::array<Winner, kLevels> levels_{};
  std::size_t streamed_at_ = 0;
  std::vector<double> rates_;  // one per thread
};

}  // namespace heed::bench

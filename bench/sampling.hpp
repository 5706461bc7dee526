// Paired samples: a kernel's time and, right beside it, the roofs that it is held against.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "problems.hpp"
#include "roofs.hpp"

namespace heed::bench {

// Something that can be timed: a row of kernels of a library, or the double reference, which is neither.
struct Contestant {
  std::string name;  // as reported
  std::string row;
  const Library* library;  // null: the reference
  bool limited;            // measured to kMostOperations only: too slow to be worth the time
  Roofs* roofs;
};

struct Sample {
  int round;          // samples of one round were taken one after the other
  double seconds;     // a call
  double share;       // roofline time / seconds
  double peak, tile;  // operations per second of the contestant's roof; tile probe / FMA peak
  double bandwidth;   // bytes per second of the level that the data live in
};

enum class Outcome { kMeasured, kSkipped, kBusy, kWrong };

struct Series {
  Outcome outcome = Outcome::kMeasured;
  std::string reason;  // when it was not measured
  std::vector<Sample> samples;
  double error = 0.0;    // of the checked results, as a share of the bound
  int rejected = 0;      // samples during which the tile probe was slow
  bool invalid = false;  // beats its own roof: the probe was weak
};

struct Policy {
  int samples;            // that each series must have
  double sample_seconds;  // least length of one
  double deadline;        // by seconds_now(): what has not begun by then is skipped
};

inline constexpr double kLeastTile = 0.90;       // of FMA peak, for a sample to count
inline constexpr double kMostShare = 1.03;       // of a roof; above, the roof was no roof
inline constexpr double kMostCallSeconds = 0.5;  // longer calls are skipped
inline constexpr double kMostOperations = 1e8;   // for limited contestants

class Sampler {
 public:
  // referee: the roofs whose tile probe tells whether the machine is quiet.
  Sampler(Roofs& referee, const Policy& policy, const Machine& machine, const Pages& memory, Team& team)
      : referee_(referee), policy_(policy), machine_(machine), memory_(memory), team_(team) {}

  // One series per contestant, all sampled in turn, there and back. On a busy machine it goes on trying until patience
  // (a time).
  std::vector<Series> measure(Problem& problem, const std::vector<Contestant>& contestants, double patience);

  // Whether the contestant's results are right: wrong or measured, without samples.
  Series check(Problem& problem, const Contestant& contestant);

 private:
  struct Roof {
    double peak, tile, bandwidth;
  };

  double seconds_per_call(Problem& problem, const Contestant& contestant);
  void prepare(Problem& problem, const Contestant& contestant, Series& series);
  void sample(Problem& problem, const Contestant& contestant, std::int64_t calls, int round, Series& series);
  void sample_all(Problem& problem, const std::vector<Contestant>& contestants, double patience,
                  std::vector<Series>& all);
  Roof probe(const Contestant& contestant, Level level);
  void run(Problem& problem, const Contestant& contestant, std::int64_t calls);

  Roofs& referee_;
  Policy policy_;
  const Machine& machine_;
  const Pages& memory_;
  Team& team_;
  std::map<std::pair<std::string, std::int64_t>, double> seconds_per_pair_;  // of (operation and row, D)
};

double median(std::vector<double> values);

}  // namespace heed::bench

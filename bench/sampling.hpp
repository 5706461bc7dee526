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

// A problem, and who solves it.
struct Entry {
  Problem* problem;
  Contestant contestant;
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
  Sampler(Roofs& referee, const Policy& policy, const Setting& setting)
      : referee_(referee), policy_(policy), setting_(setting) {}

  // One series per entry, all sampled in turn, there and back. On a busy machine it goes on trying until patience (a
  // time).
  std::vector<Series> measure(const std::vector<Entry>& entries, double patience);

  // Whether the results are right: wrong or measured, without samples.
  Series check(const Entry& entry);

 private:
  struct Roof {
    double peak, tile, bandwidth;
  };

  double seconds_per_call(const Entry& entry);
  void prepare(const Entry& entry, Series& series);
  void sample(const Entry& entry, std::int64_t calls, int round, Series& series);
  void sample_all(const std::vector<Entry>& entries, double patience, std::vector<Series>& all);
  Roof probe(const Contestant& contestant, Level level);

  Roofs& referee_;
  Policy policy_;
  const Setting& setting_;
  std::map<std::pair<std::string, std::int64_t>, double> seconds_per_pair_;  // of (operation and contestant, D)
};

double median(std::vector<double> values);

}  // namespace heed::bench

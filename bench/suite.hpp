// Options of the suite, what it measures, and how that is handed to Google Benchmark.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "sampling.hpp"

namespace heed::bench {

// Another build of heed: what it is called in the results, and its file.
struct OtherLibrary {
  std::string name, file;
};

struct Options {
  bool quick = false;
  bool check = false;
  bool list = false;  // only names what would be measured
  int threads = 1;
  double seconds = 0.0;                 // that the run may take; 0: by quick
  std::string filter;                   // regular expression, searched in names
  std::string models;                   // file of layers of models; empty: none
  std::string out;                      // JSON; empty: none
  std::vector<OtherLibrary> libraries;  // not empty: the best row of each of these is measured, nothing else
  // <op>/<D>/<L>, or <op>/<D>/<L>:<partner>, to be sampled in turn with that operation. Not empty: these, on the best
  // row
  std::vector<std::string> points;
};

// Exit status: 0; 1 if a row's results are wrong; 2 if nothing was to be measured.
int run_suite(const Options& options);

// A contestant's place in the grid of lengths.
enum class Grid { kAll, kFour };

struct Entrant {
  Contestant contestant;
  Grid grid;
  std::string filtered_as;  // the row in the name that a filter is searched in
};

// One operation, head dimension and length, with those who are measured there.
struct Point {
  const Operation* operation;
  const Operation* partner;  // sampled in turn with it, by the first contestant; or null
  std::int64_t D, L;
  std::vector<Contestant> contestants;
  double patience = 0.0;  // until when samples may be tried again
  // Once the first of the point's benchmarks has run:
  std::vector<Series> series = {};  // the partner's last
  Facts facts = {};
};

// <op>_<type>[_<variant>]/<row>/<D>/<L>; D is "-" for an operation that knows none. Beside a partner: <op>:<partner>/….
std::string name_of(const Point& point, const std::string& row);

// The points that the options ask for. A filter chooses from the full grid. Throws std::invalid_argument.
std::vector<std::unique_ptr<Point>> choose_points(const Options& options, const std::vector<Operation>& operations,
                                                  const std::vector<Entrant>& entrants);

// Speed-ups are quoted against what the compiler makes of plain code.
inline constexpr const char* kDenominator = "scalar_auto";
inline constexpr const char* kReference = "reference";

}  // namespace heed::bench

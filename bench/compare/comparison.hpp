// One computation held against the double reference, the values that a file expects, and itself on every row of
// kernels.
#pragma once

#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "heed/heed.h"

namespace heed::compare {

// The case asks for something that heed does not have; what() names it.
struct Unsupported : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// heed calls an argument of the case wrong; what() names it.
struct Refused : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct Output {
  std::string name;               // out, lse, weights, …
  std::vector<double> reference;  // from heed::reference
  std::vector<double> expected;   // from the file; empty: it has none, the reference counts
  std::vector<double> tolerance;  // one for each element, or one for all
  std::vector<float> got;         // what the row wrote
};

struct Computation {
  std::string kernel;
  std::vector<Output> outputs;
  // Computes outputs[…].got with the row in force. Captures what it reads.
  std::function<heed_code(std::vector<Output>&, heed_status*)> run;
};

// Text beside an output that is compared bit for bit and not by heed: a file's present_k, which the tool itself builds.
struct Case {
  std::string name;         // file, or what was generated
  std::string description;  // shape and options in a line
  std::vector<Computation> computations;
  std::vector<std::string> complaints;  // found while the case was built
};

struct RowResult {
  std::string row;
  bool fma = false;
  double absolute_error = 0, ulp_error = 0;  // largest, against the reference
  bool same_bits = true;                     // as the twin, row scalar
  double seconds = 0;                        // of one call, the shortest seen
  double over_auto = 0;                      // time of row scalar_auto / this row's; 0: that row is not there
  std::string complaint;                     // empty: agrees
};

struct ComputationResult {
  std::string kernel;
  std::string reference_complaint;  // the reference disagrees with the file
  std::vector<RowResult> rows;
};

struct Row {
  std::string name;
  bool fma = false;
};

// Rows that this processor runs, the twin first; only the twin and the named one when name is not empty. Throws
// std::invalid_argument for a name that the build does not have or the processor does not run.
std::vector<Row> runnable_rows(const std::string& name);

// Throws Unsupported or Refused before anything is compared when heed refuses one of the case's computations.
std::vector<ComputationResult> run(Case& c, const std::vector<Row>& rows, double seconds_per_row);

}  // namespace heed::compare

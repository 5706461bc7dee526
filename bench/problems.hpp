// One measurable problem: an operation at one head dimension and sequence length, with its operands.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "heed/heed.hpp"
#include "library.hpp"
#include "machine.hpp"
#include "numbers.hpp"
#include "operations.hpp"
#include "roofs.hpp"
#include "team.hpp"

namespace heed::bench {

// What problems are made in.
struct Setting {
  const Machine& machine;
  Numbers& numbers;
  Team& team;
};

// What a figure is divided by, and where the data come from.
struct Facts {
  double operations;  // floating-point operations of the pairs that the masks allow; 0 for softmax
  double pairs;       // attended (query, key) pairs of all heads; softmax: elements
  double bytes;       // K and V once per key/value head; softmax: 12 per element
  Level level;
  std::int64_t copies;  // that calls go through in turn
};

class Problem {
 public:
  virtual ~Problem() = default;
  Problem(const Problem&) = delete;
  Problem& operator=(const Problem&) = delete;

  const Operation& operation() const { return operation_; }
  std::int64_t D() const { return D_; }
  const Facts& facts() const { return facts_; }

  // One call with the next copy of the operands, by the library's row that is in force. Empty, or what went wrong.
  std::string call(const Library& library) { return run(library, next()); }
  void call_reference() { run_reference(next()); }

  // Calls once and holds sampled results against double precision: the largest error as a share of its bound.
  double check(const Library& library, std::string& error);

 protected:
  struct Expected {
    std::size_t at;
    double value, bound;
  };

  Problem(const Operation& operation, std::int64_t D) : operation_(operation), D_(D) {}

  virtual std::string run(const Library& library, std::int64_t copy) = 0;
  virtual void run_reference(std::int64_t copy) = 0;
  virtual std::vector<Expected> expect() = 0;  // of copy 0

  // Decides where the data live, from the facts and what else a call touches. Where the real use streams data that the
  // core's own caches don't hold, calls go through as many copies as there are numbers for.
  void place(const Setting& setting, double other_bytes, std::int64_t copy_bytes, bool streams, bool shared_by_threads);

  const Operation& operation_;
  std::int64_t D_;
  Facts facts_{};
  std::vector<float> out_;

 private:
  std::int64_t next() { return turn_ = (turn_ + 1) % facts_.copies; }

  std::int64_t turn_ = 0;
  std::vector<Expected> expected_;
};

// The operation stays alive as long as the problem. Throws std::runtime_error if it doesn't fit into the memory.
std::unique_ptr<Problem> make_problem(const Operation& operation, std::int64_t D, std::int64_t L,
                                      const Setting& setting);

// Bytes that one copy of its numbers takes.
std::int64_t copy_bytes(const Operation& operation, std::int64_t D, std::int64_t L);

}  // namespace heed::bench

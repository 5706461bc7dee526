// One call, on every row and in every kind of memory.
#pragma once

#include <functional>
#include <string>

#include "kernels/kernels.hpp"
#include "support/floats.hpp"
#include "support/memory.hpp"
#include "support/rows.hpp"

namespace heed::test::kernel {

// Makes a call of `row` with buffers from `arena` and returns every number that it gave.
using Call = std::function<Numbers(const Table& row, Arena& arena)>;

// What is wrong with the numbers by an independent computation in double; empty if nothing.
using Oracle = std::function<std::string(const Numbers& got)>;

// Fails the running test unless, on every row under test, the call
//   gives the twin's bits (rows with fused multiply-add),
//   satisfies the oracle (all rows),
//   gives the same bits in every placement of its buffers and writes nothing that isn't its own.
// `what` names the case in the report.
void check_everywhere(const std::string& what, const Call& call, const Oracle& oracle);

// Something to fetch, or nothing: any addresses, since a kernel must not look at what lies there.
Ahead random_ahead(Random& random);

// "name=value name=value": for `what`.
template <class... Values>
std::string describe(const char* names, const Values&... values) {
  std::string text = std::string(names) + " =";
  ((text += ' ' + std::to_string(static_cast<long long>(values))), ...);
  return text;
}

}  // namespace heed::test::kernel

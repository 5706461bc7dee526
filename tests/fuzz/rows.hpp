// The rows of kernels that an input is run on.
#pragma once

#include <cstdint>
#include <vector>

#include "fuzz/finding.hpp"
#include "support/rows.hpp"

namespace heed::fuzz {

// The scalar twin, and every row that may be chosen for a user; another one now and then.
inline std::vector<const test::Table*> rows_of(std::uint8_t choice) {
  static const std::vector<const test::Table*> all = test::rows_under_test();
  std::vector<const test::Table*> rows;
  for (std::size_t n = 0; n < all.size(); ++n) {
    if (all[n]->automatic || choice % (4 * all.size()) == n) rows.push_back(all[n]);
  }
  return rows;
}

// Calls run(row) on each; rows with fused multiply-add must give the same string.
template <class Run>
void expect_same_on_rows(std::uint8_t choice, const char* what, const Run& run) {
  std::string first;
  const test::Table* from = nullptr;
  for (const test::Table* row : rows_of(choice)) {
    const test::ForcedRow forced(*row);
    const std::string result = run(*row);
    if (!row->fma) continue;
    if (from == nullptr) {
      from = row;
      first = result;
    } else if (result != first) {
      finding(std::string(what) + ": rows " + from->name + " and " + row->name + " give other bits");
    }
  }
}

}  // namespace heed::fuzz

// The rows that a test runs on: never written down, always read from the dispatch table.
#pragma once

#include <cstdlib>
#include <cstring>
#include <vector>

#include "dispatch/table.hpp"
#include "heed/heed.h"

namespace heed::test {

using dispatch::Table;

// The row whose bits all rows with fused multiply-add must give.
inline const Table& twin() {
  for (int i = 0; i < dispatch::row_count(); ++i) {
    if (std::strcmp(dispatch::row(i).name, "scalar") == 0) return dispatch::row(i);
  }
  std::abort();
}

// Every row that this machine runs; while HEED_ISA forces one, that one.
inline std::vector<const Table*> rows_under_test() {
  const char* forced = std::getenv("HEED_ISA");
  std::vector<const Table*> rows;
  for (int i = 0; i < dispatch::row_count(); ++i) {
    const Table& row = dispatch::row(i);
    if (forced != nullptr && *forced != '\0' && std::strcmp(forced, row.name) != 0) continue;
    if (dispatch::supported(row)) rows.push_back(&row);
  }
  return rows;
}

// The public calls run on `row` while this lives, and afterwards on the row that the environment asks for.
class ForcedRow {
 public:
  explicit ForcedRow(const Table& row) { dispatch::force(row.name); }
  ForcedRow(const ForcedRow&) = delete;
  ForcedRow& operator=(const ForcedRow&) = delete;
  ~ForcedRow() { dispatch::force(std::getenv("HEED_ISA")); }
};

}  // namespace heed::test

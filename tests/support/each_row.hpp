// A test case on every row.
#pragma once

#include <catch2/catch_test_macros.hpp>

#include "support/rows.hpp"

namespace heed::test {

// Reports name the row.
template <class Check>
void for_each_row(const Check& check) {
  for (const Table* row : rows_under_test()) {
    INFO("row " << row->name);
    check(*row);
  }
}

}  // namespace heed::test

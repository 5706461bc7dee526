#include "support/math.hpp"

#define HEED_FOR_EACH_ROW "support/declare_row_math.inc"
#include "heed_isa_rows.hpp"
#undef HEED_FOR_EACH_ROW

namespace heed::test {

const RowMath& math_of(const Table& row) {
  static const RowMath all[] = {
#define HEED_FOR_EACH_ROW "support/row_math_entry.inc"
#include "heed_isa_rows.hpp"
#undef HEED_FOR_EACH_ROW
  };
  return all[&row - &dispatch::row(0)];
}

}  // namespace heed::test

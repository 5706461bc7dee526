// Rules of a tensor's strides: no element is too far away, and no two results share one.
#pragma once

#include <cstdint>

#include "heed/heed.h"

namespace heed::api {

inline constexpr std::int64_t kLargestExtent = std::int64_t{1} << 60;  // elements: their bytes still fit

struct Axis {
  std::int64_t count, stride;
};

// Rows of `columns` contiguous elements, along three axes.
struct Axes {
  Axis batch, head, token;
  std::int64_t columns;
  // What its strides are called: `field`_batch ...
  const char* field = "stride";

  bool empty() const { return batch.count == 0 || head.count == 0 || token.count == 0; }
};

// "name.field: ..." unless all rows lie within 2^60 elements.
heed_code check_reach(const char* name, const Axes& axes, heed_status* status);
// "name.field_axis: ..." if two rows of results share an element. Reach was checked.
heed_code check_no_overlap(const char* name, const Axes& axes, heed_status* status);

}  // namespace heed::api

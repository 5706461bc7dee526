/* Prints the rows of kernels that this processor can run, one a line: what `scripts/test --all` forces in turn. */
#include <stdio.h>

#include "heed/heed.h"

int main(void) {
  for (int32_t i = 0; i < heed_isa_count(); ++i) {
    heed_isa_info row;
    if (heed_isa_row(i, &row) && row.supported) puts(row.name);
  }
  return 0;
}

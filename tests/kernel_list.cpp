// One test per line of THE LIST. A line without its check_<op>_<type> doesn't link.
#include <catch2/catch_test_macros.hpp>

namespace heed::test::kernel {

#define HEED_KERNEL(op, type) void check_##op##_##type();
#include "kernels/kernels.inc"

namespace {

[[maybe_unused]] const bool registered = [] {
#define HEED_KERNEL(op, type) \
  REGISTER_TEST_CASE(check_##op##_##type, #op "_" #type " on every row: the twin's bits, the bound, memory");
#include "kernels/kernels.inc"
  return true;
}();

}  // namespace
}  // namespace heed::test::kernel

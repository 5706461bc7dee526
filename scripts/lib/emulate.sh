# The suite on other processors than this one, and under Valgrind; for scripts/test, which sources this. Both are some 30
# times slower than the processor, so there are fewer random problems, on one row of kernels (and on the scalar twin,
# which all rows are held against).

# as_processor CPU ROW SUITE ROWS…: as on that processor of QEMU's, which has exactly these rows.
as_processor() {
  cpu=$1 suite=$3 emulator="qemu-x86_64 -cpu $1"
  export HEED_ISA="$2" HEED_TEST_PROBLEMS=1/100
  shift 3
  printf '\n== processor %s\n' "$cpu"
  rows=$($emulator build/test-gcc/tests/runnable_rows | tr '\n' ' ')
  if [ "$rows" = "$* " ]; then
    passed=$((passed + 1))
  else
    echo "expected the rows: $*, found: $rows"
    failed=$((failed + 1))
  fi
  run_tests build/test-gcc "processor-$cpu" --suite "$suite" --timeout-multiplier 20 --wrapper "$emulator"
  unset HEED_ISA HEED_TEST_PROBLEMS
}

test_processors() {
  as_processor qemu64 sse2 emulated sse2 scalar             # the plainest
  as_processor Westmere sse2 dispatched sse2 scalar
  as_processor max,-avx2,-fma sse2 dispatched sse2 scalar   # AVX and F16C only, as Ivy Bridge
  as_processor max,-fma sse2 dispatched sse2 scalar
  as_processor max,-f16c sse2 dispatched sse2 scalar
  as_processor max,-xsave sse2 dispatched sse2 scalar       # the system doesn't save the upper halves
  as_processor max avx2 emulated avx2 sse2 scalar emu512 scalar_auto scalar_plain
}

# Workspaces and scratch come uninitialised: no result and no decision may depend on what they hold.
test_valgrind() {
  HEED_ISA=$(build/test-gcc/tests/runnable_rows | head -n 1) HEED_TEST_PROBLEMS=1/50
  export HEED_ISA HEED_TEST_PROBLEMS
  run_tests build/test-gcc valgrind --suite programs --no-suite native --timeout-multiplier 20 \
    --wrapper 'valgrind --quiet --error-exitcode=9 --leak-check=full --errors-for-leak-kinds=definite'
  unset HEED_ISA HEED_TEST_PROBLEMS
}

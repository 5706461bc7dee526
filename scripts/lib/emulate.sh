# The suite on other processors than this one, and under Valgrind; for scripts/test, which sources this. Both are some 30
# times slower than the processor, so there are fewer random problems, on one row of kernels (and on the scalar twin,
# which all rows are held against).

# succeeds COMMAND…: counts as one test.
succeeds() {
  if "$@"; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
  fi
}

has_rows() { # expected, found
  [ "$1" = "$2" ] || { echo "expected the rows: $1, found: $2" && false; }
}

# as_processor CPU ROW SUITES ROWS…: as on that processor of QEMU's, which has exactly these rows.
as_processor() {
  cpu=$1 suites=$(printf -- ' --suite %s' $3) emulator="qemu-x86_64 -cpu $1"
  export HEED_ISA="$2" HEED_TEST_PROBLEMS=1/100
  shift 3
  printf '\n== processor %s\n' "$cpu"
  succeeds has_rows "$* " "$($emulator build/test-gcc/tests/runnable_rows | tr '\n' ' ')"
  wrapped=qemu-x86_64
  run_tests build/test-gcc "processor-$cpu" $suites --timeout-multiplier 20 --wrapper "$emulator"
  wrapped=
  unset HEED_ISA HEED_TEST_PROBLEMS
}

# as_golden CPU ROW
as_golden() {
  succeeds qemu-x86_64 -cpu "$1" build/test-gcc/tests/golden/golden --check tests/golden/arithmetic --row "$2"
}

# Where there is AVX, kernels are not tested alone: QEMU 7.2 reads the lanes that a load masks out, and dies at the
# unmapped pages that the tests put there. Nor is the engine's part, which would take minutes.
test_processors() {
  as_processor qemu64 sse2 'emulated plain' sse2 scalar     # the plainest
  as_golden qemu64 scalar # whose multiply-add is the C library's, in software
  as_processor Westmere sse2 dispatched sse2 scalar
  as_processor max,-avx2,-fma sse2 dispatched sse2 scalar   # AVX and F16C only, as Ivy Bridge
  as_processor max,-fma sse2 dispatched sse2 scalar
  as_processor max,-f16c sse2 dispatched sse2 scalar
  as_processor max,-xsave sse2 dispatched sse2 scalar       # the system doesn't save the upper halves
  as_processor max avx2 emulated avx2 sse2 scalar emu512 scalar_auto scalar_plain
  as_golden max avx2
}

# Workspaces and scratch come uninitialised: no result and no decision may depend on what they hold.
test_valgrind() {
  HEED_ISA=$(valgrind --quiet build/test-gcc/tests/runnable_rows | head -n 1) HEED_TEST_PROBLEMS=1/50
  export HEED_ISA HEED_TEST_PROBLEMS
  wrapped=valgrind
  valgrind='valgrind --quiet --error-exitcode=9'
  run_tests build/test-gcc valgrind --suite programs --no-suite native --no-suite forking --timeout-multiplier 20 \
    --wrapper "$valgrind --leak-check=full --errors-for-leak-kinds=definite"
  run_tests build/test-gcc valgrind-forking --suite forking --timeout-multiplier 20 --wrapper "$valgrind"
  wrapped=
  unset HEED_ISA HEED_TEST_PROBLEMS
}

# as_architecture ARCH FAMILY ENDIAN: the expected bits from the portable row, as on a processor that isn't x86, where
# Debian's cross compiler for it is installed.
as_architecture() {
  target=$1-linux-gnu built=build/test-$1
  if ! command -v "$target-g++" >/dev/null || ! command -v "qemu-${1%le}" >/dev/null; then
    printf '\n== architecture %s: skipped, there is no %s-g++ or QEMU for it\n' "$1" "$target"
    skipped=$((skipped + 1))
    return
  fi
  printf '\n== architecture %s\n' "$1"
  mkdir -p build
  cat >"$built.cross" <<END
[binaries]
c = '$target-gcc'
cpp = '$target-g++'
ar = '$target-ar'
strip = '$target-strip'
pkgconfig = 'pkg-config'
[host_machine]
system = 'linux'
cpu_family = '$2'
cpu = '$2'
endian = '$3'
END
  if [ ! -f "$built/build.ninja" ]; then
    meson setup "$built" --cross-file "$built.cross" -Dwerror=true -Dbuildtype=debugoptimized \
      -Dtests=auto -Dbenchmarks=disabled -Dtools=disabled -Dexamples=disabled
  fi
  succeeds meson compile -C "$built" golden
  succeeds "qemu-$1" -L "/usr/$target" "$built/tests/golden/golden" --check tests/golden/arithmetic
}

test_architectures() {
  as_architecture aarch64 aarch64 little
  as_architecture riscv64 riscv64 little
  as_architecture s390x s390x big
}

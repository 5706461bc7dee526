# For scripts/test, which sources this: the library built with the flags of debug builds and of distributions, the same bits
# every time. Only what is installed and what holds it against the golden file is built.

hardening='-fstack-protector-strong -fstack-clash-protection -fcf-protection -Wformat -Werror=format-security'
frames='-fno-omit-frame-pointer -mno-omit-leaf-frame-pointer'
now='-Wl,-z,relro -Wl,-z,now'

test_flags() {
  for compiler in gcc clang; do
    test_flags_of debug '-O0 -g' ''
    test_flags_of habits '-Og -g -fwrapv -fno-strict-aliasing -funsigned-char -fvisibility=default -frounding-math' ''
    test_flags_of lto '-O2' '' -Db_lto=true
    test_flags_of debian "-g -O2 $hardening -Wdate-time -D_FORTIFY_SOURCE=2 -fPIE" "$now -Wl,-z,defs"
    test_flags_of fedora "-O2 -flto=auto -fexceptions -g -pipe -Wp,-U_FORTIFY_SOURCE,-D_FORTIFY_SOURCE=3 $hardening $frames \
-Wp,-D_GLIBCXX_ASSERTIONS -m64 -march=x86-64 -mtune=generic -fasynchronous-unwind-tables" "$now -Wl,--as-needed"
    test_flags_of arch "-march=x86-64 -mtune=generic -O3 -pipe -fno-plt -fexceptions -fsigned-char $hardening $frames \
-Wp,-D_FORTIFY_SOURCE=3 -Wp,-D_GLIBCXX_ASSERTIONS" "$now -Wl,-O1 -Wl,--sort-common -Wl,--as-needed"
  done
}

# test_flags_of LABEL FLAGS LINK_FLAGS OPTION…
test_flags_of() {
  label=$compiler-$1 flags=$2 link_flags="$2 $3"
  shift 3
  case $compiler in
    gcc) set -- "$HEED_CC" "$HEED_CXX" "$@" ;;
    clang) set -- "$HEED_CLANG" "$HEED_CLANGXX" "$@" ;;
  esac
  only='golden heed_internals src/heed:shared_library src/heed:static_library tests/house/load'
  build "build/test-flags/$label" "$@" -Dbuildtype=plain -Dhelper_rows=false -Dtests=enabled -Dbenchmarks=disabled \
    -Dtools=disabled -Dexamples=disabled -Dc_args="$flags" -Dcpp_args="$flags" -Dc_link_args="$link_flags" \
    -Dcpp_link_args="$link_flags"
  only=
  run_tests "$built" "flags-$label" golden loading install 'symbols of avx2' 'symbols of sse2' 'symbols of scalar' \
    'no AVX outside the rows'
}

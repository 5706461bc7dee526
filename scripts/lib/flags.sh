# For scripts/test, which sources this: the library built with the flags of debug builds and of distributions, the same bits
# every time. Only what is installed and what holds it against the golden file is built.

hardening='-fstack-protector-strong -fstack-clash-protection -fcf-protection -Wformat -Werror=format-security'
frames='-fno-omit-frame-pointer -mno-omit-leaf-frame-pointer'
now='-Wl,-z,relro -Wl,-z,now'

test_flags() {
  debug='-O0 -g -funsigned-char -Wp,-D_GLIBCXX_ASSERTIONS'
  habits='-Og -g -fwrapv -fno-strict-aliasing -fvisibility=default -frounding-math -fsigned-char'
  test_flags_of gcc debug "$debug" ''
  test_flags_of clang debug "$debug" ''
  test_flags_of gcc habits "$habits" ''
  test_flags_of clang habits "$habits" ''
  test_flags_of clang debian "-g -O2 $hardening -Wdate-time -D_FORTIFY_SOURCE=2" "$now"
  test_flags_of gcc fedora "-O2 -flto=auto -fexceptions -g -pipe -Wp,-U_FORTIFY_SOURCE,-D_FORTIFY_SOURCE=3 $hardening $frames \
-Wp,-D_GLIBCXX_ASSERTIONS -m64 -march=x86-64 -mtune=generic -fasynchronous-unwind-tables" "$now -Wl,--as-needed"
  test_flags_of gcc arch "-march=x86-64 -mtune=generic -O3 -pipe -fno-plt -fexceptions $hardening $frames \
-Wp,-D_FORTIFY_SOURCE=3 -Wp,-D_GLIBCXX_ASSERTIONS" "$now -Wl,-O1 -Wl,--sort-common -Wl,--as-needed"
  test_flags_of clang lto "-O2 -flto $frames" '' -Db_lto=true
}

# test_flags_of COMPILER LABEL FLAGS LINK_FLAGS OPTION…
test_flags_of() {
  compiler=$1 label=$1-$2 words=$3 link_words="$3 $4"
  shift 4
  case $compiler in
    gcc) set -- "$HEED_CC" "$HEED_CXX" "$@" ;;
    clang) set -- "$HEED_CLANG" "$HEED_CLANGXX" "$@" ;;
  esac
  only='golden src/heed:shared_library src/heed:static_library tests/house/load'
  build "build/test-flags/$label" "$@" -Dbuildtype=plain -Dhelper_rows=false -Dtests=enabled -Dbenchmarks=disabled \
    -Dtools=disabled -Dexamples=disabled -Dc_args="$words" -Dcpp_args="$words" -Dc_link_args="$link_words" \
    -Dcpp_link_args="$link_words"
  only=
  run_tests "$built" "flags-$label" --suite flags
}

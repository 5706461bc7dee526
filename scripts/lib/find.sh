# Finders for scripts/setup, which sources this: each sets its variable and succeeds, or fails without a word.

is_there() { command -v "$1" >/dev/null; }

# at_least VERSION LOWEST: compares major and minor, which is all that heed's lower bounds name.
at_least() {
  printf '%s %s\n' "$1" "$2" | awk '{
    split($1, have, "."); split($2, want, ".")
    for (i = 1; i <= 2; i++)
      if (have[i] + 0 != want[i] + 0) exit have[i] + 0 < want[i] + 0
  }'
}

# remembered NAME: its value in .deps/env. Starting a Python takes a while, so what was found last time is not examined again.
remembered() {
  [ ! -f "$deps/env" ] || sed -n "s/^$1='\(.*\)'\$/\1/p" "$deps/env"
}

# The plain name first; the numbered ones are for distributions whose default is too old.
find_gxx() {
  for gxx in g++ g++-15 g++-14 g++-13 g++-12; do
    is_there $gxx && at_least "$($gxx -dumpversion)" 12 && return
  done
  gxx=
  return 1
}

find_clang() {
  for clangxx in clang++ clang++-20 clang++-19 clang++-18 clang++-17 clang++-16 clang++-15 clang++-14; do
    is_there $clangxx || continue
    clang_major=$($clangxx -dumpversion)
    clang_major=${clang_major%%.*}
    [ "$clang_major" -lt 14 ] || return 0
  done
  clangxx=
  return 1
}

# The tools that read Clang's profiles must be of its own version: it knows where they are, or a number follows the name.
find_llvm() {
  for llvm_cov in "$($clangxx -print-prog-name=llvm-cov)" "llvm-cov-$clang_major" llvm-cov; do
    llvm_profdata=$(printf %s "$llvm_cov" | sed 's/llvm-cov\([^/]*\)$/llvm-profdata\1/')
    is_there "$llvm_cov" && is_there "$llvm_profdata" && "$llvm_cov" --version | grep -q "version $clang_major\." && return
  done
  llvm_cov= llvm_profdata=
  return 1
}

has_clang_runtime() { ls "$($clangxx -print-runtime-dir)"/libclang_rt.asan* >/dev/null 2>&1; }

# The first version that emulates AVX2.
find_qemu() { is_there qemu-x86_64 && at_least "$(qemu-x86_64 --version | awk 'NR == 1 { print $3 }')" 7.2; }

find_meson() {
  meson=$(command -v meson) || return 1
  [ "$meson" = "$(remembered HEED_MESON)" ] || at_least "$(meson --version)" 1.0
}

# find_python MODULE…: the python3 on PATH (pyenv's, say) may lack the modules that the system's own has.
find_python() {
  for python in "${HEED_PYTHON:-}" "$(remembered HEED_PYTHON)" python3 /usr/bin/python3; do
    python=$(command -v "$python") || continue
    "$python" -c 'import sys, importlib.util as i; sys.exit(not all(map(i.find_spec, sys.argv[1:])))' "$@" 2>/dev/null && return
  done
  python=
  return 1
}

# The private packages go in front of pkg-config's own path.
use_private_prefix() {
  private_path=
  for folder in "$deps"/*/usr/lib/pkgconfig "$deps"/*/usr/lib/*/pkgconfig "$deps"/*/usr/share/pkgconfig; do
    [ ! -d "$folder" ] || private_path=$private_path:$folder
  done
  private_path=${private_path#:}
  PKG_CONFIG_PATH=$private_path${callers_path:+:$callers_path}
  export PKG_CONFIG_PATH
}
callers_path=${PKG_CONFIG_PATH:-}

write_env() {
  mkdir -p "$deps"
  {
    assign HEED_CXX "$gxx"
    assign HEED_CC "$(printf %s "$gxx" | sed 's/g++/gcc/')"
    assign HEED_CLANGXX "${clangxx:-}"
    assign HEED_CLANG "$(printf %s "${clangxx:-}" | sed 's/++//')"
    assign HEED_LLVM_COV "${llvm_cov:-}"
    assign HEED_LLVM_PROFDATA "${llvm_profdata:-}"
    assign HEED_MESON "$meson"
    assign HEED_PYTHON "${python:-$(remembered HEED_PYTHON)}"
    assign heed_private_path "$private_path"
    echo 'PKG_CONFIG_PATH=$heed_private_path${PKG_CONFIG_PATH:+:$PKG_CONFIG_PATH}'
    echo 'export HEED_CXX HEED_CC HEED_CLANGXX HEED_CLANG HEED_LLVM_COV HEED_LLVM_PROFDATA HEED_MESON HEED_PYTHON'
    echo 'export PKG_CONFIG_PATH'
  } >"$deps/env.$$"
  mv "$deps/env.$$" "$deps/env"
}

assign() { printf "%s='%s'\n" "$1" "$(printf %s "$2" | sed "s/'/'\\\\''/g")"; }

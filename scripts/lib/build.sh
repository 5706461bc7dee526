# Configures and compiles, for the scripts that source this after .deps/env.

# build FOLDER CC CXX OPTION…: configures only when the options are new, compiles what has changed (of the targets in
# $only, where they are named), sets $built.
build() {
  built=$1 c_compiler=$2 cxx_compiler=$3
  shift 3
  wanted="$root $PKG_CONFIG_PATH $c_compiler $cxx_compiler $*"
  if [ "$wanted" != "$(cat "$built/configured" 2>/dev/null)" ]; then
    # From scratch, since the compiler and the place of a build folder cannot change; an interrupted one goes too.
    rm -rf "$built"
    CC=$c_compiler CXX=$cxx_compiler meson setup "$built" "$root" "$@"
    printf %s "$wanted" >"$built/configured"
  fi
  meson compile -C "$built" -j "$(getconf _NPROCESSORS_ONLN)" ${only:-}
}

# Another commit's library beside the working tree's, for scripts/bench, which sources this after build.sh.

# build_library SOURCE FOLDER: the shared library alone, built for speed; sets $library.
build_library() {
  set -- "$1" "$2" -Dbuildtype=release -Ddefault_library=shared
  for part in tests benchmarks tools examples; do
    ! grep -q "^option('$part'" "$1/meson_options.txt" || set -- "$@" "-D$part=disabled"
  done
  source=$1 folder=$2
  shift 2
  (root=$source build "$folder" "$HEED_CC" "$HEED_CXX" "$@")
  for library in "$folder/src/libheed.so" "$folder/src/libheed.dylib"; do
    [ ! -e "$library" ] || return 0
  done
  echo "bench: no shared library came out of $source" >&2
  return 1
}

# build_commit NAME: a commit's library, kept in build/against; sets $commit and $library. Its files are a copy beside the
# build rather than a work tree, of which Git would keep a record.
build_commit() {
  commit=$(git -C "$root" rev-parse --quiet --verify "$1^{commit}") || {
    echo "bench: '$1' is no commit" >&2
    return 2
  }
  place=$root/build/against/$commit
  if [ ! -d "$place/source" ]; then
    rm -rf "$place"
    mkdir -p "$place/source.part"
    git -C "$root" archive "$commit" | tar -x -C "$place/source.part"
    mv "$place/source.part" "$place/source"
  fi
  build_library "$place/source" "$place/build"
}

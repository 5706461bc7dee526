# apt for scripts/setup, which sources this: packages of the distribution itself, and single packages of a later suite.

# as_root COMMAND…; fails without a word when that is not to be had. sudo may ask for a password only where a person can answer.
if [ "$(id -u)" -eq 0 ]; then
  as_root() { "$@"; }
elif [ -t 0 ]; then
  as_root() { is_there sudo && sudo "$@"; }
else
  as_root() { is_there sudo && sudo -n "$@"; }
fi

# install_packages PACKAGE:LOWEST…: those whose version in the distribution is good enough.
install_packages() {
  may_install=no
  if as_root true 2>/dev/null; then
    may_install=yes
    say 'apt-get update'
    loud_if_failing as_root apt-get -q update
  fi
  chosen=
  for word in "$@"; do
    version=$(candidate "${word%:*}")
    [ -z "$version" ] || ! dpkg --compare-versions "$version" ge "${word#*:}" || chosen="$chosen ${word%:*}"
  done
  [ -n "$chosen" ] || return 0
  [ $may_install = yes ] || fail 'only root can install packages; please run as root:' "  apt-get install$chosen"
  say "apt-get install$chosen"
  loud_if_failing as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -y --no-install-recommends install $chosen
}

# candidate PACKAGE [OPTION…]: the version that apt would install, without its epoch; empty when there is none.
candidate() {
  wanted=$1
  shift
  # A name that apt does not know, like g++ before the first update, is a pattern to it: so look for the name's own lines.
  apt-cache "$@" policy "$wanted" 2>/dev/null | awk -v name="$wanted:" '
    /^[^ ]/ { ours = $1 == name }
    ours && $1 == "Candidate:" && $2 != "(none)" { sub(/^[0-9]+:/, "", $2); print $2 }'
}

loud_if_failing() {
  output=$("$@" 2>&1 </dev/null) && return
  printf '%s\n' "$output" >&2
  fail "this failed: $*"
}

# fetch_private PACKAGE:LOWEST: on Debian 12, takes the package from the later suite that has it in a version that works here,
# into .deps/PACKAGE. No root is needed.
fetch_private() {
  package=${1%:*} lowest=${1#*:}
  [ "$(. /etc/os-release && echo "${VERSION_CODENAME:-}")" = bookworm ] || return 0
  case $package in
    libxsimd-dev) suite=trixie ;; # header-only: works anywhere
    libcatch2-dev) suite=bookworm-backports ;;
    *) return 0 ;;
  esac
  say "$package >= $lowest from $suite, into .deps/$package"
  for stale in "$deps"/tmp.*; do
    kill -0 "${stale##*.}" 2>/dev/null || rm -rf "$stale"
  done
  work=$deps/tmp.$$
  mkdir -p "$work"
  trap 'rm -rf "$work"' EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM HUP
  copy_sources "$work" bookworm "$suite"

  unpacked=no
  for source in "$work"/source-*; do
    [ -f "$source" ] || continue
    if download_from "$source" >>"$work/log" 2>&1 && dpkg-deb -x "$work/archive/$package"_*.deb "$work/root"; then
      unpacked=yes
      break
    fi
  done
  if [ $unpacked = no ]; then
    [ ! -f "$work/log" ] || cat "$work/log" >&2
    fail "apt cannot get $package >= $lowest from $suite by this machine's own signed sources of bookworm main" \
      "please install $package >= $lowest so that pkg-config finds it, and run this again"
  fi
  relocate "$work/root"
  rm -rf "$deps/$package"
  mv "$work/root" "$deps/$package"
  rm -rf "$work"
  trap - EXIT INT TERM HUP
}

# copy_sources FOLDER OLD NEW: copies each of the system's own sources that is exactly suite OLD and has main, with the suite
# replaced, to a file of its own in FOLDER. Its keys stay; what would switch the checking of signatures off does not.
copy_sources() {
  eval "$(apt-config shell list Dir::Etc::sourcelist/f parts Dir::Etc::sourceparts/d)"
  for file in "$list" "$parts"/*.list; do
    [ ! -f "$file" ] || awk -v folder="$1" -v old="$2" -v new="$3" -v name="$(basename "$file" .list)" '
      { sub(/#.*/, "") }
      $1 == "deb" {
        options = ""
        if (match($0, /\[[^]]*\]/)) {
          options = substr($0, RSTART + 1, RLENGTH - 2)
          $0 = substr($0, 1, RSTART - 1) substr($0, RSTART + RLENGTH)
          count = split(options, word, " ")
          options = ""
          for (i = 1; i <= count; i++)
            if (tolower(word[i]) !~ /^(trusted|allow-[a-z-]*)=/) options = options " " word[i]
          if (options != "") options = "[" options " ] "
        }
        has_main = 0
        for (i = 4; i <= NF; i++) if ($i == "main") has_main = 1
        if ($3 == old && has_main && $2 !~ /^cdrom:/)
          print "deb " options $2 " " new " main" > (folder "/source-" name "-" ++n ".list")
      }' "$file"
  done
  for file in "$parts"/*.sources; do
    [ ! -f "$file" ] || awk -v folder="$1" -v old="$2" -v new="$3" -v name="$(basename "$file" .sources)" '
      function has(text, wanted,   word, count, i) {
        count = split(text, word, " ")
        for (i = 1; i <= count; i++) if (word[i] == wanted) return 1
        return 0
      }
      function finish() {
        if (has(value["types"], "deb") && has(value["suites"], old) && has(value["components"], "main") \
            && tolower(value["enabled"]) !~ /^ *(no|false|off|without|disable|0) *$/ && value["uris"] !~ /cdrom:/)
          printf "Types: deb\nSuites: %s\nComponents: main\n%s", new, kept > (folder "/source-" name "-" ++n ".sources")
        split("", value)
        kept = ""
        field = ""
      }
      /^#/ { next }
      /^[ \t]*$/ { finish(); next }
      /^[^ \t]/ {
        field = tolower($0)
        sub(/[ \t]*:.*/, "", field)
        text = $0
        sub(/^[^:]*:/, "", text)
        value[field] = text
      }
      /^[ \t]/ { value[field] = value[field] " " $0 }
      field !~ /^(types|suites|components|enabled|trusted|allow-.*)$/ { kept = kept $0 "\n" }
      END { finish() }' "$file"
  done
}

# download_from SOURCE: $package >= $lowest, into $work/archive. Everything that apt reads and writes is in $work, but for the
# keys that the system trusts.
download_from() {
  rm -rf "$work/lists" "$work/archive"
  mkdir -p "$work/lists/partial" "$work/archive/partial" "$work/cache/archives/partial" "$work/empty"
  : >"$work/status"
  cat >"$work/apt.conf" <<END
Dir::Etc::sourcelist "$1";
Dir::Etc::sourceparts "/dev/null";
Dir::Etc::preferences "/dev/null";
Dir::Etc::preferencesparts "/dev/null";
Dir::State::Lists "$work/lists";
Dir::State::status "$work/status";
Dir::Cache "$work/cache";
Acquire::Languages "none";
Acquire::IndexTargets::deb::Contents-deb::DefaultEnabled "false";
Acquire::AllowInsecureRepositories "false";
Acquire::AllowWeakRepositories "false";
Acquire::AllowDowngradeToInsecureRepositories "false";
APT::Get::AllowUnauthenticated "false";
APT::Update::Error-Mode "any";
#clear APT::Update::Pre-Invoke;
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
END
  # As root, apt would fetch as its own user, who may not write here.
  [ "$(id -u)" -ne 0 ] || echo 'APT::Sandbox::User "root";' >>"$work/apt.conf"
  apt-get -q -c "$work/apt.conf" update || return 1
  version=$(candidate "$package" -c "$work/apt.conf")
  [ -n "$version" ] && dpkg --compare-versions "$version" ge "$lowest" || return 1
  (cd "$work/archive" && apt-get -q -y -c "$work/apt.conf" download "$package")
}

# relocate FOLDER: .pc files that say /usr would silently lead to the system's own headers; let them speak of where they lie.
relocate() {
  find "$1/usr" -name '*.pc' | while read -r file; do
    up=$(dirname "${file#"$1"/}" | sed 's,[^/]*,..,g')
    sed "s,=/usr,=\${pcfiledir}/$up/usr,; s,= /usr,=\${pcfiledir}/$up/usr," "$file" >"$file.new"
    mv "$file.new" "$file"
  done
}

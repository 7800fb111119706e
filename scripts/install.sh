#!/usr/bin/env bash
# Builds in release mode and installs into the server of PG_CONFIG. Needs no cargo-pgrx. --build only builds.
#   PG_CONFIG       the server to build for (found or installed if not given)
#   DEST_PG_CONFIG  the server to install into, if it is a copy of that one
#   DESTDIR         prefix for all installed files
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/lib/common.sh
. scripts/lib/packages.sh

# put SOURCE DIRECTORY NAME MODE: installs a file, with sudo only if needed
put() {
  local target=${DESTDIR:-}$2 run=
  if ! [[ -d $target ]] && ! mkdir -p "$target" 2>/dev/null || ! [[ -w $target ]]; then
    run=as_root
  fi
  $run install -D -m "$4" "$1" "$target/$3"
  echo "    $target/$3"
}

# put_extension CONTROL SCRIPT DIRECTORY: installs the control file, and the scripts of this version, older versions and upgrades
put_extension() {
  local name control older
  name=$(basename "$1" .control)
  control=$(mktemp)
  sed "s/@CARGO_VERSION@/$version/" "$1" >"$control"
  put "$control" "$extension_dir" "$name.control" 644
  rm -f "$control"
  put "$2" "$extension_dir" "$name--$version.sql" 644
  for older in "$3/$name"--*.sql; do
    [[ -e $older ]] && put "$older" "$extension_dir" "$(basename "$older")" 644
  done
  return 0
}

build() {
  say "building the extension for PostgreSQL $PG_MAJOR in release mode (up to three minutes the first time)"
  PGRX_PG_CONFIG_PATH=$PG_CONFIG cargo build --release --quiet --lib --no-default-features --features "$PG_FEATURE"
}

# Builds for all servers end in the same file: nobody else builds until it is installed.
lock_build() {
  mkdir -p "$TARGET"
  exec 9>"$TARGET/.install-lock"
  ! command -v flock >/dev/null || flock 9
}

ensure_rust
ensure_postgresql
ensure_clang
lock_build
build
[[ ${1:-} != --build ]] || exit 0

dest=${DEST_PG_CONFIG:-$PG_CONFIG}
version=$(extension_version)
extension_dir=$("$dest" --sharedir)/extension
say "installing pg_lsbf $version"
case $(uname) in
  Darwin) built=libpg_lsbf.dylib suffix=$( ((PG_MAJOR >= 16)) && echo .dylib || echo .so) ;;
  *) built=libpg_lsbf.so suffix=.so ;;
esac
put "$TARGET/release/$built" "$("$dest" --pkglibdir)" "pg_lsbf$suffix" 755
put_extension pg_lsbf.control sql/pg_lsbf.sql sql
if [[ -f vector/pg_lsbf_vector.control ]]; then
  put_extension vector/pg_lsbf_vector.control vector/pg_lsbf_vector.sql vector
fi

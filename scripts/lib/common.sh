# Shared by every script: paths, messages, the private work directory.
# shellcheck shell=bash disable=SC2034

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
TARGET=${CARGO_TARGET_DIR:-$ROOT/target}
TOOLS=$ROOT/.tools

# cargo's default directory, for shells that were started before Rust was installed.
[[ -d ${HOME:-/nonexistent}/.cargo/bin ]] && PATH=$PATH:$HOME/.cargo/bin

# Nothing of the caller's own PostgreSQL may leak into private servers.
unset PGHOST PGHOSTADDR PGPORT PGUSER PGDATABASE PGPASSWORD PGPASSFILE PGSERVICE PGSERVICEFILE PGOPTIONS \
  PGDATA PGTZ PGCLIENTENCODING PGAPPNAME PGSSLMODE

# Servers inherit these, and would include a backtrace in the DETAIL of errors.
unset RUST_BACKTRACE RUST_LIB_BACKTRACE

say() { printf '==> %s\n' "$*"; }

die() {
  printf 'error: %s\n' "$*" >&2
  exit 1
}

is_root() { [[ $(id -u) == 0 ]]; }

as_root() {
  if is_root; then
    "$@"
  elif command -v sudo >/dev/null; then
    sudo "$@"
  else
    die "this needs root: $* (no sudo here)"
  fi
}

extension_version() {
  sed -n '/^\[workspace.package\]/,/^\[/s/^version *= *"\(.*\)"/\1/p' "$ROOT/Cargo.toml"
}

pgrx_version() {
  sed -n 's/^pgrx *=.*"=\([0-9.]*\)".*/\1/p' "$ROOT/Cargo.toml"
}

# seconds_since START: elapsed seconds with one decimal; START comes from `now`.
now() { date +%s.%N; }
seconds_since() { awk -v a="$1" -v b="$(now)" 'BEGIN { printf "%.1f", b - a }'; }

# private_dir: creates WORK, which is removed when the script ends. Its name is short, as the path of a socket has at most 107
# bytes.
WORK=
CLEANUPS=()
private_dir() {
  [[ -n $WORK ]] && return
  WORK=$(mktemp -d /tmp/pg_lsbf.XXXXXX)
  chmod 755 "$WORK"
  trap cleanup EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM HUP
}

# on_exit COMMAND: runs it when the script ends, in reverse order, before WORK is removed.
on_exit() { CLEANUPS=("$1" ${CLEANUPS[@]+"${CLEANUPS[@]}"}); }

# Commands can read and change the status of the script in EXIT_STATUS.
cleanup() {
  EXIT_STATUS=$?
  local command
  trap - EXIT
  set +e
  for command in ${CLEANUPS[@]+"${CLEANUPS[@]}"}; do
    $command
  done
  [[ -n $WORK ]] && rm -rf "$WORK"
  exit "$EXIT_STATUS"
}

# update_page PAGE FILE: replaces the text between the markers of a page in docs/.
update_page() {
  private_dir
  awk -v file="$2" '
    /<!-- end -->/ { skip = 0 }
    !skip { print }
    /<!-- table -->/ { print ""; while ((getline line < file) > 0) print line; print ""; skip = 1 }' "$1" >"$WORK/page.md"
  cat "$WORK/page.md" >"$1"
}

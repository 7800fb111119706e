#!/usr/bin/env bash
# Every test, stage by stage; the last line is `N passed, N failed`.
#   TESTS="name ..."  only these SQL tests and scenarios
#   STAGES="fmt ..."  only these stages: fmt dependencies clippy core fuzz doc pgrx servers bench
#   PG_CONFIG=...     the only server to test with; else one that is found, and PostgreSQL 16 and 18 with pgvector
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/lib/common.sh
. scripts/lib/packages.sh
. scripts/lib/server.sh

logs=$TARGET/test-logs
passed=0
failed=0

wanted() { [[ " $STAGES " == *" $1 "* ]]; }

# stage NAME COUNTER COMMAND...: output goes to a log; COUNTER reads from it how many tests passed and failed.
stage() {
  local name=$1 counter=$2 log start status=0 ok bad
  shift 2
  log=${name,,}
  log=$logs/${log//[^a-z0-9]/-}.log
  start=$(now)
  printf '%-40s' "$name"
  "$@" >"$log" 2>&1 || status=$?
  read -r ok bad < <($counter "$log" "$status")
  # A stage that fails without a failed test (it did not compile, say) is a failure too.
  if ((status != 0 && bad == 0)); then bad=1; fi
  passed=$((passed + ok))
  failed=$((failed + bad))
  if ((bad == 0)); then
    printf 'ok      %7ss  %4d passed\n' "$(seconds_since "$start")" "$ok"
  else
    printf 'FAILED  %7ss  %4d passed, %d failed\n' "$(seconds_since "$start")" "$ok" "$bad"
    show_failure "$log" "$counter"
  fi
}

count_one() { if (($2 == 0)); then echo "1 0"; else echo "0 1"; fi; }

count_cargo() {
  awk '/^test result:/ { ok += $4; bad += $6 } END { print ok + 0, bad + 0 }' "$1"
}

count_lines() {
  awk '/^ok - / { ok++ } /^not ok - / { bad++ } END { print ok + 0, bad + 0 }' "$1"
}

# The whole of it is in the log; here what a reader needs first.
show_failure() {
  echo "---- $1"
  case $2 in
    count_lines) grep -v '^ok - ' "$1" | head -200 ;;
    *) tail -60 "$1" ;;
  esac
  echo "----"
}

formatting() { cargo fmt --check && cargo fmt --check --manifest-path fuzz/Cargo.toml; }

clippy() { cargo clippy --all-targets --no-default-features "$@" -- -D warnings; }

# What is not part of the tests, too.
clippy_pg() {
  clippy --features "$PG_FEATURE pg_test"
  cargo clippy --lib --no-default-features --features "$PG_FEATURE" -- -D warnings
}

# With pg_test, so that what clippy has checked is used again.
doc() { RUSTDOCFLAGS="-D warnings" cargo doc --no-deps --no-default-features --features "$PG_FEATURE pg_test"; }

# Only the tests of the glue: the core's ran already. The workaround switched off here changes RUSTFLAGS between
# pgrx's two builds, so that everything would be compiled twice; our SQL does not depend on it.
pgrx_tests() {
  local user=()
  is_root && user=(--runas "$(server_user)")
  mkdir "$WORK/pgrx"
  is_root && chown "$(server_user)" "$WORK/pgrx"
  USER=$(id -un) CARGO_PGRX_DISABLE_GC_SECTIONS_WORKAROUND=1 \
    "$CARGO_PGRX" pgrx test "$PG_FEATURE" pg:: --no-default-features ${user[@]+"${user[@]}"} --pgdata "$WORK/pgrx"
}

# pgrx asks this for the place to install into: the private copy, by a name that stays the same between runs,
# as cargo compiles all of pgrx again when the name changes.
write_pg_config() {
  local file=$TARGET/pg_config-$PG_MAJOR
  mkdir -p "$TARGET"
  printf '#!/bin/sh\nexec "%s" "$@"\n' "$TREE_PG_CONFIG" >"$file"
  chmod +x "$file"
  export PGRX_PG_CONFIG_PATH=$file
}

# The servers to test with, by their pg_config: the one at hand, and two with pgvector where a test may want it.
list_servers() {
  local server
  servers=("$PG_CONFIG")
  if [[ -n $chosen ]] || { [[ -n ${TESTS:-} ]] && ! wants_pgvector; }; then
    return
  fi
  stage "PostgreSQL 16 and 18 with pgvector" count_one scripts/provision-pgvector.sh
  while read -r server; do
    servers+=("$server")
  done < <(scripts/provision-pgvector.sh 2>/dev/null)
}

wants_pgvector() {
  local name
  for name in $TESTS; do
    grep -Eqs '^(-- )?needs vector$' "tests/sql/$name.sql" tests/scenarios/{,[0-9]*_}"$name.sh" && return
  done
  return 1
}

# One line a server: SQL tests and scenarios.
server_stage() {
  local tree='' vector name
  # The private copy that pgrx's tests used already.
  [[ $1 != "$PG_CONFIG" ]] || tree=$TREE_PG_CONFIG
  vector=$(sed -n "s/^default_version = '\(.*\)'/\1/p" "$("$1" --sharedir)/extension/vector.control" 2>/dev/null || true)
  name="PostgreSQL $("$1" --version | awk '{ print $2 }')${vector:+, pgvector $vector}"
  # shellcheck disable=SC2086
  stage "$name" count_lines env PG_CONFIG="$1" TREE_PG_CONFIG="$tree" scripts/server-tests.sh ${TESTS:-}
}

[[ -z ${TESTS:-} ]] || STAGES=servers
STAGES=${STAGES:-fmt dependencies clippy core fuzz doc pgrx servers bench}
chosen=${PG_CONFIG:-}

start=$(now)
ensure_rust
ensure_rust_component rustfmt rustfmt
ensure_rust_component clippy cargo-clippy
ensure_postgresql
ensure_clang
if wanted pgrx; then
  ensure_sudo
  ensure_cargo_pgrx
fi
private_tree
write_pg_config
mkdir -p "$logs"
say "testing with PostgreSQL $PG_MAJOR; a first run compiles for several minutes; logs are in $logs"

if wanted fmt; then stage "formatting" count_one formatting; fi
if wanted dependencies; then stage "dependencies and licences" count_one scripts/dependency-tests.sh; fi
if wanted clippy; then stage "clippy, core" count_one clippy; fi
if wanted core; then
  # With overflow checks; then as it is installed, where the same bits must come out, and with the statistics.
  stage "unit tests, core" count_cargo \
    cargo test --no-default-features --no-fail-fast --lib --test format --test promises
  stage "unit tests, core, optimised" count_cargo cargo test --release --no-default-features --no-fail-fast
fi
if wanted fuzz; then stage "fuzzing, a minute" count_one env SECONDS_EACH=20 scripts/fuzz.sh; fi
if wanted clippy; then stage "clippy, with PostgreSQL" count_one clippy_pg; fi
if wanted doc; then stage "documentation builds" count_one doc; fi
if wanted pgrx; then stage "cargo pgrx test" count_cargo pgrx_tests; fi
if wanted servers; then
  list_servers
  for server in "${servers[@]}"; do
    server_stage "$server"
  done
fi

# It checks what it shows.
if wanted bench && [[ -f $("$PG_CONFIG" --sharedir)/extension/postgres_fdw.control ]]; then
  stage "distributed demonstration, fewer rows" count_one env N=4000 scripts/demo-distributed.sh
fi

# Pages and pictures that the server's figures are put into.
if wanted bench; then
  stage "demonstration, with its plot" count_one env PART=40 scripts/demo.sh
  stage "page of filters" count_one scripts/explore.sh
fi

# That it runs; what it measures on so few rows means nothing.
if wanted bench && [[ -z $chosen ]]; then
  stage "benchmarks, a few rows" count_one env N=500 MANY=2000 MEMBERS=20000 REPEATS=1 OUT="$logs/bench" scripts/bench.sh
  stage "duplicates, a few rows" count_one env N=500 MANY=2000 REPEATS=1 OUT="$logs/bench" scripts/bench-duplicates.sh
  stage "quality, a few rows" count_one env N=3000 PREFER=small REPEATS=1 OUT="$logs/quality" scripts/quality.sh
fi

say "done in $(seconds_since "$start") s"
echo "$passed passed, $failed failed"
((failed == 0))

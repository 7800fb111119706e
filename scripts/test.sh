#!/usr/bin/env bash
# Runs the tests in parts, several at a time. The last line is `N passed, N failed`.
#   TESTS="name ..."  only these of tests/sql and tests/scenarios
#   STAGES="fmt ..."  only these stages: fmt dependencies clippy doc core fuzz pgrx servers demos
#   PG_CONFIG=...     the only server to test with; otherwise one that is found or installed, and PostgreSQL 16 and 18 with
#                     pgvector
#   ALL=1             every test on every server, longer fuzzing, the papers at full size (make test-all)
#   PARTS=2           parts that run at the same time; by default the number of processors, at least 2
# A scenario runs on one server unless it says `every_version`; SQL tests run on the oldest and the newest server.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/lib/common.sh
. scripts/lib/packages.sh
. scripts/lib/server.sh
. scripts/lib/jobs.sh

LOGS=$TARGET/test-logs
ALL_STAGES="fmt dependencies clippy doc core fuzz pgrx servers demos"

wanted() { [[ " $STAGES " == *" $1 "* ]]; }

# check_names: unknown names are errors, before anything is built
check_names() {
  local name
  for name in $STAGES; do
    [[ " $ALL_STAGES " == *" $name "* ]] || die "there is no stage $name; the stages are $ALL_STAGES"
  done
  for name in ${TESTS:-}; do
    [[ -f tests/sql/$name.sql || -n $(scenario_file "$name") ]] || die "there is no test $name in tests/sql or tests/scenarios"
  done
}

# scenario_file NAME: the file of a scenario, named with or without its number
scenario_file() { compgen -G "tests/scenarios/$1.sh" || compgen -G "tests/scenarios/[0-9][0-9]_$1.sh" || true; }

formatting() { cargo fmt --all --check && cargo fmt --check --manifest-path fuzz/Cargo.toml; }

# With the code of pgrx's tests and without: some is compiled only in one of the two.
clippy() {
  cargo clippy --workspace --all-targets --no-default-features --features "$PG_FEATURE pg_test" -- -D warnings
  cargo clippy --lib --no-default-features --features "$PG_FEATURE" -- -D warnings
}

# With pg_test, so that what clippy has checked is reused.
doc() {
  RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --no-default-features --features "$PG_FEATURE pg_test"
}

# With overflow checks; then optimised, where the same bits must come out and the statistics run; then exactly as it is shipped:
# optimisers have made mistakes that only one of the profiles showed.
core() {
  cargo test -p lsbf --no-fail-fast --lib --test format --test promises
  cargo test -p lsbf --doc
  cargo test --profile optimised -p lsbf -p lsbf-tools --no-fail-fast --lib --test '*'
  cargo test --release -p lsbf --no-fail-fast --lib
}

# The switched-off workaround changes RUSTFLAGS between the two builds of pgrx, so that everything would be compiled twice;
# our SQL does not depend on it. pgrx's tests install a debug build, so they have a copy of the server for themselves.
pgrx_tests() {
  local user=()
  is_root && user=(--runas "$(server_user)")
  mkdir "$WORK/pgrx"
  is_root && chown "$(server_user)" "$WORK/pgrx"
  ensure_cargo_pgrx
  USER=$(id -un) CARGO_PGRX_DISABLE_GC_SECTIONS_WORKAROUND=1 \
    "$CARGO_PGRX" pgrx test "$PG_FEATURE" --no-default-features ${user[@]+"${user[@]}"} --pgdata "$WORK/pgrx"
}

# cargo compiles all of pgrx again when the name of pg_config changes: this one is the same in every run.
write_pg_config() {
  local file=$TARGET/pg_config-$PG_MAJOR
  TREE=$WORK/tree-pgrx private_tree
  printf '#!/bin/sh\nexec "%s" "$@"\n' "$TREE_PG_CONFIG" >"$file"
  chmod +x "$file"
  unset TREE_PG_CONFIG
  export PGRX_PG_CONFIG_PATH=$file
}

# prepare NUMBER PG_CONFIG: builds for a server and installs into a copy of it, which tree NUMBER prints
prepare() {
  PG_CONFIG=$2
  ensure_postgresql
  TREE=$WORK/tree-$1 private_tree
  DEST_PG_CONFIG=$TREE_PG_CONFIG scripts/install.sh
  echo "$TREE_PG_CONFIG" >"$WORK/tree-$1.pg_config"
}

# on_server NUMBER PG_CONFIG SCRIPT [NAME...]: runs a script of tests on the copy of a server
on_server() {
  local number=$1
  export PG_CONFIG=$2
  shift 2
  ensure_postgresql
  TREE_PG_CONFIG=$(cat "$WORK/tree-$number.pg_config") "$@"
}

# find_servers: SERVERS_USED, newest first: the one that was given, or the one found and two with pgvector
find_servers() {
  local server
  SERVERS_USED=("$PG_CONFIG")
  [[ -z $chosen ]] || return 0
  scripts/provision-pgvector.sh >"$WORK/servers" || die "no servers with pgvector"
  while read -r server; do SERVERS_USED+=("$server"); done <"$WORK/servers"
  # One server of each version: if there are two, the one with pgvector.
  mapfile -t SERVERS_USED < <(for server in "${SERVERS_USED[@]}"; do
    echo "$(pg_major "$server") $server"
  done | tac | sort -s -u -rn -k1,1 | cut -d' ' -f2)
}

# Two runs in one clone would use the same logs and builds.
lock_tests() {
  exec 8>"$TARGET/.test-lock"
  ! command -v flock >/dev/null || flock -n 8 || die "another test run is using $TARGET"
}

# has PG_CONFIG FILE: whether a server has all extensions that a test says it needs
has() {
  local needed
  while read -r needed; do
    [[ -f $("$1" --sharedir)/extension/$needed.control ]] || return 1
  done < <(sed -n 's/^\(-- \)\{0,1\}needs \([a-z_]*\)$/\2/p' "$2")
}

# runs_on NUMBER FILE KIND: whether a test runs on this server. Servers are numbered from 0, newest first.
runs_on() {
  local number=$1 file=$2 kind=$3 i
  [[ -z $ALL ]] || return 0
  has "${SERVERS_USED[$number]}" "$file" || {
    # The newest server reports what none of them can run.
    ((number == 0)) || return 1
    for i in "${!SERVERS_USED[@]}"; do ! has "${SERVERS_USED[$i]}" "$file" || return 1; done
    return 0
  }
  if [[ $kind == sql && -z ${TESTS:-} ]]; then
    # Between oldest and newest, only what the oldest may lack.
    ((number == 0 || number == ${#SERVERS_USED[@]} - 1)) || grep -q '^-- needs ' "$file"
    return
  fi
  ! grep -q '^every_version$' "$file" || return 0
  # The newest server that has what is needed.
  for ((i = 0; i < number; i++)); do ! has "${SERVERS_USED[$i]}" "$file" || return 1; done
}

# chosen_tests NUMBER sql|DIGITS: names of the tests of a server; scenarios by the first digit of their number
chosen_tests() {
  local number=$1 kind=$2 file name files=(tests/sql/*.sql)
  [[ $kind == sql ]] || files=(tests/scenarios/[$kind]*.sh)
  for file in "${files[@]}"; do
    [[ -f $file ]] || continue
    name=$(basename "${file%.*}")
    if [[ -n ${TESTS:-} && " $TESTS " != *" $name "* && " $TESTS " != *" ${name#[0-9][0-9]_} "* ]]; then continue; fi
    ! runs_on "$number" "$file" "$kind" || echo "$name"
  done
}

# chosen_documents NUMBER: documents whose SQL runs on a server
chosen_documents() {
  local file
  for file in README.md docs/*.md docs/guide/*.sql; do
    ! runs_on "$1" "$file" document || echo "$file"
  done
}

add_server() {
  local number=$1 server=$2 name group names
  name="PostgreSQL $("$server" --version | awk '{ print $2 }')"
  job "$name: build and install" cargo -- prepare "$number" "$server"
  local after=("needs=$name: build and install" count=lines --)
  for group in 0-1:"memory, storage" 2:"distributed" 3:"faults" 4-9:"safety"; do
    mapfile -t names < <(chosen_tests "$number" "${group%%:*}")
    ((${#names[@]} == 0)) ||
      later+=("$(printf '%q ' "$name: ${group#*:}" "${after[@]}" on_server "$number" "$server" scripts/scenario-tests.sh "${names[@]}")")
  done
  mapfile -t names < <(chosen_tests "$number" sql)
  ((${#names[@]} == 0)) ||
    later+=("$(printf '%q ' "$name: SQL tests" "${after[@]}" on_server "$number" "$server" scripts/sql-tests.sh "${names[@]}")")
  [[ -z ${TESTS:-} ]] || return 0
  mapfile -t names < <(chosen_documents "$number")
  ((${#names[@]} == 0)) ||
    later+=("$(printf '%q ' "$name: SQL in documents" "${after[@]}" on_server "$number" "$server" scripts/doc-tests.sh "${names[@]}")")
}

# Builds come first, so that tests can start while other builds run.
add_servers() {
  local number later=() arguments
  for number in "${!SERVERS_USED[@]}"; do
    add_server "$number" "${SERVERS_USED[$number]}"
  done
  for arguments in ${later[@]+"${later[@]}"}; do
    eval "job $arguments"
  done
}

# They check what they show. The benchmarks only have to run: figures of so few rows mean nothing.
add_demos() {
  if [[ -f $("$PG_CONFIG" --sharedir)/extension/postgres_fdw.control ]]; then
    job "distributed demonstration, few rows" cargo -- env N=4000 scripts/demo-distributed.sh
  fi
  job "demonstration with its plot" cargo -- env PART=40 scripts/demo.sh
  job "page of filters" cargo -- scripts/explore.sh
  [[ -z $chosen ]] || return 0
  job "benchmark, few rows" cargo -- env N=500 MANY=2000 MEMBERS=20000 REPEATS=1 OUT="$LOGS/bench" scripts/bench.sh
  job "duplicates, few rows" cargo -- env N=500 MANY=2000 REPEATS=1 OUT="$LOGS/duplicates" scripts/bench-duplicates.sh
  job "quality, few rows" cargo -- env N=3000 PREFER=small REPEATS=1 OUT="$LOGS/quality" scripts/quality.sh
}

add_jobs() {
  if wanted pgrx; then job "cargo-pgrx" -- ensure_cargo_pgrx; fi
  if wanted servers; then add_servers; fi
  if wanted fmt; then job "formatting" -- formatting; fi
  if wanted dependencies; then job "dependencies and licences" -- scripts/dependency-tests.sh; fi
  if wanted clippy; then job "clippy" cargo -- clippy; fi
  if wanted pgrx; then job "cargo pgrx test" cargo "needs=cargo-pgrx" count=cargo -- pgrx_tests; fi
  if wanted core; then job "core" cargo count=cargo -- core; fi
  if wanted fuzz; then
    # The same inputs in every run, so that a change is judged by what it changes; new inputs are tried by make fuzz.
    if [[ -n $ALL ]]; then
      job "fuzzing, 60 s for each target" -- env SECONDS_EACH=60 scripts/fuzz.sh
      job "address sanitizer" -- scripts/sanitize.sh
    else
      job "fuzzing, 10,000 inputs for each target" -- env RUNS=10000 scripts/fuzz.sh
    fi
  fi
  if wanted doc; then job "documentation of the code" cargo -- doc; fi
  if wanted demos; then add_demos; fi
  [[ -z $ALL ]] || ! wanted core || job "the papers at full size" cargo -- scripts/papers-test.sh
}

[[ -z ${TESTS:-} ]] || STAGES=servers
STAGES=${STAGES:-$ALL_STAGES}
ALL=${ALL:-}
check_names
chosen=${PG_CONFIG:-}
processors=$(nproc 2>/dev/null || echo 2)

start=$(now)
ensure_rust
ensure_rust_component rustfmt rustfmt
ensure_rust_component clippy cargo-clippy
ensure_postgresql
ensure_clang
if wanted pgrx; then ensure_sudo; fi
if wanted fuzz; then ensure_cpp; fi
private_dir
mkdir -p "$LOGS"
lock_tests
rm -f "$LOGS"/*.log "$LOGS"/*.status
write_pg_config
if wanted servers; then find_servers; fi
say "testing with PostgreSQL $(for server in "${SERVERS_USED[@]:-$PG_CONFIG}"; do pg_major "$server"; done | paste -sd, | sed 's/,/, /g'); logs are in $LOGS"
add_jobs
on_exit stop_jobs
run_jobs "${PARTS:-$((processors > 2 ? processors : 2))}"

echo "the slowest:"
slowest_tests
say "done in $(seconds_since "$start") s"
if [[ -n ${TESTS:-} ]] && ((SKIPPED > 0 && PASSED <= ${#SERVERS_USED[@]})); then
  echo "FAILED: all of $TESTS were skipped"
  FAILED=$((FAILED + 1))
fi
echo "$PASSED passed, $FAILED failed$( ((SKIPPED == 0)) || echo ", $SKIPPED skipped")"
((FAILED == 0))

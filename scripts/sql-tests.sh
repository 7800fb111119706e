#!/usr/bin/env bash
# Runs tests/sql/*.sql, each in a fresh database of one private server, and compares what psql prints with
# tests/sql/expected/NAME.out (or NAME_1.out, NAME_2.out ... where servers differ).
#   scripts/sql-tests.sh [--accept] [NAME...]
# --accept rewrites NAME.out. The extension must be installed in TREE_PG_CONFIG, else it is built and installed.
#   FROM_VERSION=0.1.0  create that version first and update, so that the tests run on an upgraded installation
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/lib/common.sh
. scripts/lib/packages.sh
. scripts/lib/server.sh

accept=
if [[ ${1:-} == --accept ]]; then
  accept=1
  shift
fi

results=
passed=0
failed=0

prepare_server() {
  if [[ -z ${TREE_PG_CONFIG:-} ]]; then
    ensure_postgresql
    private_tree
    DEST_PG_CONFIG=$TREE_PG_CONFIG scripts/install.sh
  fi
  private_tree
  server_start sql
}

# Every test starts from a copy of this database: the extension and the helpers of include/.
prepare_template() {
  local file
  server_run createdb sql helpers
  if [[ -n ${FROM_VERSION:-} ]]; then
    server_query sql "CREATE EXTENSION pg_lsbf VERSION '$FROM_VERSION'; ALTER EXTENSION pg_lsbf UPDATE" helpers
  else
    server_query sql "CREATE EXTENSION pg_lsbf" helpers
  fi
  for file in tests/sql/include/*.sql; do
    server_psql sql -d helpers -f "$file"
  done
}

# Prints the extension that a test needs and this server does not have: the N of a first line `-- needs N`.
lacking() {
  local needed
  needed=$(sed -n '1s/^-- needs //p' "tests/sql/$1.sql")
  [[ -z $needed || -f $("$TREE_PG_CONFIG" --sharedir)/extension/$needed.control ]] || echo "$needed"
}

run_test() {
  local name=$1 database="test_$1"
  server_wait sql
  server_run createdb sql -T helpers "$database"
  # From standard input, so that messages carry no file name and line.
  (cd tests/sql && server_psql sql -d "$database" -a -v ON_ERROR_STOP=0 -v VERBOSITY=terse -v SHOW_CONTEXT=never) \
    <"tests/sql/$name.sql" >"$results/$name.out" 2>&1 || echo "psql ended with status $?" >>"$results/$name.out"
  server_wait sql
  server_run dropdb sql --if-exists "$database"
}

# closest_diff NAME: empty when one of the expected files is matched, else the shortest diff
closest_diff() {
  local name=$1 expected lines best=
  rm -f "$results/$name.diff"
  for expected in "tests/sql/expected/$name.out" "tests/sql/expected/$name"_[0-9].out; do
    [[ -f $expected ]] || continue
    if diff -u --label "expected: $expected" --label "what the server printed" "$expected" "$results/$name.out" \
      >"$results/$name.try"; then
      rm -f "$results/$name.try"
      return 0
    fi
    lines=$(wc -l <"$results/$name.try")
    if [[ -z $best ]] || ((lines < best)); then
      best=$lines
      mv "$results/$name.try" "$results/$name.diff"
    fi
  done
  rm -f "$results/$name.try"
  [[ -n $best ]] || echo "no expected output: look at $results/$name.out, then make accept TESTS=$name" >"$results/$name.diff"
  return 1
}

judge() {
  local name=$1
  if [[ -n $accept ]]; then
    cp "$results/$name.out" "tests/sql/expected/$name.out"
    echo "accepted $name"
  elif closest_diff "$name"; then
    echo "ok - sql $name"
    passed=$((passed + 1))
  else
    echo "not ok - sql $name"
    cat "$results/$name.diff"
    failed=$((failed + 1))
  fi
}

names=("$@")
if ((${#names[@]} == 0)); then
  for file in tests/sql/*.sql; do
    names+=("$(basename "$file" .sql)")
  done
fi

prepare_server
# Servers of several versions are tested at the same time.
results=$TARGET/sql-tests/$PG_MAJOR
mkdir -p "$results" tests/sql/expected
prepare_template
for name in "${names[@]}"; do
  [[ -f tests/sql/$name.sql ]] || die "there is no tests/sql/$name.sql"
  missing=$(lacking "$name")
  if [[ -n $missing ]]; then
    echo "skip - sql $name: no $missing here"
    continue
  fi
  start=$(now)
  run_test "$name"
  judge "$name"
  echo "# sql $name took $(seconds_since "$start") s"
done
((failed == 0))

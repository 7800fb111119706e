#!/usr/bin/env bash
# Builds for one server, installs into a private copy of it, and runs SQL tests, scenarios and the documents' SQL there.
#   scripts/server-tests.sh [NAME...]     NAME of tests/sql or tests/scenarios; all of them when none is given
#   PG_CONFIG=...                         the server (found or installed when not given)
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/lib/common.sh
. scripts/lib/packages.sh
. scripts/lib/server.sh

sql_tests=()
scenarios=()
for name in "$@"; do
  if [[ -f tests/sql/$name.sql ]]; then
    sql_tests+=("$name")
  elif compgen -G "tests/scenarios/$name.sh" >/dev/null || compgen -G "tests/scenarios/[0-9]*_$name.sh" >/dev/null; then
    scenarios+=("$name")
  else
    die "there is no test $name in tests/sql or tests/scenarios"
  fi
done

ensure_postgresql
private_tree
DEST_PG_CONFIG=$TREE_PG_CONFIG scripts/install.sh
failed=0
if (($# == 0 || ${#sql_tests[@]})); then
  scripts/sql-tests.sh ${sql_tests[@]+"${sql_tests[@]}"} || failed=1
fi
if (($# == 0 || ${#scenarios[@]})); then
  scripts/scenario-tests.sh ${scenarios[@]+"${scenarios[@]}"} || failed=1
fi
if (($# == 0)); then
  scripts/doc-tests.sh || failed=1
fi
exit "$failed"

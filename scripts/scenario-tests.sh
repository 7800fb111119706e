#!/usr/bin/env bash
# Runs tests/scenarios/*.sh, each on servers of its own.
#   scripts/scenario-tests.sh [NAME...]     NAME with or without its number
#   SCENARIOS=tests/faults                  the ones of another directory
# The extension must be installed in TREE_PG_CONFIG, else it is built and installed.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/lib/common.sh
. scripts/lib/packages.sh
. scripts/lib/server.sh

if [[ -z ${TREE_PG_CONFIG:-} ]]; then
  ensure_postgresql
  private_tree
  DEST_PG_CONFIG=$TREE_PG_CONFIG scripts/install.sh
fi
private_tree

failed=0
for file in "${SCENARIOS:-tests/scenarios}"/*.sh; do
  name=$(basename "$file" .sh)
  if (($#)) && [[ " $* " != *" $name "* && " $* " != *" ${name#*_} "* ]]; then
    continue
  fi
  start=$(now)
  bash "$file" 2>&1 || failed=1
  echo "# $name took $(seconds_since "$start") s"
done
exit "$failed"

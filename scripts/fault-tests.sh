#!/usr/bin/env bash
# Runs tests/faults/*.sh, which take long, on the newest available server. The last line is `N passed, N failed`.
#   scripts/fault-tests.sh [NAME...]
#   LOAD_SECONDS=600    duration of the load test
#   ROUNDS=20           number of crashes of each kind
#   PG_CONFIG=...       the server to test; the default is PostgreSQL 18 of scripts/provision-pgvector.sh
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/lib/common.sh
. scripts/lib/packages.sh
. scripts/lib/server.sh

for name in "$@"; do
  [[ -f tests/faults/$name.sh ]] || die "there is no test $name in tests/faults"
done
ensure_rust
if [[ -z ${PG_CONFIG:-} ]]; then PG_CONFIG=$(scripts/provision-pgvector.sh | tail -1); fi
ensure_postgresql
private_tree
DEST_PG_CONFIG=$TREE_PG_CONFIG scripts/install.sh
failed=0
SCENARIOS=tests/faults scripts/scenario-tests.sh "$@" | tee "$WORK/output" || failed=1
echo "$(grep -c '^ok - ' "$WORK/output" || true) passed, $(grep -c '^not ok - ' "$WORK/output" || true) failed"
exit "$failed"

#!/usr/bin/env bash
# Runs tests/faults/*.sh, which take long, on the newest server there is. The last line is `N passed, N failed`.
#   scripts/fault-tests.sh [NAME...]
#   LOAD_SECONDS=600    how long connections add, merge and ask
#   ROUNDS=20           how often each kind of crash is tried
#   PG_CONFIG=...       the server to test with; else PostgreSQL 18 of scripts/provision-pgvector.sh
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
SCENARIOS=tests/faults scripts/scenario-tests.sh "$@" | tee "$WORK/said" || failed=1
echo "$(grep -c '^ok - ' "$WORK/said" || true) passed, $(grep -c '^not ok - ' "$WORK/said" || true) failed"
exit "$failed"

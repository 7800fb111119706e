#!/usr/bin/env bash
# Writes target/explore.html, an interactive page about filters with data from a private server; it needs only a browser.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/lib/common.sh
. scripts/lib/packages.sh
. scripts/lib/server.sh

ensure_rust
ensure_postgresql
ensure_clang
private_tree
DEST_PG_CONFIG=$TREE_PG_CONFIG scripts/install.sh
say "starting a private PostgreSQL $PG_MAJOR in $WORK"
server_start explore
say "choosing, building and querying twenty filters (a minute)"
server_psql explore -f scripts/explore.sql >"$WORK/data.json"
page=$TARGET/explore.html
awk -v file="$WORK/data.json" '
  /\/\* DATA \*\/ null/ { while ((getline line < file) > 0) json = json line; print "const data = " json ";"; next }
  { print }' scripts/explore.html >"$page"
say "open $page in a browser ($(du -h "$page" | cut -f1))"

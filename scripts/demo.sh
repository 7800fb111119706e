#!/usr/bin/env bash
# The demonstration: builds, starts a private server, runs scripts/demo.sql, stops the server.
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
server_start demo
server_psql demo -At -f scripts/demo.sql 2>&1
say "stopping the server and removing its files"

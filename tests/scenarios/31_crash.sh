#!/usr/bin/env bash
# kill -9 of a backend and of the whole server while filters are built, stored and changed: after recovery every committed
# filter has the same bytes, and all its members are found.
#   ROUNDS=1    number of times that each kill is tried
. "$(dirname "$0")/../../scripts/lib/scenario.sh"
. "$(dirname "$0")/../../scripts/lib/faults.sh"

# Committed data must survive, so commits wait for the WAL. Full-page writes are needed because of kills between checkpoints.
server_start main "synchronous_commit = on" "full_page_writes = on" "checkpoint_timeout = 30s" "max_parallel_workers_per_gather = 2"
server_psql main <<'SQL'
CREATE EXTENSION pg_lsbf;
CREATE TABLE vectors AS
  SELECT id, ('x' || md5('a' || id) || md5('b' || id))::bit(256) AS v FROM generate_series(1, 20000) AS id;
CREATE FUNCTION prototype(capacity bigint) RETURNS lsbf IMMUTABLE LANGUAGE sql AS
  'SELECT dsbf_new(dims => 256, capacity => capacity, near => 0.02, far => 0.4)';
CREATE TABLE filters AS SELECT 0 AS part, lsbf_agg(v, prototype(20000)) AS f FROM vectors;
-- The rows added to the running filter, recorded in the same transaction.
CREATE TABLE added (start integer, id integer);
CREATE TABLE running AS SELECT prototype(20000) AS f;
CREATE TABLE large (f lsbf);
ANALYZE vectors;
SQL

digest="SELECT md5(string_agg(part || ' ' || md5(f::bytea), ';' ORDER BY part)) FROM filters WHERE part <= 0"
whole=$(server_query main "$digest")

# The work of the sessions: a long build, storing a large filter, many small ones, adding to a stored one row by row.
build="SELECT lsbf_kind(lsbf_agg(v, prototype(20000))) FROM vectors, generate_series(1, 100000)"
insert="INSERT INTO large SELECT f FROM (SELECT lsbf_agg(v, prototype(1000000)) AS f FROM vectors WHERE id <= 1000) s, generate_series(1, 100)"
# many NAME START: statements that print what they commit
many() {
  local i
  for ((i = $2; i < $2 + 5000; i++)); do
    case $1 in
      parts) echo "WITH new AS (INSERT INTO filters SELECT $i, lsbf_agg(v, prototype(100)) FROM vectors WHERE id % 200 = $i % 200 RETURNING part) SELECT part FROM new;" ;;
      adds) echo "WITH new AS (UPDATE running SET f = lsbf_add(f, v) FROM vectors WHERE id = $i % 20000 + 1 RETURNING id) INSERT INTO added SELECT $2, id FROM new RETURNING id;" ;;
    esac
  done
}

# list FILE: its complete lines, separated by commas
list() { sed '$d' "$WORK/$1" | paste -sd,; }

crashes=0
# crash NAME VICTIM: starts all sessions, kills VICTIM (a session, or the server), and checks the state after recovery
crash() {
  local name=$1 victim=$2 start=$((crashes * 5000 + 1)) pids=() parts adds pid
  session_start main build "$build"
  pids+=("$SESSION")
  session_start main insert "$insert"
  pids+=("$SESSION")
  many parts "$start" | server_psql main -At >"$WORK/parts" 2>/dev/null &
  pids+=("$!")
  many adds "$start" | server_psql main -At >"$WORK/adds" 2>/dev/null &
  pids+=("$!")
  pid=$(session_busy main "${victim/server/build}" 400)
  if [[ $victim == server ]]; then server_kill main; else kill -KILL "$pid"; fi
  for pid in "${pids[@]}"; do wait "$pid" || true; done
  crashes=$((crashes + 1))
  if [[ $victim == server ]]; then server_start main 2>/dev/null; fi
  assert_eq "$name: the server recovered" "$(server_recovered main)" "$crashes"

  # psql prints the result of a statement once it is committed; the last line may be incomplete.
  parts=$(list parts) adds=$(list adds)
  assert_match "$name: work was in progress" "$parts;$adds" "[0-9];[0-9]"
  assert_eq "$name: the filter committed before has the same bytes" "$(server_query main "$digest")" "$whole"
  assert_eq "$name: all its members are found" "$(server_query main "SELECT count(*) FROM vectors, filters WHERE part = 0 AND approx_member(f, v)")" 20000
  assert_eq "$name: $(wc -l <"$WORK/parts") filters were committed, all exist" "$(server_query main "SELECT count(*) FROM unnest('{$parts}'::int[]) n WHERE n NOT IN (SELECT part FROM filters)")" 0
  assert_eq "$name: they find their members" "$(server_query main "SELECT count(*) FILTER (WHERE NOT approx_member(f, v)) FROM filters JOIN vectors ON id % 200 = part % 200 WHERE part >= $start")" 0
  assert_eq "$name: $(wc -l <"$WORK/adds") adds were committed, all are recorded" "$(server_query main "SELECT count(*) FROM unnest('{$adds}'::int[]) n WHERE n NOT IN (SELECT id FROM added WHERE start = $start)")" 0
  assert_eq "$name: the running filter finds them" "$(server_query main "SELECT count(*) FILTER (WHERE NOT approx_member(f, v)) FROM running, added JOIN vectors USING (id)")" 0
  assert_eq "$name: what was not committed is gone" "$(server_query main "SELECT count(*) FROM large")" 0
}

for ((round = 1; round <= ${ROUNDS:-1}; round++)); do
  crash "backend killed while it builds" build
  crash "backend killed while it stores" insert
  crash "server killed" server
done
assert_eq "a filter built after all crashes has the bytes of one built before" \
  "$(server_query main "SELECT md5(string_agg(part || ' ' || md5(f::bytea), ';')) FROM (SELECT 0 AS part, lsbf_agg(v, prototype(20000)) AS f FROM vectors) s")" "$whole"

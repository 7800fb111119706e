#!/usr/bin/env bash
# Filters of pgvector's columns: dumped and restored with and without pg_lsbf_vector, whatever the order in which the
# extensions were created; aggregated in parallel; and without memory leaks.
. "$(dirname "$0")/../../scripts/lib/scenario.sh"
every_version
needs vector

server_start main "max_worker_processes = 8" "max_parallel_workers = 4" "jit = off"

# create DATABASE EXTENSION...
create() {
  local database=$1 extension
  shift
  server_run createdb main "$database"
  for extension in "$@"; do
    server_psql main -d "$database" -o /dev/null -c "SET client_min_messages = warning; CREATE EXTENSION $extension"
  done
}

# fill DATABASE: objects of every kind that depends on the functions, so that a dump must put them in order
fill() {
  server_psql main -d "$1" <<'SQL'
CREATE TABLE items (id int, v vector(16), hub boolean GENERATED ALWAYS AS (
  approx_member(lsbf_add(lsbf_new(capacity => 10, near => 0.5), '[1,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0]'::vector), v)) STORED);
INSERT INTO items SELECT i, ARRAY(SELECT sin(i * j) FROM generate_series(1, 16) j)::vector FROM generate_series(1, 2000) i;
CREATE TABLE filters AS SELECT lsbf_agg(v, lsbf_new(capacity => 2000, near => 0.1)) AS f FROM items WHERE id <= 1000;
CREATE VIEW matches AS SELECT id FROM items, filters WHERE approx_member(f, v::vector);
CREATE VIEW matches_by_cast AS SELECT id FROM items, filters WHERE approx_member(f, v::real[]);
CREATE MATERIALIZED VIEW again AS SELECT lsbf_agg(v, lsbf_new(capacity => 2000, near => 0.1)) AS f FROM items WHERE id <= 1000;
CREATE INDEX ON items (approx_votes(lsbf_new(capacity => 10, near => 0.5), v));
SQL
}

state="SELECT md5((SELECT f::bytea FROM filters)), (SELECT f FROM again) = (SELECT f FROM filters), md5(array_agg(id ORDER BY id)::text),
  (SELECT count(*) FROM matches WHERE id <= 1000), (SELECT count(*) FROM items WHERE hub)
  FROM (TABLE matches UNION ALL TABLE matches_by_cast) m"
expected=

# assert_restored NAME DATABASE
assert_restored() {
  assert_eq "$1" "$(server_query main "$state" "$2")" "$expected"
  server_run dropdb main "$2"
}

# dump_and_restore NAME EXTENSION...: the extensions in this order
dump_and_restore() {
  local name=$1 definition
  shift
  create source "$@"
  fill source
  : "${expected:=$(server_query main "$state" source)}"
  definition=$(server_query main "SELECT pg_get_viewdef('matches')" source)
  if [[ $* == *pg_lsbf_vector* ]]; then
    assert_match "$name: a view uses vector" "$definition" "::vector\)"
  else
    assert_match "$name: a view uses real[]" "$definition" "::real\[\]"
  fi
  server_run pg_dump main -Fp -f "$WORK/plain.sql" source
  server_run pg_dump main -Fc -f "$WORK/custom.dump" source
  server_run dropdb main source

  create target
  server_psql main -d target -o /dev/null -f "$WORK/plain.sql"
  assert_restored "$name: plain dump" target
  create target
  server_run pg_restore main -d target --exit-on-error -j 2 "$WORK/custom.dump"
  assert_restored "$name: custom dump, two jobs" target
  create target "pg_lsbf_vector CASCADE"
  server_run pg_restore main -d target --exit-on-error "$WORK/custom.dump"
  assert_restored "$name: where all extensions exist" target
  create target vector pg_lsbf
  server_run pg_restore main -d target --exit-on-error "$WORK/custom.dump"
  assert_restored "$name: where two of them exist" target
}

dump_and_restore "without pg_lsbf_vector" vector pg_lsbf
dump_and_restore "pg_lsbf, vector, pg_lsbf_vector" pg_lsbf vector pg_lsbf_vector
dump_and_restore "vector, pg_lsbf, pg_lsbf_vector" vector pg_lsbf pg_lsbf_vector
dump_and_restore "pg_lsbf_vector CASCADE" "pg_lsbf_vector CASCADE"

# pg_lsbf_vector created after the views, and dropped again: the views keep working.
create later pg_lsbf vector
fill later
server_query main "CREATE EXTENSION pg_lsbf_vector" later
assert_eq "added later: the same answers" "$(server_query main "$state" later)" "$expected"
server_run pg_dump main -Fc -f "$WORK/later.dump" later
create target
server_run pg_restore main -d target --exit-on-error "$WORK/later.dump"
assert_restored "added later: custom dump" target
server_query main "DROP EXTENSION pg_lsbf_vector" later
assert_eq "dropped again: the same answers" "$(server_query main "$state" later)" "$expected"

# Parallel plans build the same bytes as a single process.
create big "pg_lsbf_vector CASCADE"
server_psql main -d big <<'SQL'
CREATE TABLE big AS SELECT i AS id, v, v::halfvec AS h, v::sparsevec AS s
  FROM generate_series(1, 20000) i, LATERAL (SELECT ARRAY(SELECT 100 * sin(i * j) FROM generate_series(1, 8) j)::vector AS v) x;
CREATE TABLE filters AS SELECT lsbf_agg(v, lsbf_new(capacity => 20000, near => 0.1)) AS f FROM big;
\i scripts/lib/peak.sql
VACUUM ANALYZE big, filters;
SQL
serial="SET max_parallel_workers_per_gather = 0"
parallel="SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0;
  SET max_parallel_workers_per_gather = 2"
for column in v h s; do
  build="SELECT lsbf_agg($column, lsbf_new(capacity => 20000, near => 0.1)) FROM big"
  plan=$(server_query main "$parallel; EXPLAIN (COSTS off) $build" big)
  assert_match "column $column: a parallel aggregate" "$plan" "Partial Aggregate"
  assert_eq "column $column: the same bytes" "$(server_query main "$parallel; SELECT md5(($build)::bytea)" big)" \
    "$(server_query main "$serial; SELECT md5(($build)::bytea)" big)"
  probe="SELECT count(*) FROM big WHERE approx_member((SELECT lsbf_agg(b.$column, lsbf_new(capacity => 20000, near => 0.1)) FROM big b), $column)"
  assert_eq "column $column: every member is found by the workers" "$(server_query main "$parallel; $probe" big)" 20000
done

# A million calls do not leak memory, as in 02_memory.sh.
for column in v h s; do
  calls="SELECT count(*) FROM filters, big, generate_series(1, TIMES) WHERE approx_member(f, $column)"
  kb=$(server_psql main -d big -At <<SQL
$serial;
${calls//TIMES/2} \g /dev/null
SELECT peak() AS before \gset
${calls//TIMES/50} \g /dev/null
SELECT peak() - :before;
SQL
  )
  assert_at_most "column $column: a million calls do not leak (grew by $kb kB)" "$kb" 4096
done

#!/usr/bin/env bash
# Citus: a coordinator and two workers. Filters are built by the workers, merged by the coordinator, and sent to the workers.
# Skipped if the server does not have Citus.
. "$(dirname "$0")/../../scripts/lib/scenario.sh"
. "$(dirname "$0")/../../scripts/lib/fdw.sh"
needs citus

for node in coordinator worker1 worker2; do
  server_start "$node" "shared_preload_libraries = 'citus'" "citus.node_conninfo = 'sslmode=prefer'" "citus.enable_statistics_collection = off" \
    "wal_level = logical" "max_prepared_transactions = 100"
  server_query "$node" "CREATE EXTENSION citus"
done
for node in worker1 worker2; do
  server_query coordinator "SELECT citus_add_node('$(server_dir "$node")', 5432)" >/dev/null
done
server_psql coordinator >/dev/null <<'SQL'
-- Citus creates it on the workers as well.
CREATE EXTENSION pg_lsbf;
CREATE TABLE songs (id integer, fp bit(256), v real[]);
SELECT create_distributed_table('songs', 'id', shard_count => 8);
CREATE TABLE plain AS
  SELECT id, ('x' || md5('a' || id) || md5('b' || id))::bit(256) AS fp, ARRAY[id % 1001, id % 997, id % 13]::real[] AS v
  FROM generate_series(1, 20000) AS id;
INSERT INTO songs TABLE plain;
INSERT INTO plain VALUES (0, NULL, NULL);
INSERT INTO songs VALUES (0, NULL, NULL);
CREATE TABLE filters (name text, f lsbf);
INSERT INTO filters SELECT 'some', lsbf_agg(fp, dsbf_new(dims => 256, capacity => 20000, near => 0.02)) FROM plain WHERE id % 100 = 0;
CREATE TABLE daily (day integer, f lsbf);
SELECT create_distributed_table('daily', 'day', shard_count => 4);
INSERT INTO daily SELECT id % 10, lsbf_agg(fp, dsbf_new(dims => 256, capacity => 20000, near => 0.02)) FROM plain GROUP BY 1;
INSERT INTO daily VALUES (10, NULL), (11, NULL), (12, NULL);
SQL

query() { server_query coordinator "$1"; }
explain() { query "EXPLAIN (VERBOSE, COSTS off) $1" | without_filters; }

assert_eq "the extension is on the workers" "$(server_query worker1 "SELECT count(*) FROM pg_extension WHERE extname = 'pg_lsbf'")" 1
assert_eq "both workers have rows" "$(query "SELECT count(DISTINCT nodename) FROM citus_shards WHERE table_name = 'songs'::regclass")" 2

for call in "lsbf_agg(fp, dsbf_new(dims => 256, capacity => 20000, near => 0.02))" "lsbf_agg(v, lsbf_new(capacity => 20000, near => 0.1))" \
  "lsbf_agg(v, ilbf_new(dims => 3, capacity => 20000, near => 0.1))"; do
  plan=$(explain "SELECT $call FROM songs")
  assert_match "${call%%(dims*}: each shard builds its filter" "$plan" "worker_(binary_)?partial_agg\('.*lsbf_agg"
  assert_match "${call%%(dims*}: the coordinator merges" "$plan" "coord_(binary_)?combine_agg"
  assert_eq "${call%%(dims*}: the same bytes" "$(query "SELECT md5(f::bytea) FROM (SELECT $call AS f FROM songs) s")" \
    "$(query "SELECT md5(f::bytea) FROM (SELECT $call AS f FROM plain) s")"
done
groups="SELECT string_agg(md5(f::bytea), ',' ORDER BY g) FROM (SELECT id % 5 AS g, lsbf_agg(fp, dsbf_new(dims => 256, capacity => 4000, near => 0.02)) AS f FROM songs GROUP BY 1) s"
assert_eq "groups: the same bytes" "$(query "$groups")" "$(query "${groups/songs/plain}")"
assert_eq "a stored prototype: the same bytes" "$(query "SELECT md5(f::bytea) FROM (SELECT lsbf_agg(fp, (SELECT f FROM filters)) AS f FROM songs) s")" \
  "$(query "SELECT md5(f::bytea) FROM (SELECT lsbf_agg(fp, (SELECT f FROM filters)) AS f FROM plain) s")"
assert_eq "no rows: NULL" "$(query "SELECT lsbf_agg(fp, dsbf_new(capacity => 10, near => 0.1)) IS NULL FROM songs WHERE id < 0")" t

assert_match "lsbf_union_agg: each shard merges" "$(explain "SELECT lsbf_union_agg(f) FROM daily")" "worker_(binary_)?partial_agg\('.*lsbf_union_agg"
assert_eq "lsbf_union_agg: the same bytes" "$(query "SELECT md5(f::bytea) FROM (SELECT lsbf_union_agg(f) AS f FROM daily) s")" \
  "$(query "SELECT md5(lsbf_agg(fp, dsbf_new(dims => 256, capacity => 20000, near => 0.02))::bytea) FROM plain")"

# Queries: the filter is sent to the workers.
passed=$(query "SELECT count(*) FROM plain WHERE approx_member((SELECT f FROM filters), fp)")
assert_at_most "few rows pass ($passed of 20,000)" "$passed" 1000
probe="SELECT count(*) FROM songs WHERE approx_member((SELECT f FROM filters), fp)"
assert_match "sub-select: the workers query the filter" "$(explain "$probe")" "Filter: approx_member\("
assert_eq "sub-select: the answer" "$(query "$probe")" "$passed"
assert_eq "CTE: the answer" "$(query "WITH mine AS MATERIALIZED (SELECT lsbf_agg(fp, dsbf_new(dims => 256, capacity => 20000, near => 0.02)) AS f FROM songs WHERE id % 100 = 0)
  SELECT count(*) FROM songs WHERE approx_member((SELECT f FROM mine), fp)")" "$passed"
assert_eq "constant: the answer" "$(query "SELECT format('SELECT count(*) FROM songs WHERE approx_member(%L, fp)', f) FROM filters" | server_psql coordinator -At)" "$passed"
query "CREATE FUNCTION filter() RETURNS lsbf STABLE LANGUAGE sql AS 'SELECT f FROM filters'"
assert_eq "parameter: the answer" "$(query "PREPARE passing(lsbf) AS SELECT count(*) FROM songs WHERE approx_member(\$1, fp); EXECUTE passing(filter())")" "$passed"
query "CREATE TABLE shared (f lsbf); SELECT create_reference_table('shared'); INSERT INTO shared SELECT f FROM filters" >/dev/null
assert_eq "reference table: the answer" "$(query "SELECT count(*) FROM songs, shared WHERE approx_member(f, fp)")" "$passed"

# pgvector's type, if the server has it.
if [[ -f $("$TREE_PG_CONFIG" --sharedir)/extension/vector.control ]]; then
  server_psql coordinator >/dev/null <<'SQL'
CREATE EXTENSION vector;
CREATE EXTENSION pg_lsbf_vector;
CREATE TABLE embeddings (id integer, v vector(3));
SELECT create_distributed_table('embeddings', 'id', shard_count => 8);
INSERT INTO embeddings SELECT id, v::vector FROM songs WHERE id > 0;
SQL
  call="lsbf_agg(v, lsbf_new(dims => 3, capacity => 20000, near => 0.1))"
  assert_match "vector: each shard builds its filter" "$(explain "SELECT $call FROM embeddings")" "worker_(binary_)?partial_agg\('.*lsbf_agg"
  assert_eq "vector: the same bytes as of real[]" "$(query "SELECT md5(f::bytea) FROM (SELECT $call AS f FROM embeddings) s")" \
    "$(query "SELECT md5(f::bytea) FROM (SELECT $call AS f FROM plain WHERE id > 0) s")"
  query "CREATE TABLE near AS SELECT lsbf_agg(v, lsbf_new(dims => 3, capacity => 20000, near => 0.1)) AS f FROM plain WHERE id % 100 = 0"
  assert_eq "vector: the same answer" "$(query "SELECT count(*) FROM embeddings WHERE approx_member((SELECT f FROM near), v)")" \
    "$(query "SELECT count(*) FROM plain WHERE id > 0 AND approx_member((SELECT f FROM near), v)")"
fi

# Citus looks up the transition function again for every row. That must cost little, compared with the same aggregate without
# Citus plus the time Citus takes to count the rows. The fastest of five runs is used, because other processes interfere.
ms() {
  query "$(printf "EXPLAIN (ANALYZE, TIMING off, COSTS off) $1;%.0s" 1 2 3 4 5)" | sed -n 's/^Execution Time: \(.*\) ms/\1/p' | sort -n | head -1
}
build="lsbf_agg(fp, dsbf_new(dims => 256, capacity => 20000, near => 0.02))"
whole=$(ms "SELECT $build FROM plain")
count=$(ms "SELECT count(*) FROM songs")
shards=$(ms "SELECT $build FROM songs")
assert_at_most "20,000 rows of 8 shards take $shards ms, without Citus $whole ms, counting them $count ms" "$shards" \
  "$(awk -v whole="$whole" -v count="$count" 'BEGIN { print 5 * (whole + count) }')"

#!/usr/bin/env bash
# Three nodes behind one partitioned table: a filter is built on each node and merged on the hub, one filter is sent to all
# nodes, and a table of filters shows which nodes to query.
. "$(dirname "$0")/../../scripts/lib/scenario.sh"
. "$(dirname "$0")/../../scripts/lib/fdw.sh"
needs postgres_fdw

nodes="north east south"
server_start hub
server_psql hub <<'SQL'
CREATE EXTENSION pg_lsbf;
CREATE TABLE songs (id integer, node text NOT NULL, v real[]) PARTITION BY LIST (node);
CREATE FUNCTION vector(id integer) RETURNS real[] IMMUTABLE LANGUAGE sql AS
  'SELECT ARRAY(SELECT (100 * sin(id * j ^ 1.5))::real FROM generate_series(1, 16) j)';
CREATE FUNCTION distance(a real[], b real[]) RETURNS float8 IMMUTABLE LANGUAGE sql AS
  'SELECT sqrt(sum((x - y) ^ 2)) FROM unnest(a, b) u (x, y)';
CREATE FUNCTION prototype() RETURNS lsbf IMMUTABLE LANGUAGE sql AS 'SELECT lsbf_new(dims => 16, capacity => 6000, near => 1)';
SQL
start=0
for node in $nodes; do
  server_start "$node"
  server_psql "$node" <<SQL
CREATE EXTENSION pg_lsbf;
CREATE TABLE songs AS
  SELECT id, '$node'::text AS node, ARRAY(SELECT (100 * sin(id * j ^ 1.5))::real FROM generate_series(1, 16) j) AS v
  FROM generate_series($start + 1, $start + 2000) AS id;
VACUUM ANALYZE songs;
SQL
  fdw_link hub "$node" ", extensions 'pg_lsbf', async_capable 'true', use_remote_estimate 'true'"
  server_query hub "CREATE FOREIGN TABLE songs_$node PARTITION OF songs FOR VALUES IN ('$node') SERVER $node OPTIONS (table_name 'songs')"
  start=$((start + 2000))
done

query() { server_query hub "$1"; }
plan() { query "SET enable_partitionwise_aggregate = on; EXPLAIN (VERBOSE, COSTS off) $1" | without_filters; }
count_in() { grep -cE "$1" <<<"$2" || true; }

# One filter per node, merged.
each="SELECT node, lsbf_agg(v, prototype()) AS f FROM songs GROUP BY node"
merged="SELECT lsbf_union_agg(f) FROM ($each) s"
assert_eq "each node builds its filter" "$(count_in 'Remote SQL: SELECT node, public\.lsbf_agg\(v, FILTER\) FROM public\.songs GROUP BY' "$(plan "$each")")" 3
assert_eq "the filters are merged on the hub" "$(count_in 'Remote SQL: .*lsbf_agg' "$(plan "$merged")")" 3
all=$(query "SELECT md5(lsbf_agg(v, prototype())::bytea) FROM (SELECT * FROM songs OFFSET 0) s")
assert_eq "the union is the filter of all rows" "$(query "SET enable_partitionwise_aggregate = on; SELECT md5((${merged})::bytea)")" "$all"
assert_eq "so is the result of one aggregate over all nodes" "$(query "SET enable_partitionwise_aggregate = on; SELECT md5(lsbf_agg(v, prototype())::bytea) FROM songs")" "$all"

# One node chooses the prototype from its rows, through a view: a few hundred bytes are fetched, not a sample.
server_query north "CREATE VIEW chosen AS SELECT prototype FROM lsbf_design_for('songs', 'v', near => 1, far => 10, capacity => 6000, sample => 500) LIMIT 1"
query "CREATE FOREIGN TABLE chosen (prototype lsbf) SERVER north; CREATE TABLE prototypes AS SELECT prototype FROM chosen"
assert_match "a prototype chosen by one node works for all" "$(query "SET enable_partitionwise_aggregate = on; SELECT lsbf_members(lsbf_union_agg(f)) > 5000 FROM (
  SELECT node, lsbf_agg(v, (SELECT prototype FROM prototypes)) AS f FROM songs GROUP BY node) s")" t

# One filter for all nodes, which are queried at the same time.
query "CREATE TABLE queries AS SELECT id, ARRAY(SELECT (x + 0.1)::real FROM unnest(vector(id)) x) AS v FROM generate_series(7, 6000, 300) id;
  CREATE TABLE filter AS SELECT lsbf_agg(v, prototype()) AS f FROM queries"
near="SELECT id FROM songs WHERE approx_member((SELECT f FROM filter), v)"
assert_eq "all nodes are queried at the same time" "$(count_in 'Async Foreign Scan' "$(plan "$near")")" 3
assert_eq "all nodes receive the filter" "$(count_in 'Remote SQL: .*approx_member' "$(plan "$near")")" 3
passed=$(query "SELECT count(*) FROM (SELECT * FROM songs OFFSET 0) s WHERE approx_member((SELECT f FROM filter), v)")
assert_eq "the nodes together give the answer of a single server" "$(query "SELECT count(*) FROM ($near) s")" "$passed"
assert_at_most "few rows are fetched ($passed of 6,000)" "$passed" 300
assert_eq "every matching song is among them" "$(query "SELECT count(*) FROM queries JOIN ($near) s USING (id)")" 20

# Routing: which nodes may have a neighbour of a vector?
query "SET enable_partitionwise_aggregate = on; CREATE TABLE routes AS $each"
server_psql hub <<'SQL'
-- A filter of the query vector alone, which is sent with the query.
CREATE FUNCTION query_filter(query real[]) RETURNS lsbf IMMUTABLE LANGUAGE sql AS
  'SELECT lsbf_add(lsbf_new(dims => 16, capacity => 10, near => 1), query)';
CREATE FUNCTION near_songs(query real[]) RETURNS TABLE (id integer, node text) STABLE LANGUAGE plpgsql AS $$
BEGIN
  RETURN QUERY EXECUTE 'SELECT id, node FROM songs WHERE node = ANY ($1) AND approx_member($2, v) AND distance(v, $3) <= 1'
    USING ARRAY(SELECT r.node FROM routes r WHERE approx_member(f, query)), query_filter(query), query;
END $$;
-- Vectors at a given distance from every fourth song, in a random direction.
CREATE FUNCTION node_of(id integer) RETURNS text IMMUTABLE LANGUAGE sql AS
  $$ SELECT CASE WHEN id <= 2000 THEN 'north' WHEN id <= 4000 THEN 'east' ELSE 'south' END $$;
SELECT setseed(0.5) \g /dev/null
CREATE TABLE neighbours AS
  SELECT distance, id, array_agg((x + distance * step / norm)::real ORDER BY j) AS v FROM (
    SELECT distance, id, j, x, step, sqrt(sum(step ^ 2) OVER (PARTITION BY distance, id)) AS norm FROM (
      SELECT distance, id, j, x, sqrt(-2 * ln(1 - random())) * cos(2 * pi() * random()) AS step
      FROM unnest(ARRAY[0.4, 1]::float8[]) AS distance, generate_series(1, 6000, 4) id, unnest(vector(id)) WITH ORDINALITY AS song (x, j)) s) s
  GROUP BY distance, id;
SQL
assert_eq "a song is routed to its node, and to few others" "$(query "
  SELECT bool_and(r.node = ANY (nodes)) || ' ' || (sum(cardinality(nodes)) < 1.2 * count(*)) FROM (
    SELECT node_of(id) AS node, ARRAY(SELECT node FROM routes WHERE approx_member(f, vector(id))) AS nodes FROM generate_series(1, 6000, 10) id) r")" "true true"
assert_eq "an unrelated vector finds nothing" "$(query "SELECT count(*) FROM near_songs(array_fill(5000::real, ARRAY[16]))")" 0
for id in 10 3000 5990; do
  assert_eq "routed, song $id is found" "$(query "SELECT id FROM near_songs(ARRAY(SELECT (x + 0.1)::real FROM unnest(vector($id)) x))")" "$id"
done
# Neighbours are routed to the node of their song as often as predicted, and their song passes the filter there.
for distance in 0.4 1; do
  read -r all unrouted unfound not_routed not_passed < <(query "
    SELECT count(*), count(*) FILTER (WHERE NOT routed), count(*) FILTER (WHERE NOT (routed AND passed)), max(not_routed), max(not_passed) FROM (
      SELECT approx_member(f, v) AS routed, approx_member(query_filter(v), vector(id)) AS passed,
        lsbf_fnr(f, distance) AS not_routed, lsbf_fnr(query_filter(v), distance) AS not_passed
      FROM neighbours JOIN routes ON node = node_of(id) WHERE distance = $distance) s" | tr '|' ' ')
  assert_eq "there are neighbours at distance $distance" "$all" 1500
  assert_rate "at distance $distance, $unrouted of $all are not routed to the node of their song, as predicted" "$unrouted" "$all" "$not_routed"
  assert_at_most "at distance $distance, $unfound of $all are missed by either filter, as predicted" "$unfound" \
    "$(awk -v n="$all" -v p="$not_routed" -v q="$not_passed" 'BEGIN { print n * (p + q) + 4 * sqrt(n * (p + q)) }')"
done
# The query filter is applied on the node, which returns near rows only.
if [[ ! -f $("$TREE_PG_CONFIG" --pkglibdir)/auto_explain.so ]]; then
  echo "skip - $SCENARIO: no auto_explain here to show the plans within a function"
else
  routed=$(server_psql hub 2>&1 <<'SQL' | without_filters
LOAD 'auto_explain';
SET auto_explain.log_min_duration = 0; SET auto_explain.log_nested_statements = on; SET auto_explain.log_verbose = on;
SET auto_explain.log_analyze = on; SET auto_explain.log_timing = off; SET client_min_messages = log;
SELECT * FROM near_songs(vector(10));
SQL
)
  assert_match "routed, the query filter is sent" "$routed" "Remote SQL: SELECT id, node, v FROM public\.songs WHERE .*public\.approx_member\(FILTER, v, "
  assert_eq "routed, one node is queried" "$(count_in 'Remote SQL: .*approx_member' "$routed")" 1
  fetched=$(sed -nE 's/.*Foreign Scan on .*actual rows=([0-9]+).*/\1/p' <<<"$routed")
  assert_at_most "routed, $fetched of the node's 2,000 rows are fetched" "${fetched:-2000}" 50
fi
# Only the selected nodes are contacted: another one may be down.
server_stop south
assert_eq "a node that is not queried may be down" "$(query "SELECT node FROM near_songs(vector(10))")" north
assert_match "a node that is queried may not be down" "$(query "SELECT * FROM near_songs(vector(5990))" 2>&1 || true)" "could not connect to server \"south\""
assert_match "without routing all nodes are queried" "$(query "SELECT id FROM songs WHERE distance(v, vector(10)) <= 1" 2>&1 || true)" "could not connect to server \"south\""
server_start south

# Filters built elsewhere: merged if they hash alike, else refused with the reason.
server_psql east -c "CREATE TABLE made AS SELECT name, lsbf_agg(v, p) AS f FROM songs, (VALUES
  ('same', lsbf_new(dims => 16, capacity => 6000, near => 1)), ('dims from the rows', lsbf_new(capacity => 6000, near => 1)),
  ('seed', lsbf_new(dims => 16, capacity => 6000, near => 1, seed => 7)), ('near', lsbf_new(dims => 16, capacity => 6000, near => 2)),
  ('capacity', lsbf_new(dims => 16, capacity => 7000, near => 1)), ('metric', lsbf_new(metric => 'l1', dims => 16, capacity => 6000, near => 1)),
  ('kind', ilbf_new(dims => 16, capacity => 6000, near => 1))) AS made (name, p) GROUP BY name"
query "CREATE FOREIGN TABLE made (name text, f lsbf) SERVER east"
for name in "same" "dims from the rows"; do
  assert_eq "$name: merged" "$(query "SELECT md5((f | (SELECT f FROM routes WHERE node = 'east'))::bytea) FROM made WHERE name = '$name'")" \
    "$(query "SELECT md5(f::bytea) FROM routes WHERE node = 'east'")"
done
# refused NAME REASON
refused() {
  local got
  got=$(server_psql hub -v VERBOSITY=verbose -c "SELECT lsbf_union_agg(f) FROM (SELECT f FROM routes WHERE node = 'north' UNION ALL SELECT f FROM made WHERE name = '$1') s" 2>&1 >"$WORK/out" || true)
  assert_match "another $1 is refused" "$got" "22000: filters differ in $2"
}
refused seed "seed: 0 and 7"
refused near "near: 1 and 2"
refused capacity "capacity: 6000 and 7000"
refused metric "metric: l2 and l1"
refused kind "kind: lsbf and ilbf"
query "CREATE FOREIGN TABLE made_bytes (name text, f bytea) SERVER east OPTIONS (table_name 'bytes')"
server_query east "CREATE VIEW bytes AS SELECT name, set_byte(f::bytea, 4, 2) AS f FROM made"
assert_match "a future version of the format is refused" "$(server_psql hub -v VERBOSITY=verbose -c "SELECT f::lsbf FROM made_bytes WHERE name = 'same'" 2>&1 || true)" \
  "22P03: not a valid filter: .*version 2"

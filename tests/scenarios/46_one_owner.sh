#!/usr/bin/env bash
# The cache of a session has one owner and a limit: stored filters are read once for all calls of a transaction, hash
# functions are limited by their size, and comparing filters does not leak. Memory is the peak of the backend without shared
# memory. What is read or expanded is counted, because times would depend on what else the machine does.
. "$(dirname "$0")/../../scripts/lib/scenario.sh"

server_start main "max_parallel_workers_per_gather = 0" "jit = off" "shared_buffers = '512MB'" "client_min_messages = error"
query() { server_query main "$1"; }
server_psql main <<'SQL'
CREATE EXTENSION pg_lsbf;
CREATE TABLE vectors AS SELECT id, ARRAY[id % 101, id % 103, id % 107, id % 109]::real[] AS v FROM generate_series(1, 40000) AS id;
CREATE TABLE parts (id int, v real[]) PARTITION BY HASH (id);
SELECT format('CREATE TABLE part_%s PARTITION OF parts FOR VALUES WITH (MODULUS 40, REMAINDER %s)', n, n) FROM generate_series(0, 39) AS n \gexec
INSERT INTO parts SELECT * FROM vectors;
CREATE TABLE large AS
  SELECT n, lsbf_agg(v, lsbf_new(dims => 4, capacity => 20000000, near => 0.5)) AS f FROM vectors, generate_series(1, 6) AS n WHERE id % 10 <> n GROUP BY n;
CREATE TABLE small AS
  SELECT g, lsbf_agg(ARRAY[g * 100 + i, i * i, 7]::real[], lsbf_new(capacity => 1500, near => 0.5)) AS f
  FROM generate_series(1, 5000) AS g, generate_series(1, 200) AS i GROUP BY g;
CREATE SEQUENCE calls;
CREATE FUNCTION the_filter() RETURNS lsbf STABLE LANGUAGE plpgsql AS 'BEGIN PERFORM nextval(''calls''); RETURN (SELECT f FROM large WHERE n = 1); END';
-- Peak memory of this backend in MB, without shared memory.
CREATE FUNCTION peak() RETURNS int LANGUAGE sql AS $$
  SELECT (substring(s FROM 'VmHWM:\s+(\d+)')::int - substring(s FROM 'RssShmem:\s+(\d+)')::int) / 1024 FROM pg_read_file('/proc/self/status') AS s $$;
CREATE FUNCTION held() RETURNS int LANGUAGE sql AS $$
  SELECT substring(s FROM 'RssAnon:\s+(\d+)')::int / 1024 FROM pg_read_file('/proc/self/status') AS s $$;
VACUUM ANALYZE;
SQL
for n in {1..12}; do
  query "CREATE FUNCTION count_$n() RETURNS bigint LANGUAGE plpgsql AS 'BEGIN RETURN (SELECT count(*) FROM vectors, large WHERE n = 1 AND approx_member(f, v)); END'"
done
size=$(query "SELECT pg_column_size(f) / 1048576 FROM large WHERE n = 1")
assert_at_most "a large filter has over 50 MB ($size MB)" 50 "$size"

# peak SQL...: peak memory of a session that runs it, in MB
peak() {
  local sql commands=()
  for sql in "$@"; do commands+=(-c "$sql"); done
  server_psql main -At "${commands[@]}" -c "SELECT peak()" | tail -1
}
nothing=$(peak "SELECT lsbf_kind(f) FROM small LIMIT 1")

# loads KIND SQL: how often a session that runs it in a transaction reads a filter, or expands hash functions
loads() {
  server_psql main -At -c "BEGIN; $2; SELECT 'loads ' || loads FROM lsbf_cache() WHERE kind = '$1'" | sed -n 's/^loads //p'
}

# One filter for 40 partitions, in twelve functions, and during planning.
one="SELECT count(*) FROM vectors WHERE approx_member((SELECT f FROM large WHERE n = 1), v)"
all="SELECT count(*) FROM parts WHERE approx_member((SELECT f FROM large WHERE n = 1), v)"
assert_eq "the same rows pass" "$(query "$all")" "$(query "$one")"
one_mb=$(peak "$one")
many_mb=$(peak "$all")
assert_at_most "40 partitions take $many_mb MB, one table $one_mb MB" "$many_mb" "$(awk -v x="$one_mb" 'BEGIN { print 1.3 * x }')"
assert_eq "40 partitions read the filter once" "$(loads filters "$all")" 1
assert_eq "40 partitions, twice in a transaction, read the filter once" "$(loads filters "$all; $all")" 1
twelve_mb=$(peak "BEGIN" "SELECT $(printf 'count_%s() + ' {1..12})0" "COMMIT")
assert_at_most "twelve functions in a transaction take $twelve_mb MB, one query $one_mb MB" "$twelve_mb" "$(awk -v x="$one_mb" 'BEGIN { print 1.3 * x }')"
plan="EXPLAIN SELECT FROM vectors WHERE approx_member(the_filter(), v)"
plans="EXPLAIN SELECT FROM parts WHERE approx_member(the_filter(), v)"
one_mb=$(peak "$plan")
many_mb=$(peak "$plans")
assert_at_most "planning with a function: 40 partitions take $many_mb MB, one table $one_mb MB" "$many_mb" "$(awk -v x="$one_mb" 'BEGIN { print 1.3 * x }')"
calls() { server_psql main -At -c "SELECT setval('calls', 1)" -c "$1" -c "SELECT 'calls ' || last_value - 1 FROM calls" | sed -n 's/^calls //p'; }
assert_eq "planning with a function: 40 partitions call it once" "$(calls "$plans")" "$(calls "$plan")"
assert_eq "the filter cached for planning is not stale" "$(server_psql main -At <<'SQL' | grep -o "rows=[0-9]*" | uniq | wc -l
CREATE TABLE changing AS SELECT lsbf_add(lsbf_new(dims => 4, capacity => 10, near => 0.5, verify_bits => 0, overflow => 0), '{1,2,3,4}'::real[]) AS f;
CREATE FUNCTION changing() RETURNS lsbf STABLE LANGUAGE sql AS 'SELECT f FROM changing';
BEGIN;
EXPLAIN SELECT FROM vectors WHERE approx_member(changing(), v);
UPDATE changing SET f = (SELECT lsbf_agg(v, f) FROM vectors);
EXPLAIN SELECT FROM vectors WHERE approx_member(changing(), v);
COMMIT;
SQL
)" 2

# Comparing and hashing.
limit=$((nothing + 4 + 2 * size))
assert_at_most "count(DISTINCT f) of 5,000 filters does not leak" "$(peak "SET work_mem = '4MB'" "SELECT count(DISTINCT f) FROM small")" "$((nothing + 4 + 5))"
assert_at_most "a hash index on 5,000 filters does not leak" "$(peak "SET maintenance_work_mem = '4MB'" "CREATE INDEX ON small USING hash (f)")" "$((nothing + 4 + 5))"
assert_at_most "sorting 5,000 filters does not leak" "$(peak "SET work_mem = '4MB'" "SELECT count(*) FROM (SELECT f FROM small ORDER BY f OFFSET 1) s")" "$((nothing + 4 + 5))"
assert_at_most "a hash join of 6 large filters does not leak" "$(peak "SELECT count(*) FROM large a JOIN large b ON a.f = b.f")" "$limit"
assert_at_most "a merge join of 6 large filters does not leak" "$(peak "SET enable_hashjoin = off; SET enable_nestloop = off" "SELECT count(*) FROM large a JOIN large b ON a.f = b.f")" "$limit"
assert_at_most "grouping copies of large filters does not leak" "$(peak "SELECT count(*) FROM (SELECT f FROM (SELECT f FROM large UNION ALL SELECT f FROM large) s GROUP BY f) s")" "$limit"
query "CREATE TABLE copies AS SELECT n, f::bytea::lsbf AS f FROM large WHERE n < 4"
assert_eq "equal filters are equal, others are not" "$(query "SELECT count(*), count(DISTINCT f) FROM (SELECT f FROM large UNION ALL SELECT f FROM copies) s")" "9|6"
assert_eq "the comparison operators agree" "$(query "SELECT bool_and((a.f = b.f) = (a.n = b.n) AND (a.f <> b.f) = (a.n <> b.n) AND (a.f < b.f OR a.f >= b.f)
    AND (a.n <> b.n OR lsbf_hash(a.f) = lsbf_hash(b.f)) AND lsbf_cmp(a.f, b.f) = - lsbf_cmp(b.f, a.f)) FROM large a, copies b")" t
# Filters that differ in their last bytes only.
assert_eq "filters that differ in their last bytes only are not equal" "$(query "SELECT f = g, f < g OR f > g FROM large, LATERAL (SELECT lsbf_add(f, ARRAY[id, id, id, 1]::real[]) AS g FROM generate_series(200, 300) id WHERE lsbf_add(f, ARRAY[id, id, id, 1]::real[]) <> f LIMIT 1) s WHERE n = 1")" "f|t"

# Hash functions are limited by their size, not by their number.
query "CREATE TABLE tenants AS SELECT g, lsbf_agg(v, lsbf_new(dims => 4, capacity => 100, near => 0.5, seed => g)) AS f FROM vectors, generate_series(1, 200) g WHERE id <= 50 GROUP BY g"
query "CREATE TABLE one AS SELECT n AS g, f FROM tenants, generate_series(1, 200) n WHERE g = 1"
query "VACUUM ANALYZE tenants, one"
probe="SELECT count(m) FROM (SELECT v FROM vectors LIMIT 300) q, LATERAL (SELECT count(*) FILTER (WHERE approx_member(f, v)) AS m FROM %s OFFSET 0) s"
assert_eq "200 prototypes in turn are expanded once each" "$(loads "hash functions" "${probe/\%s/tenants}")" 200
assert_eq "one prototype is expanded once" "$(loads "hash functions" "${probe/\%s/one}")" 1
query "CREATE TABLE wide AS SELECT g, lsbf_new(dims => 4000, capacity => 100, near => 0.5, transform => 'dense', tables => 40, hashes => 60, seed => g) AS p FROM generate_series(1, 8) g"
add="SELECT count(lsbf_add(p, ARRAY(SELECT sin(n * j)::real FROM generate_series(1, 4000) j))) FROM generate_series(1, 6) n, wide WHERE g <= "
assert_eq "two sets of functions of 39 MB in turn are expanded once each" "$(loads "hash functions" "${add}2")" 2

# What an aggregate returns is made flat once, not for every row that queries it. That takes over a hundred times as long, so that
# a limit of ten times is safe from what else the machine does.
query "CREATE TABLE quotients AS SELECT id % 4 AS part, lsbf_agg(v, lsqf_new(near => 0.5)) AS f FROM vectors GROUP BY id % 4"
query "CREATE FUNCTION best(sql text) RETURNS float8 LANGUAGE plpgsql AS 'DECLARE start timestamptz; ms float8; least float8 := 1e9; BEGIN
  FOR i IN 1..3 LOOP start := clock_timestamp(); EXECUTE sql; ms := extract(epoch FROM clock_timestamp() - start) * 1000; least := least(least, ms); END LOOP; RETURN least; END'"
queried="SELECT count(*) FROM vectors, w WHERE id <= 1000 AND approx_member(f, v)"
direct=$(query "SELECT best('WITH w AS NOT MATERIALIZED (SELECT lsbf_union_agg(f) AS f FROM quotients) $queried')")
stored=$(query "SELECT best('WITH w AS MATERIALIZED (SELECT lsbf_union_agg(f) AS f FROM quotients) $queried')")
assert_at_most "querying an aggregate directly takes $direct ms, a stored value $stored ms" "$direct" "$(awk -v x="$stored" 'BEGIN { print 10 * x }')"

# The limit, its monitoring, and the release of memory.
output=$(server_psql main -At -v ON_ERROR_STOP=0 2>/dev/null <<SQL
$add 8;
SELECT 'many', held() <= 128 + 20 FROM lsbf_cache() WHERE kind = 'hash functions' AND bytes <= 128 * 1048576 AND entries BETWEEN 2 AND 3;
SET lsbf.cache_size = '1MB';
$add 8;
SELECT 'one', entries, held() <= 40 + 20 FROM lsbf_cache() WHERE kind = 'hash functions';
DISCARD ALL;
SELECT 'discarded', entries, bytes, held() < 20 FROM lsbf_cache() WHERE kind = 'hash functions';
SHOW lsbf.cache_size;
BEGIN;
$one;
SELECT 'filters', entries, bytes > 50000000 FROM lsbf_cache() WHERE kind = 'filters';
SELECT 'context', count(*), sum(total_bytes) > 50000000 FROM pg_backend_memory_contexts WHERE name = 'pg_lsbf filter';
COMMIT;
SELECT 'released', entries, bytes FROM lsbf_cache() WHERE kind = 'filters';
SELECT 'context', count(*) FROM pg_backend_memory_contexts WHERE name = 'pg_lsbf filter';
BEGIN;
$one;
SAVEPOINT s;
SELECT 1 / 0;
ROLLBACK TO s;
SELECT 'after a savepoint', entries FROM lsbf_cache() WHERE kind = 'filters';
$one;
ROLLBACK;
SELECT 'rolled back', entries, bytes FROM lsbf_cache() WHERE kind = 'filters';
BEGIN;
$one;
SELECT 1 / 0;
COMMIT;
SELECT 'failed', entries, bytes FROM lsbf_cache() WHERE kind = 'filters';
SET lsbf.cache_size = '128MB';
$add 2;
SET lsbf.cache_size = '1MB';
SELECT 1;
SELECT 'lowered', entries FROM lsbf_cache() WHERE kind = 'hash functions';
SQL
)
for line in "many|t" "one|1|t" "discarded|0|0|t" "128MB" "filters|1|t" "context|1|t" "released|0|0" "context|0" "after a savepoint|1" "rolled back|0|0" "failed|0|0" "lowered|1"; do
  assert_match "lsbf.cache_size: $line" $'\n'"$output"$'\n' $'\n'"${line//|/\\|}"$'\n'
done
# A query that reads a filter by parts, and then decides to read all of it, uses hash functions at that moment.
query "CREATE TABLE windows AS SELECT lsbf_agg(ARRAY[i % 50, i % 60, i]::real[],
    ilbf_new(dims => 3, capacity => 100000, near => 0.1, slots => 4096, tables => 255, blooms => 100000)) AS f FROM generate_series(1, 200) i"
assert_match "a query that turns to reading the whole filter stays within the limit" "$(server_psql main -At <<SQL
$add 3;
BEGIN;
SELECT approx_votes(f, '{1,2,3}'::real[], 300) > 0 FROM windows;
SELECT 'sum', sum(bytes) <= 128 * 1048576, min(entries) > 0 FROM lsbf_cache();
SQL
)" "sum\|t\|t"
turns="SELECT sum(c) FROM generate_series(1, 3) r, LATERAL (SELECT count(*) AS c FROM (SELECT v FROM vectors LIMIT 200) q, large WHERE approx_member(f, v) AND r > 0) s"
assert_at_most "six large filters in turn stay within the limit" "$(peak "$turns")" "$((nothing + 128 + size + 20))"
assert_eq "with any limit they give the same answers" "$(query "SET lsbf.cache_size = '1MB'; $turns")" "$(query "SET lsbf.cache_size = '4GB'; $turns")"
assert_match "a limit below the minimum is refused" "$(server_psql main -v VERBOSITY=verbose -c "SELECT lsbf_kind(f) FROM small LIMIT 1" -c "SET lsbf.cache_size = 100" 2>&1 || true)" "22023: 100 kB is outside the valid range"

#!/usr/bin/env bash
# A stored filter is as fast as a constant in the query: it is detoasted once per statement, not once per row. This is tested
# by time: the best of five runs of each query, with a generous limit. The cost of detoasting for every row is measured for
# comparison.
. "$(dirname "$0")/../../scripts/lib/scenario.sh"
every_version

server_start main "max_parallel_workers_per_gather = 0" "jit = off" "shared_buffers = '256MB'"
server_psql main <<'SQL'
CREATE EXTENSION pg_lsbf;
CREATE TABLE vectors AS
  SELECT id, ARRAY[id % 101, id % 103, id % 107, id % 109, 1, 2, 3, 4]::real[] AS v FROM generate_series(1, 20000) AS id;
CREATE TABLE filters AS
  SELECT lsbf_agg(v, lsbf_new(dims => 8, capacity => 2000000, near => 0.01)) AS f FROM vectors WHERE id <= 10000;
CREATE TABLE many AS
  SELECT n, lsbf_agg(v, lsbf_new(dims => 8, capacity => 100000, near => 0.01)) AS f
  FROM vectors, generate_series(1, 50) AS n WHERE id % 50 = n - 1 GROUP BY n;
CREATE FUNCTION inline_filter() RETURNS lsbf IMMUTABLE LANGUAGE sql AS 'SELECT f FROM filters';
-- Execution time of a query in milliseconds, without planning; the best of five runs.
CREATE FUNCTION ms(query text) RETURNS float8 LANGUAGE plpgsql AS $$
DECLARE
  line text;
  best float8 := 'Infinity';
BEGIN
  FOR i IN 1..5 LOOP
    FOR line IN EXECUTE 'EXPLAIN (ANALYZE, TIMING off) ' || query LOOP
      best := least(best, substring(line FROM '^Execution Time: ([0-9.]+) ms')::float8);
    END LOOP;
  END LOOP;
  RETURN best;
END $$;
VACUUM ANALYZE vectors, filters, many;
SQL

query() { server_query main "$1"; }
ms() { query "SELECT round(ms(\$q\$$1\$q\$)::numeric, 2)"; }

size=$(query "SELECT octet_length(f::bytea) FROM filters")
assert_at_most "the filter is over 5 MB ($size bytes)" 5000000 "$size"
assert_eq "it is stored out of line, not compressed" \
  "$(query "SELECT pg_column_size(f) >= octet_length(f::bytea) FROM filters")" t

inline=$(ms "SELECT count(*) FROM vectors WHERE approx_member(inline_filter(), v)")
assert_match "the inline filter is a constant" \
  "$(query "EXPLAIN (COSTS off) SELECT count(*) FROM vectors WHERE approx_member(inline_filter(), v)" | cut -c1-80)" "approx_member\('"

# as_fast NAME QUERY [MS]: 20,000 rows with the stored filter, compared with the inline one; 50 ms are for reading it once
as_fast() {
  local stored constant=${3:-$inline}
  stored=$(ms "$2")
  assert_at_most "$1: a stored filter is as fast as a constant ($stored ms, constant $constant ms)" "$stored" "$(awk -v x="$constant" 'BEGIN { print 3 * x + 50 }')"
}
as_fast "nested loop" "SELECT count(*) FROM vectors, filters WHERE approx_member(f, v)"
as_fast "nested loop, filters inside" \
  "SELECT count(*) FROM (SELECT * FROM vectors OFFSET 0) r LEFT JOIN LATERAL (SELECT approx_member(f, v) AS m FROM filters OFFSET 0) s ON true"
as_fast "subquery" "SELECT count(*) FROM vectors WHERE approx_member((SELECT f FROM filters), v)"
as_fast "semi-join" "SELECT count(*) FROM vectors WHERE EXISTS (SELECT FROM filters WHERE approx_member(f, v))"
as_fast "correlated subquery" "SELECT count(*) FROM vectors WHERE (SELECT approx_member(f, v) FROM filters)"
as_fast "in the select list" "SELECT sum(approx_votes(f, v)) FROM vectors, filters"
as_fast "text vectors" "SELECT count(*) FROM vectors, filters WHERE approx_member(f, v::text)" \
  "$(ms "SELECT count(*) FROM vectors WHERE approx_member(inline_filter(), v::text)")"

# A call that detoasts the filter for every row; a thousandth of the rows, as this is slow.
uncached=$(ms "SELECT count(*) FROM (SELECT * FROM vectors LIMIT 20) s, filters WHERE length(f::bytea) > id")
assert_at_most "detoasting for every row is detected: $uncached ms for 20 rows" "$(awk -v x="$inline" 'BEGIN { print 3 * x + 50 }')" "$uncached"

# Many filters, all queried for each row.
loop="FROM (SELECT * FROM vectors LIMIT 1000) r WHERE (SELECT bool_or(approx_member(f, v)) FROM many)"
fifty=$(ms "SELECT count(*) $loop")
assert_at_most "50 filters queried in turn for 1,000 rows are cached: $fifty ms" "$fifty" \
  "$(awk -v x="$(ms "SELECT count(*) ${loop/many/(SELECT * FROM many LIMIT 5) few}")" 'BEGIN { print 30 * x + 50 }')"
assert_eq "50 filters find every row" "$(query "SELECT count(*) $loop")" 1000

# A loop in PL/pgSQL fetches the filter once and queries it many times.
query "CREATE FUNCTION count_found() RETURNS bigint LANGUAGE plpgsql AS \$\$
  DECLARE filter lsbf; r record; found bigint := 0;
  BEGIN
    SELECT f INTO filter FROM filters;
    FOR r IN SELECT v FROM vectors LOOP
      IF approx_member(filter, r.v) THEN found := found + 1; END IF;
    END LOOP;
    RETURN found;
  END \$\$"
as_fast "PL/pgSQL loop" "SELECT count_found()"

# Adding to a stored filter costs no more than building one.
fresh=$(ms "SELECT lsbf_kind(lsbf_agg(v, lsbf_new(dims => 8, capacity => 2000000, near => 0.01))) FROM vectors")
added=$(ms "SELECT lsbf_kind(lsbf_agg(v, f)) FROM vectors, filters")
assert_at_most "adding 20,000 rows to a stored filter takes $added ms, to an empty one $fresh ms" "$added" "$(awk -v x="$fresh" 'BEGIN { print 3 * x + 50 }')"

# A filter that changes within a transaction is read again.
assert_eq "the cached filter is not stale" "$(query "BEGIN; SELECT count(*) FROM vectors, filters WHERE approx_member(f, v);
  UPDATE filters SET f = (SELECT lsbf_agg(v, filters.f) FROM vectors);
  SELECT count(*) = 20000 FROM vectors, filters WHERE approx_member(f, v); COMMIT" | tail -1)" t

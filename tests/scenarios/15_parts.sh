#!/usr/bin/env bash
# A single query of a stored filter reads the chunks it needs, not the whole filter, and gives the same answer. Reads are
# counted in buffers. From the second query on, the filter is cached.
. "$(dirname "$0")/../../scripts/lib/scenario.sh"

server_start main "max_parallel_workers_per_gather = 0" "jit = off" "shared_buffers = '256MB'"
server_psql main <<'SQL'
CREATE EXTENSION pg_lsbf;
-- 500 members; the queries are 250 of these with a little noise, and 250 unrelated vectors.
CREATE TABLE members AS
  SELECT id, ARRAY(SELECT (1000 * sin(id * j))::real FROM generate_series(1, 16) j) AS v,
    ('x' || md5('a' || id) || md5('b' || id))::bit(256) AS b
  FROM generate_series(1, 500) AS id;
CREATE TABLE queries AS
  SELECT id, ARRAY(SELECT (x + 0.02 * cos(id + i))::real FROM unnest(v) WITH ORDINALITY u (x, i)) AS v, b
  FROM members WHERE id % 2 = 0
  UNION ALL
  SELECT -id, ARRAY(SELECT (1000 * cos(id * j))::real FROM generate_series(1, 16) j), ~b FROM members WHERE id % 2 = 1;
-- More members, so that no filter is stored as a list.
CREATE VIEW built AS
  SELECT id, v FROM members UNION ALL
  SELECT id, ARRAY(SELECT (1000 * sin(id * j))::real FROM generate_series(1, 16) j) FROM generate_series(501, 4000) AS id;
-- Filters of several megabytes, and one whose members all have the same few bits.
CREATE TABLE filters (name text, f lsbf);
INSERT INTO filters
  SELECT 'dsbf', lsbf_agg(v, dsbf_new(metric => 'l2', dims => 16, capacity => 20000, near => 0.1)) FROM built
  UNION ALL SELECT 'lsbf', lsbf_agg(v, lsbf_new(dims => 16, capacity => 800000, near => 0.1)) FROM built
  UNION ALL SELECT 'crowded lsbf', lsbf_agg(v, lsbf_new(dims => 16, capacity => 800000, near => 100, far => 500, overflow => 3)) FROM built
  UNION ALL SELECT 'ilbf', lsbf_agg(v, ilbf_new(dims => 16, capacity => 50000, near => 0.1)) FROM built
  UNION ALL SELECT 'ilbf of large blooms', lsbf_agg(v, ilbf_new(dims => 16, capacity => 50000, near => 0.1, slots => 1024, blooms => 80001)) FROM built
  UNION ALL SELECT 'any', lsbf_agg(v, lsbf_new(match => 'any', metric => 'l1', dims => 16, capacity => 100000, near => 0.5, tables => 4, hashes => 6, width => 20, probes => 30, votes => 2, bits => 8192000, bloom_hashes => 14)) FROM built
  UNION ALL SELECT 'aligned ilbf', lsbf_agg(v, ilbf_new(dims => 16, capacity => 50000, near => 0.1, blooms_aligned => true)) FROM built;
-- The same, compressed: they cannot be read in parts.
CREATE TABLE compressed (name text, f lsbf);
ALTER TABLE compressed ALTER f SET STORAGE extended;
INSERT INTO compressed SELECT * FROM filters;
-- The result of a single query in a statement of its own: the filter is read in parts.
CREATE FUNCTION one(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE answer text;
BEGIN
  EXECUTE query INTO answer;
  RETURN answer;
END $$;
-- The number of buffers that a query reads.
CREATE FUNCTION buffers(query text) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
  plan json;
BEGIN
  EXECUTE 'EXPLAIN (ANALYZE, BUFFERS, TIMING off, FORMAT json) ' || query INTO plan;
  RETURN (plan -> 0 -> 'Plan' ->> 'Shared Hit Blocks')::integer + (plan -> 0 -> 'Plan' ->> 'Shared Read Blocks')::integer;
END $$;
VACUUM ANALYZE members, queries, filters, compressed;
SQL

query() { server_query main "$1"; }

assert_eq "all filters except a list are stored out of line, over 500 kB each" \
  "$(query "SELECT bool_and((pg_column_size(f) > 500000) = (name <> 'crowded lsbf')) FROM filters")" t
assert_eq "their copies are compressed" "$(query "SELECT bool_and(pg_column_size(c.f) < 0.5 * pg_column_size(f.f)) FROM compressed c JOIN filters f USING (name)
  WHERE name <> 'crowded lsbf'")" t

# The same answers from parts and from whole filters: 60 queries of each filter, with small and large theta.
for function in approx_member approx_votes; do
  for theta in 1 7 3000; do
    assert_eq "$function at theta $theta: the same answers from parts and from whole filters" "$(query "
      SELECT count(*) FILTER (WHERE whole::text IS DISTINCT FROM one(format(
          'SELECT $function(f, v, $theta) FROM filters, queries WHERE name = %L AND id = %s', name, id))) || ' differ'
      FROM (SELECT name, id, $function(f, v, $theta) AS whole FROM compressed, queries WHERE id % 16 IN (0, -1)) s")" \
      "0 differ"
  done
done
assert_eq "approx_distance: the same answers from parts and from whole filters" "$(query "
  SELECT count(*) FILTER (WHERE whole::text IS DISTINCT FROM one(format(
      'SELECT approx_distance(f, v) FROM filters, queries WHERE name = %L AND id = %s', name, id))) || ' differ, '
    || (count(whole) > 20) || ' found'
  FROM (SELECT name, id, approx_distance(f, v) AS whole FROM compressed, queries WHERE name LIKE 'ilbf%' AND id % 16 IN (0, -1)) s")" \
  "0 differ, true found"
assert_eq "both answers occur" "$(query "
  SELECT bool_and(yes > 0 AND no > 0) FROM (SELECT count(*) FILTER (WHERE m) AS yes, count(*) FILTER (WHERE NOT m) AS no
    FROM (SELECT name, approx_member(f, v) AS m FROM filters, queries WHERE name <> 'crowded lsbf') s GROUP BY name) t")" t
assert_eq "every member is found by reading in parts" "$(query "
  SELECT bool_and(one(format('SELECT approx_member(f, v) FROM filters, members WHERE name = %L AND id = %s', name, id)) = 'true')
  FROM filters, members WHERE id <= 50")" t

# The number of buffers that are read.
for name in $(query "SELECT replace(name, ' ', '_') FROM filters WHERE name <> 'crowded lsbf'"); do
  name=${name//_/ }
  whole=$(query "SELECT buffers('SELECT octet_length(f::bytea) FROM filters WHERE name = ''$name''')")
  once=$(query "SELECT buffers('SELECT approx_member(f, v) FROM filters, (SELECT * FROM queries LIMIT 1) a WHERE name = ''$name''')")
  assert_at_most "$name: one query reads $once buffers, the whole filter has $whole" "$((once * 4))" "$whole"
  twice=$(query "SELECT buffers('SELECT approx_member(f, v) FROM filters, (SELECT * FROM queries LIMIT 2) a WHERE name = ''$name''')")
  assert_at_most "$name: two queries read all of it, except for a few buffers ($twice)" "$whole" "$((twice + 10))"
  many=$(query "SELECT buffers('SELECT approx_member(f, v) FROM filters, queries WHERE name = ''$name''')")
  assert_at_most "$name: 500 queries read no more than two do ($many)" "$many" "$((twice + 50))"
done
for call in "lsbf_kind(f)" "lsbf_members(f)" "lsbf_overlap(f, f)"; do
  once=$(query "SELECT buffers('SELECT $call FROM filters WHERE name = ''dsbf''')")
  assert_at_most "$call reads $once buffers, catalogs included" "$once" 60
done

# Filters that do not fit into the cache together are not read again for each query, if they are queried in turn.
server_psql main <<'SQL'
CREATE TABLE two AS
  SELECT n, lsbf_agg(v, lsbf_new(dims => 16, capacity => 13000000, near => 0.1, seed => n)) AS f
  FROM built, generate_series(1, 2) AS n GROUP BY n;
VACUUM ANALYZE two;
SQL
whole=$(query "SELECT buffers('SELECT octet_length(f::bytea) FROM two')")
assert_at_most "two filters have over 64 MB together ($whole buffers)" 9000 "$whole"
turns=$(query "SELECT buffers('SELECT approx_votes(f, v) FROM queries, generate_series(1, 3) g CROSS JOIN LATERAL (SELECT f FROM two OFFSET 0) t')")
assert_at_most "queried 1,500 times in turn, they are read a few times ($turns buffers)" "$turns" "$((whole * 8))"

# A filter that does not fit into the cache, and queries that need much of it: it is read completely once, not for every query.
server_psql main <<'SQL'
CREATE TABLE wide AS
  SELECT lsbf_agg(v, dsbf_new(metric => 'l2', dims => 16, capacity => 100000, near => 0.1, tables => 100, bits => 600000000)) AS f
  FROM built;
VACUUM ANALYZE wide;
SQL
whole=$(query "SELECT buffers('SELECT octet_length(f::bytea) FROM wide')")
assert_at_most "a filter of 75 MB ($whole buffers)" 9000 "$whole"
once=$(query "SELECT buffers('SELECT approx_votes(f, v) FROM wide, (SELECT * FROM queries LIMIT 1) a')")
assert_at_most "one query of 100 tables reads $once buffers" "$((once * 4))" "$whole"
many=$(query "SELECT buffers('SELECT approx_votes(f, v) FROM wide, queries')")
assert_at_most "500 queries of 100 tables read it about twice ($many buffers)" "$many" "$((whole * 3))"

# More filters and more bytes than the cache holds: every answer is still correct.
server_psql main <<'SQL'
CREATE TABLE many AS
  SELECT n, lsbf_agg(v, dsbf_new(metric => 'l2', dims => 16, capacity => 8000, near => 0.1, seed => n % 3)) AS f
  FROM built, generate_series(1, 300) AS n WHERE id % 7 <> n % 7 GROUP BY n;
SQL
assert_eq "300 filters, each queried 5 times in turn, answer correctly" "$(query "
  SELECT count(*) || ' of ' || count(*) FILTER (WHERE m = expected) FROM (
    SELECT approx_member(f, v) AS m, approx_member(f::bytea::lsbf, v) AS expected
    FROM (SELECT * FROM queries ORDER BY id LIMIT 5) a CROSS JOIN LATERAL (SELECT f FROM many OFFSET 0) o) s")" "1500 of 1500"

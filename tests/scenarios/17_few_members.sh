#!/usr/bin/env bash
# A filter with few members is small, in memory and on disk, whatever its capacity.
. "$(dirname "$0")/../../scripts/lib/scenario.sh"

server_start main "max_parallel_workers_per_gather = 0" "jit = off"
server_psql main <<'SQL'
CREATE EXTENSION pg_lsbf;
\i scripts/lib/peak.sql
CREATE TABLE prototypes(name, p) AS VALUES
  ('dsbf', dsbf_new(dims => 256, capacity => 1000000, near => 0.02)),
  ('lsbf', lsbf_new(metric => 'hamming', dims => 256, capacity => 1000000, near => 0.02)),
  ('any', lsbf_new(metric => 'hamming', match => 'any', dims => 256, capacity => 1000000, near => 0.02));
CREATE TABLE vectors AS
  SELECT id, id % 100000 AS g, ('x' || md5('a' || id) || md5('b' || id))::bit(256) AS v FROM generate_series(0, 299999) id;
VACUUM ANALYZE vectors;
SQL

# In dense form these filters have several megabytes.
assert_eq "three members in a filter for a million take less than 4 kB" "$(server_query main "
  SELECT bool_and(pg_column_size(f) < 4096) FROM prototypes,
  LATERAL (SELECT lsbf_agg(v, p) AS f FROM vectors WHERE id < 3) s")" t

for name in dsbf any; do
  kb=$(server_psql main -At <<SQL
SET work_mem = '1MB';
SET enable_sort = off;
SELECT p FROM prototypes WHERE name = '$name' \gset
SELECT peak() AS before \gset
CREATE TABLE hashed_$name AS SELECT g, lsbf_agg(v, :'p') AS f FROM vectors GROUP BY g;
SELECT peak() - :before;
SQL
  )
  assert_at_most "$name: 100,000 groups are hashed within 1 MB of work_mem (grew by $kb kB)" "$kb" 20000
done
plan=$(server_psql main -At -c "SET work_mem = '1MB'" -c "SET enable_sort = off" -c "EXPLAIN (ANALYZE, COSTS off, TIMING off)
  SELECT lsbf_kind(lsbf_agg(v, dsbf_new(dims => 256, capacity => 1000000, near => 0.02))) FROM vectors GROUP BY g")
assert_match "the plan uses a hash aggregate with batches" "${plan//$'\n'/ }" "HashAggregate.*Batches: [0-9][0-9]"

assert_eq "every row is found in the filter of its group, and a filter takes less than 2 kB on disk" "$(server_query main "
  SELECT count(DISTINCT g), bool_and(approx_member(f, v)), pg_total_relation_size('hashed_any') < 200000000
  FROM hashed_any JOIN vectors USING (g)")" "100000|t|t"

assert_eq "the union of all groups is the filter of all rows, which is not a list" "$(server_query main "
  SELECT lsbf_union_agg(f) = (SELECT lsbf_agg(v, p) FROM vectors, prototypes WHERE name = 'any'),
         pg_column_size(lsbf_union_agg(f)) > 1000000 FROM hashed_any")" "t|t"

# An aggregate state that is replaced by a larger one is freed.
kb=$(server_psql main -At <<'SQL'
SELECT p FROM prototypes WHERE name = 'any' \gset
SELECT lsbf_kind(lsbf_agg(v, :'p')) FROM vectors WHERE id < 100 \g /dev/null
SELECT peak() AS before \gset
SELECT count(*) FROM (SELECT lsbf_agg(v, :'p') FROM vectors WHERE id < 300000 AND id % 3000 < 100 GROUP BY id / 3000) s \g /dev/null
SELECT peak() - :before;
SQL
)
assert_at_most "100 groups of 100 members each, as lists, do not leak (grew by $kb kB)" "$kb" 12000

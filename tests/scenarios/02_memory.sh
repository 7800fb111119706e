#!/usr/bin/env bash
# A million calls in one statement do not leak memory. The peak memory of the backend is read before and after, so that a leak
# that is freed at the end of the statement counts too. 8 bytes per call would be 8 MB.
. "$(dirname "$0")/../../scripts/lib/scenario.sh"

server_start main "max_parallel_workers_per_gather = 0" "jit = off"
server_psql main <<'SQL'
CREATE EXTENSION pg_lsbf;
\i scripts/lib/peak.sql
CREATE TABLE vectors AS
  SELECT id, ('x' || md5('a' || id) || md5('b' || id))::bit(256) AS v FROM generate_series(1, 1000) AS id;
CREATE TABLE times AS SELECT id FROM generate_series(1, 1000) AS id;
CREATE TABLE filters AS
  SELECT lsbf_agg(v, dsbf_new(dims => 256, capacity => 10000, near => 0.02, far => 0.4)) AS f FROM vectors;
CREATE TABLE small AS
  SELECT lsbf_add(dsbf_new(dims => 256, capacity => 10, near => 0.02, far => 0.4), v) AS f FROM vectors;
VACUUM ANALYZE vectors, times, filters, small;
SQL

# grown STATEMENT: growth of the backend's peak memory in kB, for 1,000 x 1,000 rows after 20 x 1,000 rows have filled the caches
grown() {
  server_psql main -At <<SQL
${1//TIMES/times WHERE times.id <= 20} \g /dev/null
SELECT peak() AS before \gset
${1//TIMES/times WHERE times.id <= 1000} \g /dev/null
SELECT peak() - :before;
SQL
}

assert_flat() {
  local kb
  kb=$(grown "$2")
  assert_at_most "$1 does not leak (grew by $kb kB)" "$kb" 4096
}

kb=$(grown "SELECT string_agg('12345678', '') FROM vectors, TIMES")
assert_at_most "a leak of 8 bytes per call is detected ($kb kB)" 4096 "$kb"

# The calls are in the target list, above the join: as conditions they would be evaluated once per vector.
prototype="dsbf_new(dims => 256, capacity => 10000, near => 0.02, far => 0.4)"
assert_flat "approx_member with a filter from a table" \
  "SELECT sum(approx_member(f, v)::int) FROM filters, vectors, TIMES"
assert_flat "approx_member with a filter from a subquery" \
  "SELECT sum(approx_member((SELECT f FROM filters), v)::int) FROM vectors, TIMES"
assert_flat "approx_member with a constant filter" \
  "SELECT sum(approx_member($prototype, v)::int) FROM vectors, TIMES"
assert_flat "approx_votes with a vector of another type" \
  "SELECT sum(approx_votes(f, v::varbit)) FROM filters, vectors, TIMES"
assert_flat "lsbf_agg" \
  "SELECT lsbf_kind(lsbf_agg(v, $prototype)) FROM vectors, TIMES"
assert_flat "lsbf_agg of ten groups" \
  "SELECT lsbf_kind(lsbf_agg(v, ${prototype/10000/100})) FROM vectors, TIMES GROUP BY vectors.id % 10"
assert_flat "lsbf_union_agg" \
  "SELECT lsbf_kind(lsbf_union_agg(f)) FROM small, TIMES"

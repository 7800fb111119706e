#!/usr/bin/env bash
# A million calls in one statement do not grow the backend. The peak of its memory is read before and after: what
# leaked within a statement and was freed at its end would show too. 8 bytes a call would be 8 MB.
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

# grown STATEMENT: kB the backend grew by, running it for 1,000 x 1,000 rows after 20 x 1,000 rows filled the caches
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
  assert_at_most "$1 (grew by $kb kB)" "$kb" 4096
}

kb=$(grown "SELECT string_agg('12345678', '') FROM vectors, TIMES")
assert_at_most "8 bytes a call would be noticed ($kb kB)" 4096 "$kb"

# The calls stand in the target list, above the join: as conditions they would be made once a vector.
prototype="dsbf_new(dims => 256, capacity => 10000, near => 0.02, far => 0.4)"
assert_flat "approx_member, filter from a table" \
  "SELECT sum(approx_member(f, v)::int) FROM filters, vectors, TIMES"
assert_flat "approx_member, filter from a subquery" \
  "SELECT sum(approx_member((SELECT f FROM filters), v)::int) FROM vectors, TIMES"
assert_flat "approx_member, filter a constant" \
  "SELECT sum(approx_member($prototype, v)::int) FROM vectors, TIMES"
assert_flat "approx_votes, vector of another type" \
  "SELECT sum(approx_votes(f, v::varbit)) FROM filters, vectors, TIMES"
assert_flat "lsbf_agg" \
  "SELECT lsbf_kind(lsbf_agg(v, $prototype)) FROM vectors, TIMES"
assert_flat "lsbf_agg, ten groups" \
  "SELECT lsbf_kind(lsbf_agg(v, ${prototype/10000/100})) FROM vectors, TIMES GROUP BY vectors.id % 10"
assert_flat "lsbf_union_agg" \
  "SELECT lsbf_kind(lsbf_union_agg(f)) FROM small, TIMES"

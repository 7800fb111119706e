#!/usr/bin/env bash
# A million calls in one statement do not grow the backend. The peak of its memory is read before and after: what
# leaked within a statement and was freed at its end would show too. 8 bytes a call would be 8 MB.
. "$(dirname "$0")/../../scripts/lib/scenario.sh"

server_start main "max_parallel_workers_per_gather = 0" "jit = off"
server_psql main <<'SQL'
CREATE EXTENSION pg_lsbf;
-- The peak of this backend's memory in kB, without the shared buffers it has touched so far.
CREATE FUNCTION peak() RETURNS bigint LANGUAGE sql AS $$
  SELECT (regexp_match(s, 'VmHWM:\s+(\d+)'))[1]::bigint - (regexp_match(s, 'RssShmem:\s+(\d+)'))[1]::bigint
  FROM pg_read_file('/proc/self/status') AS s
$$;
CREATE TABLE vectors AS
  SELECT id, ('x' || md5('a' || id) || md5('b' || id))::bit(256) AS v FROM generate_series(1, 1000) AS id;
CREATE TABLE times AS SELECT id FROM generate_series(1, 1000) AS id;
CREATE TABLE filters AS
  SELECT lsbf_agg(v, dsbf_new(dims => 256, capacity => 100000, near => 0.02, far => 0.4)) AS f FROM vectors;
VACUUM ANALYZE vectors, times, filters;
SQL

# assert_flat NAME STATEMENT: run with 20 x 1,000 rows first to fill caches, then with 1,000 x 1,000
assert_flat() {
  local grown
  grown=$(server_psql main -At <<SQL
SELECT count(*) FROM (${2//TIMES/times WHERE times.id <= 20}) AS warm_up \g /dev/null
SELECT peak() AS before \gset
SELECT count(*) FROM (${2//TIMES/times WHERE times.id <= 1000}) AS calls \g /dev/null
SELECT peak() - :before;
SQL
  )
  assert_at_most "$1 (grew by $grown kB)" "$grown" 4096
}

assert_flat "approx_member, filter from a table" \
  "SELECT FROM filters, vectors, TIMES AND approx_member(f, v)"
assert_flat "approx_member, filter from a subquery" \
  "SELECT FROM vectors, TIMES AND approx_member((SELECT f FROM filters), v)"
assert_flat "approx_votes, vector of another type" \
  "SELECT approx_votes(f, v::varbit) FROM filters, vectors, TIMES OFFSET 0"
assert_flat "lsbf_agg" \
  "SELECT lsbf_agg(v, dsbf_new(dims => 256, capacity => 100000, near => 0.02, far => 0.4)) FROM vectors, TIMES"
assert_flat "lsbf_agg, ten groups" \
  "SELECT lsbf_agg(v, dsbf_new(dims => 256, capacity => 100, near => 0.02, far => 0.4)) FROM vectors, TIMES GROUP BY vectors.id % 10"

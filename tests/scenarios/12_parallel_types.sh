#!/usr/bin/env bash
# Every kind of filter and every vector type: workers and a single process give the same bytes and answers.
. "$(dirname "$0")/../../scripts/lib/scenario.sh"

server_start main "max_worker_processes = 8" "max_parallel_workers = 4"
server_psql main <<'SQL'
CREATE EXTENSION pg_lsbf;
CREATE TABLE vectors AS SELECT id, ('x' || md5('a' || id))::bit(128) AS b, ('x' || md5('a' || id))::bit(128)::varbit AS vb,
    decode(md5('a' || id), 'hex') AS y, ARRAY[id % 1001, id % 997, id % 13]::real[] AS r, ARRAY[id % 1001, id % 997, id % 13]::float8[] AS d,
    ARRAY[id % 1001, id % 997, id % 13]::numeric[] AS n, ARRAY[id, id + 1, id + 2, id % 7] AS i, ARRAY[id, id + 1, id + 2, id % 7]::bigint[] AS l,
    ARRAY['a' || id, 'b' || id % 100, 'c'] AS ts, md5('a' || id) AS s
  FROM generate_series(1, 20000) AS id;
CREATE TABLE f (f lsbf);
VACUUM ANALYZE vectors;
SQL

serial="SET max_parallel_workers_per_gather = 0"
parallel="SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0; SET max_parallel_workers_per_gather = 2"
query() { server_query main "$1"; }

# each COLUMN PROTOTYPE
each() {
  local column=$1 prototype=$2 plan answers
  plan=$(query "$parallel; EXPLAIN (COSTS off) SELECT lsbf_agg($column, $prototype) FROM vectors")
  assert_match "$column $prototype: workers aggregate" "$plan" "Partial Aggregate.*Parallel Seq Scan"
  assert_eq "$column $prototype: same bytes" \
    "$(query "$parallel; SELECT md5(lsbf_agg($column, $prototype)::bytea) FROM vectors")" \
    "$(query "$serial; SELECT md5(lsbf_agg($column, $prototype)::bytea) FROM vectors")"
  query "DROP TABLE f; CREATE TABLE f AS SELECT lsbf_agg($column, $prototype) AS f FROM vectors WHERE id % 10 = 0"
  answers="SELECT count(*), sum(approx_votes((SELECT f FROM f), $column)) FROM vectors WHERE approx_member((SELECT f FROM f), $column)"
  assert_eq "$column $prototype: same answers" "$(query "$parallel; $answers")" "$(query "$serial; $answers")"
}
each b "dsbf_new(capacity => 20000, near => 0.05)"
each b "lsbf_new(metric => 'hamming', capacity => 20000, near => 0.05)"
each vb "dsbf_new(capacity => 20000, near => 0.05)"
each y "dsbf_new(capacity => 20000, near => 0.05)"
each r "lsbf_new(capacity => 20000, near => 0.1)"
each r "ilbf_new(capacity => 20000, near => 0.1)"
each r "dsbf_new(metric => 'cosine', capacity => 20000, near => 0.01)"
each d "lsbf_new(metric => 'l1', capacity => 20000, near => 0.1)"
each n "ilbf_new(metric => 'l1', capacity => 20000, near => 0.1)"
each i "dsbf_new(metric => 'jaccard', capacity => 20000, near => 0.2)"
each l "lsbf_new(metric => 'jaccard', capacity => 20000, near => 0.2)"
each ts "dsbf_new(metric => 'jaccard', capacity => 20000, near => 0.2)"
each s "dsbf_new(alphabet => 'symbols', capacity => 20000, near => 0.05)"

# The members of a prototype are merged by every worker, and counted once.
query "DROP TABLE f; CREATE TABLE f AS SELECT lsbf_agg(r, lsbf_new(capacity => 20000, near => 0.1)) AS f FROM vectors WHERE id <= 100"
more="SELECT md5(lsbf_agg(r, (SELECT f FROM f))::bytea) FROM vectors WHERE id > 100"
assert_eq "a prototype with members: same bytes" "$(query "$parallel; $more")" "$(query "$serial; $more")"
assert_eq "a prototype with members: the result is the filter of all rows" "$(query "$parallel; $more")" \
  "$(query "$serial; SELECT md5(lsbf_agg(r, lsbf_new(capacity => 20000, near => 0.1))::bytea) FROM vectors")"

# Merging stored filters in workers.
query "CREATE TABLE daily AS SELECT id % 50 AS day, lsbf_agg(r, ilbf_new(capacity => 20000, near => 0.1)) AS f FROM vectors GROUP BY 1; ANALYZE daily"
merge="SELECT md5(lsbf_union_agg(f)::bytea) FROM daily"
assert_match "workers merge stored filters" "$(query "$parallel; EXPLAIN (COSTS off) ${merge/md5(lsbf_union_agg(f)::bytea)/lsbf_union_agg(f)}")" "Partial Aggregate"
assert_eq "union in workers: same bytes" "$(query "$parallel; $merge")" "$(query "$serial; $merge")"

# Every function works in a worker, also if the whole query runs in one.
setting=$( (($(query "SHOW server_version_num") >= 160000)) && echo debug_parallel_query || echo force_parallel_mode)
forced="SET $setting = on"
one="SELECT lsbf_kind(f), lsbf_members(f), lsbf_fpr(f) BETWEEN 0 AND 1, lsbf_fnr(f, 0.1) BETWEEN 0 AND 1, lsbf_overlap(f, f), approx_distance(f, '[1,1,1]') IS NOT NULL,
  (lsbf_info(f)).metric, f | f = f, lsbf_add(f, '[1,1,1]') = f, md5(f::text::lsbf::bytea::lsbf::bytea), lsbf_hash(f) FROM daily WHERE day = 1"
assert_eq "in a worker: every function gives the same result" "$(query "$forced; $one")" "$(query "$serial; $one")"
errors="SELECT approx_member(f, '[1,2]') FROM daily"
assert_match "in a worker: an error keeps its SQLSTATE" "$(server_psql main -v VERBOSITY=verbose -c "$forced; $errors" 2>&1 || true)" "22000: expected 3 dimensions, not 2"

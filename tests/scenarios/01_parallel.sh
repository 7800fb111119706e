#!/usr/bin/env bash
# Parallel aggregation: the plan is parallel, and workers build the same bytes as a single process.
. "$(dirname "$0")/../../scripts/lib/scenario.sh"
every_version

server_start main "max_worker_processes = 8" "max_parallel_workers = 4"
server_psql main <<'SQL'
CREATE EXTENSION pg_lsbf;
CREATE TABLE vectors AS
  SELECT id, ('x' || md5('a' || id) || md5('b' || id))::bit(256) AS v FROM generate_series(1, 100000) AS id;
CREATE TABLE few AS SELECT * FROM vectors WHERE id <= 3;
VACUUM ANALYZE vectors, few;
SQL

serial="SET max_parallel_workers_per_gather = 0"
parallel="SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0;
  SET max_parallel_workers_per_gather = 2"
prototype="dsbf_new(dims => 256, capacity => 100000, near => 0.02, far => 0.4)"

query() { server_query main "$1"; }

plan=$(query "$parallel; EXPLAIN (COSTS off) SELECT lsbf_agg(v, $prototype) FROM vectors")
assert_match "the plan has a partial aggregate" "$plan" "Partial Aggregate"
assert_match "the plan has a final aggregate" "$plan" "Finalize Aggregate"
assert_match "the plan scans in parallel" "$plan" "Parallel Seq Scan on vectors"

# same_bytes NAME FROM [PROTOTYPE]: aggregates FROM in a single process and in workers
same_bytes() {
  local expression="SELECT coalesce(md5(string_agg(h, '' ORDER BY h)), 'null')
    FROM (SELECT md5(lsbf_agg(v, ${3:-$prototype})::bytea) AS h FROM $2) s"
  assert_eq "$1" "$(query "$parallel; $expression")" "$(query "$serial; $expression")"
}

same_bytes "100,000 rows give the same bytes" "vectors"
same_bytes "idle workers do not change the result" "few"
same_bytes "no rows give the same result" "few WHERE id < 0"
same_bytes "1,000 groups give the same bytes" "vectors GROUP BY id % 1000" "dsbf_new(dims => 256, capacity => 100, near => 0.02, far => 0.4)"

launched=$(query "$parallel; EXPLAIN (ANALYZE, COSTS off, TIMING off, SUMMARY off) SELECT lsbf_agg(v, $prototype) FROM vectors")
assert_match "workers were launched" "$launched" "Workers Launched: [1-9]"

query "$parallel; CREATE TABLE filters AS SELECT lsbf_agg(v, $prototype) AS f FROM vectors"
probe="SELECT count(*) FROM vectors WHERE approx_member((SELECT f FROM filters), v)"
plan=$(query "$parallel; EXPLAIN (COSTS off) $probe")
assert_match "probing runs in parallel" "$plan" "Parallel Seq Scan on vectors"
assert_eq "every member is found by the workers" "$(query "$parallel; $probe")" 100000

#!/usr/bin/env bash
# Partitions on one server: aggregated one by one, appended in parallel, or all in one worker. However the work is divided,
# the filter has the same bytes and gives the same answers.
. "$(dirname "$0")/../../scripts/lib/scenario.sh"

server_start main "max_worker_processes = 8" "max_parallel_workers = 4"
server_psql main <<'SQL'
CREATE EXTENSION pg_lsbf;
CREATE TABLE vectors (id integer, part integer, b bit(256), r real[]) PARTITION BY LIST (part);
CREATE TABLE vectors_0 PARTITION OF vectors FOR VALUES IN (0);
CREATE TABLE vectors_1 PARTITION OF vectors FOR VALUES IN (1);
CREATE TABLE vectors_2 PARTITION OF vectors FOR VALUES IN (2);
CREATE TABLE vectors_empty PARTITION OF vectors FOR VALUES IN (3);
INSERT INTO vectors
  SELECT id, id % 3, ('x' || md5('a' || id) || md5('b' || id))::bit(256), ARRAY[id % 1001, id % 997, id % 13]
  FROM generate_series(1, 30000) AS id;
VACUUM ANALYZE vectors;
SQL

query() { server_query main "$1"; }
serial="SET max_parallel_workers_per_gather = 0; SET enable_partitionwise_aggregate = off"
partitionwise="SET max_parallel_workers_per_gather = 0; SET enable_partitionwise_aggregate = on"
parallel="SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0; SET max_parallel_workers_per_gather = 3"
both="$parallel; SET enable_partitionwise_aggregate = on"
setting=$( (($(query "SHOW server_version_num") >= 160000)) && echo debug_parallel_query || echo force_parallel_mode)
forced="$serial; SET max_parallel_workers_per_gather = 2; SET $setting = on"

# plan_has NAME SETTINGS QUERY REGEX
plan_has() { assert_match "$1" "$(query "$2; EXPLAIN (COSTS off) $3")" "$4"; }

agg="lsbf_agg(b, dsbf_new(dims => 256, capacity => 30000, near => 0.02))"
plan_has "partitions are aggregated one by one" "$partitionwise" "SELECT $agg FROM vectors" "Finalize Aggregate.*Append.*Partial Aggregate.*Partial Aggregate.*Partial Aggregate"
plan_has "groups of a partition are complete" "$partitionwise" "SELECT part, $agg FROM vectors GROUP BY part" "Append.*(Hash|Group)Aggregate.*(Hash|Group)Aggregate.*(Hash|Group)Aggregate"
plan_has "partitions are appended in parallel" "$parallel" "SELECT $agg FROM vectors" "Finalize Aggregate.*Gather.*Partial Aggregate.*Parallel Append"
plan_has "both at once" "$both" "SELECT $agg FROM vectors" "Finalize Aggregate.*Gather.*Parallel Append.*Partial Aggregate"
plan_has "one worker runs the whole plan" "$forced" "SELECT $agg FROM vectors" "Gather.*(Single Copy: true|Partial)"

# same NAME QUERY
same() {
  local mode expected
  expected=$(query "$serial; $2")
  assert_match "$1: there is a result" "$expected" "[0-9a-f]+"
  for mode in partitionwise parallel both forced; do
    assert_eq "$1, $mode: the same result" "$(query "${!mode}; $2")" "$expected"
  done
}
for prototype in "b, dsbf_new(dims => 256, capacity => 30000, near => 0.02)" "b, lsbf_new(metric => 'hamming', match => 'any', dims => 256, capacity => 30000, near => 0.02)" \
  "r, lsbf_new(capacity => 30000, near => 0.1)" "r, ilbf_new(capacity => 30000, near => 0.1)"; do
  same "${prototype%%(*}" "SELECT md5(lsbf_agg($prototype)::bytea) FROM vectors"
  same "${prototype%%(*} by partition" "SELECT string_agg(md5(f::bytea), ',' ORDER BY part) FROM (SELECT part, lsbf_agg($prototype) AS f FROM vectors GROUP BY part) s"
done
query "CREATE TABLE filters AS SELECT part, $agg AS f FROM vectors GROUP BY part"
same "answers" "SELECT count(*), sum(id) FROM vectors WHERE approx_member((SELECT lsbf_union_agg(f) FROM filters WHERE part < 2), b)"
same "union of stored filters" "SELECT md5(lsbf_union_agg(f)::bytea) FROM filters"

#!/usr/bin/env bash
# Window functions: memory is released at the end of each partition, small partitions do not pay for a large prototype, rows
# are not stored, and a statement can be cancelled.
. "$(dirname "$0")/../../scripts/lib/scenario.sh"
every_version

server_start main "max_parallel_workers_per_gather = 0" "jit = off"
server_psql main <<'SQL'
CREATE EXTENSION pg_lsbf;
\i scripts/lib/peak.sql
CREATE FUNCTION prototype(capacity bigint) RETURNS lsbf IMMUTABLE LANGUAGE sql AS $$
  SELECT dsbf_new(dims => 256, capacity => capacity, near => 0.02, far => 0.4) $$;
-- Pairs of a row and a copy of it with the last bit changed, ordered by id.
CREATE TABLE vectors AS
  SELECT id, ((('x' || md5('a' || id / 2) || md5('b' || id / 2))::bit(256) >> 1) | (id % 2)::bit(256)) AS v
  FROM generate_series(0, 199999) AS id;
CREATE INDEX ON vectors (id);
VACUUM ANALYZE vectors;
SQL

# grown STATEMENT: growth of the backend's peak memory in kB, for all rows after ten of them have filled the caches
grown() {
  server_psql main -At <<SQL
SET enable_seqscan = off;
SET enable_sort = off;
SET work_mem = '256kB';
${1//ROWS/vectors WHERE id < 10} \g /dev/null
SELECT peak() AS before \gset
${1//ROWS/vectors WHERE id < 200000} \g /dev/null
SELECT peak() - :before;
SQL
}

# seen WINDOW CAPACITY
seen() { echo "SELECT count(*) FROM (SELECT lsbf_seen(v, prototype($2)) OVER ($1) AS seen FROM ROWS) s WHERE seen"; }
all_rows="vectors WHERE id < 200000"

pairs=$(seen "PARTITION BY id / 2 ORDER BY id" 100)
assert_eq "100,000 partitions of two rows: the second row is flagged" "$(server_query main "${pairs//ROWS/$all_rows}")" 100000
kb=$(grown "$(seen "PARTITION BY id / 2 ORDER BY id" 100)")
assert_at_most "100,000 partitions do not leak (grew by $kb kB)" "$kb" 4096
kb=$(grown "$(seen "PARTITION BY id / 2 ORDER BY id" 5000)")
assert_at_most "100,000 partitions with filters allocated in pages do not leak (grew by $kb kB)" "$kb" 4096

# A filter for a million members takes about 50 MB: to initialize 100,000 of them would write 5 TB.
bytes=$(server_query main "SELECT pg_column_size(lsbf_agg(v, prototype(1000000))) FROM vectors")
assert_at_most "a filter for a million members is large ($bytes bytes)" 30000000 "$bytes"
large=$(seen "PARTITION BY id / 2 ORDER BY id" 1000000)
assert_eq "small partitions with a prototype for a million members finish in time" \
  "$(server_query main "SET statement_timeout = '120s'; ${large//ROWS/$all_rows}")" 100000
kb=$(grown "$large")
assert_at_most "they allocate only a few pages (grew by $kb kB)" "$kb" 4096

# One partition takes memory for the filter and for its pages before they were copied into it, but not for rows.
one=$(seen "ORDER BY id" 200000)
assert_eq "one partition of all rows: every second row is flagged, and few others" \
  "$(server_query main "SELECT count(*) FILTER (WHERE id % 2 = 1), count(*) FILTER (WHERE id % 2 = 0) < 100
    FROM (SELECT id, lsbf_seen(v, prototype(200000)) OVER (ORDER BY id) AS seen FROM vectors) s WHERE seen")" "100000|t"
kb=$(grown "$one")
size=$(server_query main "SELECT pg_column_size(lsbf_agg(v, prototype(200000))) / 1024 FROM vectors")
assert_at_most "one partition takes little more than its filter of $size kB (grew by $kb kB)" "$kb" "$((size * 5 / 4 + 4096))"
plan=$(server_query main "SET work_mem = '64kB'; SET enable_seqscan = off; SET enable_sort = off;
  EXPLAIN (ANALYZE, BUFFERS, COSTS off, TIMING off) ${one//ROWS/$all_rows}")
if [[ $plan == *WindowAgg* && $plan != *"temp "* ]]; then pass "rows are not stored"; else fail "rows are not stored" "$plan"; fi
plan=$(server_query main "SET work_mem = '64kB'; SET enable_seqscan = off; SET enable_sort = off;
  EXPLAIN (ANALYZE, BUFFERS, COSTS off, TIMING off) SELECT last_value(v) OVER (ORDER BY id ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) FROM $all_rows")
assert_match "stored rows are detected" "$plan" "temp "

output=$(server_psql main -c "SET statement_timeout = '50ms'; SELECT count(*) FROM (
  SELECT lsbf_seen(v, prototype(1000000)) OVER () AS seen FROM vectors, generate_series(1, 1000)) s" 2>&1 || true)
assert_match "a statement can be cancelled" "$output" "canceling statement due to statement timeout"

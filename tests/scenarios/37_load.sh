#!/usr/bin/env bash
# pgbench: 50 connections add to, merge and query the same stored filters. There is no error, memory does not grow, and at the
# end every vector that a committed transaction added is found.
#   LOAD_SECONDS=10     duration; make test-faults uses 600
#   LOAD_CLIENTS=50     number of connections
. "$(dirname "$0")/../../scripts/lib/scenario.sh"

seconds=${LOAD_SECONDS:-10}
clients=${LOAD_CLIENTS:-50}

server_start main "jit = off" "shared_buffers = '128MB'" "max_connections = $((clients + 10))" "max_wal_size = '512MB'" "max_parallel_workers_per_gather = 0" \
  "autovacuum = on" "autovacuum_naptime = 1" "autovacuum_vacuum_cost_delay = 0" "autovacuum_vacuum_threshold = 200" "autovacuum_vacuum_scale_factor = 0.05"
server_psql main <<'SQL'
CREATE EXTENSION pg_lsbf;
CREATE TABLE vectors AS
  SELECT id, ARRAY(SELECT (100 * sin(id * j ^ 1.5))::real FROM generate_series(1, 16) AS j) AS v FROM generate_series(1, 5000) AS id;
ALTER TABLE vectors ADD PRIMARY KEY (id);
-- Two slots of each kind; filters 2 n and 2 n + 1 can be merged.
CREATE FUNCTION prototype(slot int) RETURNS lsbf IMMUTABLE LANGUAGE sql AS $$
  SELECT CASE slot / 2
    WHEN 0 THEN dsbf_new(metric => 'l2', dims => 16, capacity => 5000, near => 1)
    WHEN 1 THEN lsbf_new(dims => 16, capacity => 5000, near => 1)
    WHEN 2 THEN lsbf_new(match => 'any', metric => 'l1', dims => 16, capacity => 5000, near => 5)
    ELSE ilbf_new(dims => 16, capacity => 500, near => 1) END
$$;
-- With enough members that no filter is stored as a list, which would grow.
CREATE TABLE filters AS
  SELECT slot, (SELECT lsbf_agg(v, prototype(slot)) FROM vectors WHERE id <= 2000) AS f FROM generate_series(0, 7) AS slot;
ALTER TABLE filters ADD PRIMARY KEY (slot);
CREATE TABLE merged AS SELECT slot / 2 AS slot, f FROM filters WHERE slot % 2 = 0;
ALTER TABLE merged ADD PRIMARY KEY (slot);
-- The rows that were added, recorded by the transaction that added them.
CREATE TABLE added (slot integer, id integer, PRIMARY KEY (slot, id));
INSERT INTO added SELECT slot, id FROM filters, vectors WHERE id <= 2000;
CREATE TABLE merged_added (slot integer, id integer, PRIMARY KEY (slot, id));
VACUUM ANALYZE;
SQL

cat >"$WORK/add.sql" <<'SQL'
\set slot random(0, 7)
\set id random(1, 5000)
BEGIN;
UPDATE filters SET f = lsbf_add(f, v) FROM vectors WHERE slot = :slot AND id = :id;
INSERT INTO added VALUES (:slot, :id) ON CONFLICT DO NOTHING;
COMMIT;
SQL
# Recorded rows are read before the filters, so that the filters have all of them.
cat >"$WORK/merge.sql" <<'SQL'
\set slot random(0, 3)
BEGIN;
SELECT FROM merged WHERE slot = :slot FOR UPDATE;
INSERT INTO merged_added SELECT DISTINCT :slot, id FROM added WHERE slot / 2 = :slot ON CONFLICT DO NOTHING;
UPDATE merged SET f = f | (SELECT lsbf_union_agg(f) FROM filters WHERE slot / 2 = :slot) WHERE slot = :slot;
COMMIT;
SQL
# A member that is not found raises a division by zero.
cat >"$WORK/query.sql" <<'SQL'
\set slot random(0, 7)
\set id random(1, 4900)
SELECT 1 / (count(*) = 0)::integer FROM filters JOIN added USING (slot) JOIN vectors USING (id)
  WHERE slot = :slot AND id BETWEEN :id AND :id + 100 AND NOT approx_member(f, v);
SQL
cat >"$WORK/build.sql" <<'SQL'
\set id random(1, 4900)
SELECT lsbf_members(lsbf_agg(v, lsbf_new(dims => 16, capacity => 100, near => 1))) FROM vectors WHERE id BETWEEN :id AND :id + 100;
SQL

# anonymous: total private memory of the backends in kB, and their number
anonymous() {
  local pid
  for pid in $pids; do
    sed -n 's/^RssAnon:[[:space:]]*\([0-9]*\) kB/\1/p' "/proc/$pid/status" 2>/dev/null || true
  done | awk '{ kb += $1 } END { print kb + 0, NR }'
}

server_run pgbench main -n -c "$clients" -j 2 -T "$seconds" -f "$WORK/add.sql@10" -f "$WORK/merge.sql@1" -f "$WORK/query.sql@8" -f "$WORK/build.sql@1" \
  postgres >"$WORK/pgbench" 2>&1 &
pgbench=$!
# The first third fills caches.
sleep "$((seconds / 3))"
pids=$(server_query main "SELECT string_agg(pid::text, ' ') FROM pg_stat_activity WHERE application_name = 'pgbench'")
read -r early connections < <(anonymous)
late=0
while sleep "$(((seconds + 59) / 60))" && kill -0 "$pgbench" 2>/dev/null; do
  read -r kb count < <(anonymous)
  # Some may have ended already.
  if ((count == connections)); then late=$kb; fi
done
status=0
wait "$pgbench" || status=$?
assert_eq "pgbench ended without an error" "$status:$(grep -i "error\|abort" "$WORK/pgbench" || true)" "0:"
# PostgreSQL cancels an autovacuum that blocks a statement, and logs that as an error.
assert_eq "the server's log has no error" "$(grep "ERROR\|FATAL\|PANIC\|terminated by" "$(server_dir main)/log" | grep -v "canceling autovacuum task" | head -5)" ""
assert_eq "all connections were active" "$connections" "$clients"
assert_at_most "their memory was read again later" 1 "$late"
done=$(sed -n 's/^number of transactions actually processed: \([0-9]*\).*/\1/p' "$WORK/pgbench")
assert_at_most "memory stays flat: $early kB of $connections backends early, $late kB late, $done transactions" "$late" "$((early + early / 10 + 100 * connections))"

missed() { server_query main "SELECT count(*) FILTER (WHERE NOT approx_member(f, v)), count(*) > 100 FROM $1 JOIN $2 USING (slot) JOIN vectors USING (id)"; }
counts=$(server_query main "SELECT (SELECT count(*) FROM added) || ' adds and ' || (SELECT count(*) FROM merged_added) || ' merged ones'")
assert_eq "every vector that was added is found ($counts)" "$(missed filters added)" "0|t"
assert_eq "every vector that was added is found in merged filters, too" "$(missed merged merged_added)" "0|t"
# Filters with the same members are equal, whatever the order in which these were added.
assert_eq "each filter has the same bytes as one built by a single aggregate" "$(server_query main "SELECT count(*) FROM filters
  WHERE f <> (SELECT lsbf_agg(v, prototype(filters.slot)) FROM added JOIN vectors USING (id) WHERE added.slot = filters.slot)")" 0

#!/usr/bin/env bash
# lsbf_design_for reads the given relation as it is once it is locked, whatever another session does meanwhile.
. "$(dirname "$0")/../../scripts/lib/scenario.sh"
. "$(dirname "$0")/../../scripts/lib/faults.sh"
every_version

server_start main
server_psql main -c "CREATE EXTENSION pg_lsbf"
query() { server_query main "$1"; }

# waiting TAG: returns when a session waits for a lock
waiting() {
  local i
  for ((i = 0; i < 300; i++)); do
    [[ $(query "SELECT count(*) FROM pg_stat_activity WHERE application_name = '$1' AND wait_event_type = 'Lock'") == 0 ]] || return 0
    sleep 0.05
  done
  die "session $1 does not wait for a lock: $(tail -3 "$WORK/$1.output")"
}

# while_locked NAME RELATION CHANGES CALL: runs CALL in a session that waits for RELATION, which another session has locked to
# make CHANGES; sets OUTPUT to the output of CALL
while_locked() {
  local call
  rm -f "$WORK/go"
  server_psql main -q >"$WORK/holder" 2>&1 <<SQL &
BEGIN;
LOCK TABLE $2 IN ACCESS EXCLUSIVE MODE;
\! touch $WORK/locked; while [ ! -e $WORK/go ]; do sleep 0.02; done
$3;
COMMIT;
SQL
  HOLDER=$!
  while [[ ! -e $WORK/locked ]]; do sleep 0.02; done
  session_start main "$1" "SET client_min_messages = error" "$4"
  call=$SESSION
  waiting "$1"
  touch "$WORK/go"
  wait "$HOLDER" || die "the changes failed: $(cat "$WORK/holder")"
  wait "$call" || true
  rm -f "$WORK/locked"
  OUTPUT=$(cat "$WORK/$1.output")
}

# A column that is replaced by one of another type: its values must not be read as vectors.
for type in bigint text; do
  query "DROP SCHEMA IF EXISTS m CASCADE; CREATE SCHEMA m;
    CREATE TABLE m.t AS SELECT 1 AS keep, ARRAY[random(), random()]::real[] AS v FROM generate_series(1, 100)"
  while_locked "becomes_$type" m.t "ALTER TABLE m.t DROP COLUMN v; ALTER TABLE m.t ADD COLUMN v $type DEFAULT 12345" \
    "SELECT family FROM lsbf_design_for('m.t', 'v', 0.1)"
  assert_match "a column that was changed to $type is refused" "$OUTPUT" "22023: (m.t.v is of type bigint, which is not a vector type|metric must be specified)"
done
query "DROP SCHEMA m CASCADE; CREATE SCHEMA m; CREATE TABLE m.t AS SELECT ARRAY[random(), random()]::real[] AS v FROM generate_series(1, 100)"
while_locked drops m.t "DROP TABLE m.t" "SELECT family FROM lsbf_design_for('m.t', 'v', 0.1)"
assert_match "a table that was dropped is refused" "$OUTPUT" "42P01: relation with OID [0-9]+ does not exist"

# A schema that is renamed and replaced by another one.
prepare="DROP SCHEMA IF EXISTS m, moved CASCADE; CREATE SCHEMA m; CREATE TABLE m.t AS SELECT ARRAY[random(), random()]::real[] AS v FROM generate_series(1, 100)"
replace="ALTER SCHEMA m RENAME TO moved; CREATE SCHEMA m; CREATE TABLE m.t AS SELECT ARRAY[random(), random()]::real[] AS v FROM generate_series(1, 777)"
query "$prepare"
while_locked renamed m.t "$replace" "SELECT max(capacity) FROM lsbf_design_for('m.t', 'v', 0.1)"
assert_eq "the given table is read, not the one that replaced it" "$OUTPUT" "100"

# The same after the names were looked up: the call waits for a lock on a catalog that it reads after that.
query "$prepare"
while_locked replaced pg_catalog.pg_inherits "$replace" "SELECT max(capacity) FROM lsbf_design_for('m.t', 'v', 0.1)"
assert_match "a table that replaced the given one is not read" "$OUTPUT" "55000: relation of m.t.v was replaced by another relation"

# Relations of all kinds pass that check.
server_psql main <<'SQL'
CREATE SCHEMA kinds;
CREATE TABLE kinds.plain AS SELECT i, ARRAY[i, 2 * i]::real[] AS v, i::bit(16) AS b FROM generate_series(1, 60) i;
CREATE VIEW kinds.simple AS SELECT v FROM kinds.plain;
CREATE VIEW kinds.barrier WITH (security_barrier) AS SELECT v FROM kinds.simple WHERE v[1] > 0 UNION ALL SELECT v FROM kinds.plain WHERE false;
CREATE VIEW kinds.computed AS SELECT ARRAY[n, 2 * n]::real[] AS v FROM generate_series(1, 60) n;
CREATE MATERIALIZED VIEW kinds.materialized AS SELECT v FROM kinds.plain;
CREATE TABLE kinds.parted (i int, v real[]) PARTITION BY RANGE (i);
CREATE TABLE kinds.part_1 PARTITION OF kinds.parted FOR VALUES FROM (1) TO (31);
CREATE TABLE kinds.part_2 PARTITION OF kinds.parted FOR VALUES FROM (31) TO (61);
INSERT INTO kinds.parted SELECT i, v FROM kinds.plain;
CREATE DOMAIN kinds.unit AS real[] CHECK (array_ndims(VALUE) = 1);
CREATE TABLE kinds.domains AS SELECT v::kinds.unit AS v FROM kinds.plain;
SQL
for relation in plain simple barrier computed materialized parted domains; do
  assert_eq "$relation can be read" "$(query "SET client_min_messages = error; SELECT max(capacity) FROM lsbf_design_for('kinds.$relation', 'v', 0.1)")" 60
done
assert_eq "bit strings keep their length" "$(query "SET client_min_messages = error; SELECT DISTINCT (lsbf_info(prototype)).dims FROM lsbf_design_for('kinds.plain', 'b', 0.1)")" 16
assert_eq "the server did not crash" "$(grep -c "was terminated by signal" "$(server_dir main)/log" || true)" 0

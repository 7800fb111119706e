#!/usr/bin/env bash
# A streaming standby has the same bytes and gives the same answers as its primary, during replay and after promotion.
. "$(dirname "$0")/../../scripts/lib/scenario.sh"
. "$(dirname "$0")/../../scripts/lib/faults.sh"

server_start primary "wal_level = replica" "max_wal_senders = 4" "synchronous_commit = on" "full_page_writes = on" "hot_standby = on"
server_psql primary <<'SQL'
CREATE EXTENSION pg_lsbf;
CREATE TABLE vectors AS
  SELECT id, ('x' || md5('a' || id) || md5('b' || id))::bit(256) AS v FROM generate_series(1, 4000) AS id;
CREATE TABLE filters (name text PRIMARY KEY, f lsbf);
INSERT INTO filters
  SELECT 'dsbf', lsbf_agg(v, dsbf_new(dims => 256, capacity => 20000, near => 0.02, far => 0.4)) FROM vectors WHERE id <= 2000
  UNION ALL
  SELECT 'lsbf', lsbf_agg(v, lsbf_new(metric => 'hamming', dims => 256, capacity => 20000, near => 0.02)) FROM vectors WHERE id <= 2000
  UNION ALL
  SELECT 'any', lsbf_agg(v, lsbf_new(metric => 'hamming', match => 'any', dims => 256, capacity => 20000, near => 0.05)) FROM vectors WHERE id <= 2000
  UNION ALL
  SELECT 'ilbf', lsbf_agg(ARRAY[id % 101, id % 103, id % 107], ilbf_new(capacity => 5000, near => 0.1)) FROM vectors WHERE id <= 2000;
SQL

mkdir "$(server_dir standby)"
if is_root; then chown "$(server_user)" "$(server_dir standby)"; fi
as_server_user "$PGBIN/pg_basebackup" -h "$(server_dir primary)" -U postgres -D "$(server_dir standby)/data" -R -X stream --checkpoint=fast --no-sync
SERVERS+=(standby)
server_start standby "unix_socket_directories = '$(server_dir standby)'"

digest="SELECT md5(string_agg(name || md5(f::bytea), ';' ORDER BY name)) FROM filters"
answers="SELECT string_agg(name || ' ' || n || ' ' || ids, ';' ORDER BY name) FROM (
  SELECT name, count(*) AS n, sum(id) AS ids FROM vectors, filters
  WHERE CASE name WHEN 'ilbf' THEN approx_member(f, ARRAY[id % 101, id % 103, id % 107]) ELSE approx_member(f, v) END GROUP BY name) s"
missing="SELECT count(*) FROM vectors, filters WHERE id <= UPTO AND name <> 'ilbf' AND NOT approx_member(f, v)"

# same NAME UPTO: waits for replay; then bytes and answers are the primary's, and members with an id up to UPTO are found
same() {
  local i lsn
  lsn=$(server_query primary "SELECT pg_current_wal_lsn()")
  for ((i = 0; i < 300; i++)); do
    [[ $(server_query standby "SELECT pg_last_wal_replay_lsn() >= '$lsn'") != t ]] || break
    sleep 0.1
  done
  assert_eq "$1: the same bytes" "$(server_query standby "$digest")" "$(server_query primary "$digest")"
  assert_eq "$1: the same answers" "$(server_query standby "$answers")" "$(server_query primary "$answers")"
  assert_eq "$1: every member is found" "$(server_query standby "${missing/UPTO/$2}")" 0
}

assert_eq "the standby is in recovery" "$(server_query standby "SELECT pg_is_in_recovery()")" t
same "base backup" 2000
server_query primary "UPDATE filters SET f = (SELECT lsbf_agg(v, f) FROM vectors WHERE id BETWEEN 2001 AND 3000) WHERE name <> 'ilbf'"
same "replayed update" 3000
server_query primary "BEGIN; UPDATE filters SET f = lsbf_add(f, (SELECT v FROM vectors WHERE id = 3001)) WHERE name <> 'ilbf'; ROLLBACK"
server_query primary "VACUUM FULL filters"
same "replayed rollback and VACUUM FULL" 3000
assert_eq "a standby builds and merges" "$(server_query standby "SELECT md5((lsbf_agg(v, f) | f)::bytea) FROM vectors, filters WHERE name = 'dsbf' AND id <= 3000 GROUP BY f")" \
  "$(server_query primary "SELECT md5(f::bytea) FROM filters WHERE name = 'dsbf'")"

# The primary is lost; the standby has everything that was committed.
before=$(server_query primary "$digest")
server_kill primary
rm "$(server_dir primary)/data/postmaster.pid"
as_server_user "$PGBIN/pg_ctl" promote -w -s -D "$(server_dir standby)/data"
assert_eq "promoted: the same bytes as the lost primary" "$(server_query standby "$digest")" "$before"
server_query standby "UPDATE filters SET f = lsbf_add(f, v) FROM vectors WHERE id = 3001 AND name <> 'ilbf'"
assert_eq "promoted: members can be added, and old and new ones are found" "$(server_query standby "${missing/UPTO/3001}")" 0

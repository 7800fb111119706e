#!/usr/bin/env bash
# Logical replication of a filter column: the initial copy, inserts, updates of filters that are stored out of line, and
# updates of other columns (which send no filter), in text and in binary.
. "$(dirname "$0")/../../scripts/lib/scenario.sh"

server_start publisher "wal_level = logical" "max_wal_senders = 8" "max_replication_slots = 8"
server_start subscriber "max_logical_replication_workers = 8" "max_sync_workers_per_subscription = 2"

table="CREATE TABLE filters (name text PRIMARY KEY, note text, f lsbf)"
server_psql publisher <<SQL
CREATE EXTENSION pg_lsbf;
$table;
CREATE TABLE vectors AS SELECT id, ARRAY[id % 101, id % 103, id % 107] AS v FROM generate_series(1, 5000) AS id;
INSERT INTO filters SELECT 'dsbf', '', lsbf_agg(v, dsbf_new(metric => 'l2', capacity => 5000, near => 0.1)) FROM vectors;
INSERT INTO filters SELECT 'lsbf', '', lsbf_agg(v, lsbf_new(capacity => 5000, near => 0.1)) FROM vectors;
INSERT INTO filters SELECT 'ilbf', '', lsbf_agg(v, ilbf_new(capacity => 5000, near => 0.1)) FROM vectors;
INSERT INTO filters SELECT 'empty', '', lsbf_new(capacity => 5000, near => 0.1);
INSERT INTO filters VALUES ('null', '', NULL);
CREATE PUBLICATION filters FOR TABLE filters;
SQL

digest="SELECT md5(string_agg(name || note || coalesce(f::bytea::text, 'null'), ';' ORDER BY name)) FROM filters"

# caught_up DATABASE: waits until the subscriber has the publisher's data, at most half a minute
caught_up() {
  local i expected
  expected=$(server_query publisher "$digest")
  for ((i = 0; i < 300; i++)); do
    [[ $(server_query subscriber "$digest" "$1") == "$expected" ]] && return
    sleep 0.1
  done
  return 1
}

same() {
  local database
  for database in text binary; do
    if caught_up "$database"; then
      pass "$1, $database"
    else
      fail "$1, $database" "$(server_query subscriber "SELECT name, note, md5(f::bytea) FROM filters" "$database")"
    fi
  done
}

for database in text binary; do
  server_run createdb subscriber "$database"
  server_query subscriber "CREATE EXTENSION pg_lsbf; $table" "$database"
  binary=$([[ $database == binary ]] && echo true || echo false)
  server_query subscriber "CREATE SUBSCRIPTION from_publisher_$database
    CONNECTION 'host=$(server_dir publisher) user=postgres dbname=postgres'
    PUBLICATION filters WITH (binary = $binary)" "$database" 2>/dev/null
done
same "initial copy"

server_query publisher "INSERT INTO filters SELECT 'new', '', lsbf_agg(v, lsbf_new(capacity => 50000, near => 0.1)) FROM vectors"
same "insert"
server_query publisher "UPDATE filters SET f = lsbf_add(f, '[-1,-2,-3]') WHERE name NOT IN ('null')"
same "update of the filter"
# The filter is stored out of line and does not change, so that it is not sent.
server_query publisher "UPDATE filters SET note = 'seen'"
same "update of another column"
server_query publisher "UPDATE filters SET f = f | (SELECT lsbf_add(lsbf_new(capacity => 5000, near => 0.1), '[7,7,7]')) WHERE name = 'lsbf'"
same "merge"
server_query publisher "DELETE FROM filters WHERE name = 'empty'; UPDATE filters SET f = NULL WHERE name = 'ilbf'"
same "delete and null"

for database in text binary; do
  assert_eq "replicated filters find their members, $database" "$(server_query subscriber "SELECT string_agg(name, ' ' ORDER BY name)
    FROM filters WHERE approx_member(f, '[-1,-2,-3]') AND approx_member(f, '[1,1,1]')" "$database")" "dsbf lsbf new"
  server_query subscriber "DROP SUBSCRIPTION from_publisher_$database" "$database" 2>/dev/null
done

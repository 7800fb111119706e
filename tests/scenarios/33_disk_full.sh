#!/usr/bin/env bash
# The disk is full while a filter is stored: an error, nothing of the filter remains, and filters committed before still work.
# Tested with a small tmpfs as tablespace, if mounting is allowed, and with a limit on the size of files.
. "$(dirname "$0")/../../scripts/lib/scenario.sh"

small=$WORK/small
mounted=
unmount_small() { if [[ -n $mounted ]]; then umount "$small"; fi; }
# Registered before the server starts, so that it is unmounted after the server has stopped.
on_exit unmount_small
mkdir "$small"
if is_root && mount -t tmpfs -o size=32m tmpfs "$small" 2>/dev/null; then
  mounted=1
  chown "$(server_user)" "$small"
fi

# vacuum: reclaims space for filters; the tmpfs grows a little, because VACUUM itself needs space
size=32
vacuum() {
  size=$((size + 1))
  if [[ -n $mounted ]]; then mount -o "remount,size=${size}m" "$small"; fi
  server_query main "VACUUM filters"
}

server_start main "jit = off" "synchronous_commit = on"
server_psql main <<'SQL'
CREATE EXTENSION pg_lsbf;
CREATE TABLE vectors AS
  SELECT id, ('x' || md5('a' || id) || md5('b' || id))::bit(256) AS v FROM generate_series(1, 10000) AS id;
-- A filter for 100,000 members has a few megabytes; one for 1,500,000 does not fit.
CREATE FUNCTION prototype(capacity bigint) RETURNS lsbf IMMUTABLE LANGUAGE sql AS
  'SELECT dsbf_new(dims => 256, capacity => capacity, near => 0.02, far => 0.4)';
CREATE TABLE nothing (line text);
CREATE FUNCTION limit_files(bytes bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  EXECUTE format('COPY nothing FROM PROGRAM %L', format('prlimit --pid %s --fsize=%s', pg_backend_pid(), bytes));
END $$;
SQL

# fills NAME TABLESPACE FIRST ERROR: FIRST is run in every session that is to run out of space
fills() {
  local name=$1 before output added
  server_psql main <<SQL
SET client_min_messages = warning;
DROP TABLE IF EXISTS filters, added;
CREATE TABLE filters (name text, f lsbf) TABLESPACE $2;
CREATE TABLE added (id integer);
INSERT INTO filters SELECT 'first', lsbf_agg(v, prototype(100000)) FROM vectors WHERE id <= 5000;
INSERT INTO added SELECT generate_series(1, 5000);
SQL
  before=$(server_query main "SELECT md5(f::bytea) FROM filters")

  output=$(server_psql main -v VERBOSITY=verbose -c "$3" -c "INSERT INTO filters SELECT 'second', lsbf_agg(v, prototype(1500000)) FROM vectors" 2>&1 || true)
  assert_match "$name: storing a filter of 50 MB is an error" "$output" "ERROR: +$4"
  assert_eq "$name: nothing of it remains, the first has the same bytes" "$(server_query main "SELECT name, md5(f::bytea) FROM filters")" "first|$before"
  vacuum

  # Every update stores the whole filter again, until there is no space left.
  output=$( (echo "$3;"; for id in {5001..5100}; do
    echo "WITH new AS (UPDATE filters SET f = lsbf_add(f, v) FROM vectors WHERE id = $id RETURNING id) INSERT INTO added SELECT id FROM new;"
  done) | server_psql main -v VERBOSITY=verbose 2>&1 || true)
  assert_match "$name: adding until there is no space ends in an error" "$output" "ERROR: +$4"
  added=$(server_query main "SELECT count(*) - 5000 FROM added")
  assert_at_most "$name: some adds were committed ($added)" 1 "$added"
  assert_eq "$name: every vector whose add was committed is found" \
    "$(server_query main "SELECT count(*) FROM filters, added JOIN vectors USING (id) WHERE NOT approx_member(f, v)")" 0
  vacuum
  server_query main "UPDATE filters SET f = lsbf_add(f, v) FROM vectors WHERE id = 6000; INSERT INTO added VALUES (6000)"
  assert_eq "$name: with space again, members can be added" \
    "$(server_query main "SELECT count(*) FILTER (WHERE NOT approx_member(f, v)), count(*) > 5000 FROM filters, added JOIN vectors USING (id)")" "0|t"
}

if [[ -n $mounted ]]; then
  server_query main "CREATE TABLESPACE small LOCATION '$small'"
  fills "full tablespace" small "SELECT" "53100: could not extend file"
else
  echo "skip - $SCENARIO: mounting is not allowed here"
fi
if command -v prlimit >/dev/null; then
  # More than 16 MB, the size of WAL files, which must not be affected.
  fills "limited files" pg_default "SELECT limit_files(24 << 20)" "[0-9A-Z]{5}: could not (extend|write).*file"
else
  echo "skip - $SCENARIO: no prlimit here"
fi
assert_eq "no process was terminated by a signal" "$(grep 'terminated by signal' "$(server_dir main)/log" || true)" ""

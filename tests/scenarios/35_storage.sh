#!/usr/bin/env bash
# Filters keep their bytes and answers however a table is rewritten and however its column is stored; the type cannot be
# dropped while it is used.
. "$(dirname "$0")/../../scripts/lib/scenario.sh"
every_version

server_start main "jit = off"
server_psql main <<'SQL'
CREATE EXTENSION pg_lsbf;
CREATE TABLE vectors AS SELECT id, ARRAY[id % 101, id % 103, id % 107]::real[] AS v FROM generate_series(1, 1500) AS id;
CREATE TABLE filters (id integer PRIMARY KEY, note text, f lsbf);
INSERT INTO filters
  SELECT 1, 'dsbf', lsbf_agg(v, dsbf_new(metric => 'l2', capacity => 5000, near => 0.1)) FROM vectors
  UNION ALL
  SELECT 2, 'lsbf', lsbf_agg(v, lsbf_new(capacity => 5000, near => 0.1)) FROM vectors
  UNION ALL
  SELECT 3, 'any', lsbf_agg(v, lsbf_new(match => 'any', metric => 'l1', capacity => 5000, near => 0.1)) FROM vectors
  UNION ALL
  SELECT 4, 'ilbf', lsbf_agg(v, ilbf_new(capacity => 5000, near => 0.1)) FROM vectors
  UNION ALL
  SELECT 5, 'wide', lsbf_agg(v, dsbf_new(metric => 'l2', capacity => 200000, near => 0.1)) FROM vectors
  UNION ALL
  SELECT 6, 'few', lsbf_agg(v, dsbf_new(metric => 'l2', capacity => 100, near => 0.1)) FROM vectors WHERE id <= 50
  UNION ALL
  SELECT 7, 'none', lsbf_new(capacity => 5000, near => 0.1)
  UNION ALL
  SELECT 8, 'null', NULL
  UNION ALL
  SELECT 9, 'lsqf', lsbf_agg(v, lsqf_new(near => 0.1)) FROM vectors;
SQL

query() { server_query main "$1"; }
digest="SELECT md5(string_agg(id || coalesce(md5(f::bytea), 'null'), ';' ORDER BY id)) FROM filters"
# Many queries of each filter, and a single one, for which only parts of a filter are read.
answers="SELECT string_agg(note || ' ' || n || ' ' || lsbf_members(f), ';' ORDER BY note) FROM
  (SELECT note, f, (SELECT count(*) FROM vectors WHERE approx_member(f, v)) AS n FROM filters) s"
one="SELECT string_agg(note || approx_member(f, '[17,17,17]'), ';' ORDER BY note) FROM filters"
before=$(query "$digest; $answers; $one")
assert_match "the filters find their members" "$before" "any 1500.*dsbf 1500.*few [0-9]+.*ilbf 1500.*lsbf 1500.*lsqf 1500.*none 0.*wide 1500.*dsbftrue"

# same NAME
same() { assert_eq "$1: the same bytes and answers" "$(query "$digest; $answers; $one")" "$before"; }

query "VACUUM FULL filters"
same "VACUUM FULL"
query "CLUSTER filters USING filters_pkey"
same "CLUSTER"
query "ALTER TABLE filters ADD COLUMN more integer DEFAULT (random() * 10)::integer"
same "rewritten by ALTER TABLE"
query "ALTER TABLE filters ALTER f TYPE bytea USING f::bytea"
query "ALTER TABLE filters ALTER f TYPE lsbf USING f::lsbf"
same "to bytea and back"

# stored STORAGE COMPRESSION CONDITION: stores every filter again; CONDITION is on the number of compressed ones
stored() {
  query "ALTER TABLE filters ALTER f SET STORAGE $1, ALTER f SET COMPRESSION $2; UPDATE filters SET f = f::bytea::lsbf"
  assert_eq "$1, $2: the filters are stored as requested" "$(query "SELECT count(*) $3 FROM filters WHERE pg_column_compression(f) = '$2' AND pg_column_size(f) < octet_length(f::bytea)")" t
  query "VACUUM FULL filters"
  same "$1, $2"
}
for method in pglz lz4; do
  if ! query "CREATE TEMP TABLE t (x text COMPRESSION $method)" >/dev/null 2>&1; then
    echo "skip - $SCENARIO: no $method here"
    continue
  fi
  stored extended "$method" "> 0"
  stored main "$method" "> 0"
done
stored external pglz "= 0"

# Plain: inline in the page, or an error that changes nothing.
output=$(server_psql main -v VERBOSITY=verbose -c "BEGIN; ALTER TABLE filters ALTER f SET STORAGE plain; UPDATE filters SET f = f::bytea::lsbf" 2>&1 || true)
assert_match "plain: a filter larger than a page is an error" "$output" "54000: row is too big"
same "plain, refused"
query "CREATE TABLE small (f lsbf); ALTER TABLE small ALTER f SET STORAGE plain"
query "INSERT INTO small SELECT f FROM filters WHERE note = 'few'"
assert_eq "plain: a small filter is stored inline" "$(query "SELECT (SELECT md5(f::bytea) FROM small) = md5(f::bytea) FROM filters WHERE note = 'few'")" t
assert_eq "plain: it finds its members" "$(query "SELECT count(*) FROM vectors, small WHERE id <= 50 AND approx_member(f, v)")" 50

output=$(server_psql main -v VERBOSITY=verbose -c "DROP EXTENSION pg_lsbf" 2>&1 || true)
assert_match "DROP EXTENSION is refused while columns have the type" "$output" "2BP01: cannot drop extension pg_lsbf.*column f of table filters depends on type lsbf"
same "DROP EXTENSION, refused"
server_psql main -c "DROP EXTENSION pg_lsbf CASCADE" 2>/dev/null
assert_eq "with CASCADE the columns are dropped, other columns remain" \
  "$(query "SELECT string_agg(attname, ' ' ORDER BY attnum) FROM pg_attribute WHERE attrelid = 'filters'::regclass AND attnum > 0 AND NOT attisdropped"):$(query "SELECT count(*) FROM filters")" \
  "id note more:9"
assert_eq "no object of the extension is left" "$(query "SELECT count(*) FROM pg_proc WHERE probin LIKE '%pg_lsbf%'"):$(query "SELECT to_regtype('lsbf') IS NULL")" "0:t"
query "CREATE EXTENSION pg_lsbf"
assert_eq "it can be created again" "$(query "SELECT approx_member(lsbf_agg(v, lsbf_new(capacity => 10, near => 0.1)), '[1,1,1]') FROM vectors WHERE id = 1")" t

#!/usr/bin/env bash
# Text is hashed alike in databases of every encoding: sets and strings are hashed by their characters, so that a filter built in
# one database can be queried in another.
. "$(dirname "$0")/../../scripts/lib/scenario.sh"

server_start main
words="'übergröße', 'naïve', 'crème brûlée', 'ascii only', ''"
build="SELECT string_agg(md5(f::bytea), ' ' ORDER BY n) FROM (
  SELECT 1 AS n, lsbf_agg(ARRAY[w, 'é'], dsbf_new(metric => 'jaccard', capacity => 10, near => 0.1)) AS f FROM unnest(ARRAY[$words]) w
  UNION ALL SELECT 2, lsbf_agg(rpad(w, 12, 'ÿ'), dsbf_new(alphabet => 'symbols', capacity => 10, near => 0.1)) FROM unnest(ARRAY[$words]) w
  UNION ALL SELECT 3, lsbf_add(lsbf_new(metric => 'jaccard', capacity => 10, near => 0.1), '{\"übergröße\", naïve}')) s"

for encoding in UTF8 LATIN1 LATIN9 WIN1252; do
  server_run createdb main -E "$encoding" -T template0 --locale=C "in_${encoding,,}"
  server_query main "CREATE EXTENSION pg_lsbf" "in_${encoding,,}"
done
query() { PGCLIENTENCODING=UTF8 server_query main "$2" "$1"; }

expected=$(query in_utf8 "$build")
for encoding in LATIN1 LATIN9 WIN1252; do
  assert_eq "$encoding: the same filters as UTF8" "$(query "in_${encoding,,}" "$build")" "$expected"
done

# Built in one encoding, queried in another.
filter=$(query in_latin1 "SELECT lsbf_agg(ARRAY[w, 'é'], dsbf_new(metric => 'jaccard', capacity => 10, near => 0.1)) FROM unnest(ARRAY[$words]) w")
assert_eq "a filter from LATIN1 finds its members in UTF8" \
  "$(query in_utf8 "SELECT bool_and(approx_member('$filter'::lsbf, ARRAY['é', w])) FROM unnest(ARRAY[$words]) w")" t

# SQL_ASCII has no characters: valid UTF-8 is read as such, other bytes are refused.
server_run createdb main -E SQL_ASCII -T template0 --locale=C in_sql_ascii
server_query main "CREATE EXTENSION pg_lsbf" in_sql_ascii
assert_eq "SQL_ASCII: UTF-8 is read as UTF-8" "$(server_query main "SELECT approx_member('$filter'::lsbf, ARRAY['é', 'naïve'])" in_sql_ascii)" t
# error DATABASE QUERY: the first line of the message
error() { PGCLIENTENCODING=${3:-UTF8} server_psql main -d "$1" -v VERBOSITY=verbose -c "$2" 2>&1 | head -1 || true; }
assert_match "SQL_ASCII: other bytes are refused" \
  "$(error in_sql_ascii "SELECT approx_member('$filter'::lsbf, ARRAY[E'\\xe9'])" SQL_ASCII)" "22021: invalid byte sequence"
assert_match "SQL_ASCII: other bytes are refused in other arguments, too" \
  "$(error in_sql_ascii "SELECT lsbf_new(metric => E'\\xe9', capacity => 1, near => 1)" SQL_ASCII)" "22021: invalid byte sequence"

# Messages are converted to the database's encoding.
assert_match "UTF8: an error quotes the argument" "$(error in_utf8 "SELECT lsbf_new(metric => 'é', capacity => 1, near => 1)")" '22023: unrecognized metric "é"'
assert_match "LATIN1: an error quotes the argument" "$(error in_latin1 "SELECT lsbf_new(metric => 'é', capacity => 1, near => 1)")" '22023: unrecognized metric "é"'
assert_match "WIN1252: an error quotes the argument" "$(error in_win1252 "SELECT lsbf_new(metric => '€', capacity => 1, near => 1)")" '22023: unrecognized metric "€"'

# Names are not converted: a name must not be confused with one that it would become by conversion.
for encoding in LATIN1 SQL_ASCII; do
  database=in_${encoding,,}
  client=UTF8
  [[ $encoding != SQL_ASCII ]] || client=SQL_ASCII
  PGCLIENTENCODING=$client server_psql main -d "$database" <<'SQL'
SET client_min_messages = error;
CREATE SCHEMA "é"; CREATE SCHEMA "?"; CREATE SCHEMA "Ã©";
CREATE TABLE "é".t AS SELECT ARRAY[i, 2 * i]::real[] AS v, ARRAY[i, 3 * i]::real[] AS "vé ""x" FROM generate_series(1, 300) i;
CREATE TABLE "?".t AS SELECT ARRAY[i, 2 * i]::real[] AS v FROM generate_series(1, 20) i;
CREATE TABLE "Ã©".t AS SELECT ARRAY[i, 2 * i]::real[] AS v FROM generate_series(1, 20) i;
SQL
  output() { PGCLIENTENCODING=$client server_psql main -d "$database" -At -v ON_ERROR_STOP=0 -c "SET client_min_messages = error" -c "$1" 2>&1; }
  assert_eq "$encoding: the named schema is read" "$(output "SELECT max(capacity) FROM lsbf_design_for('\"é\".t', 'v', 0.1)")" 300
  assert_eq "$encoding: the named column is read" "$(output "SELECT max(capacity) FROM lsbf_design_for('\"é\".t', 'vé \"x', 0.1)")" 300
  assert_match "$encoding: names are shown correctly in messages" "$(output "SELECT FROM lsbf_design_for('\"é\".t', 'wé', 0.1)")" 'column "wé" of relation "é".t does not exist'
done
# In SQL_ASCII a name can have any bytes.
PGCLIENTENCODING=SQL_ASCII server_psql main -d in_sql_ascii -c "SET client_min_messages = error" \
  -c "$(printf 'CREATE TABLE "t\xe9" AS SELECT ARRAY[i, 2 * i]::real[] AS "v\xe9" FROM generate_series(1, 40) i')"
assert_eq "SQL_ASCII: names with any bytes work" "$(PGCLIENTENCODING=SQL_ASCII server_psql main -d in_sql_ascii -At -c "SET client_min_messages = error" \
  -c "$(printf "SELECT max(capacity) FROM lsbf_design_for('t\xe9', 'v\xe9', 0.1)")")" 40

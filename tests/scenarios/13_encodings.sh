#!/usr/bin/env bash
# Text means the same in databases of every encoding: sets and strings are hashed by their characters, so that a filter
# made in one database answers in another.
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

wanted=$(query in_utf8 "$build")
for encoding in LATIN1 LATIN9 WIN1252; do
  assert_eq "$encoding: the same filters as UTF8" "$(query "in_${encoding,,}" "$build")" "$wanted"
done

# Made here, asked there.
filter=$(query in_latin1 "SELECT lsbf_agg(ARRAY[w, 'é'], dsbf_new(metric => 'jaccard', capacity => 10, near => 0.1)) FROM unnest(ARRAY[$words]) w")
assert_eq "a filter from LATIN1 answers in UTF8" \
  "$(query in_utf8 "SELECT bool_and(approx_member('$filter'::lsbf, ARRAY['é', w])) FROM unnest(ARRAY[$words]) w")" t

# SQL_ASCII has no characters: what is UTF-8 is taken as such, the rest is refused.
server_run createdb main -E SQL_ASCII -T template0 --locale=C in_sql_ascii
server_query main "CREATE EXTENSION pg_lsbf" in_sql_ascii
assert_eq "SQL_ASCII: UTF-8 is read as UTF-8" "$(server_query main "SELECT approx_member('$filter'::lsbf, ARRAY['é', 'naïve'])" in_sql_ascii)" t
# error DATABASE QUERY: the first line of the message
error() { PGCLIENTENCODING=${3:-UTF8} server_psql main -d "$1" -v VERBOSITY=verbose -c "$2" 2>&1 | head -1 || true; }
assert_match "SQL_ASCII: other bytes are refused" \
  "$(error in_sql_ascii "SELECT approx_member('$filter'::lsbf, ARRAY[E'\\xe9'])" SQL_ASCII)" "22021: invalid byte sequence"
assert_match "SQL_ASCII: in other arguments too" \
  "$(error in_sql_ascii "SELECT lsbf_new(metric => E'\\xe9', capacity => 1, near => 1)" SQL_ASCII)" "22021: invalid byte sequence"

# Messages are in the database's encoding.
assert_match "UTF8: an error repeats what was given" "$(error in_utf8 "SELECT lsbf_new(metric => 'é', capacity => 1, near => 1)")" '22023: unknown metric "é"'
assert_match "LATIN1: as far as it can" "$(error in_latin1 "SELECT lsbf_new(metric => 'é', capacity => 1, near => 1)")" '22023: unknown metric "\?"'

#!/usr/bin/env bash
# Two servers and postgres_fdw: the filter travels, the rows do not. What is shipped is read off the remote SQL of plans, and
# every answer is compared with the one the remote server gives by itself.
. "$(dirname "$0")/../../scripts/lib/scenario.sh"
. "$(dirname "$0")/../../scripts/lib/fdw.sh"
needs postgres_fdw

times=${TIMES:-12} # how often the large filter is sent

tables="CREATE EXTENSION pg_lsbf;
CREATE FUNCTION fingerprint(name text) RETURNS bit(256) IMMUTABLE LANGUAGE sql AS \$\$ SELECT ('x' || md5('a' || name) || md5('b' || name))::bit(256) \$\$;
-- The peak of this backend's memory in kB, without the shared buffers it has touched so far.
CREATE VIEW peak AS
  SELECT (regexp_match(s, 'VmHWM:\s+(\d+)'))[1]::bigint - (regexp_match(s, 'RssShmem:\s+(\d+)'))[1]::bigint AS kb
  FROM pg_read_file('/proc/self/status') AS s;"

server_start away
server_start home
server_psql away <<SQL
$tables
CREATE TABLE songs AS SELECT id, id % 4 AS genre, fingerprint('song ' || id) AS fp FROM generate_series(1, 4000) AS id;
CREATE VIEW slow AS SELECT id, fp, pg_sleep(0.01)::text AS pause FROM songs;
CREATE TABLE days AS SELECT genre AS day, lsbf_agg(fp, dsbf_new(dims => 256, capacity => 4000, near => 0.02)) AS f FROM songs GROUP BY 1;
VACUUM ANALYZE songs, days;
SQL
# Every tenth upload is a song with up to 4 of its 256 bits changed: within 0.02.
server_psql home <<SQL
$tables
CREATE TABLE uploads AS
  SELECT id, CASE WHEN id % 10 = 0
    THEN fingerprint('song ' || id) # (SELECT bit_xor(1::bit(256) << (hashint4(100 * id + i) & 255)) FROM generate_series(1, 1 + id % 4) i)
    ELSE fingerprint('upload ' || id) END AS fp
  FROM generate_series(1, 2000) AS id;
CREATE FUNCTION prototype() RETURNS lsbf IMMUTABLE LANGUAGE sql AS 'SELECT dsbf_new(dims => 256, capacity => 4000, near => 0.02)';
CREATE TABLE filters (name text PRIMARY KEY, f lsbf NOT NULL);
INSERT INTO filters SELECT 'uploads', lsbf_agg(fp, prototype()) FROM uploads;
INSERT INTO filters SELECT '1 kB', lsbf_agg(fp, dsbf_new(dims => 256, capacity => 20, near => 0.02, bits => 4000)) FROM uploads WHERE id <= 20;
INSERT INTO filters SELECT '20 MB', lsbf_agg(fp, dsbf_new(dims => 256, capacity => 4000, near => 0.02, bits => 160000000)) FROM uploads;
CREATE FUNCTION filter(filter text) RETURNS lsbf STABLE LANGUAGE sql AS 'SELECT f FROM filters WHERE name = filter';
VACUUM ANALYZE uploads, filters;
SQL
fdw_link home away
server_psql home <<'SQL'
CREATE FOREIGN TABLE songs (id integer, genre integer, fp bit(256)) SERVER away;
CREATE FOREIGN TABLE slow (id integer, fp bit(256), pause text) SERVER away;
CREATE FOREIGN TABLE days (day integer, f lsbf) SERVER away;
CREATE FOREIGN TABLE away_peak (kb bigint) SERVER away OPTIONS (table_name 'peak');
SQL

query() { server_query home "$1"; }
# remote_sql QUERY [SETUP]: what the plan sends to the other server
remote_sql() { query "${2:+$2; }EXPLAIN (VERBOSE, COSTS off) $1" | without_filters | sed -n 's/^ *Remote SQL: //p'; }

shipped='public\.approx_member\(.*, fp, '
# is_shipped NAME QUERY [SETUP]
is_shipped() { assert_match "$1: approx_member is shipped" "$(remote_sql "$2" "${3:-}")" "$shipped"; }

# What the other server answers when it is handed the filter as text, without postgres_fdw.
answer=$(query "SELECT 'SELECT count(*) FROM songs WHERE approx_member(' || quote_literal(f) || ', fp)' FROM filters WHERE name = 'uploads'" |
  server_psql away -At)
assert_at_most "some songs pass ($answer of 4,000)" 200 "$answer"
assert_at_most "most do not" "$answer" 1000

# A filter from here, rows from there.
subselect="SELECT count(*) FROM songs WHERE approx_member((SELECT f FROM filters WHERE name = 'uploads'), fp)"
cte="WITH mine AS (SELECT lsbf_agg(fp, prototype()) AS f FROM uploads) SELECT count(*) FROM songs WHERE approx_member((SELECT f FROM mine), fp)"
constant="SELECT count(*) FROM songs WHERE approx_member('$(query "SELECT f FROM filters WHERE name = 'uploads'")', fp)"
prepare="PREPARE ask(lsbf) AS SELECT count(*) FROM songs WHERE approx_member(\$1, fp)"
execute="EXECUTE ask(filter('uploads'))"
is_shipped "sub-select" "$subselect"
assert_eq "sub-select: the answer" "$(query "$subselect")" "$answer"
is_shipped "CTE" "$cte"
assert_eq "CTE: the answer" "$(query "$cte")" "$answer"
is_shipped "theta" "${subselect/, fp)/, fp, 1.5)}"
is_shipped "sub-select of a STABLE function" "SELECT count(*) FROM songs WHERE approx_member((SELECT filter('uploads')), fp)"
assert_eq "a STABLE function itself is not: rows travel" "$(remote_sql "SELECT count(*) FROM songs WHERE approx_member(filter('uploads'), fp)")" "SELECT fp FROM public.songs"
assert_match "NOT is shipped" "$(remote_sql "${subselect/WHERE approx/WHERE NOT approx}")" "NOT $shipped"
server_psql home -At >"$WORK/constant" 2>&1 <<<"EXPLAIN (VERBOSE, COSTS off) $constant; $constant"
assert_match "constant: approx_member is shipped" "$(without_filters <"$WORK/constant")" "Remote SQL: .*approx_member\(FILTER, fp"
assert_eq "constant: the answer" "$(tail -1 "$WORK/constant")" "$answer"
for mode in force_custom_plan force_generic_plan; do
  is_shipped "PREPARE, $mode" "$execute" "SET plan_cache_mode = $mode; $prepare"
  assert_eq "PREPARE, $mode: the answer, seven times over" \
    "$(query "SET plan_cache_mode = $mode; $prepare; $(printf "$execute;%.0s" 1 2 3 4 5 6 7)" | sort | uniq -c | xargs)" "7 $answer"
done
assert_match "only what was asked for travels" "$(remote_sql "SELECT id FROM songs WHERE approx_member((SELECT f FROM filters WHERE name = 'uploads'), fp)")" "^SELECT id FROM"

# An aggregate there, the filter comes back.
build="lsbf_agg(fp, prototype())"
assert_match "lsbf_agg is pushed down" "$(remote_sql "SELECT $build FROM songs")" "^SELECT public\.lsbf_agg\(fp, FILTER\) FROM public\.songs$"
assert_match "lsbf_agg with a condition is" "$(remote_sql "SELECT $build FILTER (WHERE id > 7) FROM songs WHERE genre = 1")" "lsbf_agg\(fp, FILTER\) FILTER .* WHERE"
assert_match "lsbf_agg by groups is" "$(remote_sql "SELECT genre, $build FROM songs GROUP BY genre")" "lsbf_agg\(fp, FILTER\).* GROUP BY"
assert_match "lsbf_agg with a prototype from a sub-select is" "$(remote_sql "SELECT lsbf_agg(fp, (SELECT f FROM filters WHERE name = 'uploads')) FROM songs")" "lsbf_agg\(fp, .*1::public\.lsbf\)"
assert_match "lsbf_union_agg is" "$(remote_sql "SELECT lsbf_union_agg(f) FROM days")" "lsbf_union_agg\(f\)"
remote=$(server_query away "SELECT md5(lsbf_agg(fp, dsbf_new(dims => 256, capacity => 4000, near => 0.02))::bytea) FROM songs")
assert_eq "lsbf_agg: the same bytes as made there" "$(query "SELECT md5(f::bytea) FROM (SELECT $build AS f FROM songs) s")" "$remote"
assert_eq "lsbf_agg: the same bytes as made here of all rows" "$(query "SELECT md5(lsbf_agg(fp, prototype())::bytea) FROM (SELECT * FROM songs OFFSET 0) s")" "$remote"
assert_eq "lsbf_union_agg: the same bytes" "$(query "SELECT md5(f::bytea) FROM (SELECT lsbf_union_agg(f) AS f FROM days) s")" "$remote"
assert_eq "no rows there: NULL here" "$(query "SELECT $build IS NULL FROM songs WHERE id < 0")" t

# Both recipes find what the full join finds, but for what the filter misses.
query "CREATE TABLE matches AS SELECT u.id AS upload, s.id AS song FROM uploads u, (SELECT * FROM songs OFFSET 0) s WHERE bit_count(u.fp # s.fp) <= 5"
assert_eq "the full join finds the planted copies" "$(query "SELECT count(*) FROM matches")" 200
query "CREATE TABLE passed AS SELECT s.* FROM songs s WHERE approx_member((SELECT f FROM filters WHERE name = 'uploads'), fp);
  CREATE TABLE found AS SELECT u.id AS upload, s.id AS song FROM uploads u, passed s WHERE bit_count(u.fp # s.fp) <= 5"
query "CREATE TABLE screened AS SELECT u.* FROM uploads u WHERE approx_member((SELECT $build FROM songs), u.fp)"
assert_at_most "filter built here: few rows come ($(query "SELECT count(*) FROM passed") of 4,000)" "$(query "SELECT count(*) FROM passed")" 1000
assert_at_most "filter built there: few rows pass ($(query "SELECT count(*) FROM screened") of 2,000)" "$(query "SELECT count(*) FROM screened")" 500
assert_eq "nothing is found that the full join does not find" "$(query "SELECT count(*) FROM (TABLE found EXCEPT TABLE matches) s")" 0
assert_rate "filter built here: misses are as many as predicted at most" "$(query "SELECT greatest(200 - count(*), 200 * lsbf_fnr(filter('uploads'), 0.02))::integer FROM found")" 200 \
  "$(query "SELECT lsbf_fnr(filter('uploads'), 0.02)")" 5
there=$(query "SELECT lsbf_fnr(f, 0.02) FROM (SELECT $build AS f FROM songs) s")
assert_rate "filter built there: misses are as many as predicted at most" "$(query "SELECT greatest(200 - count(*), 200 * $there)::integer FROM screened WHERE id IN (SELECT upload FROM matches)")" 200 \
  "$there" 5

# Filters of 1 kB and of 20 MB, both ways of passing them.
for name in "1 kB" "20 MB"; do
  size=$(query "SELECT pg_size_pretty(octet_length(f::bytea)::bigint) FROM filters WHERE name = '$name'")
  wanted=$(query "SELECT count(*) FROM (SELECT * FROM songs OFFSET 0) s WHERE approx_member(filter('$name'), fp)")
  assert_eq "a filter of $size: sub-select" "$(query "${subselect/uploads/$name}")" "$wanted"
  assert_eq "a filter of $size: parameter" "$(query "$prepare; ${execute/uploads/$name}")" "$wanted"
  assert_eq "a filter of $size: as prototype, and back" "$(query "SELECT md5(f::bytea) FROM (SELECT lsbf_agg(fp, (SELECT f FROM filters WHERE name = '$name')) AS f FROM songs WHERE id = 10) s")" \
    "$(query "SELECT md5(lsbf_add(filter('$name'), fingerprint('song 10'))::bytea)")"
done

query "SELECT 'SELECT count(*) FROM songs WHERE id <= 10 AND approx_member(' || quote_literal(f) || ', fp)' FROM filters WHERE name = '20 MB'" >"$WORK/large.sql"
assert_eq "a filter of 19 MB: constant" "$(server_psql home -At -f "$WORK/large.sql")" \
  "$(query "SELECT count(*) FROM (SELECT * FROM songs WHERE id <= 10 OFFSET 0) s WHERE approx_member(filter('20 MB'), fp)")"

# Sent over and over: neither backend grows. One filter more would be 20,000 kB.
server_psql home -At >"$WORK/peaks" <<SQL
$subselect \g /dev/null
DO \$\$ BEGIN FOR i IN 1..3 LOOP PERFORM count(*) FROM songs WHERE id <= 10 AND approx_member((SELECT f FROM filters WHERE name = '20 MB'), fp); END LOOP; END \$\$;
SELECT h.kb, a.kb FROM peak h, away_peak a;
DO \$\$ BEGIN FOR i IN 1..$times LOOP PERFORM count(*) FROM songs WHERE id <= 10 AND approx_member((SELECT f FROM filters WHERE name = '20 MB'), fp); END LOOP; END \$\$;
SELECT h.kb, a.kb FROM peak h, away_peak a;
SQL
read -r here there < <(awk -F'|' '{ here[NR] = $1; there[NR] = $2 } END { print here[2] - here[1], there[2] - there[1] }' "$WORK/peaks")
assert_at_most "20 MB sent $times times: the backend here grew by $here kB" "$here" 8192
assert_at_most "20 MB sent $times times: the backend there grew by $there kB" "$there" 8192
assert_at_most "the filter was there at all ($(tail -1 "$WORK/peaks") kB)" 20000 "$(tail -1 "$WORK/peaks" | cut -d'|' -f2)"

# Estimates from the other server; then a join with the table of filters ships the filter as well.
query "ALTER SERVER away OPTIONS (ADD use_remote_estimate 'true')"
is_shipped "use_remote_estimate, sub-select" "$subselect"
assert_eq "use_remote_estimate: the answer" "$(query "$subselect")" "$answer"
assert_eq "use_remote_estimate, constant: the answer" "$(server_psql home -At <<<"$constant")" "$answer"
join="SELECT count(*) FROM filters, songs WHERE name = 'uploads' AND approx_member(f, fp)"
is_shipped "use_remote_estimate, join" "$join"
assert_eq "use_remote_estimate, join: the answer" "$(query "$join")" "$answer"
query "ALTER SERVER away OPTIONS (DROP use_remote_estimate)"

# Errors of the other server arrive with their code.
server_psql home -v VERBOSITY=verbose -c "SELECT count(*) FROM songs WHERE approx_member(dsbf_new(dims => 64, capacity => 10, near => 0.1), fp)" >"$WORK/error" 2>&1 || true
assert_match "a filter of other dimensions is refused over there" "$(cat "$WORK/error")" "22000: expected 64 bits, not 256.*remote SQL command"
server_psql home -v VERBOSITY=verbose -c "SELECT lsbf_agg(fp, dsbf_new(metric => 'l2', capacity => 10, near => 0.1)) FROM songs" >"$WORK/error" 2>&1 || true
assert_match "so is a prototype of another metric" "$(cat "$WORK/error")" "22000: a filter of kind dsbf for metric l2 cannot take a value of type bit"

# Without the option nothing is shipped: rows travel, the answer is the same.
assert_match "an extension that is not there: a warning" "$(query "ALTER SERVER away OPTIONS (SET extensions 'pg_lsfb')" 2>&1)" "WARNING: .*\"pg_lsfb\" is not installed"
assert_eq "an extension that is not there: rows travel" "$(remote_sql "$subselect" 2>/dev/null)" "SELECT fp FROM public.songs"
query "ALTER SERVER away OPTIONS (DROP extensions)"
assert_eq "without the option: rows travel" "$(remote_sql "$subselect")" "SELECT fp FROM public.songs"
assert_eq "without the option: the same answer" "$(query "$subselect")" "$answer"
query "ALTER SERVER away OPTIONS (ADD extensions 'pg_lsbf')"

# The other server dies in the middle of a query: an ordinary error, and the session goes on.
slow="SELECT count(*) FROM slow WHERE approx_member((SELECT f FROM filters WHERE name = 'uploads'), fp) AND pause = ''"
# await FILE: until it is there, half a minute at most
cat >"$WORK/await" <<'SH'
i=0
while ! [ -f "$1" ] && [ $i -lt 300 ]; do sleep 0.1; i=$((i + 1)); done
SH
await() { sh "$WORK/await" "$1"; }
die_and_return() {
  local i
  for ((i = 0; i < 200; i++)); do
    [[ $(server_query away "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'postgres_fdw' AND state = 'active' AND query LIKE 'FETCH%'") == 1 ]] && break
    sleep 0.05
  done
  server_stop away immediate
  await "$WORK/died"
  server_start away
  touch "$WORK/returned"
}
die_and_return &
server_psql home -At -v ON_ERROR_STOP=0 -v VERBOSITY=verbose >"$WORK/session" 2>&1 <<SQL
SELECT 'backend ' || pg_backend_pid();
$slow;
SELECT 'here: ' || count(*) FROM uploads WHERE approx_member(filter('uploads'), fp);
\! touch $WORK/died; sh $WORK/await $WORK/returned
SELECT 'there: ' || count(*) FROM songs WHERE approx_member((SELECT f FROM filters WHERE name = 'uploads'), fp);
SELECT 'backend ' || pg_backend_pid();
SQL
wait $!
session=$(cat "$WORK/session")
assert_match "the server died: an ordinary error" "$session" "ERROR:  (57P01|57P02|08006|08000): "
assert_match "the session answers from here" "$session" "here: 2000"
assert_match "and from there, once the server is back" "$session" "there: $answer"
assert_eq "it is the same session" "$(grep -c "$(head -1 "$WORK/session")" "$WORK/session")" 2

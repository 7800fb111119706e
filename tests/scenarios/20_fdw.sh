#!/usr/bin/env bash
# Two servers and postgres_fdw: the filter is sent, the rows are not. The remote SQL of plans shows what is shipped, and every
# answer is compared with that of the remote server alone.
. "$(dirname "$0")/../../scripts/lib/scenario.sh"
. "$(dirname "$0")/../../scripts/lib/fdw.sh"
needs postgres_fdw

times=${TIMES:-12} # number of times the large filter is sent

tables="CREATE EXTENSION pg_lsbf;
CREATE FUNCTION fingerprint(name text) RETURNS bit(256) IMMUTABLE LANGUAGE sql AS \$\$ SELECT ('x' || md5('a' || name) || md5('b' || name))::bit(256) \$\$;
-- Peak memory of this backend in kB, without shared buffers.
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
# Every tenth upload is a song with up to 4 of its 256 bits changed: a distance of at most 0.02.
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
# remote_sql QUERY [SETUP]: the SQL that the plan sends to the remote server
remote_sql() { query "${2:+$2; }EXPLAIN (VERBOSE, COSTS off) $1" | without_filters | sed -n 's/^ *Remote SQL: //p'; }

shipped='public\.approx_member\(.*, fp, '
# is_shipped NAME QUERY [SETUP]
is_shipped() { assert_match "$1: approx_member is shipped" "$(remote_sql "$2" "${3:-}")" "$shipped"; }

# The answer of the remote server when it is given the filter as text, without postgres_fdw.
answer=$(query "SELECT 'SELECT count(*) FROM songs WHERE approx_member(' || quote_literal(f) || ', fp)' FROM filters WHERE name = 'uploads'" |
  server_psql away -At)
assert_at_most "some songs pass ($answer of 4,000)" 200 "$answer"
assert_at_most "most do not" "$answer" 1000

# A local filter, remote rows.
subselect="SELECT count(*) FROM songs WHERE approx_member((SELECT f FROM filters WHERE name = 'uploads'), fp)"
cte="WITH mine AS (SELECT lsbf_agg(fp, prototype()) AS f FROM uploads) SELECT count(*) FROM songs WHERE approx_member((SELECT f FROM mine), fp)"
constant="SELECT count(*) FROM songs WHERE approx_member('$(query "SELECT f FROM filters WHERE name = 'uploads'")', fp)"
prepare="PREPARE passing(lsbf) AS SELECT count(*) FROM songs WHERE approx_member(\$1, fp)"
execute="EXECUTE passing(filter('uploads'))"
is_shipped "sub-select" "$subselect"
assert_eq "sub-select: the answer" "$(query "$subselect")" "$answer"
is_shipped "CTE" "$cte"
assert_eq "CTE: the answer" "$(query "$cte")" "$answer"
is_shipped "theta" "${subselect/, fp)/, fp, 1.5)}"
is_shipped "sub-select of a STABLE function" "SELECT count(*) FROM songs WHERE approx_member((SELECT filter('uploads')), fp)"
assert_eq "a STABLE function itself is not shipped: rows are fetched" "$(remote_sql "SELECT count(*) FROM songs WHERE approx_member(filter('uploads'), fp)")" "SELECT fp FROM public.songs"
assert_match "NOT is shipped" "$(remote_sql "${subselect/WHERE approx/WHERE NOT approx}")" "NOT $shipped"
server_psql home -At >"$WORK/constant" 2>&1 <<<"EXPLAIN (VERBOSE, COSTS off) $constant; $constant"
assert_match "constant: approx_member is shipped" "$(without_filters <"$WORK/constant")" "Remote SQL: .*approx_member\(FILTER, fp"
assert_eq "constant: the answer" "$(tail -1 "$WORK/constant")" "$answer"
for mode in force_custom_plan force_generic_plan; do
  is_shipped "PREPARE, $mode" "$execute" "SET plan_cache_mode = $mode; $prepare"
  assert_eq "PREPARE, $mode: the answer, seven times over" \
    "$(query "SET plan_cache_mode = $mode; $prepare; $(printf "$execute;%.0s" 1 2 3 4 5 6 7)" | sort | uniq -c | xargs)" "7 $answer"
done
assert_match "only the selected columns are fetched" "$(remote_sql "SELECT id FROM songs WHERE approx_member((SELECT f FROM filters WHERE name = 'uploads'), fp)")" "^SELECT id FROM"

# A remote aggregate, whose filter is fetched.
build="lsbf_agg(fp, prototype())"
assert_match "lsbf_agg is pushed down" "$(remote_sql "SELECT $build FROM songs")" "^SELECT public\.lsbf_agg\(fp, FILTER\) FROM public\.songs$"
assert_match "lsbf_agg with a condition is pushed down" "$(remote_sql "SELECT $build FILTER (WHERE id > 7) FROM songs WHERE genre = 1")" "lsbf_agg\(fp, FILTER\) FILTER .* WHERE"
assert_match "lsbf_agg by groups is pushed down" "$(remote_sql "SELECT genre, $build FROM songs GROUP BY genre")" "lsbf_agg\(fp, FILTER\).* GROUP BY"
assert_match "lsbf_agg with a prototype from a sub-select is pushed down" "$(remote_sql "SELECT lsbf_agg(fp, (SELECT f FROM filters WHERE name = 'uploads')) FROM songs")" "lsbf_agg\(fp, .*1::public\.lsbf\)"
assert_match "lsbf_union_agg is pushed down" "$(remote_sql "SELECT lsbf_union_agg(f) FROM days")" "lsbf_union_agg\(f\)"
remote=$(server_query away "SELECT md5(lsbf_agg(fp, dsbf_new(dims => 256, capacity => 4000, near => 0.02))::bytea) FROM songs")
assert_eq "lsbf_agg: the same bytes as built by the remote server" "$(query "SELECT md5(f::bytea) FROM (SELECT $build AS f FROM songs) s")" "$remote"
assert_eq "lsbf_agg: the same bytes as built locally from all rows" "$(query "SELECT md5(lsbf_agg(fp, prototype())::bytea) FROM (SELECT * FROM songs OFFSET 0) s")" "$remote"
assert_eq "lsbf_union_agg: the same bytes" "$(query "SELECT md5(f::bytea) FROM (SELECT lsbf_union_agg(f) AS f FROM days) s")" "$remote"
assert_eq "no remote rows: NULL" "$(query "SELECT $build IS NULL FROM songs WHERE id < 0")" t

# Both recipes find what the full join finds, except for false negatives.
query "CREATE TABLE matches AS SELECT u.id AS upload, s.id AS song FROM uploads u, (SELECT * FROM songs OFFSET 0) s WHERE bit_count(u.fp # s.fp) <= 5"
assert_eq "the full join finds the planted copies" "$(query "SELECT count(*) FROM matches")" 200
query "CREATE TABLE passed AS SELECT s.* FROM songs s WHERE approx_member((SELECT f FROM filters WHERE name = 'uploads'), fp);
  CREATE TABLE found AS SELECT u.id AS upload, s.id AS song FROM uploads u, passed s WHERE bit_count(u.fp # s.fp) <= 5"
query "CREATE TABLE screened AS SELECT u.* FROM uploads u WHERE approx_member((SELECT $build FROM songs), u.fp)"
assert_at_most "local filter: few rows are fetched ($(query "SELECT count(*) FROM passed") of 4,000)" "$(query "SELECT count(*) FROM passed")" 1000
assert_at_most "remote filter: few rows pass ($(query "SELECT count(*) FROM screened") of 2,000)" "$(query "SELECT count(*) FROM screened")" 500
assert_eq "nothing is found that the full join does not find" "$(query "SELECT count(*) FROM (TABLE found EXCEPT TABLE matches) s")" 0
assert_rate "local filter: at most as many false negatives as predicted" "$(query "SELECT greatest(200 - count(*), 200 * lsbf_fnr(filter('uploads'), 0.02))::integer FROM found")" 200 \
  "$(query "SELECT lsbf_fnr(filter('uploads'), 0.02)")" 5
remote_fnr=$(query "SELECT lsbf_fnr(f, 0.02) FROM (SELECT $build AS f FROM songs) s")
assert_rate "remote filter: at most as many false negatives as predicted" "$(query "SELECT greatest(200 - count(*), 200 * $remote_fnr)::integer FROM screened WHERE id IN (SELECT upload FROM matches)")" 200 \
  "$remote_fnr" 5

# Filters of 1 kB and of 20 MB, passed in both ways.
for name in "1 kB" "20 MB"; do
  size=$(query "SELECT pg_size_pretty(octet_length(f::bytea)::bigint) FROM filters WHERE name = '$name'")
  expected=$(query "SELECT count(*) FROM (SELECT * FROM songs OFFSET 0) s WHERE approx_member(filter('$name'), fp)")
  assert_eq "a filter of $size in a sub-select: the answer" "$(query "${subselect/uploads/$name}")" "$expected"
  assert_eq "a filter of $size as a parameter: the answer" "$(query "$prepare; ${execute/uploads/$name}")" "$expected"
  assert_eq "a filter of $size as a prototype, fetched back: the same bytes" "$(query "SELECT md5(f::bytea) FROM (SELECT lsbf_agg(fp, (SELECT f FROM filters WHERE name = '$name')) AS f FROM songs WHERE id = 10) s")" \
    "$(query "SELECT md5(lsbf_add(filter('$name'), fingerprint('song 10'))::bytea)")"
done

query "SELECT 'SELECT count(*) FROM songs WHERE id <= 10 AND approx_member(' || quote_literal(f) || ', fp)' FROM filters WHERE name = '20 MB'" >"$WORK/large.sql"
assert_eq "a filter of 19 MB as a constant: the answer" "$(server_psql home -At -f "$WORK/large.sql")" \
  "$(query "SELECT count(*) FROM (SELECT * FROM songs WHERE id <= 10 OFFSET 0) s WHERE approx_member(filter('20 MB'), fp)")"

# Sent repeatedly: neither backend leaks. One leaked filter would be 20,000 kB.
server_psql home -At >"$WORK/peaks" <<SQL
$subselect \g /dev/null
DO \$\$ BEGIN FOR i IN 1..3 LOOP PERFORM count(*) FROM songs WHERE id <= 10 AND approx_member((SELECT f FROM filters WHERE name = '20 MB'), fp); END LOOP; END \$\$;
SELECT h.kb, a.kb FROM peak h, away_peak a;
DO \$\$ BEGIN FOR i IN 1..$times LOOP PERFORM count(*) FROM songs WHERE id <= 10 AND approx_member((SELECT f FROM filters WHERE name = '20 MB'), fp); END LOOP; END \$\$;
SELECT h.kb, a.kb FROM peak h, away_peak a;
SQL
read -r local_kb remote_kb < <(awk -F'|' '{ home[NR] = $1; away[NR] = $2 } END { print home[2] - home[1], away[2] - away[1] }' "$WORK/peaks")
assert_at_most "20 MB sent $times times: the local backend does not leak (grew by $local_kb kB)" "$local_kb" 8192
assert_at_most "20 MB sent $times times: the remote backend does not leak (grew by $remote_kb kB)" "$remote_kb" 8192
assert_at_most "the remote backend received the filter ($(tail -1 "$WORK/peaks") kB)" 20000 "$(tail -1 "$WORK/peaks" | cut -d'|' -f2)"

# With remote estimates, a join with the table of filters ships the filter as well.
query "ALTER SERVER away OPTIONS (ADD use_remote_estimate 'true')"
is_shipped "use_remote_estimate, sub-select" "$subselect"
assert_eq "use_remote_estimate: the answer" "$(query "$subselect")" "$answer"
assert_eq "use_remote_estimate, constant: the answer" "$(server_psql home -At <<<"$constant")" "$answer"
join="SELECT count(*) FROM filters, songs WHERE name = 'uploads' AND approx_member(f, fp)"
is_shipped "use_remote_estimate, join" "$join"
assert_eq "use_remote_estimate, join: the answer" "$(query "$join")" "$answer"
query "ALTER SERVER away OPTIONS (DROP use_remote_estimate)"

# Errors of the remote server keep their SQLSTATE.
server_psql home -v VERBOSITY=verbose -c "SELECT count(*) FROM songs WHERE approx_member(dsbf_new(dims => 64, capacity => 10, near => 0.1), fp)" >"$WORK/error" 2>&1 || true
assert_match "a filter of other dimensions is refused by the remote server" "$(cat "$WORK/error")" "22000: expected 64 bits, not 256.*remote SQL command"
server_psql home -v VERBOSITY=verbose -c "SELECT lsbf_agg(fp, dsbf_new(metric => 'l2', capacity => 10, near => 0.1)) FROM songs" >"$WORK/error" 2>&1 || true
assert_match "a prototype of another metric is refused, too" "$(cat "$WORK/error")" "22000: dsbf filter for metric l2 does not accept values of type bit"

# Without the option extensions nothing is shipped: rows are fetched, and the answer is the same.
assert_match "an extension that is not installed: a warning" "$(query "ALTER SERVER away OPTIONS (SET extensions 'pg_lsfb')" 2>&1)" "WARNING: .*\"pg_lsfb\" is not installed"
assert_eq "an extension that is not installed: rows are fetched" "$(remote_sql "$subselect" 2>/dev/null)" "SELECT fp FROM public.songs"
query "ALTER SERVER away OPTIONS (DROP extensions)"
assert_eq "without the option: rows are fetched" "$(remote_sql "$subselect")" "SELECT fp FROM public.songs"
assert_eq "without the option: the same answer" "$(query "$subselect")" "$answer"
query "ALTER SERVER away OPTIONS (ADD extensions 'pg_lsbf')"

# The remote server is stopped during a query: an ordinary error, and the session continues.
slow="SELECT count(*) FROM slow WHERE approx_member((SELECT f FROM filters WHERE name = 'uploads'), fp) AND pause = ''"
# await FILE: waits until it exists, at most half a minute
cat >"$WORK/await" <<'SH'
i=0
while ! [ -f "$1" ] && [ $i -lt 300 ]; do sleep 0.1; i=$((i + 1)); done
SH
await() { sh "$WORK/await" "$1"; }
stop_and_restart() {
  local i
  for ((i = 0; i < 200; i++)); do
    [[ $(server_query away "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'postgres_fdw' AND state = 'active' AND query LIKE 'FETCH%'") == 1 ]] && break
    sleep 0.05
  done
  server_stop away immediate
  await "$WORK/failed"
  server_start away
  touch "$WORK/restarted"
}
stop_and_restart &
server_psql home -At -v ON_ERROR_STOP=0 -v VERBOSITY=verbose >"$WORK/session" 2>&1 <<SQL
SELECT 'backend ' || pg_backend_pid();
$slow;
SELECT 'local: ' || count(*) FROM uploads WHERE approx_member(filter('uploads'), fp);
\! touch $WORK/failed; sh $WORK/await $WORK/restarted
SELECT 'remote: ' || count(*) FROM songs WHERE approx_member((SELECT f FROM filters WHERE name = 'uploads'), fp);
SELECT 'backend ' || pg_backend_pid();
SQL
wait $!
session=$(cat "$WORK/session")
assert_match "the remote server is stopped: an ordinary error" "$session" "ERROR:  (57P01|57P02|08006|08000): "
assert_match "the session can still query local tables" "$session" "local: 2000"
assert_match "and remote tables, once the server is running again" "$session" "remote: $answer"
assert_eq "it is the same session" "$(grep -c "$(head -1 "$WORK/session")" "$WORK/session")" 2

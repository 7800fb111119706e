#!/usr/bin/env bash
# The recipes of docs/distributed.md, on three servers: blocks ```sql node are run on both nodes, ```sql hub on the hub, and
# the output is compared with the block that follows. Of plans only the remote SQL is compared: the rest differs between
# versions.
#   ACCEPT=1 writes the output into the page
. "$(dirname "$0")/../../scripts/lib/scenario.sh"
. "$(dirname "$0")/../../scripts/lib/fdw.sh"
needs postgres_fdw

page=$ROOT/docs/distributed.md
vector="CREATE FUNCTION vector(id integer) RETURNS real[] IMMUTABLE LANGUAGE sql AS
  'SELECT ARRAY(SELECT (100 * sin(id * j ^ 1.5))::real FROM generate_series(1, 16) j)'"
for server in hub north south; do
  server_start "$server"
  server_run createdb "$server" music
  server_query "$server" "$vector" music
done
server_query north "CREATE TABLE songs AS SELECT 'north'::text AS node, id, vector(id) AS v FROM generate_series(1, 3000) id; ANALYZE songs" music
server_query south "CREATE TABLE songs AS SELECT 'south'::text AS node, id, vector(id) AS v FROM generate_series(3001, 6000) id; ANALYZE songs" music
# Every tenth upload is a song with a little noise.
server_query hub "CREATE TABLE uploads AS SELECT id, CASE WHEN id % 10 = 0 THEN ARRAY(SELECT (x + 0.1)::real FROM unnest(vector(id * 29)) x)
  ELSE vector(10000 + id) END AS v FROM generate_series(1, 200) id; ANALYZE uploads" music

# Blocks in order: the SQL in N.sql, the output shown on the page in N.shown, and where to run it in N.where.
dir=$WORK/blocks
mkdir "$dir"
awk -v dir="$dir" '
  in_sql && /^```/ { in_sql = 0; behind = 1; next }
  in_sql { print > (dir "/" n ".sql"); next }
  in_shown && /^```/ { in_shown = 0; next }
  in_shown { print > (dir "/" n ".shown"); next }
  in_other { if (/^```/) in_other = 0; next }
  /^```sql (node|hub)$/ { in_sql = 1; print $2 > (dir "/" ++n ".where"); next }
  /^``` *$/ && behind { in_shown = 1; behind = 0; printf "" > (dir "/" n ".shown"); next }
  /^```/ { in_other = 1; behind = 0; next }
  /[^ ]/ { behind = 0 }' "$page"
sed -i "s#host '\([a-z]*\)\.example'#host '$WORK/\1'#" "$dir"/*.sql

# run SERVER WHERE: runs all blocks for WHERE in one session; the output of block N is appended to N.got
run() {
  local number
  for ((number = 1; number <= blocks; number++)); do
    [[ $(cat "$dir/$number.where") != "$2" ]] || { printf '\\echo block %s\n' "$number"; cat "$dir/$number.sql"; }
  done | server_psql "$1" -d music -v ON_ERROR_STOP=0 2>&1 | without_filters |
    sed -E 's/[[:space:]]*$//; s/^ +QUERY PLAN/ QUERY PLAN/; s/^-{80,}$/------------/' |
    awk -v dir="$dir" '/^block [0-9]+$/ { file = dir "/" $2 ".got"; printf "" >> file; next } { print >> file }'
}

# plain FILE: its contents; of a plan only the remote SQL
plain() { if grep -q 'Remote SQL' "$1"; then grep -o 'Remote SQL.*' "$1"; else cat "$1"; fi; }

blocks=$(find "$dir" -name '*.where' | wc -l)
assert_at_most "the page has recipes ($blocks blocks)" 8 "$blocks"
run north node
run south node
run hub hub
for ((number = 1; number <= blocks; number++)); do
  got=$dir/$number.got
  if [[ -n ${ACCEPT:-} && -f $dir/$number.shown ]]; then sed -e :a -e '/^\n*$/{$d;N;ba' -e '}' "$got" >"$dir/$number.shown"; fi
  touch "$dir/$number.shown"
  assert_eq "block $number, $(head -1 "$dir/$number.sql" | cut -c1-50)" "$(plain "$got")" "$(plain "$dir/$number.shown")"
done

if [[ -n ${ACCEPT:-} ]]; then
  awk -v dir="$dir" '
    in_sql { print; if (/^```/) { in_sql = 0; behind = 1 }; next }
    in_shown { if (/^```/) { in_shown = 0; print }; next }
    in_other { print; if (/^```/) in_other = 0; next }
    /^```sql (node|hub)$/ { in_sql = 1; n++; print; next }
    /^``` *$/ && behind { in_shown = 1; behind = 0; print; while ((getline line < (dir "/" n ".shown")) > 0) print line; next }
    /^```/ { in_other = 1; behind = 0; print; next }
    /[^ ]/ { behind = 0 }
    { print }' "$page" >"$WORK/page"
  cat "$WORK/page" >"$page"
fi

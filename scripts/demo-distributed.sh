#!/usr/bin/env bash
# The distributed demonstration: three private servers, a similarity join between them, and the bytes transferred with and
# without a filter, counted by crates/tools/src/bin/wire.rs. Fails if the filter does not save a factor of 20, or if more
# pairs are missed than lsbf_fnr predicts.
#   N=20000           songs at each of two sites, at least 2000
#   UPDATE=1          writes the table into docs/distributed.md
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/lib/common.sh
. scripts/lib/packages.sh
. scripts/lib/server.sh
. scripts/lib/fdw.sh

n=${N:-20000}
uploads=500
sites="north south"
radius=20 # bits of 1,024
if ! [[ $n =~ ^[1-9][0-9]{3,7}$ ]] || ((n < 2000)); then
  die "N=$n: songs at each site must be a number of 2000 or more; with fewer the column is too small for the filter to save a factor of 20"
fi

# wire_start: starts a proxy that counts the bytes to and from each site, with a socket per site
wire_start() {
  local site wires=() i
  rustc --edition 2024 -O -o "$WORK/wire" crates/tools/src/bin/wire.rs
  for site in $sites; do
    mkdir "$WORK/wire-$site"
    wires+=("$site" "$WORK/wire-$site/.s.PGSQL.5432" "$(server_dir "$site")/.s.PGSQL.5432")
  done
  : >"$WORK/wire.log"
  "$WORK/wire" "${wires[@]}" >>"$WORK/wire.log" &
  WIRE=$!
  on_exit wire_stop
  for ((i = 0; i < 100; i++)); do
    grep -q ready "$WORK/wire.log" && return
    sleep 0.05
  done
  die "the proxy did not start"
}
wire_stop() { kill "$WIRE"; }

# transferred: bytes to the sites, bytes from them and rows since the last step, once all connections are closed
seen=0
transferred() {
  local i
  for ((i = 0; i < 200; i++)); do
    [[ $(grep -c '^open' "$WORK/wire.log") == $(grep -c '^closed' "$WORK/wire.log") ]] && {
      tail -n +$((seen + 1)) "$WORK/wire.log" | awk '$1 == "closed" { to += $3; from += $4; rows += $5 } END { print to + 0, from + 0, rows + 0 }'
      return
    }
    sleep 0.05
  done
  die "the proxy did not report the bytes transferred: a connection is still open"
}

# step NAME SQL: runs it in a session of its own, and records the bytes transferred
declare -A to from rows bytes time
step() {
  local name=$1 start counts
  seen=$(wc -l <"$WORK/wire.log")
  start=$(now)
  hub "$2" >/dev/null
  time[$name]=$(seconds_since "$start")
  counts=$(transferred)
  read -r "to[$name]" "from[$name]" "rows[$name]" <<<"$counts"
  bytes[$name]=$((to[$name] + from[$name]))
}

hub() { server_query hub "SET enable_partitionwise_aggregate = on; $1"; }

# read_at_sites: the number of rows read by scans at the sites so far
read_at_sites() {
  local site sum=0
  for site in $sites; do
    sum=$((sum + $(server_query "$site" "SELECT seq_tup_read FROM pg_stat_user_tables WHERE relname = 'songs'")))
  done
  echo "$sum"
}

# missed PAIRS FOUND: the number of pairs that the table FOUND lacks, and the number of others that it has
missed() {
  local pairs="SELECT upload, site, song FROM $1"
  hub "SELECT (SELECT count(*) FROM ($pairs EXCEPT TABLE $2) s), (SELECT count(*) FROM (TABLE $2 EXCEPT $pairs) s)" | tr '|' ' '
}

# as_predicted WHAT MISSED PREDICTED: fails if MISSED is more than four standard deviations above the prediction
as_predicted() {
  awk -v m="$2" -v p="$3" 'BEGIN { exit !(m <= p + 4 * sqrt(p) + 1) }' || die "$1: $2 missed, but lsbf_fnr predicts $3"
}

# share PART WHOLE: as a percentage
share() { awk -v a="$1" -v b="$2" 'BEGIN { printf "%.2f %%", 100 * a / b }'; }

# grouped NUMBER: with thousands separators
grouped() { printf "%s" "$1" | sed -E ':a; s/^([0-9]+)([0-9]{3})/\1,\2/; ta'; }

# times A B: A divided by B
times() { awk -v a="$1" -v b="$2" 'BEGIN { printf a < 10 * b ? "%.1f" : "%.0f", a / b }'; }

# row LABEL STEP
row() {
  printf '| %-32s | %12s | %14s | %9s | %7s | %6s |\n' "$1" "$(grouped "${to[$2]}")" "$(grouped "${from[$2]}")" "$(grouped "${rows[$2]}")" \
    "$(times "${bytes[column]}" "${bytes[$2]}") x" "${time[$2]} s"
}

ensure_rust
ensure_postgresql
ensure_clang
[[ -f $("$PG_CONFIG" --sharedir)/extension/postgres_fdw.control ]] || die "the server of $PG_CONFIG has no postgres_fdw: set PG_CONFIG to one that has it"
private_tree
DEST_PG_CONFIG=$TREE_PG_CONFIG scripts/install.sh

say "starting three private servers: hub, north and south"
fingerprint="CREATE EXTENSION pg_lsbf;
CREATE FUNCTION fingerprint(name text) RETURNS bit(1024) IMMUTABLE LANGUAGE sql AS \$\$
  SELECT ('x' || encode(sha512((name || ' a')::bytea), 'hex') || encode(sha512((name || ' b')::bytea), 'hex'))::bit(1024)
\$\$;"
for server in hub $sites; do
  server_start "$server"
done
wire_start
server_psql hub <<SQL
$fingerprint
CREATE TABLE songs (site text NOT NULL, id integer, fp bit(1024)) PARTITION BY LIST (site);
-- Every fourth upload is a song of one site with 8 to $radius bits changed.
CREATE TABLE uploads AS
  SELECT id, CASE WHEN id % 4 = 0
    THEN fingerprint(CASE WHEN id % 8 = 0 THEN 'north' ELSE 'south' END || ' ' || id)
      # (SELECT bit_xor(1::bit(1024) << (hashint4(1000 * id + i) & 1023)) FROM generate_series(1, 8 + id / 4 % 13) i)
    ELSE fingerprint('upload ' || id) END AS fp
  FROM generate_series(1, $uploads) AS id;
SQL
for site in $sites; do
  server_psql "$site" <<SQL
$fingerprint
CREATE TABLE songs AS SELECT '$site'::text AS site, id, fingerprint('$site ' || id) AS fp FROM generate_series(1, $n) AS id;
VACUUM ANALYZE songs;
SQL
  fdw_link hub "$site" ", extensions 'pg_lsbf', async_capable 'true', use_remote_estimate 'true'" "$WORK/wire-$site"
  server_query hub "CREATE FOREIGN TABLE songs_$site PARTITION OF songs FOR VALUES IN ('$site') SERVER $site OPTIONS (table_name 'songs')"
done

say "without a filter: the hub fetches the column"
step column "CREATE TABLE fetched AS SELECT site, id, fp FROM songs"
say "comparing $(grouped $((uploads * n * 2))) pairs"
hub "CREATE TABLE pairs AS SELECT u.id AS upload, s.site, s.id AS song, bit_count(u.fp # s.fp) AS distance FROM uploads u, fetched s WHERE bit_count(u.fp # s.fp) <= $radius"

say "a filter is sent: built from the uploads, queried at the sites; the rows that pass are fetched and compared"
hub "CREATE TABLE mine AS SELECT lsbf_agg(fp, (SELECT prototype FROM lsbf_design('hamming', near => 0.02, capacity => $uploads, dims => 1024, prefer => 'sharp') LIMIT 1)) AS f FROM uploads"
step out "CREATE TABLE passed AS SELECT site, id, fp FROM songs WHERE approx_member((SELECT f FROM mine), fp)"
hub "CREATE TABLE found AS SELECT u.id AS upload, s.site, s.id AS song FROM uploads u, passed s WHERE bit_count(u.fp # s.fp) <= $radius"

say "filters are fetched: built at the sites, queried at the hub"
step in "CREATE TABLE routes AS SELECT site, lsbf_agg(fp, (SELECT prototype FROM lsbf_design('hamming', near => 0.02, capacity => $n, dims => 1024) LIMIT 1)) AS f FROM songs GROUP BY site"
hub "CREATE TABLE screened AS SELECT * FROM uploads u WHERE EXISTS (SELECT FROM routes WHERE approx_member(f, u.fp))"

say "routing: each of 100 uploads is looked up at the sites that may have a match, then at all sites"
hub "CREATE FUNCTION look_up(sites text[], query bit) RETURNS TABLE (site text, song integer) STABLE LANGUAGE plpgsql AS \$\$
  BEGIN RETURN QUERY EXECUTE 'SELECT site, id FROM songs WHERE site = ANY (\$1) AND bit_count(fp # \$2) <= $radius' USING sites, query; END \$\$"
before=$(read_at_sites)
step routed "CREATE TABLE by_route AS SELECT u.id AS upload, s.* FROM uploads u, look_up(ARRAY(SELECT site FROM routes WHERE approx_member(f, u.fp)), u.fp) s WHERE id <= 100"
routed=$(read_at_sites)
step all "CREATE TABLE by_all AS SELECT u.id AS upload, s.* FROM uploads u, look_up('{north,south}', u.fp) s WHERE id <= 100"
all=$(read_at_sites)

say "merging: 20 filters for a million members each"
hub "CREATE TABLE parts AS SELECT n, lsbf_add((SELECT prototype FROM lsbf_design('cosine', near => 0.02, capacity => 1000000, dims => 768) LIMIT 1),
  ARRAY(SELECT sin(n * j)::real FROM generate_series(1, 768) j)) AS f FROM generate_series(1, 20) n"
parts=$(hub "SELECT sum(octet_length(f::bytea)) FROM parts")
step merge "SELECT lsbf_members(lsbf_union_agg(f)) FROM parts"

for name in column out in routed all; do
  ((rows[$name] > 0)) || die "nothing was transferred in the step $name"
done
((rows[column] >= 2 * n)) || die "${rows[column]} of $((2 * n)) rows of the column were transferred"

# The pairs of the full join that each answer misses, and the prediction: the sum of the false negative rates at their distances.
read -r matches < <(hub "SELECT count(*) FROM pairs")
read -r lost extra < <(missed pairs found)
predicted=$(hub "SELECT sum(lsbf_fnr(f, distance / 1024.0)) FROM pairs, mine")
hub "CREATE TABLE screened_pairs AS SELECT upload, site, song FROM pairs WHERE upload IN (SELECT id FROM screened)"
read -r lost_in _ < <(missed pairs screened_pairs)
predicted_in=$(hub "SELECT sum(lsbf_fnr(f, distance / 1024.0)) FROM pairs JOIN routes USING (site)")
read -r looked_up < <(hub "SELECT count(*) FROM by_all")
read -r lost_routed extra_routed < <(missed by_all by_route)
predicted_routed=$(hub "SELECT sum(lsbf_fnr(f, distance / 1024.0)) FROM pairs JOIN routes USING (site) WHERE upload <= 100")

table=$WORK/table
{
  echo "| bytes transferred                | to the sites | from the sites |      rows |   fewer |   time |"
  echo "|---|---|---|---|---|---|"
  row "the column, for a full join" column
  row "a filter sent, rows that pass" out
  row "two filters fetched" in
} >"$table"
raw=$((2 * n * 128))
{
  echo
  echo "- $(grouped $((2 * n))) songs of 1,024 bits at two sites, $uploads uploads at the hub. Bits are transferred as text; in binary the column has $(grouped $raw) bytes, $(times "$raw" "${bytes[out]}") times what was transferred with the filter."
  echo "- Full join: $matches pairs. With the filter: $((matches - lost)) of them, and $extra others. Missed: $(share "$lost" "$matches"), predicted by lsbf_fnr: $(share "$predicted" "$matches")."
  echo "- The filter that was sent: $(grouped "$(server_query hub "SELECT octet_length(f::bytea) FROM mine")") bytes; $(server_query hub "SELECT count(*) FROM passed") of $(grouped $((2 * n))) songs passed. The filters that were fetched: $(grouped "$(server_query hub "SELECT sum(octet_length(f::bytea)) FROM routes")") bytes; $(server_query hub "SELECT count(*) FROM screened") of $uploads uploads passed. They miss $(share "$lost_in" "$matches") of the pairs, predicted: $(share "$predicted_in" "$matches")."
  echo "- Routing, 100 uploads looked up one by one: $(grouped $((routed - before))) rows read at the sites in ${time[routed]} s, instead of $(grouped $((all - routed))) in ${time[all]} s; $(grouped "${bytes[routed]}") bytes transferred instead of $(grouped "${bytes[all]}"). Missed: $lost_routed of $looked_up songs, predicted: $(share "$predicted_routed" "$looked_up")."
  echo "- Merging 20 stored filters, $(grouped $((parts / 1000000))) MB in all: ${time[merge]} s."
} >>"$table"
echo
cat "$table"
echo

((extra == 0 && extra_routed == 0)) || die "a pair was found that the full join does not find"
as_predicted "a filter sent" "$lost" "$predicted"
as_predicted "two filters fetched" "$lost_in" "$predicted_in"
as_predicted "routing" "$lost_routed" "$predicted_routed"
((looked_up == 25)) || die "querying all sites did not find the planted copies"
((matches == uploads / 4)) || die "the full join did not find the planted copies"
((bytes[out] * 20 <= bytes[column])) || die "the filter saved less than a factor of 20"
if [[ -n ${UPDATE:-} ]]; then update_page docs/distributed.md "$table"; fi
say "stopping the servers and removing their files"

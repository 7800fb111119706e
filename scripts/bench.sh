#!/usr/bin/env bash
# Compares pg_lsbf with pgvector on one private server (PostgreSQL 18) and prints ratios. All results are written to
# target/bench/bench.json, the tables also to target/bench/bench.md, and to docs/benchmarks.md with UPDATE=1.
#   N=30000 DIMS=384       rows and dimensions of the vectors; generated for other dimensions and more rows
#   KIND=lsbf              only filters of this kind (a regular expression)
#   MANY=1000000           rows of the large table     MEMBERS=10000000   members of the largest filter
#   REPEATS=9              timed runs of each query, after one to warm up
#   DATA=../shared/data    directory of sentences_384.f16.npy and fingerprints_1024.u8.npy; without them rows are generated
#   OUT=target/bench       directory of the results
#   PROFILE=1              also shows where a scan with approx_member spends its time (needs perf)
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/lib/bench.sh

n=${N:-30000}
dims=${DIMS:-384}
kinds=${KIND:-.}
many=${MANY:-1000000}
members=${MEMBERS:-10000000}
repeats=${REPEATS:-9}
data=${DATA:-../shared/data}
out=${OUT:-$TARGET/bench}

# real FILE COLUMNS NEEDED: its path if it exists and has the number of columns that is needed
real() { if [[ $2 == "$3" && -f $data/$1 ]]; then echo "$data/$1"; fi; }

psql_bench() { server_psql bench -v dims="$dims" -v kinds="$kinds" -v repeats="$repeats" "$@"; }

load() { bench_load bench "$@"; }

# profile NAME: the functions in which a scan with approx_member spends its time
profile() {
  local pid source
  source=$(server_query bench "SELECT source FROM filters WHERE name = '$1'")
  command -v perf >/dev/null || apt_install linux-perf
  cat >"$WORK/profile.sql" <<SQL
SELECT pg_backend_pid() \g $WORK/pid
DO \$\$ BEGIN
  WHILE clock_timestamp() < statement_timestamp() + interval '6 s' LOOP
    PERFORM count(*) FROM $source WHERE approx_member((SELECT f FROM filters WHERE name = '$1'), v);
  END LOOP;
END \$\$;
SQL
  server_psql bench -At -f "$WORK/profile.sql" >/dev/null &
  sleep 1
  pid=$(cat "$WORK/pid")
  perf record -q -e cpu-clock -F 5000 -p "$pid" -o "$WORK/perf.data" -- sleep 3 >/dev/null 2>&1
  wait "$!"
  perf report -i "$WORK/perf.data" --stdio --sort dso 2>/dev/null | grep -E '^ +[0-9]' | sed -n 1,4p
  perf report -i "$WORK/perf.data" --stdio --sort symbol 2>/dev/null | grep -E '^ +[0-9]' | sed -n 1,25p
}

bench_install
say "building the row generator"
cargo build --release --quiet -p lsbf-tools --bin bench

say "starting PostgreSQL $PG_MAJOR with pgvector and loading $n rows of $dims dimensions, $many random ones and filters of up to $members members"
# Four times the size of the large table, so that a scan stays in memory.
bench_start bench "$(bench_buffers "$((4 * many * (dims * 4 + 60) / 1000000 + 1000))" 2)"
server_psql bench <<SQL
CREATE TABLE items (id integer, v vector($dims));
CREATE TABLE prints (id integer, v bit(1024));
CREATE TABLE random (id integer, v vector($dims));
CREATE TABLE others (id integer, v vector($dims));
CREATE TABLE large (kind text, members integer, f lsbf);
SQL
sentences=$(real sentences_384.f16.npy 384 "$dims")
((n <= 30000)) || sentences=
fingerprints=$(real fingerprints_1024.u8.npy 1024 1024)
load items vectors "$n" "$dims" ${sentences:+"$sentences"}
load prints bits 40000 1024 ${fingerprints:+"$fingerprints"}
load random random "$many" "$dims"
load others random "$((many / 5))" "$dims" 3
for kind in dsbf lsbf ilbf; do
  [[ $kind =~ $kinds ]] || continue
  load large filter "$kind" 10000 "$dims"
  load large filter "$kind" "$members" "$dims"
done
server_psql bench -c "VACUUM (ANALYZE, FREEZE) items, prints, random, others, large"

server_psql bench -f benches/server/measure.sql
say "measuring scans and builds, compared with <->, bit_count and <~>"
psql_bench -f benches/server/scans.sql
say "measuring filters of few members"
psql_bench -f benches/server/lists.sql
say "measuring indexes and other ways to do a semi-join"
psql_bench -f benches/server/peers.sql
say "measuring large filters and many rows"
psql_bench -f benches/server/large.sql

mkdir -p "$out"
origin() { if [[ -n $1 ]]; then echo "$2"; else echo generated; fi; }
dataset="$n x $dims $(origin "$sentences" "sentence embeddings"), 40000 x 1024 bits $(origin "$fingerprints" "of molecules"), $many x $dims random"
psql_bench -At -v processor="$(processor)" -v data="$dataset" -f benches/server/json.sql >"$out/bench.json"
{
  echo "$(processor); PostgreSQL $(server_version); $dataset; $(date +%Y-%m-%d)."
  echo
  psql_bench -Atq -f benches/server/markdown.sql
} >"$out/bench.md"
psql_bench -f benches/server/report.sql
say "all figures: $out/bench.json"
if [[ -n ${UPDATE:-} ]]; then update_page docs/benchmarks.md "$out/bench.md"; fi
if [[ -n ${PROFILE:-} ]]; then
  name=$(server_query bench "SELECT name FROM filters ORDER BY name <> 'ilbf 16' LIMIT 1")
  say "where a scan with $name spends its time"
  profile "$name"
fi

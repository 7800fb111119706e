#!/usr/bin/env bash
# Screens rows for near-duplicates in one pass, compared with pgvector, on one private server (PostgreSQL 18). Results are
# written to target/bench/duplicates.json, tables to target/bench/duplicates.md, and to docs/duplicates.md with UPDATE=1.
#   MANY=1000000 DIMS=384  generated rows, 5 % of them copies of an earlier one at distance near
#   N=30000                real rows; generated if there are none, or for other dimensions or more rows
#   NEAR=0.2               the distance within which rows count as duplicates
#   REPEATS=3              timed runs of each pass, after one to warm up
#   DATA=../shared/data    directory of sentences_384.f16.npy
#   OUT=target/bench       directory of the results
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/lib/bench.sh

many=${MANY:-1000000}
dims=${DIMS:-384}
n=${N:-30000}
near=${NEAR:-0.2}
repeats=${REPEATS:-3}
data=${DATA:-../shared/data}
out=${OUT:-$TARGET/bench}

psql_bench() { server_psql duplicates -v near="$near" -v repeats="$repeats" "$@"; }

load() { bench_load duplicates "$@"; }

# peak_bytes: growth of a new backend's peak memory by one pass, in bytes per row
peak_bytes() {
  local pass="SELECT count(*) FROM (SELECT lsbf_seen(v, (SELECT prototype FROM prototypes WHERE name = 'planted')) OVER (ORDER BY id) AS seen FROM planted WHERE id < ROWS) s WHERE seen"
  server_psql duplicates -At <<SQL
${pass//ROWS/10} \g /dev/null
SELECT peak() AS before \gset
${pass//ROWS/$many} \g /dev/null
SELECT round(1024 * (peak() - :before)::numeric / $many, 1);
SQL
}

bench_install
say "building the row generator"
cargo build --release --quiet -p lsbf-tools --bin bench

sentences=
if ((dims == 384 && n <= 30000)) && [[ -f $data/sentences_384.f16.npy ]]; then sentences=$data/sentences_384.f16.npy; fi
say "starting PostgreSQL $PG_MAJOR with pgvector and loading $many rows of $dims dimensions with planted copies, and $n ${sentences:+real }rows"
# Twice the size of the table, so that a scan stays in memory.
bench_start duplicates "$(bench_buffers "$((2 * many * (dims * 4 + 60) / 1000000 + 500))" 3)"
server_psql duplicates <<SQL
CREATE TABLE planted (id integer, source integer, v vector($dims));
CREATE TABLE items (id integer, v vector($dims));
SQL
load planted planted "$many" "$dims" "$near"
load items vectors "$n" "$dims" ${sentences:+"$sentences"}
server_psql duplicates -c "CREATE UNIQUE INDEX ON planted (id)" -c "CREATE INDEX ON planted (source)" \
  -c "CREATE UNIQUE INDEX ON items (id)" -c "VACUUM (ANALYZE, FREEZE) planted, items" \
  -f benches/server/measure.sql -f benches/duplicates/schema.sql

say "screening in one pass"
psql_bench -f benches/duplicates/screen.sql
say "measuring other methods with some rows"
psql_bench -f benches/duplicates/peers.sql
peak=$(peak_bytes)

mkdir -p "$out"
server_query duplicates "SELECT jsonb_pretty(jsonb_build_object('processor', '$(processor)', 'server', version(), 'peak_bytes_per_row', $peak,
  'passes', (SELECT jsonb_agg(to_jsonb(p) ORDER BY name) FROM bench.passes p), 'found', (SELECT jsonb_agg(to_jsonb(f)) FROM bench.found f),
  'prototypes', (SELECT jsonb_agg(to_jsonb(p) - 'prototype') FROM prototypes p)))" >"$out/duplicates.json"
grouped() { server_query duplicates "SELECT to_char($1, 'FM999,999,999')"; }
# table SET: the chosen filter, and the table of methods
table() {
  server_query duplicates "SELECT format('Filter: %s, codes of %s bits.', kind, bits) FROM prototypes WHERE name = '$1'"
  echo
  server_psql duplicates -At -v set="$1" -f benches/duplicates/markdown.sql
}
{
  echo "$(processor); PostgreSQL $(server_version); near $near; $(date +%Y-%m-%d)."
  echo
  echo "$(grouped "$many") generated rows of $dims dimensions, 5 % of them copies at distance $near of an earlier one. The pass took $peak bytes of memory per row in total. $(table planted)"
  echo
  printf '%s' "$(grouped "$n") $(if [[ -n $sentences ]]; then echo "real sentence embeddings"; else echo "generated rows"; fi)"
  server_query duplicates "SELECT format('; 5,000 of them were compared with all earlier ones: %s have one within near and %s none within 4 near. ', near, far) FROM bench.found WHERE name = 'items: lsbf_seen'" | tr -d '\n'
  table items
} >"$out/duplicates.md"
cat "$out/duplicates.md"
say "all figures: $out/duplicates.json"
if [[ -n ${UPDATE:-} ]]; then update_page docs/duplicates.md "$out/duplicates.md"; fi

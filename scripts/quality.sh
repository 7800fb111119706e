#!/usr/bin/env bash
# Evaluates the filters that lsbf_design_for chooses against exact distances, on one private server (PostgreSQL 18 with pgvector).
# The page and its plots are written to target/quality, and to docs with UPDATE=1.
#   N=30000                number of vectors, and of bit strings that are members
#   PREFER="small ..."     only these preferences of small, balanced, fast and sharp
#   REPEATS=7              timed runs of each scan, after one to warm up
#   DATA=../shared/data    directory of sentences_384.f16.npy and fingerprints_1024.u8.npy; without them rows are generated
#   OUT=target/quality     directory of the results
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/lib/bench.sh

n=${N:-30000}
prefers=${PREFER:-small balanced fast sharp}
repeats=${REPEATS:-7}
data=${DATA:-../shared/data}
out=${OUT:-$TARGET/quality}
program=$TARGET/release/quality

# real FILE: its path if it exists and has enough rows
real() { if [[ -f $data/$1 ]] && ((n <= 30000)); then echo "$data/$1"; fi; }

# study NAME TYPE METRIC NEAR FILE: chooses, builds and queries the filters of a data set
study() {
  local name=$1 type=$2 metric=$3 near=$4 file prefer far peer
  file=$(real "$5")
  say "$name: ${file:+real }${file:-generated rows}, near $near"
  server_psql quality -c "CREATE TABLE ${name}_members (id integer, v $type)" \
    -c "CREATE TABLE ${name}_queries (id integer, kind text, distance double precision, v $type)" \
    -c "INSERT INTO quality.sets (name, metric, near) VALUES ('$name', '$metric', $near)"
  "$program" members "$name" "$n" ${file:+"$file"} | server_psql quality -c "COPY ${name}_members FROM STDIN BINARY"
  server_psql quality -c "VACUUM ANALYZE ${name}_members"
  for prefer in $prefers; do
    choose "$name" "$prefer"
  done
  far=$(server_query quality "SELECT coalesce(far, 0) FROM quality.sets WHERE name = '$name'")
  "$program" queries "$name" "$n" "$far" ${file:+"$file"} | server_psql quality -c "COPY ${name}_queries FROM STDIN BINARY"
  case $type in
    bit*) peer="bit_count(v # (SELECT v FROM one)) < 10" ;;
    *) peer="v <-> (SELECT v FROM one) < 0.2" ;;
  esac
  server_psql quality -v set="$name" -v members="${name}_members" -v queries="${name}_queries" -v peer="$peer" \
    -v repeats="$repeats" -v least="$((n * 2 / 3))" -f benches/quality/measure.sql
}

# choose SET PREFER: chooses a filter, and records the notices of the server
choose() {
  local notice
  server_psql quality -c "CALL quality.choose('$1', '$2')" 2>"$WORK/notices" || {
    cat "$WORK/notices" >&2
    return 1
  }
  notice=$(sed -n 's/^NOTICE: *//p' "$WORK/notices" | paste -sd' ')
  server_psql quality -v set="$1" -v prefer="$2" -v notice="$notice" <<<"UPDATE quality.filters SET notice = :'notice' WHERE set = :'set' AND prefer = :'prefer'"
  echo "    $2: $(server_query quality "SELECT coalesce(round(((choice).bytes_per_member)::numeric, 1) || ' bytes per member', 'none')
    || format(', chosen in %s s', round((ms / 1000)::numeric, 1)) FROM quality.filters WHERE set = '$1' AND prefer = '$2'")${notice:+ ($notice)}"
}

# scan_on PATH: the times of scans of the sentences if queries use only these instructions
scan_on() {
  server_stop quality
  LSBF_PATH=$1 server_start quality
  server_psql quality -v path="$1" -v repeats="$repeats" -v least="$((n * 2 / 3))" -f benches/quality/paths.sql
}

# figures FILE QUERY: tab-separated, for the page
figures() { server_psql quality -At -F $'\t' -c "$2" >"$out/$1.tsv"; }

write_figures() {
  figures about "SELECT 'processor', '$(processor)'
    UNION ALL SELECT 'server', '$(server_version)'
    UNION ALL SELECT 'date', '$(date +%Y-%m-%d)'
    UNION ALL SELECT 'sentences', '$([[ -n $(real sentences_384.f16.npy) ]] && echo real || echo generated)'
    UNION ALL SELECT 'fingerprints', '$([[ -n $(real fingerprints_1024.u8.npy) ]] && echo real || echo generated)'"
  figures sets "SELECT name, members, near, far, (SELECT us_per_row FROM bench.times t WHERE t.name = 'peer ' || s.name), queries, within, median
    FROM quality.sets s ORDER BY place"
  figures filters "SELECT set, prefer, (choice).kind, (choice).family, (choice).bits, (choice).tables, (choice).hashes,
      (choice).blocks, (choice).probes, (choice).votes, (choice).bytes_per_member, pg_column_size(f)::double precision / members, (choice).fnr,
      (choice).fpr, (choice).unrelated, us_per_row, ms, notice,
      lsbf_fnr(f, s.near), lsbf_fpr(f)
    FROM quality.filters JOIN quality.sets s ON s.name = set LEFT JOIN bench.times t ON t.name = format('query %s %s', set, prefer)
    ORDER BY filters.place"
  figures bands "SELECT * FROM quality.bands"
  figures curves "SELECT * FROM quality.curves ORDER BY set, prefer, kind, times"
  figures paths "SELECT path, prefer, ratio FROM quality.paths ORDER BY place"
  figures peers "SELECT name, bytes, at_near, natural_near, us_per_row FROM quality.peers JOIN bench.times USING (name) ORDER BY place"
}

bench_install
say "building the evaluation program"
cargo build --release --quiet -p lsbf-tools --bin quality

say "starting PostgreSQL $PG_MAJOR with pgvector"
bench_start quality 1GB
server_psql quality -f benches/server/measure.sql -f benches/quality/schema.sql
while read -r set; do
  # shellcheck disable=SC2086
  study $set </dev/null
done < <("$program" sets)
say "measuring indexes and LSH keys on the sentences"
server_psql quality -f benches/quality/peers.sql
for path in avx2 plain; do
  say "measuring scans of the sentences with LSBF_PATH=$path"
  scan_on "$path"
done

mkdir -p "$out"
write_figures
"$program" report "$out" "$out"
if [[ -n ${UPDATE:-} ]]; then
  mkdir -p docs/quality
  cp "$out/quality.md" docs/
  cp "$out"/quality/*.svg docs/quality/
fi
say "the page: $out/quality.md"

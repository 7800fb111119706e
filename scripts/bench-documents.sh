#!/usr/bin/env bash
# Screens documents for near-duplicates with MinHash bands on a private server, compared with the Python library datasketch.
# Results are written to target/bench/documents.json, the table to documents.md, and to docs/documents.md with UPDATE=1.
#   N=50000                texts: four fifths are members, the others are queries; N=2000 takes less than a minute
#   REPEATS=5              timed runs of each query, after one to warm up
#   OUT=target/bench       directory of the results
#   PROFILE=1              also shows where a scan with approx_member spends its time (needs perf)
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/lib/bench.sh

n=${N:-50000}
repeats=${REPEATS:-5}
out=${OUT:-$TARGET/bench}
data=$out/documents
venv=$TARGET/documents-python
datasketch=2.0.0
export PYTHONDONTWRITEBYTECODE=1
((n >= 500)) || die "N must be 500 or more, not $n"

# ensure_python: sets PYTHON to one with numpy, and PEER if it also has datasketch
ensure_python() {
  PEER=
  PYTHON=$venv/bin/python
  [[ -x $PYTHON ]] || python3 -m venv --system-site-packages "$venv" 2>/dev/null || {
    apt_install python3 python3-venv
    python3 -m venv --clear --system-site-packages "$venv" || die "could not create a virtual environment for Python"
  }
  if "$PYTHON" -c "import datasketch, pybloomfilter; exit(datasketch.__version__ != '$datasketch')" 2>/dev/null; then
    PEER=1
  else
    say "installing datasketch $datasketch"
    if pip_install "datasketch[bloom]==$datasketch" || pip_install "datasketch==$datasketch"; then
      PEER=1
    else
      say "datasketch could not be installed: only pg_lsbf is measured"
    fi
  fi
  "$PYTHON" -c "import numpy" 2>/dev/null || pip_install numpy || apt_install python3-numpy
  "$PYTHON" -c "import numpy" || die "exact similarities need numpy"
}

pip_install() {
  "$PYTHON" -m pip install --quiet --disable-pip-version-check --prefer-binary "$@"
}

# lines: name and short description of the packages in the system's package lists
lines() {
  command -v apt-cache >/dev/null || return 0
  apt-cache dumpavail 2>/dev/null |
    awk '/^Package: / { name = $2 } /^Description(-en)?: / { sub(/^[^:]*: /, ""); print name ": " $0 }'
}

# profile: the functions in which a scan with the filter of 14 x 9 hashes spends its time
profile() {
  local pid
  command -v perf >/dev/null || apt_install linux-perf
  cat >"$WORK/profile.sql" <<SQL
SELECT pg_backend_pid() \g $WORK/pid
DO \$\$ BEGIN
  WHILE clock_timestamp() < statement_timestamp() + interval '6 s' LOOP
    PERFORM count(*) FROM query_texts WHERE approx_member((SELECT f FROM filters WHERE name = '14 x 9'), s);
  END LOOP;
END \$\$;
SQL
  server_psql bench -At -f "$WORK/profile.sql" >/dev/null &
  sleep 1
  pid=$(cat "$WORK/pid")
  perf record -q -e cpu-clock -F 5000 -p "$pid" -o "$WORK/perf.data" -- sleep 3 >/dev/null 2>&1
  wait "$!"
  perf report -i "$WORK/perf.data" --stdio --sort dso,symbol 2>/dev/null | grep -E '^ +[0-9]' | sed -n 1,15p
}

ensure_rust
ensure_clang
ensure_postgresql
ensure_python
private_tree
DEST_PG_CONFIG=$TREE_PG_CONFIG scripts/install.sh

mkdir -p "$data"
say "generating $n texts and computing their exact similarities"
lines | "$PYTHON" benches/documents/texts.py "$data" "$n" >"$data/source"

say "starting PostgreSQL $PG_MAJOR and measuring filters"
server_start bench "shared_buffers = '512MB'" "work_mem = '64MB'" "jit = off" "max_parallel_workers_per_gather = 0"
server_psql bench <<SQL
CREATE EXTENSION pg_lsbf;
CREATE TABLE members (id integer, body text);
CREATE TABLE query_texts (id integer, batch text, nearest numeric, body text);
SQL
server_psql bench -c "COPY members FROM STDIN" <"$data/members.tsv"
server_psql bench -c "COPY query_texts FROM STDIN" <"$data/queries.tsv"
server_psql bench -f benches/server/measure.sql
server_psql bench -v repeats="$repeats" -f benches/documents/ours.sql
server_psql bench -At -f benches/documents/json.sql >"$data/ours.json"

rm -f "$data/peers.json"
if [[ -n $PEER ]]; then
  say "measuring datasketch"
  "$PYTHON" benches/documents/peers.py "$data" "$repeats" >"$data/peers.json"
fi

"$PYTHON" benches/documents/report.py "$data" "$out" "$(processor)"
say "all figures: $out/documents.json"
if [[ -n ${UPDATE:-} ]]; then update_page docs/documents.md "$out/documents.md"; fi
if [[ -n ${PROFILE:-} ]]; then
  say "where a scan with the filter of 14 x 9 hashes spends its time"
  profile
fi

#!/usr/bin/env bash
# Measures hashing and queries without a server: nanoseconds (crates/tools/benches/core.rs), and instructions per query, which
# do not depend on the load of the machine. Instructions are counted on the AVX2 path, the widest that valgrind supports.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/lib/common.sh
. scripts/lib/packages.sh

rows=2000

# instructions KIND ROWS: instructions of a whole run
instructions() {
  valgrind --tool=callgrind --callgrind-out-file=/dev/null "$TARGET/release/bench" member "$1" "$2" 2>&1 |
    sed -n 's/.*Collected : \([0-9]*\).*/\1/p'
}

# per_query KIND: instructions of one query, without the setup and the first query
per_query() {
  local few many
  few=$(instructions "$1" 100)
  many=$(instructions "$1" $((rows + 100)))
  awk -v few="$few" -v many="$many" -v rows="$rows" 'BEGIN { printf "%.0f", (many - few) / rows }'
}

ensure_rust
command -v valgrind >/dev/null || apt_install valgrind
cargo bench --quiet -p lsbf-tools --bench core "$@"

say "counting instructions"
cargo build --release --quiet -p lsbf-tools --bin bench
distance=$(per_query distance)
printf '%-44s %9s %9s\n' "one query, filter of 10,000 members" "count" "ratio"
printf '%-44s %9s %9s\n' "exact l2 distance, 384 dimensions" "$distance" 1.00
for kind in dsbf lsbf lsbf70 ilbf bits; do
  count=$(per_query "$kind")
  printf '%-44s %9s %9s\n' "$kind" "$count" "$(awk -v a="$count" -v b="$distance" 'BEGIN { printf "%.2f", a / b }')"
done
say "comparing lists of few members with words, in nanoseconds"
"$TARGET/release/bench" lists

#!/usr/bin/env bash
# Measures hashing and asking without a server: nanoseconds (crates/tools/benches/core.rs), and instructions a question, which do not
# depend on what else the machine does. Instructions are counted on the AVX2 path, the widest that valgrind knows.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/lib/common.sh
. scripts/lib/packages.sh

rows=2000

# instructions KIND ROWS: of a whole run
instructions() {
  valgrind --tool=callgrind --callgrind-out-file=/dev/null "$TARGET/release/bench" member "$1" "$2" 2>&1 |
    sed -n 's/.*Collected : \([0-9]*\).*/\1/p'
}

# each KIND: of one question; what comes before the questions, and with the first one, is subtracted
each() {
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
distance=$(each distance)
printf '%-44s %9s %9s\n' "one question, filter of 10,000 members" "count" "ratio"
printf '%-44s %9s %9s\n' "exact l2 distance, 384 dimensions" "$distance" 1.00
for kind in dsbf lsbf lsbf70 ilbf bits; do
  count=$(each "$kind")
  printf '%-44s %9s %9s\n' "$kind" "$count" "$(awk -v a="$count" -v b="$distance" 'BEGIN { printf "%.2f", a / b }')"
done

#!/usr/bin/env bash
# Runs the papers' experiments at full size and compares the page with docs/papers.md: seeds are fixed, so that a second run
# writes the same page.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/lib/common.sh

private_dir
cargo run --release --quiet -p lsbf-tools --bin papers "$WORK"
diff -u docs/papers.md "$WORK/papers.md"
for figure in docs/papers/*.svg; do
  cmp "$figure" "$WORK/papers/$(basename "$figure")"
done

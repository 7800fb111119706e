#!/usr/bin/env bash
# The demonstration: builds, starts a private server, runs scripts/demo.sql, draws its plot, stops the server.
#   PART=8    every 8th ideograph is compared with all others to evaluate the filter; 1 compares all pairs (a minute or two)
#   UPDATE=1  writes docs/demo/acceptance.svg
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/lib/common.sh
. scripts/lib/packages.sh
. scripts/lib/server.sh

PART=${PART:-8}
[[ $PART =~ ^[1-9][0-9]*$ ]] || die "PART=$PART is not a whole number greater than 0"
out=$TARGET/demo

# Converts the plot to PNG with a converter that every distribution has, if it can be installed.
write_png() {
  if ! command -v rsvg-convert >/dev/null && { is_root || sudo -n true 2>/dev/null; } && command -v apt-get >/dev/null; then
    (apt_install librsvg2-bin) || true
  fi
  if command -v rsvg-convert >/dev/null; then
    rsvg-convert --zoom 2 --output "$out/acceptance.png" "$out/acceptance.svg"
    say "wrote $out/acceptance.svg and acceptance.png: share of characters that pass, by distance"
  else
    say "wrote $out/acceptance.svg: share of characters that pass, by distance (no PNG: rsvg-convert of librsvg2-bin is not installed)"
  fi
}

ensure_rust
ensure_postgresql
ensure_clang
private_tree
DEST_PG_CONFIG=$TREE_PG_CONFIG scripts/install.sh
say "building the plot program"
cargo build --release --quiet -p lsbf-tools --bin acceptance
mkdir -p "$out"
say "starting a private PostgreSQL $PG_MAJOR in $WORK"
server_start demo
server_psql demo -v glyphs="gzip -dc demo/glyphs.tsv.gz" -v curve="$out/acceptance.tsv" -v part="$PART" -f scripts/demo.sql 2>&1
echo
"$TARGET/release/acceptance" "$out/acceptance.tsv" "$out/acceptance.svg"
write_png
if [[ -n ${UPDATE:-} ]]; then
  mkdir -p docs/demo
  cp "$out/acceptance.svg" docs/demo/
fi
say "stopping the server and removing its files"

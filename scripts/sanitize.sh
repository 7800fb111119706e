#!/usr/bin/env bash
# Runs the core's unit tests under the address sanitizer, which aborts on reads and writes out of bounds. Stable Rust includes
# it, but only with RUSTC_BOOTSTRAP=1. Miri would detect more, but needs a nightly compiler.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/lib/common.sh
. scripts/lib/packages.sh

ensure_rust
host=$(rustc -vV | sed -n 's/^host: //p')
compgen -G "$(rustc --print sysroot)/lib/rustlib/$host/lib/librustc*_rt.asan.a" >/dev/null || {
  say "this Rust has no address sanitizer for $host: skipped"
  exit 0
}
private_dir
export RUSTC_BOOTSTRAP=1

# An inactive sanitizer finds nothing, so first check that it detects an error.
cat >"$WORK/beyond.rs" <<'RUST'
fn main() {
    let bytes = vec![0u8; 8];
    // SAFETY: none; the sanitizer must detect this read.
    std::process::exit(unsafe { *std::hint::black_box(bytes.as_ptr()).add(8) }.into());
}
RUST
rustc -Zsanitizer=address --target "$host" -o "$WORK/beyond" "$WORK/beyond.rs"
"$WORK/beyond" >"$WORK/log" 2>&1 || true
grep -q heap-buffer-overflow "$WORK/log" || die "the address sanitizer does not detect a read past the end"

say "unit tests of the core under the address sanitizer (a minute or two)"
RUSTFLAGS=-Zsanitizer=address cargo test -p lsbf --lib --test format --target "$host" --target-dir "$TARGET/sanitize"

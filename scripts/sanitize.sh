#!/usr/bin/env bash
# The core's unit tests under the address sanitizer: whatever reads or writes beyond its memory ends them.
# Stable Rust has it, but for RUSTC_BOOTSTRAP=1 only. Miri would see more; it needs a nightly compiler.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/lib/common.sh
. scripts/lib/packages.sh

ensure_rust
host=$(rustc -vV | sed -n 's/^host: //p')
compgen -G "$(rustc --print sysroot)/lib/rustlib/$host/lib/librustc*_rt.asan.a" >/dev/null || {
  say "this Rust has no address sanitizer for $host: left out"
  exit 0
}
private_dir
export RUSTC_BOOTSTRAP=1

# A sanitizer that is not at work finds nothing: first something that it must find.
cat >"$WORK/beyond.rs" <<'RUST'
fn main() {
    let bytes = vec![0u8; 8];
    // SAFETY: there is none, which is to be noticed.
    std::process::exit(unsafe { *std::hint::black_box(bytes.as_ptr()).add(8) }.into());
}
RUST
rustc -Zsanitizer=address --target "$host" -o "$WORK/beyond" "$WORK/beyond.rs"
"$WORK/beyond" >"$WORK/log" 2>&1 || true
grep -q heap-buffer-overflow "$WORK/log" || die "the address sanitizer does not notice a read beyond the end"

say "unit tests of the core under the address sanitizer (a minute or two)"
RUSTFLAGS=-Zsanitizer=address cargo test -p lsbf --lib --test format --target "$host" --target-dir "$TARGET/sanitize"

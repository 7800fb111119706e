#!/usr/bin/env bash
# Fuzzes the core: first the inputs that once revealed defects, then new ones, derived from the golden files and the corpus.
#   SECONDS_EACH=60   duration of each target
#   RUNS=3000         tries this number of inputs instead, the same in every run
#   TARGETS="image"   only these targets of image, vector and parameters
#   KEEP=1            adds inputs that reached new code to fuzz/corpus, and minimizes it
# An input that breaks a promise is left in fuzz/artifacts; when the defect is fixed, add it to fuzz/regressions under a name.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/lib/common.sh
. scripts/lib/packages.sh

SECONDS_EACH=${SECONDS_EACH:-60}
TARGETS=${TARGETS:-image vector parameters}
[[ $SECONDS_EACH =~ ^[0-9]+$ ]] || die "SECONDS_EACH must be a number of seconds, not $SECONDS_EACH"
[[ ${RUNS:=} =~ ^[0-9]*$ ]] || die "RUNS must be a number of inputs, not $RUNS"
if [[ -n $RUNS ]]; then
  amount=("-seed=1" "-runs=$RUNS" "-reload=0") shown="$RUNS inputs"
else
  amount=("-max_total_time=$SECONDS_EACH") shown="$SECONDS_EACH s"
fi

# Coverage works with stable Rust; the sanitizer does not, and is run by scripts/sanitize.sh.
fuzz() { "$CARGO_FUZZ" fuzz "$@" --sanitizer none --target-dir "$TARGET/fuzz"; }

# The first inputs are all golden files and the corpus.
seeds() {
  local file target
  mkdir -p "$WORK/image" "$WORK/vector" "$WORK/parameters"
  for target in image vector parameters; do
    tar -xzf "fuzz/corpus/$target.tar.gz" -C "$WORK/$target"
  done
  for file in crates/lsbf/tests/golden/*.txt; do
    base64 -d "$file" >"$WORK/image/$(basename "$file" .txt)"
  done
}

# run TARGET: new inputs go to a directory of their own
run() {
  local target=$1 log=$WORK/$1.log old
  old=(fuzz/regressions/"$target"/*)
  if [[ -e ${old[0]} ]]; then
    say "$target: inputs of ${#old[@]} fixed defects"
    "$program" "${old[@]}" >"$log" 2>&1 || return 1
  fi
  say "$target: $shown"
  mkdir -p "fuzz/artifacts/$target" "$WORK/new/$target"
  "$program" "$WORK/new/$target" "$WORK/$target" "${amount[@]}" -max_len=4096 \
    -len_control=0 -timeout=60 -rss_limit_mb=2048 -artifact_prefix="fuzz/artifacts/$target/" -print_final_stats=1 \
    >"$log" 2>&1 || return 1
  sed -n 's/^stat::number_of_executed_units: */    inputs tried: /p' "$log"
}

# keep TARGET: the smallest set of inputs that reaches all the code reached so far
keep() {
  local merged=$WORK/merged/$1
  mkdir -p "$merged"
  "$program" -merge=1 -max_len=4096 "$merged" "$WORK/$1" "$WORK/new/$1" >"$WORK/$1.log" 2>&1 || return 1
  tar -C "$merged" --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner -c . | gzip -n9 >"fuzz/corpus/$1.tar.gz"
}

ensure_rust
ensure_cpp
ensure_cargo_fuzz
private_dir
seeds
say "building the fuzz targets"
fuzz build
host=$(rustc -vV | sed -n 's/^host: //p')
for target in $TARGETS; do
  program=$TARGET/fuzz/$host/release/$target
  [[ -x $program ]] || die "no fuzz target $target"
  run "$target" && { [[ -z ${KEEP:-} ]] || keep "$target"; } || {
    tail -60 "$WORK/$target.log"
    die "$target broke a promise: see above"
  }
done
say "no promise was broken"

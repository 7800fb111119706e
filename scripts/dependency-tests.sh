#!/usr/bin/env bash
# Compares docs/dependencies.md with cargo's metadata: direct dependencies with their licences, and the licences of everything
# compiled into the extension.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/lib/common.sh

page=docs/dependencies.md
private_dir

# crates FEATURES EDGES...: `name|licence` of compiled crates, which are the same for every server
crates() {
  local features=$1
  shift
  cargo tree --locked --no-default-features --features "$features" --prefix none --format '{p}|{l}' "$@" |
    sed -E 's/ \(\*\)$//; s/ v[^|]*\|/|/' | sort -u | grep -v '^pg_lsbf|\|^lsbf|\|^lsbf-tools|\|^$'
}

crates 'pg15 pg_test' --workspace --depth 1 --edges normal,build,dev >"$WORK/used"
sed -nE 's/^\| ([a-z0-9_-]+) \| ([^|]+) \|.*/\1|\2/p' "$page" | grep -v '^crate|' | sort >"$WORK/listed"
diff "$WORK/listed" "$WORK/used" >"$WORK/diff" || {
  cat "$WORK/diff"
  die "$page (<) does not list the dependencies of the workspace (>)"
}

# One licence of an OR is enough; all of an AND are needed. A licence that is not on the page is an error.
sed -n '/^Licences of everything/,/^$/p' "$page" | tr -cs 'A-Za-z0-9.-' '\n' | sed 's/\.$//' | sort -u >"$WORK/allowed"
allowed() { grep -qxF -- "$1" "$WORK/allowed"; }
# satisfied LICENCE: is this expression, which must not have nested brackets, satisfied by the licences on the page?
satisfied() {
  local part choice
  local -a parts choices
  IFS='&' read -ra parts <<<"${1// AND /&}"
  for part in "${parts[@]}"; do
    part=${part//[()]/}
    part=${part// OR //}
    IFS='/' read -ra choices <<<"$part"
    for choice in "${choices[@]}"; do
      if allowed "${choice// WITH *}"; then continue 2; fi
    done
    return 1
  done
}
bad=0
while IFS='|' read -r name licence; do
  satisfied "$licence" || {
    echo "$name has licence \"$licence\", which $page does not allow"
    bad=1
  }
done < <(crates pg15 --edges normal)
((bad == 0)) || exit 1
say "$(wc -l <"$WORK/used") direct dependencies, $(crates pg15 --edges normal | wc -l) crates, all with licences listed in $page"

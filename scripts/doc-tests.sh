#!/usr/bin/env bash
# Runs the SQL of README.md and docs/*.md, and the files docs/guide/*.sql, each document in a fresh database of one private
# server, and compares what psql prints with what the document shows, or with NAME.out beside NAME.sql.
#   scripts/doc-tests.sh [--accept] [FILE...]
# A block ```sql is run; a block without a language right behind it is its output, compared without trailing spaces.
# Without such a block it must run without an error. Not run: ```sql skip, and ```sql vector where there is no pgvector.
# --accept rewrites the outputs. The extension must be installed in TREE_PG_CONFIG, else it is built and installed.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/lib/common.sh
. scripts/lib/packages.sh
. scripts/lib/server.sh

accept=
if [[ ${1:-} == --accept ]]; then
  accept=1
  shift
fi
documents=("$@")
if ((${#documents[@]} == 0)); then
  for document in README.md docs/*.md docs/guide/*.sql; do
    [[ ! -f $document ]] || documents+=("$document")
  done
fi

if [[ -z ${TREE_PG_CONFIG:-} ]]; then
  ensure_postgresql
  private_tree
  DEST_PG_CONFIG=$TREE_PG_CONFIG scripts/install.sh
fi
private_tree
server_start docs
has_vector=$(server_query docs "SELECT count(*) FROM pg_available_extensions WHERE name = 'vector'")

# split DOCUMENT DIR: all SQL in DIR/script, with a mark before each block; what block N shows in DIR/N.shown; the line
# of each block in DIR/blocks.
split() {
  awk -v dir="$2" -v vector="$has_vector" '
    function fence(line) { return line ~ /^```/ }
    in_sql && fence($0) { in_sql = 0; behind = 1; next }
    in_sql { print > (dir "/script"); next }
    in_shown && fence($0) { in_shown = 0; next }
    in_shown { print > (dir "/" n ".shown"); next }
    in_other && fence($0) { in_other = 0; next }
    in_other { next }
    /^```sql *$/ || (/^```sql vector *$/ && vector) {
      in_sql = 1
      print "\\echo block " ++n > (dir "/script")
      print n, NR > (dir "/blocks")
      next
    }
    /^``` *$/ && behind { behind = 0; in_shown = 1; printf "" > (dir "/" n ".shown"); next }
    fence($0) { in_other = 1; behind = 0; next }
    /[^ ]/ { behind = 0 }
  ' "$1"
}

# tidy: without trailing spaces, empty lines at the end
tidy() { sed 's/[[:space:]]*$//' "$1" | sed -e :a -e '/^\n*$/{$d;N;ba' -e '}'; }

# rewrite DOCUMENT DIR: the document with its outputs replaced
rewrite() {
  awk -v dir="$2" -v vector="$has_vector" '
    /^```sql *$/ || (/^```sql vector *$/ && vector) { in_sql = 1; n++ }
    in_sql { print; if ($0 == "```") { in_sql = 0; behind = 1 }; next }
    in_shown { if ($0 == "```") { in_shown = 0; print }; next }
    in_other { print; if (/^```/) in_other = 0; next }
    /^``` *$/ && behind {
      print
      while ((getline line < (dir "/" n ".tidy")) > 0) print line
      in_shown = 1
      next
    }
    /^```/ { in_other = 1 }
    /[^ ]/ { behind = 0 }
    { print }
  ' "$1" >"$2/document"
  cat "$2/document" >"$1"
}

# judge DOCUMENT DIR NUMBER LINE
judge() {
  local got=$2/$3.got shown=$2/$3.shown
  # A block is known to have run by the mark of what comes behind it.
  if [[ ! -f $2/$(($3 + 1)).got ]]; then
    echo "not ok - $1:$4 was not run to its end"
    tail -5 "$2/output" | sed 's/^/    /'
    return 1
  fi
  tidy "$got" >"$2/$3.tidy"
  if [[ ! -f $shown ]]; then
    if grep -q '^ERROR' "$got"; then
      echo "not ok - $1:$4"
      sed 's/^/    /' "$got"
      return 1
    fi
  elif [[ -z $accept ]] && ! diff -u --label "$1:$4 shows" --label "psql prints" <(tidy "$shown") "$2/$3.tidy" >"$2/diff"; then
    echo "not ok - $1:$4"
    cat "$2/diff"
    return 1
  fi
  echo "ok - $1:$4"
}

# guide FILE DATABASE: with its comments, so that the output can be read alone. A first line `-- needs N` names an extension
# that not every server has.
guide() {
  local shown=${1%.sql}.out got=$WORK/guide.out needed
  needed=$(sed -n '1s/^-- needs //p' "$1")
  if [[ -n $needed && ! -f $("$TREE_PG_CONFIG" --sharedir)/extension/$needed.control ]]; then
    echo "skip - $1: no $needed here"
    return
  fi
  server_psql docs -d "$2" -a -v SHOW_CONTEXT=never <"$1" >"$got" 2>&1 || echo "psql ended with status $?" >>"$got"
  if [[ -n $accept ]]; then
    tidy "$got" >"$shown"
  elif ! diff -u --label "$shown" --label "psql prints" "$shown" <(tidy "$got"); then
    echo "not ok - $1"
    return 1
  fi
  echo "ok - $1"
}

failed=0
for document in "${documents[@]}"; do
  name=${document//[^A-Za-z0-9]/_}
  if [[ $document == *.sql ]]; then
    server_run createdb docs "$name"
    guide "$document" "$name" || failed=1
    continue
  fi
  dir=$WORK/$name
  mkdir "$dir"
  touch "$dir/script" "$dir/blocks"
  split "$document" "$dir"
  echo "\\echo block $(($(wc -l <"$dir/blocks") + 1))" >>"$dir/script"
  server_run createdb docs "$name"
  server_psql docs -d "$name" -v ON_ERROR_STOP=0 -v SHOW_CONTEXT=never <"$dir/script" >"$dir/output" 2>&1 || true
  awk -v dir="$dir" '/^block [0-9]+$/ { n = $2; printf "" > (dir "/" n ".got"); next } { print > (dir "/" n ".got") }' "$dir/output"
  while read -r number line; do
    judge "$document" "$dir" "$number" "$line" || failed=1
  done <"$dir/blocks"
  [[ -z $accept ]] || rewrite "$document" "$dir"
done
exit "$failed"

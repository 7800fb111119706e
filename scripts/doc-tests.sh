#!/usr/bin/env bash
# Runs the SQL of README.md and docs/*.md, and the files docs/guide/*.sql, each document in a new database of one private
# server, and compares psql's output with the output in the document, or with NAME.out for NAME.sql.
#   scripts/doc-tests.sh [--accept] [FILE...]
# A block ```sql is run; a block without a language that follows it is its output, compared without trailing spaces.
# Without such a block it must run without an error. Not run: ```sql skip, and ```sql vector if there is no pgvector.
# --accept rewrites the outputs. The server is that of TREE_PG_CONFIG, with the extension; if it is not set, both are prepared.
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

# split DOCUMENT DIR: writes all SQL to DIR/script, with a marker before each block; the output shown for block N to
# DIR/N.shown; the line number of each block to DIR/blocks.
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

# tidy: removes trailing spaces, and empty lines at the end
tidy() { sed 's/[[:space:]]*$//' "$1" | sed -e :a -e '/^\n*$/{$d;N;ba' -e '}'; }

# rewrite DOCUMENT DIR: replaces the outputs in the document
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

# check_block DOCUMENT DIR NUMBER LINE
check_block() {
  local got=$2/$3.got shown=$2/$3.shown
  # A block has run to its end if the marker of the next one was printed.
  if [[ ! -f $2/$(($3 + 1)).got ]]; then
    echo "not ok - $1:$4 did not run to its end"
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

# guide FILE DATABASE: the output includes the comments, so that it can be read on its own. A first line `-- needs N` names an
# extension that not every server has.
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
  start=$(now)
  name=${document//[^A-Za-z0-9]/_}
  if [[ $document == *.sql ]]; then
    server_run createdb docs "$name"
    guide "$document" "$name" || failed=1
    echo "# $document took $(seconds_since "$start") s"
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
    check_block "$document" "$dir" "$number" "$line" || failed=1
  done <"$dir/blocks"
  [[ -z $accept ]] || rewrite "$document" "$dir"
  echo "# $document took $(seconds_since "$start") s"
done
exit "$failed"

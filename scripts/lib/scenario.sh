# For tests/scenarios: servers with the extension, and assertions that print `ok - ...` or `not ok - ...`.
# shellcheck shell=bash source-path=SCRIPTDIR
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
. "$(dirname "${BASH_SOURCE[0]}")/packages.sh"
. "$(dirname "${BASH_SOURCE[0]}")/server.sh"

[[ -n ${TREE_PG_CONFIG:-} ]] || die "run it with: make test TESTS=$(basename "$0" .sh)"
private_tree

SCENARIO=$(basename "$0" .sh)
FAILED=0
on_exit report

pass() { echo "ok - $SCENARIO: $1"; }

# needs EXTENSION: skips the scenario if the server does not have it
needs() {
  [[ -f $("$TREE_PG_CONFIG" --sharedir)/extension/$1.control ]] && return
  echo "skip - $SCENARIO: no $1 here"
  exit 0
}

# every_version: marks a scenario to which versions of PostgreSQL matter, so that it runs on every server that is tested.
# Other scenarios run on one.
every_version() { :; }

# fail NAME DETAIL
fail() {
  FAILED=1
  echo "not ok - $SCENARIO: $1"
  printf '%s\n' "$2" | sed 's/^/    /'
}

# The result: failed assertions, or a script that ended early.
report() {
  local name
  if ((EXIT_STATUS != 0)); then
    echo "not ok - $SCENARIO: ended early with status $EXIT_STATUS"
    for name in ${SERVERS[@]+"${SERVERS[@]}"}; do
      echo "    log of server $name:"
      tail -20 "$(server_dir "$name")/log" | sed 's/^/    /'
    done
  elif ((FAILED)); then
    EXIT_STATUS=1
  fi
}

# assert_eq NAME GOT EXPECTED
assert_eq() {
  if [[ $2 == "$3" ]]; then pass "$1"; else fail "$1" "expected: $3"$'\n'"got:      $2"; fi
}

# assert_match NAME TEXT REGEX
assert_match() {
  if [[ $2 =~ $3 ]]; then pass "$1"; else fail "$1" "expected something like: $3"$'\n'"got: $2"; fi
}

# assert_at_most NAME GOT LIMIT
assert_at_most() {
  if awk -v a="$2" -v b="$3" 'BEGIN { exit !(a <= b) }'; then pass "$1"; else fail "$1" "$2 is over the limit of $3"; fi
}

# assert_rate NAME HITS TRIALS EXPECTED [SDS]: HITS of TRIALS is within SDS (4) standard deviations of EXPECTED
assert_rate() {
  local text
  if text=$(awk -v h="$2" -v n="$3" -v p="$4" -v s="${5:-4}" 'BEGIN {
      sd = sqrt(p * (1 - p) / n); off = h / n - p; if (off < 0) off = -off
      printf "rate %g of %d trials, expected %g, allowed distance %g (%g standard deviations)", h / n, n, p, s * sd, s
      exit !(off <= s * sd) }'); then pass "$1"; else fail "$1" "$text"; fi
}

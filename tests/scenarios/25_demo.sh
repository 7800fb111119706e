#!/usr/bin/env bash
# The output of `make demo`: its data are fixed, and so must be its results.
. "$(dirname "$0")/../../scripts/lib/scenario.sh"

server_start demo
shown=$(server_psql demo -v glyphs="gzip -dc demo/glyphs.tsv.gz" -v curve="$WORK/curve.tsv" -v part=40 -f scripts/demo.sql)

# figures LABEL: the two figures of the line with this label
figures() { sed -n "s/^ *$1  *\([0-9,]*\( of [0-9]*\)\{0,1\}\)  *\([0-9,]*\( of [0-9]*\)\{0,1\}\)\( .*\)\{0,1\}$/\1 | \3/p" <<<"$shown"; }

assert_eq "all characters are queried" "$(figures 'characters queried')" "42,934 | 27,584"
assert_eq "the characters that are alike pass the filter" "$(figures alike)" "671 | 467"
assert_eq "no character that is alike is missed" "$(figures 'missed, though alike')" "0 of 671 | 0 of 9"
assert_match "look-alikes of a letter are shown" "$shown" "    S   Ѕ Տ"
assert_match "a word is shown without its letters" "$shown" "without a single Latin letter: ѕраϲе"
assert_match "glyphs are drawn" "$shown" "█▄▄▄▄▄▄▄▄█"
passed=$(figures 'passed the filter')
assert_at_most "few of the other characters passed" "$(tr -d , <<<"${passed% |*}")" 2000
assert_at_most "few ideographs were flagged" "$(tr -d , <<<"${passed#*| }")" 2000

curve=$(cut -f1 "$WORK/curve.tsv" | sort | uniq -c | awk '{ printf "%s %s, ", $2, $1 }')
assert_eq "the plot has all points" "$curve" "alone 33, measured 33, predicted 33, "

#!/usr/bin/env bash
# What `make demo` tells: its characters are the same everywhere, and so must be what it finds.
. "$(dirname "$0")/../../scripts/lib/scenario.sh"

server_start demo
shown=$(server_psql demo -v glyphs="gzip -dc demo/glyphs.tsv.gz" -v curve="$WORK/curve.tsv" -v part=40 -f scripts/demo.sql)

# figures LABEL: the two figures of a line
figures() { sed -n "s/^ *$1  *\([0-9,]*\( of [0-9]*\)\{0,1\}\)  *\([0-9,]*\( of [0-9]*\)\{0,1\}\)\( .*\)\{0,1\}$/\1 | \3/p" <<<"$shown"; }

assert_eq "all characters are there" "$(figures 'characters asked about')" "42,934 | 27,584"
assert_eq "what passed and is alike was counted" "$(figures alike)" "671 | 467"
assert_eq "nothing alike was missed" "$(figures 'missed, though alike')" "0 of 671 | 0 of 9"
assert_match "look-alikes of a letter are shown" "$shown" "    S   Ѕ Տ"
assert_match "a word without its letters" "$shown" "without one Latin letter: ѕраϲе"
assert_match "glyphs are drawn" "$shown" "█▄▄▄▄▄▄▄▄█"
passed=$(figures 'passed the filter')
assert_at_most "few of the others passed" "$(tr -d , <<<"${passed% |*}")" 2000
assert_at_most "few ideographs were told" "$(tr -d , <<<"${passed#*| }")" 2000

curve=$(cut -f1 "$WORK/curve.tsv" | sort | uniq -c | awk '{ printf "%s %s, ", $2, $1 }')
assert_eq "points of the plot" "$curve" "alone 33, measured 33, predicted 65, "

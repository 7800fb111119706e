#!/usr/bin/env bash
# tests/scenarios/40_mutations.sh with a hundred thousand values.
COUNT=${COUNT:-102000}
. "$(dirname "$0")/../scenarios/40_mutations.sh"

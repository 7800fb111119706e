#!/usr/bin/env bash
# The scenario 40_mutations with a hundred thousand values.
COUNT=${COUNT:-102000}
. "$(dirname "$0")/../scenarios/40_mutations.sh"

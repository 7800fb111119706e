#!/usr/bin/env bash
# The scenario 41_random_calls with other arguments, and many more.
CALLS=${CALLS:-400}
SEED=${SEED:-2}
. "$(dirname "$0")/../scenarios/41_random_calls.sh"

#!/usr/bin/env bash
# tests/scenarios/41_random_calls.sh with other arguments, and more calls.
CALLS=${CALLS:-400}
SEED=${SEED:-2}
. "$(dirname "$0")/../scenarios/41_random_calls.sh"

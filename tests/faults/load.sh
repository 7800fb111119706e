#!/usr/bin/env bash
# tests/scenarios/37_load.sh for ten minutes.
LOAD_SECONDS=${LOAD_SECONDS:-600} exec bash "$(dirname "$0")/../scenarios/37_load.sh"

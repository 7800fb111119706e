#!/usr/bin/env bash
# tests/scenarios/31_crash.sh with 60 kills.
ROUNDS=${ROUNDS:-20} exec bash "$(dirname "$0")/../scenarios/31_crash.sh"

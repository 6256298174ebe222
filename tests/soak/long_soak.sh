#!/usr/bin/env bash
# Some rounds of the soak test, for test-long.
SOAK_SECONDS=20 exec tests/soak/soak.sh

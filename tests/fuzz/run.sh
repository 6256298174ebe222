#!/usr/bin/env bash
# Runs fuzz programs, each over its corpus in tests/fuzz/corpus/<name without fuzz_>.
#
#   tests/fuzz/run.sh fuzzer|replay SECONDS PROGRAM...
#
# With a fuzzer each runs for SECONDS; new inputs stay beside the program, and one that fails is
# left there as crash-*. Ends with "N passed, N failed".
set -u
mode=$1
seconds=$2
shift 2
passed=0
failed=0

# fuzz PROGRAM SEEDS
fuzz() {
    local found="$1.found"
    mkdir -p "$found"
    "$1" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -verbosity=0 \
        -artifact_prefix="$found/" "$found" "$2"
}

for program in "$@"; do
    name=${program##*/fuzz_}
    seeds=tests/fuzz/corpus/$name
    if [ "$mode" = fuzzer ]; then
        fuzz "$program" "$seeds" >"$program.log" 2>&1 || {
            tail -n 40 "$program.log"
            false
        }
    else
        "$program" "$seeds"/*
    fi && {
        echo "$name: good"
        passed=$((passed + 1))
        continue
    }
    echo "$name: FAILED, exit code $?"
    failed=$((failed + 1))
done
printf '%d passed, %d failed\n' "$passed" "$failed"
[ "$failed" -eq 0 ]

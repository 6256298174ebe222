#!/usr/bin/env bash
# Runs fuzz programs, each over its corpus in tests/fuzz/corpus/<name without fuzz_>.
#
#   tests/fuzz/run.sh corpus|fuzzer|replay|keep SECONDS PROGRAM...
#
# corpus: each file once, as it stands; replay: also cut and changed, for want of a fuzzer. fuzzer: each runs for
# SECONDS of processor time; new inputs stay beside the program, and one that fails is left there as crash-*.
# keep: adds to the corpus the shortest of those inputs that reach what it does not.
# Ends with "N passed, N failed".
set -u
mode=$1
seconds=$2
shift 2
passed=0
failed=0
# What longer files reach, shorter ones nearly always do; the corpus travels with the sources.
most_bytes=2000

options=(-timeout=30 -rss_limit_mb=2048)

# fuzz PROGRAM SEEDS: in slices, since the fuzzer's own limit is of the clock and the machine may be busy
fuzz() {
    local found="$1.found" spent=0 executions=0 slice user system leaks=1 TIMEFORMAT='%0U %0S'
    mkdir -p "$found"
    # Lua's garbage is no leak, and looking for one after each input would take most of the time; there is a look at the end.
    if [ -e "tests/fuzz/${1##*/fuzz_}.lua" ]; then leaks=0; fi
    while [ "$spent" -lt "$seconds" ]; do
        slice=$((seconds - spent))
        { time "$1" -max_total_time="$slice" -detect_leaks=$leaks "${options[@]}" -print_final_stats=1 -artifact_prefix="$found/" \
            "$found" "$2" >"$1.log" 2>&1; } 2>"$1.time" || {
            grep -av '^#' "$1.log" | tail -n 40
            return 1
        }
        read -r user system <"$1.time"
        spent=$((spent + user + system + 1))
        executions=$((executions + $(sed -n 's/^stat::number_of_executed_units: *//p' "$1.log")))
    done
    printf '%s: %d executions, %s edges, %d s of processor time\n' "${1##*/fuzz_}" $executions \
        "$(sed -n 's/^#.*DONE *cov: \([0-9]*\).*/\1/p' "$1.log")" $((spent))
}

# keep PROGRAM SEEDS
keep() {
    local small="$1.small"
    mkdir -p "$small"
    find "$1.found" -type f -size "-${most_bytes}c" -exec cp -t "$small" {} +
    "$1" "${options[@]}" -set_cover_merge=1 "$2" "$small" >"$1.log" 2>&1 || return 1
    rm -r "$small"
}

for program in "$@"; do
    name=${program##*/fuzz_}
    seeds=tests/fuzz/corpus/$name
    case $mode in
    fuzzer) fuzz "$program" "$seeds" ;;
    keep) keep "$program" "$seeds" ;;
    replay) "$program" -changed "$seeds"/* ;;
    corpus) "$program" "$seeds"/* ;;
    *) echo "no mode '$mode'" >&2 && false ;;
    esac && {
        echo "$name: good"
        passed=$((passed + 1))
        continue
    }
    echo "$name: FAILED, exit code $?"
    failed=$((failed + 1))
done
printf '%d passed, %d failed\n' "$passed" "$failed"
[ "$failed" -eq 0 ]

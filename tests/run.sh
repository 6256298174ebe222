#!/usr/bin/env bash
# Runs test programs and adds up their results.
#
#   tests/run.sh LIST...     each LIST is a file of commands, one a line
#
# A command prints "N passed, N failed" as its last line; one that crashes, runs too long or prints
# no such line counts as one failure. A .lua file is run by $LONGHAUL_BIN, or by lua5.4 when its
# first line says `-- runner: lua5.4`. Only what failed is shown, where it happened and once more
# before the last line, which is the sum.
#
# Before it a command may print "N skipped", for tests that this machine cannot run, and
# "same cases: NAME on PLACE": its cases are those of any other command that says NAME, and count once.
#
# LH_TEST_JOBS at a time, else one for each core and two at least: some wait more than they compute.
# A process may use LH_TEST_CPU=600 seconds of processor time, which a busy machine does not shorten;
# LH_TEST_TIMEOUT=3600 seconds of the clock end what hangs without using any.
set -u

cores=$(nproc)
jobs=${LH_TEST_JOBS:-$((cores > 2 ? cores : 2))}
export limit=${LH_TEST_TIMEOUT:-3600} cpu_limit=${LH_TEST_CPU:-600}
# Threads wait without burning the other programs' processor.
export OMP_NUM_THREADS=${OMP_NUM_THREADS:-2} OMP_WAIT_POLICY=passive
# A leak is reported by the test's exit code; libraries whose own leaks do not count are listed.
here=$(dirname "$0")
export LSAN_OPTIONS="suppressions=$here/leaks.txt:print_suppressions=0"
# Memory that no machine has is refused, as it is without the sanitizers.
export ASAN_OPTIONS="allocator_may_return_null=1${ASAN_OPTIONS:+:$ASAN_OPTIONS}"

folder=$(mktemp -d) || exit 1
export folder
trap 'rm -rf "$folder"' EXIT

# one NUMBER COMMAND: runs it in its own temporary folder, leaves NUMBER.log and NUMBER.result.
one() {
    local number=$1 command=$2 run=$2 log="$folder/$1.log" status line passed failed note=
    case $command in
    *.lua)
        if head -n 1 "$command" | grep -q -- '-- runner: lua5.4'; then
            run="lua5.4 $command"
        else
            run="\"\$LONGHAUL_BIN\" lua $command"
        fi
        ;;
    esac
    mkdir -p "$folder/$number"
    local start=$EPOCHREALTIME
    TMPDIR="$folder/$number" timeout --kill-after=5 "$limit" \
        bash -c "ulimit -S -t $cpu_limit; $run" >"$log" 2>&1 </dev/null
    status=$?
    rm -rf "${folder:?}/$number"
    local took=$(((${EPOCHREALTIME/./} - ${start/./}) / 10000))
    line=$(grep -aE '^[0-9]+ passed, [0-9]+ failed$' "$log" | tail -n 1)
    read -r passed _ failed _ <<<"${line:-0 - 0 -}"
    local skipped same
    skipped=$(sed -n 's/^\([0-9]*\) skipped$/\1/p' "$log" | tail -n 1)
    same=$(sed -n 's/^same cases: //p' "$log" | tail -n 1)
    if [ $status -eq 124 ] || [ $status -eq 137 ]; then
        note="stopped after $limit s"
    elif [ $status -eq 152 ]; then
        note="stopped after $cpu_limit s of processor time"
    elif [ $status -gt 128 ]; then
        note="killed by signal $((status - 128))"
    elif [ -z "$line" ]; then
        note="no line 'N passed, N failed', exit code $status"
    elif [ $status -ne 0 ] && [ "$failed" -eq 0 ]; then
        note="exit code $status"
    fi
    if [ -n "$note" ]; then failed=$((failed + 1)); fi
    printf '%s %s %s %s\n' "$passed" "$failed" "${skipped:-0}" "$same" >"$folder/$number.result"
    {
        if [ "$failed" -gt 0 ]; then
            printf '%s\n' "--- $command: ${note:-failed}"
            tail -n 60 "$log"
        fi
        printf '%5d.%02d s  %4d passed %3d failed  %s%s\n' $((took / 100)) $((took % 100)) \
            "$passed" "$failed" "$command" "${skipped:+, $skipped skipped}"
    } >"$folder/$number.report"
    cat "$folder/$number.report"
}
export -f one

number=0
# shellcheck disable=SC2016  # the inner shell expands them
while IFS= read -r command; do
    number=$((number + 1))
    printf '%s\0%s\0' "$number" "$command"
done < <(cat "$@") | xargs -0 -r -n 2 -P "$jobs" bash -c 'one "$1" "$2"' run

passed=0
failed=0
skipped=0
failures=()
declare -A cases places # of commands that share their cases
for result in "$folder"/*.result; do
    if [ -e "$result" ]; then
        read -r p f s name _ place <"$result"
        failed=$((failed + f))
        skipped=$((skipped + s))
        if [ "$f" -gt 0 ]; then failures+=("${result%.result}.report"); fi
        if [ -z "$name" ]; then
            passed=$((passed + p))
        else
            if [ "$p" -gt "${cases[$name]:-0}" ]; then cases[$name]=$p; fi
            places[$name]+="${places[$name]:+, }$place"
        fi
    fi
done
for name in "${!cases[@]}"; do
    printf '%s: %d cases, on %s\n' "$name" "${cases[$name]}" "${places[$name]}"
    passed=$((passed + cases[$name]))
done
if [ ${#failures[@]} -gt 0 ]; then
    echo "== what failed"
    cat "${failures[@]}"
fi
if [ $skipped -gt 0 ]; then printf '%d skipped, for data or libraries that are not here\n' $skipped; fi
printf '%d passed, %d failed\n' "$passed" "$failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]

#!/usr/bin/env bash
# Runs the mistakes of tests/mutants/list: `make mutants` builds first and calls this.
#
#   tests/mutants/run.sh FOLDER       copies of the tree, logs and results.csv go to FOLDER
#
# ONLY=pattern chooses; JOBS=2 at a time, each in a copy of its own. Mistakes that FOLDER/results.csv
# has as caught are not run again, so that a run can be stopped and goes on; FRESH=1 begins again.
set -eu
folder=$1
jobs=${JOBS:-2}
export results=$folder/results.csv folder
COMMIT=$(git describe --always --dirty 2>/dev/null || echo unknown)
# Threads wait without burning the other copies' processor.
export COMMIT OMP_NUM_THREADS=${OMP_NUM_THREADS:-2} OMP_WAIT_POLICY=passive
unset LONGHAUL_DATA MAKEFLAGS MAKELEVEL
mkdir -p "$folder"
if [ -n "${FRESH:-}" ]; then rm -f "$results"; fi
lua5.4 tests/mutants/run.lua check
rm -rf "$folder/mutants"
cp -a tests/mutants "$folder/mutants"
export MUTANTS=$folder/mutants/list runner=$folder/mutants/run.lua

sources() { git ls-files --cached --others --exclude-standard | while IFS= read -r file; do
    if [ -f "$file" ]; then printf '%s\n' "$file"; fi
done; }

# The sources as they are. In a copy that is there only what differs is written anew: whatever was built from a
# mistake is older than the text that was put back. A copy in which a mistake was left is made again.
copy_tree() {
    local tree=$1 variant
    if [ -e "$tree.mistake" ]; then rm -rf "$tree" "$tree.mistake"; fi
    if [ -d "$tree" ]; then
        sources | lua5.4 tests/mutants/run.lua differing "$tree" | xargs -r -d '\n' cp --parents -t "$tree"
        return
    fi
    mkdir -p "$tree/build"
    sources | xargs -d '\n' cp -a --parents -t "$tree"
    cp -a build/config.mk build/probes "$tree/build"
    for variant in werror sim-werror double-werror; do
        if [ -d "build/$variant" ]; then cp -a "build/$variant" "$tree/build"; fi
    done
}
for ((slot = 0; slot < jobs; slot++)); do copy_tree "$folder/tree$slot"; done

# A test that is red without a mistake says nothing about one.
rm -f "$folder/red"
each() {
    xargs -r -d '\n' -n 1 -P "$jobs" --process-slot-var=slot bash -c "$1" run
}
# shellcheck disable=SC2016  # the inner shell expands them
lua5.4 "$runner" tests "$results" |
    each 'lua5.4 "$runner" green "$folder/tree$slot" "$1"' || echo "these tests decide nothing in this run"
# shellcheck disable=SC2016
lua5.4 "$runner" pending "$results" |
    each 'lua5.4 "$runner" one "$folder/tree$slot" "$results" "$1"'
lua5.4 "$runner" sum "$results"

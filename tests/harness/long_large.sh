#!/usr/bin/env bash
# A folder of 100,000 finished runs: list, table and run take less than a second of processor time each on an idle machine;
# on a slower one, or one that others use as well, less than one and a half.
. tests/test.sh
. tests/harness/large.sh
most=1.5
sweep 100 10 100

is_fast() { awk -v most="$most" '{ print; exit $1 >= most }' "$scratch/seconds"; }
quietly 0 "there are 100,000 runs" test "$(wc -l <"$runs_file")" -eq 100001
sleep 3.1
call table
cp "$scratch/table.said" "$scratch/expected"
quietly 0 "which made an index" test -s "$runs_file.index"
for command in list table run; do
    call $command
    quietly 1 "$command trains nothing" grep -q '^\[' "$scratch/log"
    succeeds "$command is fast enough" "." is_fast
    printf '%s: %s s of processor time\n' "$command" "$(cat "$scratch/seconds")"
done
quietly 0 "the index changes nothing" cmp "$scratch/expected" "$scratch/table.said"

finish

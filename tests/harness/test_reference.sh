#!/usr/bin/env bash
# scripts/check-reference.lua lets good results pass and names each fault of bad ones; the list of what waits to be
# measured again can only shrink.
. tests/test.sh
script=$PWD/scripts/check-reference.lua
lua=$(command -v lua5.4 || command -v lua)

# A history of one commit, and results beside it.
cd "$scratch" || exit 1
git init -q .
git -c user.name=x -c user.email=x@y.z commit -q --allow-empty -m first
head=$(git rev-parse --short=12 HEAD)
folder=results/reference/machine/good
checks() { "$lua" "$script" "$@"; }

# runs FOLDER IDENTITY VERSION DIRTY DATE: a runs.csv of two lines, the second one good
runs() {
    mkdir -p "results/reference/$1"
    printf 'run_id,row,identity,code_version,dirty,date\na,"a, ""row""\n",%s,%s,%s,%s\nb,b,2,%s,no,2026-11-22\n' \
        "$2" "$3" "$4" "$5" "$head" >"results/reference/$1/runs.csv"
}
# cells FOLDER STATUS: a table with one cell of that status
cells() {
    mkdir -p "results/reference/$1"
    printf 'row,metric,measured,status\nb,mae,1,%s\nb,mse,1,done\n' "$2" >"results/reference/$1/table.csv"
}
list() { printf 'folder,reason,wrong\n' >results/reference/legacy.csv; [ $# -eq 0 ] || printf '%s\n' "$@" >>results/reference/legacy.csv; }
clear() { rm -rf results && mkdir -p results/reference; }

good() {
    clear
    runs machine/good 2 "$head" no 2026-11-22T10:00:00Z
    cells machine/good "done"
    cp $folder/runs.csv $folder/timings.csv
    mkdir -p results/reference/machine/bench
    printf 'benchmark,code_version,dirty,compiler,date\na,%s,no,gcc,2026-11-22\nb,,,PyTorch 2,2026-11-22\n' "$head" \
        >results/reference/machine/bench/bench.csv
}
good
quietly 0 "good results pass" checks
mkdir -p elsewhere
good && mv results/reference elsewhere/reference
quietly 0 "wherever they lie" checks elsewhere/reference
fails 1 "a folder that is not there" "elsewhere/referense: no such folder" checks elsewhere/referense
fails 1 "nor the usual one, as from another folder" "results/reference: no such folder" checks

# ---- each fault by itself ----
# faulty NAME PART: the folder as it is now is refused with this part, and let through where the list names it
faulty() { fails 1 "$1" "$2" checks; }
good && runs machine/good 1 "$head" no 2026-11-22
faulty "an earlier identity" "machine/good: identity 1: 1 of 2 lines of runs.csv"
good && runs machine/good '' "$head" no 2026-11-22
faulty "no identity" "machine/good: identity 1: 1 of 2 lines of runs.csv"
good && runs machine/good 2 "$head" yes 2026-11-22
faulty "a dirty tree" "machine/good: dirty: 1 of 2 lines of runs.csv"
good && runs machine/good 2 "$head-dirty" '' 2026-11-22
faulty "a dirty tree as it was written before" "machine/good: dirty: 1 of 2 lines of runs.csv"
good && runs machine/good 2 unknown unknown 2026-11-22
faulty "an unknown tree" "machine/good: no commit: 1 of 2 lines of runs.csv"
good && runs machine/good 2 "$head" unknown 2026-11-22
faulty "a tree of which nobody knows" "machine/good: no commit: 1 of 2 lines of runs.csv"
good && runs machine/good 2 '' no 2026-11-22
faulty "no version" "machine/good: no commit: 1 of 2 lines of runs.csv"
good && runs machine/good 2 0123456789ab no 2026-11-22
faulty "a commit of no history" "machine/good: unknown commit: 1 of 2 lines of runs.csv"
good && runs machine/good 2 "\$(touch injected)" no 2026-11-22
faulty "a version that is a command" "machine/good: unknown commit: 1 of 2 lines of runs.csv"
quietly 1 "which is not run" test -e injected
good && runs machine/good 2 "$head" no ''
faulty "no date" "machine/good: undated: 1 of 2 lines of runs.csv"
good && sed -i 's/,no,/,yes,/' $folder/timings.csv
faulty "step times of a dirty tree" "machine/good: dirty: 2 of 2 lines of timings.csv"
for status in stale partial 'other data'; do
    good && cells machine/good "$status"
    faulty "a cell that is $status" "machine/good: $status cells: 1 of 2 lines of table.csv"
done
good && sed -i 's/^b,mae/c,mae/' $folder/table.csv
faulty "a cell that no run is of" "machine/good: no runs: 1 of 2 lines of table.csv"
runs machine/elsewhere 2 "$head" no 2026-11-22 && sed -i 's/^b,b/b,c/' results/reference/machine/elsewhere/runs.csv
quietly 0 "its run may lie in another folder" checks
good && mv $folder/table.csv $folder/gates.csv && sed -i 's/done/stale/' $folder/gates.csv
faulty "a table of another name" "machine/good: stale cells: 2 of 2 lines of gates.csv"
good && printf 'c,b,2,%s,no,2026-11-22\n' "$head" >>$folder/runs.csv
faulty "two runs of a cell and seed" "machine/good: superseded runs: 1 of 3 lines of runs.csv"
good && printf 'benchmark,value\na,1\n' >results/reference/machine/bench/bench.csv
faulty "a benchmark without a date" "machine/bench: undated: 1 of 1 lines of bench.csv"
faulty "and of no commit" "machine/bench: no commit: 1 of 1 lines of bench.csv"
good && mkdir results/reference/machine/gpu-speed && printf 'part,code_version,dirty,date\nsteps,unknown,unknown,\n' \
    >results/reference/machine/gpu-speed/summary.csv
faulty "what a card did, of no commit" "machine/gpu-speed: no commit: 1 of 1 lines of summary.csv"
faulty "and of no date" "machine/gpu-speed: undated: 1 of 1 lines of summary.csv"
good && printf 'benchmark,code_version,date\nb,,2026-11-22,1\n' >results/reference/machine/bench/bench.csv
faulty "a torn file" "bench.csv:2: 4 fields, but the header has 3"

# ---- what waits to be measured again ----
good && runs machine/good 1 "$head" yes 2026-11-22
list 'machine/good,"old, and known",1 dirty; 1 identity 1'
quietly 0 "a folder that waits passes" checks
list 'machine/good,old,1 identity 1'
faulty "but not with a fault more" "machine/good: dirty: 1 of 2 lines"
printf 'c,c,2,%s,yes,2026-11-22\n' "$head" >>$folder/runs.csv
list 'machine/good,old,1 dirty; 1 identity 1'
faulty "nor with more lines of one" "machine/good: dirty: 2 of 3 lines"
list 'machine/good,old,3 dirty; 1 identity 1'
faulty "nor with fewer than it says" "machine/good has only 2 'dirty'"
quietly 0 "which the list then says" checks shrink
succeeds "by its count" 'machine/good,old,2 dirty; 1 identity 1' cat results/reference/legacy.csv
good && runs machine/good 1 "$head" yes 2026-11-22
list 'machine/good,old,1 dirty; 1 identity 1; 1 undated'
faulty "nor with one that is mended" "machine/good has no 'undated'"
list 'machine/good,,1 dirty; 1 identity 1'
faulty "without a reason" "legacy.csv:2: machine/good: no reason"
list 'machine/good,old,1 dirty; 1 identity 1' 'machine/good,old,1 dirty; 1 identity 1'
faulty "twice" "legacy.csv:3: machine/good stands there twice"
list 'machine/good,old,1 dirty; 1 identity 1' 'machine/gone,old,1 dirty'
faulty "or without being there" "legacy.csv:3: there is no folder machine/gone"
good && list 'machine/good,old,1 identity 1'
faulty "a folder that is good does not wait" "legacy.csv:2: machine/good has no 'identity 1'"
good && list 'machine/good,old,'
faulty "nor does one without a fault" "nothing is said to be wrong"
good && runs machine/good 1 "$head" no 2026-11-22
list 'machine/good,"old, and known",1 dirty; 1 identity 1' 'machine/gone,old,1 dirty' 'machine/bench,old,1 undated'
quietly 0 "the list shrinks" checks shrink
succeeds "to what is wrong" 'machine/good,"old, and known",1 identity 1' cat results/reference/legacy.csv
quietly 0 "and to nothing else" test "$(wc -l <results/reference/legacy.csv)" -eq 2
quietly 0 "and passes then" checks
runs machine/good 1 "$head" yes 2026-11-22
quietly 0 "it does not grow" checks shrink
faulty "by a new fault" "machine/good: dirty: 1 of 2 lines"

# ---- without a history ----
good && runs machine/good 2 0123456789ab no 2026-11-22
rm -rf .git
quietly 0 "commits cannot be told without a repository" checks
list 'machine/good,old,1 unknown commit'
quietly 0 "nor can the list's" checks
runs machine/good 2 "$head-dirty" no 2026-11-22
faulty "the rest can" "machine/good: dirty"

finish

#!/usr/bin/env bash
# The shell blocks of the tutorial and of "How do I" do what they say, line by line as a reader would type them.
. tests/test.sh
export OMP_NUM_THREADS=1 LONGHAUL_TREE=$PWD
# documents call it longhaul
mkdir "$scratch/bin"
ln -s "$(realpath "$LONGHAUL_BIN")" "$scratch/bin/longhaul"
PATH=$scratch/bin:$PATH

# blocks DOCUMENT: its shell blocks as a script in a folder of its own
blocks() {
    mkdir "$scratch/$1"
    awk '/^```sh$/ { inside = 1; next } /^```$/ { inside = 0 } inside' "docs/$1.md" >"$scratch/$1/blocks"
    (cd "$scratch/$1" && bash -eu blocks)
}

command -v patch >/dev/null || {
    skips "patch is missing, with which the tutorial changes a file"
    finish
}
succeeds "the tutorial ends with a page" "results/report.html" blocks tutorial
here=$scratch/tutorial
succeeds "in which the own model stands" "N-gram" cat "$here/results/memory/table.csv"
succeeds "every answer of \"How do I\"" "mine.lua:" blocks howto
here=$scratch/howto
succeeds "two models on a text of one's own" "Sliding window" cat "$here/results/texts/table.csv"
succeeds "and on a CSV file of one's own" "DLinear" cat "$here/results/load/table.csv"
if python3 -c 'import pandas' 2>/dev/null; then
    awk '/^```python$/ { inside = 1; next } /^```$/ { inside = 0 } inside' docs/howto.md >"$here/read.py"
    succeeds "pandas reads the results" "model.recurrence" sh -c "cd '$here' && python3 read.py"
else
    skips "pandas is missing, which is to read the results"
fi
same() { longhaul query 'window=16 recurrence=none seed=1 train.rate=0.01' --columns bits_per_token --csv --results "$1"; }
quietly 0 "the same bits again" test "$(same "$here/results")" = "$(same "$here/again")"
quietly 0 "and they are some" test "$(same "$here/again" | wc -l)" -eq 2
finish

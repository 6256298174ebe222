#!/usr/bin/env bash
# docs/adding.md, done: in a copy of the tree the shell blocks of each section are run line by line, what they
# make is used together, and taken away again.
. tests/test.sh
unset MAKEFLAGS MFLAGS MAKELEVEL
export OMP_NUM_THREADS=1 WERROR=1

tree=$scratch/tree
mkdir -p "$tree/build"
git ls-files -z -- . ':!results/reference' | xargs -0 cp -a --parents -t "$tree" 2>/dev/null
for part in config.mk probes werror double-werror sim-address-werror; do
    [ -e "build/$part" ] && cp -a "build/$part" "$tree/build/"
done
cd "$tree" || exit 1
git init -q . && git add -A && git -c user.name=x -c user.email=x@x commit -qm x
longhaul=$tree/build/werror/longhaul
PATH=$tree/build/werror:$PATH

# works NAME COMMAND...: it exits with 0, whatever it says.
works() {
    local name=$1 output
    shift
    output=$("$@" 2>&1)
    verdict $? '%s: fails and says\n%s\n' "$name" "$output"
}

# The lines of a section's shell block.
block() {
    awk -v title="## $1" '
        /^## / { here = $0 == title; next }
        here && /^```sh$/ { inside = 1; next }
        /^```$/ { inside = 0 }
        here && inside' docs/adding.md
}

# as_written SECTION PLACES: its block, line by line; that changes so many files.
as_written() {
    local line count before after
    mapfile -t lines < <(block "$1")
    quietly 0 "$1 has a block" test "${#lines[@]}" -ge 1
    before=$(git status --short --untracked-files=all | wc -l)
    for line in "${lines[@]}"; do works "$line" bash -c "$line" </dev/null; done
    after=$(git status --short --untracked-files=all | wc -l)
    count=$((after - before))
    quietly 0 "$1: $count places, $2 are promised" test "$count" -eq "$2"
}

works "make" make
as_written "A kernel" 8
as_written "A model" 2
as_written "A task" 3
as_written "A kind of charts" 2
as_written "A metric" 1
as_written "A data set" 1
as_written "A command" 2
as_written "An experiment" 1

succeeds "the op's gradients were checked" "2 passed, 0 failed" \
    build/double-werror/tests/kernels/conformance --mode grad --kernel twice_backward
succeeds "the model has parameters" "norm.gain" "$longhaul" describe plain
works "the task's test is built" make build/werror/tests/harness/tasks/test_steps
succeeds "and passes" " 0 failed" build/werror/tests/harness/tasks/test_steps
cat >experiments/sun/table2.lua <<'LUA'
local lh = require "longhaul"
local bench = lh.experiment "sun-table2"
bench:row { "ours", model = lh.models.plain { width = 16 }, task = lh.tasks.steps { batch = 2, length = 8 },
  train = lh.train { steps = 3 }, values = { niceness = 1.25 } }
bench:table { columns = { "bits_per_token", "niceness" } }
bench:plot { "ring", y = "bits_per_token" }
return bench
LUA
succeeds "all of it runs together" "1.250" "$longhaul" run experiments/sun/table2.lua --scale smoke
succeeds "the metric is a column" "niceness" head -n 1 results/sun-table2/runs.csv
if command -v gnuplot >/dev/null; then quietly 0 "the chart is drawn" test -s results/sun-table2/ring.png; fi
succeeds "the corpus is known" "longhaul data fetch tiny" "$longhaul" data list
succeeds "the command answers" "hello: word" "$longhaul" hello word
succeeds "and stands in the help" "hello" "$longhaul" help
mapfile -t lines < <(block "In the end")
for line in "${lines[@]}"; do works "$line" bash -c "$line"; done
succeeds "documents and editors hear of it" "niceness" grep -hr niceness docs/lua.md harness/lua/meta

quietly 0 "what was tracked is as it was" git checkout -q .
quietly 0 "the rest goes" git clean -qfd -e build -e results
quietly 0 "nothing is left of it" git diff --quiet
succeeds "make builds without it" "LINK" make
fails 2 "the command is gone" "hello" "$longhaul" hello word
finish

#!/usr/bin/env bash
# Every target of `make help` runs: here those that need no build of their own, in a copy of the tree with the program that is
# tested; in long_targets.sh the others. A target that neither names is a failure.
. tests/test.sh
unset MAKEFLAGS MFLAGS MAKELEVEL
export OMP_NUM_THREADS=1
program=$(realpath "$LONGHAUL_BIN")

# ---- all of them are somewhere ----
make help | awk '/^  [a-z]/ { print $1 }' >"$scratch/targets"
quietly 0 "help lists the targets" test "$(wc -l <"$scratch/targets")" -ge 20
while read -r name; do
    quietly 0 "target $name is run by a test" grep -qE "^ *(runs|refuses) $name( |$)" tests/harness/test_targets.sh tests/harness/long_targets.sh
done <"$scratch/targets"

# ---- what it is given ----
fails 2 "a build folder with a blank" "O=my build: a path without blanks is needed" make O="my build" help
fails 2 "a bundle's" "DEPS=/my deps: a path without blanks is needed" make DEPS="/my deps" help
fails 2 "no build folder" "O= names no folder" make O= help

# ---- in a copy, with this program as it is ----
tree=$scratch/tree
mkdir "$tree"
git ls-files -z -- . ':!results/reference/*/*/curves.csv' | xargs -0 cp --parents -t "$tree" 2>/dev/null
mkdir "$tree/build"
cp build/config.mk build/probes "$tree/build"
cd "$tree" || exit 1

# runs TARGET PART SETTING...: the target succeeds and says PART (nothing where it is empty); the program is not made again.
runs() {
    local name=$1 part=$2
    shift 2
    if [ -z "$part" ]; then
        quietly 0 "make $name" make -o "$program" program="$program" "$@" "$name"
    else
        succeeds "make $name" "$part" make -o "$program" program="$program" "$@" "$name"
    fi
}

# refuses TARGET PART SETTING...: it fails and says PART.
refuses() {
    local name=$1 part=$2
    shift 2
    fails 2 "make $name" "$part" make -o "$program" program="$program" "$@" "$name"
}
runs help "make [TARGET] [SETTING=VALUE]"
runs all "Nothing to be done"
runs data "books"
refuses data-fetch "did you mean 'enwik8'" CORPUS=enwik9
runs reproduce-table1 "results/reformer-table1/runs.csv" PAPER=reformer SCALE=smoke
runs studies "results/staircase-table3/runs.csv" PAPER=staircase SCALE=smoke STUDIES="staircase/table3 rsa/table2"
refuses studies "no study of nobody; there are: reformer/table1" PAPER=nobody
refuses studies "no study of nobody; there are: reformer/table1" PAPER="staircase nobody"
study_lines() { make -n -o "$program" program="$program" studies PAPER=staircase "$@"; }
succeeds "studies on the processor, side by side" "--device cpu --jobs auto" study_lines
succeeds "studies with rounds of step times that decide claims" "--rounds 3" study_lines
succeeds "or as many as are asked for" "--rounds 5" study_lines ROUNDS=5
quietly 1 "on a card, which refuses --jobs, one after the other" grep -e --jobs <(study_lines DEVICE=cuda)
refuses reproduce-table1 "there are: brt compressive gpt2_recurrent reformer rsa staircase" PAPER=reformr
# a paper is there once its folder is
mkdir experiments/sun
cat >experiments/sun/table1.lua <<'LUA'
-- Sun et al., Table 1: a paper that was just added, beside the number that it prints.
local lh = require "longhaul"

local bench = lh.experiment "sun-table1"
local books = lh.data.text { "books", tokens = "bytes" }
bench:row {
  "Slide", model = lh.models.slide { layers = 1, width = 16, heads = 2, window = 16 }, dataset = "books",
  task = lh.tasks.language_model { books, segment = 64, batch = 2, evaluate_batches = 1 }, train = lh.train { steps = 1 },
}
bench:table { columns = { "bits_per_byte" }, published = "sun_table1" }
return bench
LUA
cat >experiments/sun/published.lua <<'LUA'
-- Sun et al. call bits per byte so.
return function(record) return { metric = record.metric == "bits a byte" and "bits_per_byte" or nil } end
LUA
cat >results/published/sun_table1.csv <<'CSV'
paper,table,row,model,dataset,column,metric,unit,value,std,note
sun,1,Slide,slide,books,books,bits a byte,,1.25,,
CSV
runs reproduce-table1 "1.250" PAPER=sun SCALE=smoke
quietly 0 "its own rules read its numbers" grep -q "^Slide,slide,books,bits_per_byte,1.25," results/sun-table1/table.csv
papers_run() {
    make -n -o "$program" program="$program" "$@" reproduce-table1 | grep -o 'experiments/[a-z0-9_]*/table[0-9a-z]*\.lua' |
        tr '\n' ' '
}
all="experiments/brt/table1.lua experiments/compressive/table3.lua experiments/gpt2_recurrent/table1.lua"
all="$all experiments/reformer/table1.lua"
succeeds "all papers, the new one too" \
    "$all experiments/rsa/table1.lua experiments/staircase/table1.lua experiments/sun/table1.lua" papers_run PAPER=all
succeeds "the first where none is asked for" "experiments/brt/table1.lua" papers_run
if command -v gnuplot >/dev/null; then
    mkdir few # of the reference runs, all of which the site draws
    cp -r results/reference/amd-epyc-2-cores/reformer-figure5 few
    runs figures " 0 failed: results/figures/index.html" FROM=few
    runs figures "results/figures/index.html" FROM=own
    quietly 0 "the page is there" test -s results/figures/index.html
else
    skips "make figures: gnuplot is missing"
fi
if command -v gnuplot >/dev/null && command -v lowdown >/dev/null; then
    runs site "build/site/index.html"
else
    skips "make site: gnuplot or lowdown is missing"
fi
runs claims "claims.csv" SCALE=smoke
list_line=$(make -n -o "$program" program="$program" long.list | grep '>build/long.list')
quietly 0 "a list of tests" sh -c "$list_line"
ln -sf /dev/full build/long.list
fails 1 "that does not come to the disk" "No space left" sh -c "$list_line"
runs install-headers "" PREFIX=/usr DESTDIR="$scratch/headers"
quietly 0 "headers alone" test -s "$scratch/headers/usr/include/longhaul/harness/engine/model.h"
echo other >"$scratch/a" # what would be taken away with "a root" if its blank parted it
runs install "" PREFIX=/usr DESTDIR="$scratch/a root"
quietly 0 "the program is installed" test -x "$scratch/a root/usr/bin/longhaul"
quietly 0 "with its Lua files" test -s "$scratch/a root/usr/share/longhaul/experiments/brt/table1.lua"
quietly 0 "its manual page" test -s "$scratch/a root/usr/share/man/man1/longhaul.1"
quietly 0 "and completions" test -s "$scratch/a root/usr/share/zsh/site-functions/_longhaul"
runs uninstall "" PREFIX=/usr DESTDIR="$scratch/a root"
quietly 0 "all of it is gone" test -z "$(find "$scratch/a root" -type f)"
quietly 0 "and nothing else" test -s "$scratch/a"
runs clean "" O=build
quietly 1 "nothing that was built is left" test -e build
finish

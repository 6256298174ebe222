#!/usr/bin/env bash
# A folder in place of a script: all scripts in it, one after the other.
. tests/test.sh
export OMP_NUM_THREADS=1

# A script with one row, and what it shares with others beside it.
one_row() {
    cat <<LUA
local lh = require "longhaul"
local shared = lh.include "shared.lua"
local bench = lh.experiment "$1"
bench:row { "$2", model = lh.models.slide { layers = 1, width = $3, heads = 2, window = 8 },
  task = shared.task, train = shared.train }
bench:table { columns = { "bits_per_byte" } }
return bench
LUA
}
folder="$scratch/folder"
mkdir "$folder"
cat >"$folder/shared.lua" <<'LUA'
local lh = require "longhaul"
return {
  task = lh.tasks.language_model { lh.data.text { "generate:books", documents = 4, document_bytes = 2000 },
    segment = 16, batch = 2 },
  train = lh.train { steps = 2 },
}
LUA
one_row first wide 32 >"$folder/a.lua"
one_row second narrow 16 >"$folder/b.lua"
echo "not a script" >"$folder/notes.txt"

of() { "$longhaul" "$@" --scale smoke --results "$scratch/results"; }

succeeds "the runs of all scripts are summed" "2 runs, 0 done" of dry-run "$folder"
succeeds "each has its own sum" "b.lua: 1 runs, 0 done" of dry-run "$folder"
quietly 1 "which a script alone need not" sh -c "'$longhaul' dry-run '$folder/b.lua' --scale smoke 2>&1 | grep 'of these'"
succeeds "a script is named before its runs" "a.lua (1 of 2)" of dry-run "$folder/"
quietly 1 "what scripts include is none" sh -c "'$longhaul' list '$folder' --scale smoke 2>&1 | grep shared"
succeeds "those with rows that are asked for" "1 runs, 0 done" of dry-run "$folder" --only narrow
fails 1 "where none has, it is told" "no script there has a row at scale smoke" of run "$folder" --only medium
fails 1 "a folder without scripts as well" "no script there has a row" of run "$scratch"
fails 2 "the N-th run is one of a script" "--run and --plan take one SCRIPT.lua" of run "$folder" --run 1
fails 1 "so is what is watched" "takes one SCRIPT.lua of it" of watch "$folder"

echo 'error "out of order"' >"$folder/c.lua"
fails 1 "a broken script is told before the first is run" "out of order" of run "$folder"
quietly 1 "and none is" test -e "$scratch/results"
rm "$folder/c.lua"

succeeds "all are run" "[1/1] narrow" of run "$folder" --no-timing
succeeds "and each has its table" "narrow" of table "$folder"
quietly 0 "where it has it by itself" test -s "$scratch/results/first/table.csv"
succeeds "a second run finds them finished" "2 runs, 2 done" of dry-run "$folder" --no-timing
quietly 1 "and trains nothing" sh -c "'$longhaul' run '$folder' --scale smoke --no-timing \
    --results '$scratch/results' 2>&1 | grep '1/1'"

# A row whose model is refused once it is made: its heads do not divide its width.
one_row first wide 31 >"$folder/a.lua"
fails 1 "runs that fail fail the whole" "[1/1] narrow" of run "$folder" --no-timing --force
fails 1 "after the first where that is asked for" "(1 of 2)" of run "$folder" --no-timing --force --fail-fast
quietly 1 "so that the next is not run" sh -c "'$longhaul' run '$folder' --scale smoke --no-timing --force --fail-fast \
    --results '$scratch/results' 2>&1 | grep 'narrow'"
finish

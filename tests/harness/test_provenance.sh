#!/usr/bin/env bash
# Where numbers come from: runs are of the content of their data, a data folder that is not there is
# an error, and what was read is said.
. tests/test.sh
export OMP_NUM_THREADS=1 XDG_CACHE_HOME=$scratch/cache
unset LONGHAUL_DATA
longhaul=$LONGHAUL_BIN

# sweep NAME [STEPS [MORE]]: one row over the corpus of that name.
sweep() {
    cat <<LUA
local lh = require "longhaul"
local bench = lh.experiment "sweep"
bench:row { "slide", model = lh.models.slide { layers = 1, width = 16, heads = 2, window = 16 },
  task = lh.tasks.language_model { lh.data.text { "$1", documents = 4, document_bytes = 2000 }, segment = 64, batch = 2 },
  train = lh.train { steps = ${2:-4}, warmup = 2, log_every = 2 ${3:-} } }
bench:table { columns = { "bits_per_byte" } }
return bench
LUA
}

# run NAME: the sweep over that corpus; column NAME: of its runs, by blanks.
run() {
    sweep "$1" >"$scratch/$1.lua"
    "$longhaul" run "$scratch/$1.lua" --scale smoke --results "$scratch/results" --no-timing
}
column() {
    cat >"$scratch/column.lua" <<'LUA'
local path, name = ...
local values = {}
for i, row in ipairs((require("longhaul.csv").read(path))) do values[i] = row[name] end
print(table.concat(values, " "))
LUA
    "$longhaul" lua "$scratch/column.lua" "${2:-$scratch/results/sweep/runs.csv}" "$1"
}

# ---- a data folder that is not there ----
printf 'text' >"$scratch/file"
for place in "$scratch/nowhere" "$scratch/file"; do
    export LONGHAUL_DATA=$place
    refuses() { fails 1 "LONGHAUL_DATA that names no folder: $1" "LONGHAUL_DATA is '$place', which is no folder" "${@:2}"; }
    sweep books >"$scratch/books.lua"
    refuses "run" "$longhaul" run "$scratch/books.lua" --scale smoke --results "$scratch/results"
    refuses "dry-run" "$longhaul" dry-run "$scratch/books.lua" --scale smoke
    refuses "train" "$longhaul" train --model lstm --task-options 'name=books'
    refuses "data list" "$longhaul" data list
    refuses "weights by name" "$longhaul" eval --model gpt2 --weights gpt2 --task-options 'name=generate:books'
    refuses "series" "$longhaul" train --model informer --task forecasting --task-options 'name=ETTh1'
done
quietly 0 "and nothing was run" test ! -s "$scratch/results/sweep/runs.csv"

# ---- the generator serves its own names, and says so ----
mkdir -p "$scratch/data/mine/train" "$scratch/data/mine/valid" "$scratch/data/mine/test"
export LONGHAUL_DATA=$scratch/data
succeeds "a generator that stands in is named" "data: embedded generator (books); LONGHAUL_DATA has no 'books'" run books
succeeds "in the row too" "embedded generator (books)" column data
fails 1 "no generator serves other names" "no data 'pg19'" "$longhaul" train --model lstm --task-options 'name=pg19'

# ---- content, not names and sizes ----
write() {
    local i
    for i in 1 2 3 4 5 6 7 8; do
        seq "$1" 9 900 | tr '0-9' "${2:-0-9}" >"$scratch/data/mine/train/$i.txt"
        cp "$scratch/data/mine/train/$i.txt" "$scratch/data/mine/valid/$i.txt"
        cp "$scratch/data/mine/train/$i.txt" "$scratch/data/mine/test/$i.txt"
    done
    touch -d '2020-02-02' "$scratch"/data/mine/*/*.txt
}
runs() { column run_id | wc -w; }
write 100
succeeds "a corpus of files" "data: mine (24 documents in mine/)" run mine
write 100 a-j
succeeds "texts of equal length, names and times are another run" "[1/1] slide" run mine
succeeds "that stands beside the first" "3" runs
mv "$scratch/data" "$scratch/moved"
export LONGHAUL_DATA=$scratch/moved
succeeds "the same content elsewhere" "slide" run mine
succeeds "is the same run" "3" runs
succeeds "and rows name no folder of this machine" "mine (24 documents in mine/)" column data

finish

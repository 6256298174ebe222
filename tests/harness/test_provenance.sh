#!/usr/bin/env bash
# Where numbers come from: runs are of the content of their data, a data folder that is not there is
# an error, and what was read is said.
. tests/test.sh
export OMP_NUM_THREADS=1

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
for i, row in ipairs((require("longhaul.run.csv").read(path))) do values[i] = row[name] end
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
# plans NAME: what dry-run says of the sweep over that corpus
plans() {
    sweep "$1" >"$scratch/plan.lua"
    "$longhaul" dry-run "$scratch/plan.lua" --scale smoke --results "$scratch/none"
}
succeeds "a plan says it, and how such a corpus is had" "note: no corpus 'code' in the data folders" plans code
succeeds "in so many words" "longhaul data import /usr/include --name code --join-folders" plans code
succeeds "of a series too" "note: no corpus 'ETTh1' in the data folders" \
    "$longhaul" dry-run experiments/rsa/table1.lua --scale smoke --no-timing --results "$scratch/none"
quietly 1 "a plan of what the generator is asked for has nothing to say" grep "no corpus" <(plans generate:books 2>&1)
succeeds "in the row too" "embedded generator (books)" column data
fails 1 "no generator serves other names" "longhaul data fetch pg19" "$longhaul" train --model lstm --task-options 'name=pg19'

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
succeeds "and how many documents each split has" "data: documents: 8 to train on, 8 to validate, 8 to test" "$longhaul" \
    train --model lstm --options width=8 --train steps=1 --task-options 'name=mine segment=8'
succeeds "and which options do nothing for files" "data: not of a generator, so that these options do nothing: documents (" \
    "$longhaul" train --model lstm --options width=8 --train steps=1 --task-options 'name=mine segment=8 documents=5'
quietly 1 "of a generator none" sh -c "'$longhaul' train --model lstm --options width=8 --train steps=1 --task-options \
    'name=generate:books segment=8 documents=5 document_bytes=2000 limit_eval_bytes=2000' 2>&1 | grep 'do nothing'"
succeeds "fewer documents than rows" "data: 8 training documents for a batch of 9 rows" "$longhaul" train \
    --model lstm --options width=8 --train steps=1 --task-options 'name=mine batch=9 segment=8'
write 100 a-j
succeeds "texts of equal length, names and times are another run" "[1/1] slide" run mine
succeeds "that stands beside the first" "3" runs
mv "$scratch/data" "$scratch/moved"
export LONGHAUL_DATA=$scratch/moved
succeeds "the same content elsewhere" "slide" run mine
succeeds "is the same run" "3" runs
succeeds "and rows name no folder of this machine" "mine (24 documents in mine/)" column data

# ---- every row says where it was measured ----
unset LONGHAUL_DATA
sweep generate:books 4 >"$scratch/timed.lua"
"$longhaul" run "$scratch/timed.lua" --scale smoke --results "$scratch/timed" --threads 1 >"$scratch/log" 2>&1
"$longhaul" bench --rounds 1 --only lsh --results "$scratch/timed" >>"$scratch/log" 2>&1
printf 'local m = require("longhaul.core").machine()\nprint(m.version, m.dirty)\n' >"$scratch/build.lua"
read -r commit dirty < <("$longhaul" lua "$scratch/build.lua")
# says FILE: of every line, what must not be empty and what this build is
says() {
    cat >"$scratch/says.lua" <<'LUA'
local path, commit, dirty = ...
local rows = (require("longhaul.run.csv").read(path))
for _, row in ipairs(rows) do
  for _, name in ipairs { "compiler", "kernels", "blas", "machine", "cores", "threads", "load", "date" } do
    assert(row[name] and row[name] ~= "", path .. " lacks " .. name)
  end
  assert(row.code_version == commit, row.code_version)
  assert(row.dirty == dirty, row.dirty)
  assert(row.date:match "^%d%d%d%d%-%d%d%-%d%dT%d%d:%d%d:%d%dZ$", row.date)
  assert(row.compiler:find " %-O%d", row.compiler)
  assert(row.kernels:find "^cpu%-", row.kernels)
end
print(#rows .. " lines")
LUA
    "$longhaul" lua "$scratch/says.lua" "$1" "$commit" "$dirty"
}
succeeds "every run says where it was measured" "1 lines" says "$scratch/timed/sweep/runs.csv"
succeeds "on how many threads" "1" column threads "$scratch/timed/sweep/runs.csv"
succeeds "every step time" "1 lines" says "$scratch/timed/sweep/timings.csv"
digest=$(column data_digest "$scratch/timed/sweep/runs.csv")
succeeds "and of which data" "${digest:-a digest}" column data_digest "$scratch/timed/sweep/timings.csv"
succeeds "every benchmark" "9 lines" says "$scratch/timed/bench/bench.csv"
succeeds "whose columns begin as ever" "benchmark,size,metric,value,unit,ratio_to,ratio," head -n 1 "$scratch/timed/bench/bench.csv"
succeeds "the program says it too" "longhaul $commit" "$longhaul" version
known() { [ "$commit" = unknown ] || git cat-file -e "$commit^{commit}"; }
quietly 0 "and that is a commit of this tree" known

# ---- which source a tree is ----
version=$PWD/scripts/version.sh
repository() { git -C "$scratch/tree" -c user.name=x -c user.email=x@y.z "$@" >/dev/null; }
mkdir -p "$scratch/tree/results/reference" "$scratch/tree/inner"
of() { (cd "$scratch/tree${1:-}" && "$version"); }
succeeds "a tree without a repository is unknown" "unknown unknown" of
repository init -q
succeeds "so is one without a commit" "unknown unknown" of
echo one >"$scratch/tree/source"
echo one >"$scratch/tree/results/reference/runs.csv"
repository add -A
repository commit -qm first
head=$(git -C "$scratch/tree" rev-parse --short=12 HEAD)
succeeds "a clean tree is its commit" "$head no" of
echo new >"$scratch/tree/untracked"
succeeds "with files that are not tracked, too" "$head no" of
echo two >"$scratch/tree/results/reference/runs.csv"
succeeds "and with what was measured into it" "$head no" of
echo two >"$scratch/tree/source"
succeeds "a tracked file that differs makes it dirty" "$head yes" of
repository add -A
succeeds "staged or not" "$head yes" of
succeeds "a folder of another project's repository is unknown" "unknown unknown" of /inner

finish

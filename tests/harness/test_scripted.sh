#!/usr/bin/env bash
# A task whose examples a Lua file makes, in a script: its identity, workers, resuming, mistakes.
. tests/test.sh
export OMP_NUM_THREADS=2

mkdir "$scratch/tasks"
cat >"$scratch/tasks/copy.lua" <<'LUA'
return {
  parameters = { word = 6, alphabet = 9 },
  sizes = function(p) return { vocabulary = p.alphabet + 1, length = 2 * p.word } end,
  chance = function(p) return { accuracy = 1 / p.alphabet } end,
  example = function(p)
    local tokens, targets, mask = {}, {}, {}
    for t = 1, p.word do
      targets[t], targets[p.word + t] = 0, math.random(p.alphabet)
      tokens[t], tokens[p.word + t] = targets[p.word + t], 0
      mask[t], mask[p.word + t] = false, true
    end
    return tokens, targets, mask
  end,
}
LUA
cat >"$scratch/sweep.lua" <<'LUA'
local lh = require "longhaul"
local bench = lh.experiment "sweep"
local copy = lh.tasks.scripted_tokens { "tasks/copy.lua", batch = 4, evaluate_examples = 10 }
local train = lh.train { steps = 40, optimizer = "adam", rate = 1e-2, warmup = 1 }
local slide = lh.models.slide { layers = 1, width = 16, heads = 2, window = 16 }
bench:row { "short", model = slide, task = copy, train = train }
bench:row { "long", model = slide, task = copy:with { parameters = { word = 12 } }, train = train }
bench:table { columns = { "accuracy" } }
return bench
LUA
run() { "$LONGHAUL_BIN" run "$scratch/sweep.lua" --scale smoke --no-timing --results "$scratch/$1" "${@:2}"; }
cells() {
    "$LONGHAUL_BIN" query status=done --results "$scratch/$1" --columns run_id,row,bits_per_token,accuracy,data --csv | sort
}

succeeds "trains on tokens of a file" "accuracy" run serial
succeeds "names the file as its data" "examples of copy.lua, 24 positions (guessing scores accuracy " cells serial
quietly 0 "workers" bash -c "'$LONGHAUL_BIN' run '$scratch/sweep.lua' --scale smoke --no-timing --results '$scratch/jobs' --jobs 2 >/dev/null 2>&1"
cells serial >"$scratch/serial.csv"
cells jobs >"$scratch/jobs.csv"
quietly 0 "make what one process makes" cmp "$scratch/serial.csv" "$scratch/jobs.csv"

# Where the file lies is no part of a run, what it holds is.
mkdir "$scratch/moved"
cp -r "$scratch/tasks" "$scratch/sweep.lua" "$scratch/moved"
moved() { "$LONGHAUL_BIN" dry-run "$scratch/moved/sweep.lua" --scale smoke --results "$scratch/serial"; }
succeeds "a moved script finds its runs" "2 runs, 2 done" moved
sed -i 's/math.random(p.alphabet)/1 + math.random(p.alphabet) \/\/ 2/' "$scratch/moved/tasks/copy.lua"
succeeds "another generator is another run" "2 runs, 0 done" moved

# 5 steps and 5 more are 10.
train() {
    "$LONGHAUL_BIN" train --model slide --options 'layers=1 width=16 heads=2 window=16 dropout=0.1' --task scripted_tokens \
        --task-options "file=$scratch/${place:-tasks}/copy.lua batch=4 segment=5 evaluate_examples=10" --train "steps=$1 warmup=2" "${@:2}"
}
bits=$(train 10 | grep bits_per_token)
quietly 0 "the first steps" bash -c "$(declare -f train); scratch='$scratch'; train 5 --snapshot '$scratch/at' >/dev/null 2>&1"
quietly 0 "their checkpoint once more" cp "$scratch/at" "$scratch/at-moved"
succeeds "a resumed run is one that was never stopped" "${bits:-did not train}" train 10 --snapshot "$scratch/at"
cp -r "$scratch/tasks" "$scratch/elsewhere"
from_elsewhere() { place=elsewhere train "$@"; }
succeeds "a file that was moved between is the same run" "${bits:-did not train}" from_elsewhere 10 --snapshot "$scratch/at-moved"

# Vectors: a running mean.
cat >"$scratch/mean.lua" <<'LUA'
return {
  sizes = function() return { inputs = 1, outputs = 1, length = 8 } end,
  example = function()
    local inputs, targets, sum = {}, {}, 0
    for t = 1, 8 do
      inputs[t] = { math.normal() }
      sum = sum + inputs[t][1]
      targets[t] = { sum / t }
    end
    return inputs, targets
  end,
}
LUA
succeeds "vectors are scored by their errors" "mse" "$LONGHAUL_BIN" train --model rnn --options 'width=8' \
    --task scripted_vectors --task-options "file=$scratch/mean.lua batch=4" --train 'steps=3 warmup=1'

# The skeleton.
LONGHAUL_BIN=$(realpath "$LONGHAUL_BIN")
new() { (cd "$scratch" && "$LONGHAUL_BIN" new examples ours); }
succeeds "a file of examples begins from a skeleton" "next: longhaul train" new
trains_as_told() {
    rm "$scratch/ours.lua"
    (cd "$scratch" && eval "$(dirname "$LONGHAUL_BIN")/$("$LONGHAUL_BIN" new examples ours | sed -n 's/^next: //p')")
}
succeeds "which the command that it tells trains" "accuracy" trains_as_told

sed -i 's/return tokens, targets, mask/return tokens, targets[word], mask/' "$scratch/tasks/copy.lua"
fails 1 "a mistake is told with file and line" "copy.lua:12: undefined global 'word'" run mistake
fails 1 "a wrong file name is told" "nowhere.lua" "$LONGHAUL_BIN" train --model slide --task scripted_tokens --task-options file=nowhere.lua

finish

#!/usr/bin/env bash
# Options from the command line and from Lua to what is trained, whatever the values hold; lists have one spelling.
. tests/test.sh

# A folder with an apostrophe and a quote: the options behind its name count.
folder="$scratch/it's \"mine\""
mkdir -p "$folder"/{train,valid,test}
for split in train valid test; do seq 400 >"$folder/$split/numbers.txt"; done
cat >"$scratch/lengths.lua" <<'LUA'
local core, folder = require "longhaul.core", ...
local lh = require "longhaul"
local spec = lh.tasks.language_model { lh.data.text { folder, limit_bytes = 900 }, segment = 24, batch = 2 }
local again = core.options("task", "language_model", spec.text)
for _, options in ipairs { spec.options, again } do
  print(options:value "name" == folder, options:value "segment", options:value "limit_bytes", core.task_info(options).length)
end
print(again:text() == spec.text)
LUA
succeeds "options behind an apostrophe count" $'true\t24\t900\t24\ntrue\t24\t900\t24\ntrue' "$longhaul" lua "$scratch/lengths.lua" "$folder"

mkdir -p "$scratch/it's"
cp -r "$folder"/* "$scratch/it's"
train=("$longhaul" train --model lstm --options 'hidden=8 width=8' --train 'steps=2 warmup=1')
succeeds "on the command line an apostrophe in a word is a letter" "bits_per_token" "${train[@]}" \
    --task-options "name=$scratch/it's segment=8 batch=1"
fails 2 "and an option behind it is checked" "did you mean 'segment'?" "${train[@]}" --task-options "name=$scratch/it's segmnet=8"
fails 1 "what chooses by a size that tokens do not tell is refused before training" \
    "keep_best: 'valid_bits_per_byte' is over the bytes of the text, but its tokens do not spell all" \
    "$longhaul" train --model lstm --options 'hidden=8 width=8' --train 'steps=2 warmup=1 evaluate_every=1 keep_best=bits_per_byte' \
    --task-options "name=generate:books documents=20 document_bytes=1000 tokens=words:train:50 segment=8 batch=1"
fails 1 "as is what its task never scores" "keep_best: task recall predicts tokens, and 'valid_mse' is of vectors" \
    "$longhaul" train --model lstm --options 'hidden=8 width=8' --train 'steps=2 warmup=1 evaluate_every=1 keep_best=mse' --task recall
fails 2 "a quote that is not closed is an error" "option 'name' has a quote that is not closed" "${train[@]}" --task-options "name='$scratch segment=8"

cat >"$scratch/script.lua" <<'LUA'
local lh = require "longhaul"
local bench = lh.experiment "apostrophe"
local data = lh.data.text { os.getenv "FOLDER", limit_bytes = 900 }
bench:row { "a", model = lh.models.lstm { hidden = 8, width = 8 }, task = lh.tasks.language_model { data, segment = 24, batch = 2 },
  train = lh.train { steps = 2 }, dataset = "mine" }
return bench
LUA
run() { FOLDER=$folder "$longhaul" run "$scratch/script.lua" --scale smoke --results "$scratch/results" --no-timing; }
succeeds "a run over such a folder" "bits/token" run
columns() {
    "$longhaul" lua <(cat <<LUA
local core, csv = require "longhaul.core", require "longhaul.run.csv"
local rows = csv.read "$scratch/results/apostrophe/runs.csv"
local task = core.options("task", "language_model", rows[1].task_options)
print(#rows, task:value "name" == os.getenv "FOLDER", task:value "segment", task:value "batch", task:text() == rows[1].task_options)
LUA
    )
}
succeeds "its row says all of them" $'1\ttrue\t24\t2\ttrue' env FOLDER="$folder" bash -c "$(declare -f columns); scratch=$scratch longhaul=$longhaul; columns"
changed=$(stat -c %Y.%i "$scratch/results/apostrophe/runs.csv")
quietly 0 "it is found again" bash -c "$(declare -f run); scratch=$scratch longhaul=$longhaul folder=$(printf %q "$folder"); run >/dev/null 2>&1"
succeeds "and not run again" "$changed" stat -c %Y.%i "$scratch/results/apostrophe/runs.csv"

# Lists.
small='layers=4 width=16 heads=2 window=8'
succeeds "a list on the command line" "layers.3.state" "$longhaul" describe brt --options "$small recurrent_layers=1,4"
fails 2 "with plus signs is refused" "brt: option 'recurrent_layers' must be a list of integers such as 1,0,2, got '1+4'" \
    "$longhaul" describe brt --options "$small recurrent_layers=1+4"
fails 2 "and with colons" "option 'recurrent_layers' must be a list of integers such as 1,0,2, got '1:4'" \
    "$longhaul" describe brt --options "$small recurrent_layers=1:4"
fails 2 "commas between options are no separators" "got '4,width=16'; blanks separate options" "$longhaul" describe brt --options layers=4,width=16
cat >"$scratch/lists.lua" <<'LUA'
local lh = require "longhaul"
local a = lh.models.brt { recurrent_layers = { 1, 4 } }
local b = lh.models.brt { recurrent_layers = "1,4" }
print(a.text == b.text, a:spelled "recurrent_layers", #a:option "recurrent_layers", a:option "recurrent_layers"[2])
print(select(2, pcall(lh.models.brt, { recurrent_layers = { 1, "x" } })))
print(select(2, pcall(lh.models.brt, { recurrent_layers = "1+4" })))
print(select(2, pcall(lh.models.brt, { layers = { 1, 2 } })))
print(select(2, pcall(lh.models.brt, { layers = print })))
print(lh.train({ steps = 9007199254 }):option "steps", lh.train({ rate = 0.1 }):option "rate", lh.train({ keep_best = true }):option "keep_best")
LUA
succeeds "in Lua a list is an array or that text" $'true\t1,4\t2\t4' "$longhaul" lua "$scratch/lists.lua"
succeeds "a wrong element is named" "option 'recurrent_layers' must be a list of integers such as 1,0,2, got 'x' at place 2" "$longhaul" lua "$scratch/lists.lua"
succeeds "so is a wrong text" "such as 1,0,2, got '1+4'" "$longhaul" lua "$scratch/lists.lua"
succeeds "a list is no integer" "option 'layers' takes one value, not a list" "$longhaul" lua "$scratch/lists.lua"
succeeds "a function is no value" "option 'layers' cannot be a function" "$longhaul" lua "$scratch/lists.lua"
succeeds "values keep their types" $'9007199254\t0.1\ttrue' "$longhaul" lua "$scratch/lists.lua"

# A misspelt read, or a field of another type, does not compile.
cc=${CC:-cc}
read_of() {
    printf '#include "harness/engine/options.h"\ntypedef struct m { int64_t width; double rate; } m;\n%s\n' "$1" >"$scratch/read.c"
    "$cc" -std=c11 -I. -fsyntax-only "$scratch/read.c"
}
quietly 0 "a row compiles" read_of 'const lh_option rows[] = {LH_INTEGER("width", m, width, 1, 0, 0, ""), {0}};'
fails 1 "a misspelt field does not" "widht" read_of 'const lh_option rows[] = {LH_INTEGER("width", m, widht, 1, 0, 0, ""), {0}};'
fails 1 "nor one of another type" "_Generic" read_of 'const lh_option rows[] = {LH_INTEGER("width", m, rate, 1, 0, 0, ""), {0}};'
fails 1 "nor the table of another struct" "_Generic" read_of 'typedef struct n { double x; } n; const lh_option n_options[1]; typedef struct o { m in; } o; const lh_option_table t[] = {LH_TABLE(o, in, n), {0}};'

finish

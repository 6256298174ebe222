#!/usr/bin/env bash
# More steps of finished runs: bit for bit those of runs of so many steps, or refused with the reason.
. tests/test.sh
export OMP_NUM_THREADS=2

# script NAME TRAIN OPTIONS OF ROWS
script() {
    cat >"$scratch/$1.lua" <<LUA
local lh = require "longhaul"
local bench = lh.experiment "$1"
local task = lh.tasks.language_model { lh.data.text { "generate:books", documents = 6, document_bytes = 2000 },
  segment = 16, batch = 2, evaluate_batches = 3 }
local train = lh.train { steps = 12, optimizer = "adam", rate = 1e-2, warmup = 3, log_every = 2, evaluate_every = 4, $2 }
bench:row { "xl", model = lh.models.xl { layers = 1, width = 16, heads = 2, window = 16, dropout = 0.1 }, task = task,
  train = train, seeds = 2, dataset = "books" }
bench:row { "lstm", model = lh.models.lstm { width = 8, hidden = 8 }, task = task, train = train, dataset = "books" }
return bench
LUA
}
longhaul() { "$LONGHAUL_BIN" "$1" "$scratch/$2.lua" --scale smoke --no-timing --results "$scratch/$3" "${@:4}"; }
silent() { longhaul "$@" >/dev/null 2>&1; }

# cells FOLDER STEPS: every cell of the runs of so many steps but those of time, and their curves
cells() {
    "$LONGHAUL_BIN" lua <(cat <<LUA
local csv = require "longhaul.run.csv"
local other = { tokens_per_second = true, training_tokens_per_second = true, wall_time_s = true, load = true, threads = true, date = true, time_s = true,
  peak_memory_bytes = true, inference_memory_bytes = true }
local folder = "$scratch/$1/plain"
local function show(id, rows, columns)
  for _, row in ipairs(rows) do
    for _, name in ipairs(columns) do
      if not other[name] then print(id, name, row[name]) end
    end
  end
end
local rows, columns = csv.read(folder .. "/runs.csv")
table.sort(rows, function(a, b) return a.run_id < b.run_id end)
for _, row in ipairs(rows) do
  if row.step == "$2" then
    show(row.run_id, { row }, columns)
    show(row.run_id, csv.read(folder .. "/curves/" .. row.run_id .. ".csv"))
  end
end
LUA
    )
}

script plain 'schedule = "constant"'
quietly 0 "runs of 12 steps" silent run plain parts --keep-checkpoints
succeeds "go on to 20" "going on from the 12 steps of run " longhaul extend plain parts --steps 20
quietly 0 "and to 24, side by side" silent extend plain parts --steps 24 --jobs 2
quietly 0 "runs of 20 steps" silent run plain whole --set train.steps=20
quietly 0 "runs of 24 steps" silent run plain whole --set train.steps=24
for steps in 20 24; do
    cells parts $steps >"$scratch/parts.cells"
    cells whole $steps >"$scratch/whole.cells"
    quietly 0 "there are three of $steps" test "$(grep -c "bits_per_token.*[0-9]$" "$scratch/whole.cells")" -ge 3
    quietly 0 "$steps steps are those of one run" cmp "$scratch/parts.cells" "$scratch/whole.cells"
done
quietly 0 "a forced run" bash -c "! '$LONGHAUL_BIN' run '$scratch/plain.lua' --scale smoke --no-timing --force --keep-checkpoints --results '$scratch/parts' \
    --set train.steps=24 2>&1 | grep 'going on'"
cat >"$scratch/ahead.lua" <<LUA
local outlook = require "longhaul.run.outlook"
local overrides = require "longhaul.overrides"
local script = require "longhaul.script"
local settings = { scale = "smoke", device = "cpu", results = "$scratch/parts", no_timing = true,
  set = overrides.read { "train.steps=26" } }
local expected = outlook.known(script.load("$scratch/plain.lua", settings), settings)[1].expected
local whole = getmetatable(expected).__index
local saved = (whole.seconds - expected.seconds) / whole.step_s
assert(math.abs(saved - 24) < 1e-6, "saved " .. saved)
LUA
quietly 0 "what is ahead leaves out steps that are there" "$LONGHAUL_BIN" lua "$scratch/ahead.lua"
succeeds "run goes on as well" "going on from the 24 steps of run " longhaul run plain parts --set train.steps=26
succeeds "further seeds begin where they must" "lstm books seed 2" longhaul extend plain parts --steps 26 --seeds 2

fails 1 "fewer steps are none to go on from" 'row "xl" books seed 1: no run of fewer steps is finished' longhaul extend plain parts --steps 8
quietly 0 "runs that keep nothing" silent run plain bare
fails 1 "a checkpoint must be there" "no last checkpoint of its 12 steps is kept (run --keep-checkpoints)" longhaul extend plain bare --steps 20
fails 2 "something must be extended" "extend takes --steps N, --seeds N or both" longhaul extend plain bare
script cosine 'schedule = "cosine"'
quietly 0 "runs of a cosine" silent run cosine cosine --keep-checkpoints
fails 1 "a schedule may be made for its steps" "the schedule cosine is made for its number of steps" longhaul extend cosine cosine --steps 20
succeeds "run trains them from their start" "bits/token" longhaul run cosine cosine --set train.steps=20
script best 'schedule = "constant", keep_best = true'
quietly 0 "runs that keep the best" silent run best best --keep-checkpoints
fails 1 "best weights are gone" "keep_best=true: of a finished run" longhaul extend best best --steps 20
script odd 'schedule = "constant", log_every = 5'
sed -i 's/log_every = 2, //' "$scratch/odd.lua"
quietly 0 "runs whose curve ends between its points" silent run odd odd --keep-checkpoints
fails 1 "cannot go on" "ends with a point that log_every=5 has not" longhaul extend odd odd --steps 20

finish

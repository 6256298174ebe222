# shellcheck shell=bash
# A results folder of many runs: sweep RATES WIDTHS SEEDS writes the script of a grid and the folder that it leaves when it is
# finished, $scratch/results; `call WORDS...` runs it, and what it shows is $scratch/shown, its seconds of processor time
# $scratch/seconds.
: "${scratch:?}"
export OMP_NUM_THREADS=1 LONGHAUL_BLAS_CHOSEN=1

sweep() {
    cat >"$scratch/sweep.lua" <<LUA
local lh = require "longhaul"
local bench = lh.experiment "sweep"
local text = lh.data.text { "generate:books", documents = 8, document_bytes = 2000, limit_eval_bytes = 2000 }
local task = lh.tasks.language_model { text, segment = 32, batch = 2 }
local train = lh.train { steps = 100, warmup = 5 }
local rates, widths = { "rate" }, { "width" }
for i = 1, $1 do rates[i + 1] = i / 1e6 end
for i = 1, $2 do widths[i + 1] = 8 * i end
for point in lh.grid { rates, widths } do
  bench:row { point, task = task, train = train:with { rate = point.rate },
    model = lh.models.lstm { layers = 1, width = point.width, hidden = 8 } }
end
bench:seeds($3)
bench:table { columns = { "bits_per_byte", "step_time_ms" } }
return bench
LUA
    "$LONGHAUL_BIN" lua tests/harness/finish_sweep.lua "$scratch/sweep.lua" "$scratch/results"
    export runs_file=$scratch/results/sweep/runs.csv
}

call() {
    local TIMEFORMAT='%U %S'
    { time "$LONGHAUL_BIN" "$1" "$scratch/sweep.lua" --scale smoke --results "$scratch/results" "${@:2}" >"$scratch/shown" 2>"$scratch/log"; } 2>"$scratch/times"
    local status=$?
    awk '{ print $1 + $2 }' "$scratch/times" >"$scratch/seconds"
    cat "$scratch/shown" "$scratch/log" "$scratch/results/sweep/table.csv" >"$scratch/$1.said"
    return $status
}

#!/usr/bin/env bash
# Sixteen processes run one sweep in one results folder at once: each run is made by one of them, none fails, and the results
# are those of a single process.
. tests/test.sh
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 LONGHAUL_BLAS_CHOSEN=1

cat >"$scratch/sweep.lua" <<'LUA'
local lh = require "longhaul"
local bench = lh.experiment "crowd"
local text = lh.data.text { "generate:books", documents = 12, document_bytes = 2000, limit_eval_bytes = 2000 }
local task = lh.tasks.language_model { text, segment = 32, batch = 4 }
local train = lh.train { steps = 80, warmup = 5, checkpoint_every = 10, log_every = 10, evaluate_every = 20, keep_best = true }
local lstm = lh.models.lstm { layers = 1, width = 8, hidden = 8 }
bench:row { "source", task = task, train = train, model = lstm }
for point in lh.grid { { "rate", 0.001, 0.002, 0.003, 0.004 } } do
  bench:row { point, task = task, train = train:with { rate = point.rate }, model = lstm, seeds = 2 }
end
bench:row { "tuned", task = task, train = train, model = lstm, from = "source" }
bench:table { columns = { "bits_per_byte" } }
return bench
LUA
sweep() { "$LONGHAUL_BIN" run "$scratch/sweep.lua" --scale smoke --no-timing --results "$scratch/$1"; }
numbers() { "$LONGHAUL_BIN" lua tests/harness/numbers.lua "$scratch/$1/crowd"; }

crowd() {
    local processes=() process failed=0 i
    for i in {1..16}; do
        sweep many >"$scratch/$i.out" 2>"$scratch/$i.log" &
        processes+=($!)
    done
    for process in "${processes[@]}"; do wait "$process" || failed=$((failed + 1)); done
    if [ "$failed" -gt 0 ]; then cat "$scratch"/*.log; fi
    echo "$failed failed"
}
# A run says its score once, when it is made.
made() { sed -n 's/.*\] \(.*\)  [0-9.]* bits\/token .*/\1/p' "$scratch"/*.log | sort; }

succeeds "a single process" "bits/byte" sweep single
numbers single >"$scratch/expected"
quietly 0 "makes ten runs" test "$(grep -c "status.done" "$scratch/expected")" -eq 10
succeeds "sixteen processes" "0 failed" crowd
made >"$scratch/made"
quietly 0 "make ten runs" test "$(wc -l <"$scratch/made")" -eq 10
quietly 0 "each once" uniq -d "$scratch/made"
numbers many >"$scratch/found"
quietly 0 "with the numbers of a single process" cmp "$scratch/expected" "$scratch/found"
quietly 0 "and nothing left behind" find "$scratch/many" -name '*.partial' -o -name '*.lock' -path '*checkpoints*' -o -name '*.snapshot'

finish

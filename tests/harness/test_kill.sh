#!/usr/bin/env bash
# kill -9 in the middle of a sweep loses no finished run, corrupts no file, and the next start ends with the very
# numbers of a sweep that nobody disturbed.
. tests/test.sh
. tests/harness/kill.sh
export OMP_NUM_THREADS=1

cat >"$scratch/sweep.lua" <<'LUA'
local lh = require "longhaul"
local bench = lh.experiment "killed"
local text = lh.data.text { "generate:books", documents = 20, document_bytes = 3000, limit_eval_bytes = 3000 }
for point in lh.grid { { "width", 8, 12, 16 } } do
  bench:row { point,
    model = lh.models.brt { layers = 3, width = point.width, heads = 2, window = 8, dropout = 0.1 },
    task = lh.tasks.language_model { text, segment = 32, batch = 4 },
    train = lh.train { steps = 200, warmup = 5, checkpoint_every = 10, log_every = 10 },
  }
end
bench:table { columns = { "bits_per_byte" } }
return bench
LUA

command=("$LONGHAUL_BIN" run "$scratch/sweep.lua" --scale smoke --no-timing --results)
sweep() { "${command[@]}" "$scratch/$1"; }
# what must not depend on interruptions: the run, its row and what it measured
numbers() {
    "$LONGHAUL_BIN" lua <(cat <<LUA
local csv = require "longhaul.run.csv"
for _, row in ipairs((csv.read "$scratch/$1/killed/runs.csv")) do print(row.run_id, row.row, row.status, row.step, row.bits_per_token) end
LUA
    ) | sort
}

succeeds "an undisturbed sweep" "bits/byte" sweep whole
succeeds "five kills" "5 of " kill_midway 5 "$scratch/cut/killed" "${command[@]}" "$scratch/cut"
succeeds "starts again after kill -9" "bits/byte" sweep cut
succeeds "three rows are done" "3" bash -c "$(declare -f numbers); scratch=$scratch; LONGHAUL_BIN=$LONGHAUL_BIN; numbers cut | grep -c done"
numbers whole >"$scratch/whole.txt"
numbers cut >"$scratch/cut.txt"
quietly 0 "with the same numbers, bit for bit" cmp "$scratch/whole.txt" "$scratch/cut.txt"
succeeds "runs nothing again" "bits/byte" sweep cut

# A finished run that is run again is an unfinished one until it ends.
succeeds "a kill of a forced sweep" "1 of " kill_midway 1 "$scratch/cut/killed" "${command[@]}" "$scratch/cut" --force
succeeds "goes on without --force" "bits/byte" sweep cut
numbers cut >"$scratch/cut.txt"
quietly 0 "with the same numbers again" cmp "$scratch/whole.txt" "$scratch/cut.txt"
for curve in "$scratch"/whole/killed/curves/*.csv; do
    quietly 0 "and whole curves" cmp <(cut -d, -f1,2,4 "$curve") <(cut -d, -f1,2,4 "$scratch/cut/killed/curves/${curve##*/}")
done

finish

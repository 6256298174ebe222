#!/usr/bin/env bash
# A job array without Slurm: its tasks are run at the same time, as Slurm would, into one results folder.
# long_slurm.sh gives the same script to a real one.
. tests/test.sh
export OMP_NUM_THREADS=1

# Rows written by several processes at once are all there.
cat >"$scratch/append.lua" <<'LUA'
local folder, process = ...
local results = require("longhaul.run.store").open(folder, "append")
for i = 1, 12 do
  results:put({ run_id = process .. "-" .. i, identity = 2, seed = 1, row = "row " .. i, status = "done", ["own" .. process] = i },
    { "own" .. process })
end
LUA
cat >"$scratch/count.lua" <<'LUA'
local rows, seen = (require("longhaul.run.csv").read((...) .. "/append/runs.csv")), {}
for _, row in ipairs(rows) do
  local process, i = row.run_id:match("(%d+)-(%d+)")
  assert(row["own" .. process] == i and row.row == "row " .. i and not seen[row.run_id], "a row is torn")
  seen[row.run_id] = true
end
print(#rows .. " rows")
LUA
for process in 1 2 3 4 5 6; do
    "$longhaul" lua "$scratch/append.lua" "$scratch/results" "$process" &
done
wait
succeeds "six processes append twelve rows each" "72 rows" "$longhaul" lua "$scratch/count.lua" "$scratch/results"

cat >"$scratch/a sweep.lua" <<'LUA'
local lh = require "longhaul"
local bench = lh.experiment "array"
local text = lh.data.text { "generate:books", documents = 6, document_bytes = 2000, limit_eval_bytes = 2000 }
local task = lh.tasks.language_model { text, segment = 32, batch = 2 }
local train = lh.train { steps = 20, warmup = 5, log_every = 5, checkpoint_every = 5 }
local slide = lh.models.slide { layers = 1, width = 16, heads = 2, window = 16 }
bench:row { "first", task = task, train = train, model = slide, keep_weights = true, seeds = 2 }
bench:row { "second", task = task, train = train, model = slide, from = "first", seeds = 2 }
bench:table { columns = { "bits_per_byte", "relative_step_time" }, baseline = "first" }
return bench
LUA
slurm() { "$longhaul" slurm "$scratch/a sweep.lua" --scale smoke --results "$scratch/array results" "$@"; }
slurm --threads 1 >"$scratch/job.sh"
quietly 0 "the script is sound" sh -n "$scratch/job.sh"
succeeds "a task per run" "#SBATCH --array=1-4" cat "$scratch/job.sh"
succeeds "cores of a task" "--ntasks=1 --cpus-per-task=3" slurm --threads 3
succeeds "ranks of a run" "srun --mpi=pmix" slurm --ranks 2
succeeds "a GPU for each" "--gpus-per-task=1" slurm --device cuda
fails 2 "no ranks" "--ranks takes a positive integer" slurm --ranks 0

# The rows that start from others' weights wait for them, wherever these are trained.
for task in 4 3 2 1; do
    SLURM_ARRAY_TASK_ID=$task sh "$scratch/job.sh" >"$scratch/task$task.log" 2>&1 &
done
wait
cat >"$scratch/status.lua" <<'LUA'
local list = {}
for _, row in ipairs((require("longhaul.run.csv").read(...))) do list[#list + 1] = row.row .. row.seed .. row.status end
table.sort(list)
print(table.concat(list, " "))
LUA
succeeds "each run once, all done" "first1done first2done second1done second2done" \
    "$longhaul" lua "$scratch/status.lua" "$scratch/array results/array/runs.csv"
succeeds "trained once" "4" sh -c "cat $scratch/task*.log | grep -c 'bits/token.*parameters'"
fails 1 "a task too many" "run 5, but the plan has 4 runs" env SLURM_ARRAY_TASK_ID=5 sh "$scratch/job.sh"
last=$(sed -n 's/^#   //p' "$scratch/job.sh")
succeeds "the line for the end makes the table" "relative step time" sh -c "$last"

# Rounds of trials: an array each, submitted before any has begun. This sbatch keeps them, and queue runs one after the
# other, the tasks of each side by side.
mkdir "$scratch/bin"
cat >"$scratch/bin/sbatch" <<'SH'
#!/bin/sh
here=$(dirname "$0")
echo "$*" >>"$here/calls"
job=$(wc -l <"$here/calls")
cat >"$here/$job.sh"
echo "$job"
SH
chmod +x "$scratch/bin/sbatch"
tasks_of() { sed -n 's/^#SBATCH --array=1-//p' "$scratch/bin/$1.sh"; }
task_of() {
    SLURM_ARRAY_TASK_ID=$2 sh "$scratch/bin/$1.sh" >"$scratch/bin/$1-$2.log" 2>&1 || cat "$scratch/bin/$1-$2.log"
}
queue() {
    local job task
    for job in $(seq "$(wc -l <"$scratch/bin/calls")"); do
        for task in $(seq "$(tasks_of "$job")"); do task_of "$job" "$task" & done
        wait
    done
}
# The last task first, one after the other: what waits for an earlier one finds it missing, whatever the machine does.
queue_backwards() {
    local job task
    for job in $(seq "$(wc -l <"$scratch/bin/calls")"); do
        for task in $(seq "$(tasks_of "$job")" -1 1); do task_of "$job" "$task"; done
    done
}
cat >"$scratch/tuned.lua" <<'LUA'
local lh = require "longhaul"
local bench = lh.experiment "tuned"
local text = lh.data.text { "generate:books", documents = 6, document_bytes = 2000, limit_eval_bytes = 2000 }
local tune = lh.tune { rate = { 1e-3, 1e5, 1e6, 1e7, 1e8, 1e9 }, steps = 8, halving = true,
  by = "valid_bits_per_token" }
for width = 16, 32, 16 do
  bench:row { "width " .. width, task = lh.tasks.language_model { text, segment = 32, batch = 2 }, tune = tune,
    train = lh.train { steps = 10, warmup = 0, optimizer = "adam", clip = 0 },
    model = lh.models.slide { layers = 1, width = width, heads = 2, window = 16 } }
end
bench:table { columns = { "bits_per_byte" } }
local figure = lh.experiment "figure"
figure:plot { "boxes", y = "bits_per_byte", of = bench }
return figure
LUA
tuned() { "$longhaul" slurm "$scratch/tuned.lua" --scale smoke --results "$scratch/tuned results" --threads 1 "$@"; }
tuned --seeds 1 >"$scratch/job.sh"
quietly 0 "the script that submits them is sound" sh -n "$scratch/job.sh"
succeeds "an array for each round, then the rows" \
    $'tuned-trials-round1: job 1\ntuned-trials-round2: job 2\ntuned-trials: job 3\ntuned: job 4' \
    env PATH="$scratch/bin:$PATH" sh "$scratch/job.sh" --time=9
succeeds "each waits for the one before" $'--parsable --time=9\n--parsable --dependency=afterany:1 --time=9' \
    cat "$scratch/bin/calls"
succeeds "as many tasks as trials may be left" $'-12\n#SBATCH --array=1-6\n#SBATCH --array=1-4\n#SBATCH --array=1-2' \
    sed -n '/--array/p' "$scratch"/bin/[1-4].sh
quietly 0 "no task of theirs fails" queue
succeeds "what diverged has no place" "run 6 is left out" cat "$scratch/bin/2-6.log"
succeeds "and all rows are trained" "width 161done width 321done" \
    "$longhaul" lua "$scratch/status.lua" "$scratch/tuned results/tuned/runs.csv"
succeeds "an array alone where no trial is missing" "#SBATCH --array=1-2" tuned
succeeds "or of one plan" "#SBATCH --array=1-12" tuned --plan tuned-trials-round1
fails 2 "which the script has" "no rows of an experiment 'none'" tuned --plan none
fails 1 "an experiment without rows" "figure has no row that is wanted" tuned --plan figure
on() { "$longhaul" "$1" "$scratch/$2.lua" --scale smoke --results "$scratch/none" "${@:3}"; }
succeeds "a list has the trials of every round" "24 rows" sh -c "echo \$('$longhaul' list '$scratch/tuned.lua' | wc -l) rows"
succeeds "and so has watch" "tuned-trials-round1" on watch tuned --once

# Experiments that two others show, one of which starts from their weights: each is there once.
cat >"$scratch/shared.lua" <<'LUA'
local lh = require "longhaul"
local text = lh.data.text { "generate:books", documents = 6, document_bytes = 2000 }
local function bench(name, from)
  return lh.experiment(name):row { name, task = lh.tasks.language_model { text, segment = 32, batch = 2 }, from = from,
    train = lh.train { steps = 2, warmup = 0 }, model = lh.models.slide { layers = 1, width = 16, heads = 2, window = 16 } }
end
local function shows(made, ...) return made:plot { "boxes", y = "rsa_gate", of = { ... } } end
local base, other = bench "base", bench "other"
local one = shows(bench("one", { base, "base" }), other)
local two = shows(bench("two"), other, base)
return shows(lh.experiment "both", one, two)
LUA
succeeds "a run that is shared is counted once" "4 runs, 0 done" on dry-run shared
on slurm shared --threads 1 >"$scratch/job.sh"
rm "$scratch/bin/calls"
succeeds "submitted once, behind what it starts from" $'base: job 1\nother: job 2\none: job 3\ntwo: job 4' \
    env PATH="$scratch/bin:$PATH" sh "$scratch/job.sh"
succeeds "which it waits for, and for nothing else" \
    $'--parsable\n--parsable\n--parsable --dependency=afterany:1\n--parsable' cat "$scratch/bin/calls"

# A trial that starts from a tuned row of its own experiment: the array of trials is there once more, behind itself.
cat >"$scratch/later.lua" <<'LUA'
local lh = require "longhaul"
local bench = lh.experiment "later"
local text = lh.data.text { "generate:books", documents = 6, document_bytes = 2000, limit_eval_bytes = 2000 }
local tune = lh.tune { rate = { 0.1, 0.3 }, by = "valid_bits_per_token" }
for _, from in ipairs { false, "base" } do
  bench:row { from and "tail" or "base", from = from or nil, tune = tune, train = lh.train { steps = 3, warmup = 0 },
    task = lh.tasks.language_model { text, segment = 32, batch = 2 },
    model = lh.models.slide { layers = 1, width = 16, heads = 2, window = 16 } }
end
return bench
LUA
on slurm later --threads 1 >"$scratch/job.sh"
rm "$scratch/bin/calls"
succeeds "trials of trials are submitted twice" $'later-trials: job 1\nlater-trials: job 2\nlater: job 3' \
    env PATH="$scratch/bin:$PATH" sh "$scratch/job.sh"
succeeds "one behind the other" $'--parsable\n--parsable --dependency=afterany:1\n--parsable --dependency=afterany:2' \
    cat "$scratch/bin/calls"
succeeds "a trial that waits fails in the first" '[3/4] tail rate=0.1 generate:books seed 1  is not tuned: it starts from "base"' queue_backwards
succeeds "and all rows are trained" "base1done tail1done" "$longhaul" lua "$scratch/status.lua" "$scratch/none/later/runs.csv"

finish

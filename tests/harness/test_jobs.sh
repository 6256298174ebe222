#!/usr/bin/env bash
# Rows side by side: whatever their number, what ends whom and when, the results are those of one row after the other.
. tests/test.sh
. tests/harness/kill.sh
export OMP_NUM_THREADS=2

# A sweep whose rows take STEPS; one starts from another's weights.
sweep() {
    cat <<'LUA' | sed "s/STEPS/$1/"
local lh = require "longhaul"
local bench = lh.experiment "sweep"
local books = lh.data.text { "generate:books", documents = 4, document_bytes = 2000 }
local task = lh.tasks.language_model { books, segment = 64, batch = 2 }
local train = lh.train { steps = STEPS, warmup = 10, log_every = 2, checkpoint_every = 20 }
local slide = lh.models.slide { layers = 1, width = 16, heads = 2, window = 16, dropout = 0.1 }
bench:row { "short", model = slide, task = task, train = train, seeds = 2, reach = { loss_bits = 7.3 } }
bench:row { "long", model = slide:with { window = 32 }, task = task, train = train, seeds = 2 }
bench:row { "tuned", model = slide, task = task, train = train, seeds = 2, from = "short" }
bench:row { "lstm", model = lh.models.lstm { width = 16, hidden = 16 }, task = task, train = train }
bench:table { columns = { "bits_per_byte", "relative_step_time" }, baseline = "short" }
return bench
LUA
}
sweep 60 >"$scratch/sweep.lua"
sweep 200 >"$scratch/slow.lua"
sweep 1500 >"$scratch/seen.lua" # workers tell how far they are five times a second, however fast they are
run() { "$LONGHAUL_BIN" run "$scratch/$1.lua" --scale smoke --results "$scratch/$2" "${@:3}"; }

# cells FOLDER: every cell of its runs but those of time and place, in the order of runs.
cells() {
    "$LONGHAUL_BIN" lua <(cat <<LUA
local csv = require "longhaul.run.csv"
local other = { tokens_per_second = true, training_tokens_per_second = true, wall_time_s = true, load = true, threads = true, date = true }
local rows, columns = csv.read "$scratch/$1/sweep/runs.csv"
table.sort(rows, function(a, b) return a.run_id < b.run_id end)
for _, row in ipairs(rows) do
  for _, name in ipairs(columns) do
    if not other[name] then print(row.run_id, name, row[name]) end
  end
end
LUA
    )
}
# same FOLDER FOLDER
same() {
    cells "$1" >"$scratch/first.cells" && cells "$2" >"$scratch/second.cells" &&
        test "$(wc -l <"$scratch/first.cells")" -gt 300 && cmp "$scratch/first.cells" "$scratch/second.cells"
}

succeeds "one row after the other" "7 of 7" bash -c "$(declare -f run); scratch=$scratch; run sweep one --no-timing 2>&1; echo 7 of 7"
for jobs in 3 auto; do
    succeeds "--jobs $jobs" "bits/byte" run sweep "jobs-$jobs" --no-timing --jobs "$jobs"
    quietly 0 "the same cells with --jobs $jobs" same one "jobs-$jobs"
    for curve in "$scratch"/one/sweep/curves/*.csv; do
        quietly 0 "and the same curves" \
            cmp <(cut -d, -f1,2,4 "$curve") <(cut -d, -f1,2,4 "$scratch/jobs-$jobs/sweep/curves/${curve##*/}")
    done
done
succeeds "a row goes on after the one it starts from" "[1/7] short
[3/7] tuned" bash -c "$(declare -f run); scratch=$scratch; run sweep ordered --no-timing --jobs 7 2>&1 | grep -oE '^.(1/7|3/7). (short|tuned)'"
quietly 1 "finished runs are not run again" \
    bash -c "$(declare -f run); scratch=$scratch; run sweep one --no-timing --jobs 2 2>&1 | grep '/7.'"
succeeds "unless asked" "[7/7] tuned" run sweep one --no-timing --jobs 2 --force
quietly 0 "with the same cells" same one jobs-3
succeeds "only some" "[2/2] long" run sweep only --only long --jobs 2 --no-timing
succeeds "other seeds" "[12/12]" run sweep seeds --seeds 3 --jobs 3 --no-timing
succeeds "step times are measured at the end, alone" "timing steps: 4 rows" run sweep jobs-3 --jobs 2

# ---- rows that fail ----

sed 's/window = 32 }/window = 32, heads = 3 }/' "$scratch/sweep.lua" >"$scratch/bad.lua"
fails 1 "a row that fails is named, with its line" "[2/7] long generate:books seed 1  failed: $scratch/bad.lua:8: row \"long\"" \
    run bad bad --no-timing --jobs 3
fails 1 "and counted" "2 runs failed" run bad bad --no-timing --jobs 2
fails 1 "also where exit codes were thrown away before" "2 runs failed" env --ignore-signal=CHLD \
    "$LONGHAUL_BIN" run "$scratch/bad.lua" --scale smoke --results "$scratch/bad" --no-timing --jobs 2

# ---- signals ----

run slow calm --no-timing 2>/dev/null >&2

# started FOLDER COMMAND: in the background, its process in $parent, until a run has a checkpoint.
started() {
    local folder=$1
    touch "$scratch/started"
    "$LONGHAUL_BIN" run "$scratch/slow.lua" --scale smoke --results "$scratch/$folder" --no-timing --jobs 2 \
        >"$scratch/$folder.log" 2>&1 &
    parent=$!
    until_true 60 new_checkpoint "$scratch/$folder/sweep"
}
workers() { pgrep -P "$parent"; }
nobody() { ! pgrep -f -- "--results=$scratch/$1 " >/dev/null; }

started worker
kill -9 "$(workers | head -n 1)"
wait "$parent"
succeeds "a worker that is killed is named" "its process was ended by signal 9" grep "seed" "$scratch/worker.log"
quietly 0 "and its run goes on: the same cells" same calm worker

started parent
kill -9 "$parent"
wait "$parent" 2>/dev/null
quietly 0 "no worker outlives the process that started it" until_true 10 nobody parent
quietly 0 "which leaves a checkpoint" new_checkpoint "$scratch/parent/sweep"
succeeds "the same command goes on" "bits/byte" run slow parent --no-timing --jobs 2
quietly 0 "to the same cells" same calm parent

started asked
kill -INT "$parent"
wait "$parent"
code=$?
fails 130 "Ctrl-C ends all" "interrupted; the same command goes on" sh -c "cat '$scratch/asked.log'; exit $code"
quietly 0 "each with a checkpoint" unfinished "$scratch/asked/sweep"
quietly 0 "and leaves nobody" nobody asked
succeeds "without --jobs it goes on, too" "bits/byte" run slow asked --no-timing
quietly 0 "to the very same" same calm asked

# ---- what is shown ----

if command -v script >/dev/null; then
    shown() { script -qec "stty cols 120; $LONGHAUL_BIN run $scratch/$1.lua --scale smoke --results $scratch/shown --no-timing ${*:2}" /dev/null; }
    # The rows that have had a bar with all its parts.
    bars() { tr '\r' '\n' <"$1" | sed -nE 's/^\[[0-9]\/7\] (short|long) .*\[[#.]+\] .*loss .* tokens\/s  ETA [0-9]+s.*/\1/p' | sort -u; }
    shown seen --jobs 2 >"$scratch/shown.txt"
    succeeds "a bar for each row" $'long\nshort' bars "$scratch/shown.txt"
    succeeds "the time left for the whole" "of 7 runs done, all ETA" grep -E 'of 7 runs done, all ETA [0-9]+s' "$scratch/shown.txt"
    succeeds "two rows at a time" "[3A" grep -F '[3A' "$scratch/shown.txt"
    rm -r "$scratch/shown"
    shown slow >"$scratch/shown.txt"
    succeeds "also of one row after the other" "of 7 runs done, all ETA" grep -E 'of 7 runs done, all ETA [0-9]+s' "$scratch/shown.txt"
fi

# ---- an experiment whose charts show another's rows ----

{
    echo 'local lh = require "longhaul"'
    echo "local bench = lh.include 'sweep.lua'"
    echo 'local figure = lh.experiment "figure"'
    echo 'figure:plot { "boxes", y = "bits_per_byte", of = bench }'
    echo 'return figure'
} >"$scratch/figure.lua"
succeeds "rows that a chart shows" "[7/7] tuned" run figure figure --jobs 3
quietly 0 "have the same cells" same one figure
fails 2 "a source that is none" "show no rows of an experiment 'none'" run figure figure --run 1 --plan none

# ---- misuse ----

fails 2 "jobs are counted from one" "--jobs takes a positive integer, not '0'" run sweep one --jobs 0
fails 2 "or found" "--jobs takes a number or auto, not 'many'" run sweep one --jobs many
fails 2 "one run of a plan is one" "--jobs is for a whole plan" run sweep one --jobs 2 --run 1
finish

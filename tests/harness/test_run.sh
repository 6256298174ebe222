#!/usr/bin/env bash
# Sweeps from the command line: finished runs are not run again, failures are recorded, kill -9 and
# several processes do no harm, and what comes out is what an undisturbed sweep gives.
. tests/test.sh
. tests/harness/kill.sh
export OMP_NUM_THREADS=1

# A sweep of three rows; STEPS is replaced.
sweep() {
    cat <<'LUA' | sed "s/STEPS/$1/"
local lh = require "longhaul"
local bench = lh.experiment "sweep"
local books = lh.data.text { "generate:books", documents = 4, document_bytes = 2000 }
local task = lh.tasks.language_model { books, segment = 64, batch = 2 }
local train = lh.train { steps = STEPS, warmup = 10, log_every = 2, checkpoint_every = 5 }
local slide = lh.models.slide { layers = 1, width = 16, heads = 2, window = 16, dropout = 0.1 }
bench:row { "short", model = slide, task = task, train = train, seeds = 2, reach = { loss_bits = 7.3 } }
bench:row { "long", model = slide:with { window = 32 }, task = task, train = train, seeds = 2 }
bench:table { columns = { "bits_per_byte", "relative_step_time" }, baseline = "short" }
bench:plot { "pareto", x = "step_time_ms", y = "bits_per_byte" }
return bench
LUA
}
sweep 10 >"$scratch/sweep.lua"
sweep 300 >"$scratch/slow.lua"
results="$scratch/results"

# column FILE NAME [SEPARATOR]: one column of a CSV file, a line per row or parted otherwise.
column() {
    cat >"$scratch/column.lua" <<'LUA'
local path, name, separator = ...
local values = {}
for i, row in ipairs((require("longhaul.run.csv").read(path))) do values[i] = row[name] end
print(table.concat(values, separator or "\n"))
LUA
    "$longhaul" lua "$scratch/column.lua" "$@"
}

succeeds "a sweep runs and prints its table" "relative step time" \
    "$longhaul" run "$scratch/sweep.lua" --scale smoke --results "$results"
for name in runs.csv table.csv table.md table.html table.tex; do
    quietly 0 "$name is there" test -s "$results/sweep/$name"
done
quietly 0 "checkpoints are gone" test -z "$(ls "$results/sweep/checkpoints")"
succeeds "every run has its curve" "4" sh -c "ls $results/sweep/curves | wc -l"
succeeds "every run is done" "done done done done" \
    column "$results/sweep/runs.csv" status ' '
quietly 1 "finished runs are not run again" \
    sh -c "'$longhaul' run '$scratch/sweep.lua' --scale smoke --results '$results' 2>&1 | grep '/4.'"
succeeds "unless asked" "seed 2" \
    "$longhaul" run "$scratch/sweep.lua" --scale smoke --results "$results" --force
succeeds "and stay one row each" "4" sh -c "grep -c sweep.*done $results/sweep/runs.csv"
succeeds "only some rows" "[1/2] long" \
    "$longhaul" run "$scratch/sweep.lua" --scale smoke --results "$scratch/only" --only long --no-timing
memory=$(column "$scratch/only/sweep/runs.csv" inference_memory_bytes | head -n 1)
succeeds "inference memory is the same with and without timing" "${memory:-a number of bytes}" \
    column "$results/sweep/runs.csv" inference_memory_bytes
succeeds "one run of the plan" "[3/4] short" \
    "$longhaul" run "$scratch/sweep.lua" --scale smoke --results "$scratch/task" --run 3
echo 'return require("longhaul").experiment "empty"' >"$scratch/empty.lua"
for command in run list dry-run table plot; do
    fails 1 "$command of a script without rows" "empty.lua: the experiment 'empty' has no row at scale smoke" \
        "$longhaul" $command "$scratch/empty.lua" --scale smoke
done
succeeds "a job array" "--array=1-4" "$longhaul" slurm "$scratch/sweep.lua" --scale smoke
succeeds "a plan, side by side" "2 runs side by side, step times left out" \
    "$longhaul" dry-run "$scratch/sweep.lua" --scale smoke --jobs 2 --no-timing --results "$scratch/none"
cores=$(getconf _NPROCESSORS_ONLN)
succeeds "more threads than processors are noted" "note: $((cores + 1)) threads on $cores processor" \
    "$longhaul" dry-run "$scratch/sweep.lua" --scale smoke --threads $((cores + 1)) --no-timing --results "$scratch/none"
quietly 0 "by a run, too, once, not by its workers" test "$("$longhaul" run "$scratch/sweep.lua" --scale smoke --no-timing \
    --threads $((cores + 1)) --jobs 2 --results "$scratch/turns" 2>&1 | grep -c 'take turns')" -eq 1
succeeds "a plan" "FLOP/token" "$longhaul" dry-run "$scratch/sweep.lua" --scale smoke --results "$scratch/none"
quietly 1 "of which nothing is run or written" test -e "$scratch/none"
sed 's/"short"/"a row of a longer name than most"/g' "$scratch/sweep.lua" >"$scratch/named.lua"
quietly 0 "sizes stand below each other, however long a name is" test "$("$longhaul" dry-run "$scratch/named.lua" --scale smoke \
    --results "$scratch/none" | sed -n 's/seed .*FLOP.*//p' | awk '{ print length }' | uniq | wc -l)" -eq 1
succeeds "a plan says how long and in how much memory" "4 runs, 0 done; " \
    "$longhaul" dry-run "$scratch/sweep.lua" --scale smoke --results "$scratch/none"
if command -v script >/dev/null; then
    succeeds "a terminal sees which row is tried" "trying rows for a few steps [" script -qec \
        "stty cols 120; $longhaul dry-run $scratch/sweep.lua --scale smoke --results $scratch/none" /dev/null
fi
succeeds "and what is done already" "4 runs, 4 done; 0.0s ahead" \
    "$longhaul" dry-run "$scratch/sweep.lua" --scale smoke --results "$results"
succeeds "by the runs themselves" "known: 4 by runs that were trained here" \
    "$longhaul" dry-run "$scratch/sweep.lua" --scale smoke --results "$results"
succeeds "a report" "report.html" "$longhaul" report --results "$results"
quietly 0 "the report has the table" grep -q "relative step time" "$results/report.html"

# Too large to be tried.
cat >"$scratch/huge.lua" <<'END'
local lh = require "longhaul"
local bench = lh.experiment "huge"
bench:row { "huge", model = lh.models.slide { layers = 64, width = 65536, heads = 64 },
  task = lh.tasks.language_model { lh.data.text { "generate:books" }, segment = 64, batch = 1 },
  train = lh.train { steps = 2 } }
return bench
END
fails 1 "what the parameters alone make too large is refused, though no step of it was tried" \
    "refused: $scratch/huge.lua:3: row \"huge\" (generate:books): takes 37749" \
    "$longhaul" dry-run "$scratch/huge.lua" --scale smoke --results "$scratch/none"
succeeds "and its memory is a bound from below" "at least 37749" \
    sh -c "$longhaul dry-run $scratch/huge.lua --scale smoke --results $scratch/none || true"

sed 's/layers = 64, width = 65536, heads = 64/layers = 1, width = 16, heads = 2/; s/segment = 64/segment = 1e8/' \
    "$scratch/huge.lua" >"$scratch/endless.lua"
succeeds "what a batch makes too large is told without it" \
    "a batch of 100M positions is too large to be read or tried here: its time is by FLOPs" \
    timeout 20 "$longhaul" dry-run "$scratch/endless.lua" --scale smoke --results "$scratch/none"

# At the edge: value and gradient fit, two moments beside them do not.
cat >"$scratch/edge.lua" <<'END'
local lh = require "longhaul"
local bench = lh.experiment "edge"
local task = lh.tasks.language_model { lh.data.text { "generate:books" }, segment = 1024, batch = 1 }
local model = lh.match { lh.models.slide { layers = 8, width = 512, heads = 8 }, task = task,
  parameters = 0.7 * require("longhaul.core").machine().memory_bytes / 8 }
bench:row { "sgd", model = model, task = task, train = lh.train { steps = 2, optimizer = "sgd", momentum = 0 } }
bench:row { "adam", model = model, task = task, train = lh.train { steps = 2, optimizer = "adam" } }
return bench
END
fails 1 "what an optimizer keeps is counted" 'row "adam" (generate:books): takes ' \
    "$longhaul" dry-run "$scratch/edge.lua" --scale smoke --results "$scratch/none"
succeeds "and what it does not keep is not" "1 refused" sh -c \
    "echo \$($longhaul dry-run $scratch/edge.lua --scale smoke --results $scratch/none | grep -c refused:) refused"

# A row that fails does not stop the others.
sed 's/window = 32 }/window = 32, heads = 3 }/' "$scratch/sweep.lua" >"$scratch/bad.lua"
fails 1 "a plan names what would be refused" "bad.lua:8: row \"long\" (generate:books): " \
    "$longhaul" dry-run "$scratch/bad.lua" --scale smoke --results "$scratch/none"
fails 1 "and shows the others" "2 runs, 0 done" \
    "$longhaul" dry-run "$scratch/bad.lua" --scale smoke --results "$scratch/none"
fails 1 "a failed row makes the exit code 1" "2 runs failed" \
    "$longhaul" run "$scratch/bad.lua" --scale smoke --results "$scratch/bad"
succeeds "its row names the script's line" "bad.lua:8: row \"long\"" \
    column "$scratch/bad/sweep/runs.csv" error
succeeds "the others are done" "done failed done failed" \
    column "$scratch/bad/sweep/runs.csv" status ' '

# So does one whose data are not there, which has no id to be recorded under.
nowhere='lh.tasks.language_model { lh.data.text { "nowhere" }, segment = 64 }'
sed "s/window = 32 }, task = task/window = 32 }, task = $nowhere/" "$scratch/sweep.lua" >"$scratch/gone.lua"
gone() { "$longhaul" run "$scratch/gone.lua" --scale smoke --no-timing --results "$scratch/gone" "$@" 2>&1; }
fails 1 "a row without data is named with its line" "gone.lua:8: row \"long\" (nowhere): task language_model: no data" gone
fails 1 "by workers, too, once" "2 runs failed" gone --jobs 2
fails 1 "as what stops all, if asked" "gone.lua:8: row \"long\"" gone --fail-fast
succeeds "the others are trained" "done done" column "$scratch/gone/sweep/runs.csv" status ' '
fails 1 "where all are, nothing is written" "nothing is written" \
    "$longhaul" run "$scratch/gone.lua" --scale smoke --results "$scratch/empty" --only long
quietly 1 "and no file is named" grep runs.csv <("$longhaul" run "$scratch/gone.lua" --scale smoke --results "$scratch/empty" --only long 2>/dev/null)

# kill -9 again and again, then to the end: the same figures as without.
"$longhaul" run "$scratch/slow.lua" --scale smoke --results "$scratch/calm" --no-timing 2>/dev/null >&2
succeeds "four kills" "4 of " kill_midway 4 "$scratch/killed/sweep" \
    "$longhaul" run "$scratch/slow.lua" --scale smoke --results "$scratch/killed" --no-timing
succeeds "after kill -9 the sweep goes on" "done" \
    sh -c "'$longhaul' run '$scratch/slow.lua' --scale smoke --results '$scratch/killed' --no-timing \
        2>/dev/null; grep -o done '$scratch/killed/sweep/runs.csv' | head -n 1"
figures() {
    paste <(column "$1/sweep/runs.csv" run_id) <(column "$1/sweep/runs.csv" bits_per_token) | sort
}
quietly 0 "and gives the same bits" \
    test "$(figures "$scratch/calm")" = "$(figures "$scratch/killed")"
reached() { column "$1/sweep/runs.csv" tokens_to_reach ' '; }
quietly 0 "and as many tokens to the same loss" test "$(reached "$scratch/calm")" = "$(reached "$scratch/killed")"
succeeds "which is reached" "$(column "$scratch/calm/sweep/runs.csv" reach | head -n 1)" echo "loss_bits 7.3"
quietly 0 "by the rows that name it" test "$(reached "$scratch/calm" | wc -w)" -eq 2
for curve in "$scratch"/calm/sweep/curves/*.csv; do
    other="$scratch/killed/sweep/curves/${curve##*/}"
    quietly 0 "and the same curve" \
        test "$(cut -d, -f1,2,4 "$curve")" = "$(cut -d, -f1,2,4 "$other")"
done

# Two processes, one folder: each run once.
"$longhaul" run "$scratch/slow.lua" --scale smoke --results "$scratch/both" --no-timing \
    >"$scratch/first" 2>&1 &
"$longhaul" run "$scratch/slow.lua" --scale smoke --results "$scratch/both" --no-timing \
    >"$scratch/second" 2>&1
wait
succeeds "two processes share a folder" "done done done done" \
    column "$scratch/both/sweep/runs.csv" status ' '
succeeds "and a run is run once" "4" \
    sh -c "cat '$scratch/first' '$scratch/second' | grep -c 'bits/token.*parameters'"

finish

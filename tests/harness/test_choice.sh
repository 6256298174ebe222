#!/usr/bin/env bash
# What a command line chooses and changes of a script's runs: --only, --set, --fail-fast.
. tests/test.sh
export OMP_NUM_THREADS=1

cat >"$scratch/sweep.lua" <<'LUA'
local lh = require "longhaul"
local bench = lh.experiment "sweep"
local train = lh.train { steps = 4, warmup = 2 }
for _, name in ipairs { "books", "latex" } do
  local data = lh.data.text { "generate:" .. name, documents = 4, document_bytes = 1000 }
  local task = lh.tasks.language_model { data, segment = 32, batch = 2 }
  for _, window in ipairs { 8, 16 } do
    bench:row { "slide " .. window, dataset = name, model = lh.models.slide { layers = 1, width = 8, heads = 2, window = window }, task = task, train = train }
  end
end
bench:table { columns = { "bits_per_byte" } }
bench:plot { "bars", y = "bits_per_byte" }
bench:best_at { flops = { 1e7 } }
local p = lh.predicate
bench:claim { "sweep_p1", says = "a byte takes less than nine bits", holds = p.less(p.cell("B", { experiment = bench,
  row = "slide 8", dataset = "books", metric = "bits_per_byte" }), 9) }
return bench
LUA
on() { "$longhaul" "$1" "$scratch/sweep.lua" --scale smoke "${@:2}"; }
run() { on run --results "$scratch/results" --no-timing "$@"; }

succeeds "a label and a data set" "[1/1] slide 8 latex" run --only "slide 8/latex"
run --only "slide 8/latex" --only books >"$scratch/several.log" 2>&1
succeeds "several, of which one is done" "2 of 3 runs to go" cat "$scratch/several.log"
succeeds "each with its place among all" "[2/3] slide 16 books" cat "$scratch/several.log"
fails 2 "an empty text, as of a variable that was never set" "--only takes a part of a label" run --only ""
fails 1 "none" "no row contains 'nothing', nor 'slide/tex/'; there are: slide 8" run --only nothing --only slide/tex/
for command in list dry-run table plot slurm; do
    fails 1 "none, $command" "no row contains 'nothing'" on "$command" --only nothing
done
quietly 0 "a list shows those" test "$(on list --only "16/latex" | wc -l)" = 1

cp "$scratch/results/claims/claims.csv" "$scratch"
succeeds "options are changed" "Options changed on the command line: model.heads=1 train.rate=0.3" \
    run --only "slide 8/books" --set "model.heads=1 train.rate=0.3"
succeeds "in rows that the note names" "train.rate=0.3, in rows of slide 8/books alone." \
    run --only "slide 8/books" --set model.heads=1 train.rate=0.3
fails 2 "a word that is no option" "'more' is one word too many" on list --set model.heads=1 more
succeeds "in a run of its own, beside the script's" "2" sh -c "grep -c 'sweep,slide 8,slide,.*generate:books' '$scratch/results/sweep/runs.csv'"
succeeds "the chart says so" "options changed: model.heads=1 train.rate=0.3, in rows of slide 8/books alone" \
    cat "$scratch/results/sweep/bars-books.gp"
succeeds "and the table's file" '"model.heads=1 train.rate=0.3, in rows of slide 8/books alone"' cat "$scratch/results/sweep/table.csv"
succeeds "and who is best" "in rows of slide 8/books alone" cat "$scratch/results/sweep/best_at.csv"
"$longhaul" report --results "$scratch/results" >/dev/null
succeeds "and the page" "Options changed on the command line: model.heads=1" cat "$scratch/results/report.html"
quietly 0 "no verdict is recorded" cmp "$scratch/claims.csv" "$scratch/results/claims/claims.csv"
quietly 0 "a table without the change shows the script's run" \
    test "$(on table --results "$scratch/results" | grep -c 'changed on the command line')" = 0
on table --results "$scratch/results" >/dev/null
cp "$scratch/results/sweep/table.csv" "$scratch"
on table --results "$scratch/results" --only "slide 8/books" >"$scratch/chosen.log" 2>&1
succeeds "a table of chosen rows" "slide 8" cat "$scratch/chosen.log"
succeeds "is printed alone" "rows of 'slide 8/books' alone: printed, not written" cat "$scratch/chosen.log"
quietly 1 "without the others" grep -E "slide 16|latex|Claims|FLOPs" "$scratch/chosen.log"
quietly 0 "the file has all" cmp "$scratch/table.csv" "$scratch/results/sweep/table.csv"
succeeds "rows of which none was run" "are of rows of '16/latex' alone: nothing is written" \
    on table --results "$scratch/results" --only "16/latex"
if gnuplot --version >/dev/null 2>&1; then
    on plot --results "$scratch/results" >/dev/null
    cp "$scratch/results/sweep/bars-books.gp" "$scratch"
    succeeds "a chart of chosen rows has a name of its own" "bars-books-only.svg" on plot --results "$scratch/results" --only "slide 8"
    succeeds "and says so" "rows of 'slide 8' alone" cat "$scratch/results/sweep/bars-books-only.gp"
    quietly 1 "without the others" grep "slide 16" "$scratch/results/sweep/bars-books-only.gp"
    quietly 0 "the chart of all stays" cmp "$scratch/bars-books.gp" "$scratch/results/sweep/bars-books.gp"
    mkdir -p "$scratch/taken/sweep/bars-books.svg"
    fails 1 "a chart that cannot be drawn is a failure of run" "chart 'bars-books' was not drawn" \
        on run --results "$scratch/taken" --no-timing --only "slide 8/books"
fi
succeeds "a worker is told" "[1/2] slide 8 latex" run --only latex --set train.rate=0.4 --jobs 2
succeeds "and has run what was asked for" "2" sh -c "grep -c 'rate=0.4 ' '$scratch/results/sweep/runs.csv'"
succeeds "a job array is told" "'--set=model.heads=1 train.rate=2'" on slurm --set "model.heads=1 train.rate=2"
fails 2 "an option of nothing" "--set: 'heads=1' is no KIND.OPTION=VALUE" on dry-run --set heads=1
fails 1 "an unknown option" "sweep.lua:8: row \"slide 8\": --set model.haeds=1: slide: unknown option 'haeds' (did you mean 'heads'?)" on dry-run --set model.haeds=1

# A row that fails, before one that would not.
sed 's/width = 8, heads = 2, window = window/width = 8, heads = window == 8 and 3 or 2, window = window/' "$scratch/sweep.lua" >"$scratch/failing.lua"
failing() { "$longhaul" run "$scratch/failing.lua" --scale smoke --no-timing --results "$scratch/$1" "${@:2}"; }
fails 1 "a failed run is a row" "2 runs failed" failing all
succeeds "and the others go on" "2" sh -c "grep -c ',done,' '$scratch/all/sweep/runs.csv'"
fails 1 "with --fail-fast it is the last" "stopped where a run failed" failing fast --fail-fast
quietly 0 "no other was begun" test "$(wc -l <"$scratch/fast/sweep/runs.csv")" = 2
fails 1 "side by side too" "stopped where a run failed" failing fast --fail-fast --jobs 2 --set train.steps=200000
quietly 1 "the other one was stopped, not finished" grep -q ,done, "$scratch/fast/sweep/runs.csv"

# The last checkpoint of a finished run, from which a constant rate goes on as if it had never ended.
cat >"$scratch/kept.lua" <<'LUA'
local lh = require "longhaul"
local bench = lh.experiment "kept"
bench:row { "row", model = lh.models.slide { layers = 1, width = 16, heads = 2, window = 8 },
  train = lh.train { steps = 4, schedule = "constant", warmup = 0 }, dataset = "text",
  task = lh.tasks.language_model { lh.data.text { "generate:books", documents = 4, document_bytes = 2000 },
    segment = 16, batch = 2, evaluate_batches = 2 } }
return bench
LUA
kept() { "$longhaul" run "$scratch/kept.lua" --scale smoke --no-timing --results "$scratch/keeping" "$@" >/dev/null 2>&1; }
snapshots() { find "$scratch/keeping/kept/checkpoints" -name '*-last.snapshot'; }
quietly 0 "a run without --keep-checkpoints" kept --set train.steps=3
quietly 0 "leaves none" snapshots
quietly 0 "with it" kept --keep-checkpoints
quietly 0 "the last one stays" cp "$scratch"/keeping/kept/checkpoints/*.snapshot "$scratch/last.snapshot"
succeeds "and the run is done, not begun" " done" "$longhaul" dry-run "$scratch/kept.lua" --scale smoke --results "$scratch/keeping"
quietly 0 "a worker keeps it, too" kept --keep-checkpoints --jobs 2 --set train.steps=5
quietly 0 "beside the other" test "$(snapshots | wc -l)" = 2
longer() { "$longhaul" train --model slide --options 'layers=1 width=16 heads=2 window=8' --train 'steps=8 schedule=constant warmup=0' \
    --task-options 'name=generate:books documents=4 document_bytes=2000 segment=16 batch=2 evaluate_batches=2' "$@"; }
longer >"$scratch/whole" 2>/dev/null
longer --snapshot "$scratch/last.snapshot" >"$scratch/continued" 2>/dev/null
quietly 0 "more steps from it are those of one run" cmp "$scratch/whole" "$scratch/continued"

finish

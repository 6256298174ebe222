#!/usr/bin/env bash
# Runs found, compared and merged: what query, compare and results merge say of two small sweeps.
. tests/test.sh
export OMP_NUM_THREADS=1

cat >"$scratch/sweep.lua" <<'LUA'
local lh = require "longhaul"
local bench = lh.experiment "sweep"
local data = lh.data.text { "generate:books", documents = 4, document_bytes = 1000 }
for point in lh.grid { { "window", 4, 8 } } do
  bench:row { point, dataset = "an, odd|name", model = lh.models.slide { layers = 1, width = 8, heads = 2, window = point.window },
    task = lh.tasks.language_model { data, segment = 32, batch = 2 }, train = lh.train { steps = 6, warmup = 2, log_every = 2 } }
end
return bench
LUA
run() { "$longhaul" run "$scratch/sweep.lua" --scale smoke --results "$scratch/$1" "${@:2}"; }
succeeds "two seeds on one machine" "bits/token" run one --seeds 2
succeeds "three of one row on another" "bits/token" run two --seeds 3 --only 8/odd --no-timing
query() { "$longhaul" query --results "$scratch/one" "$@"; }

succeeds "runs that meet all conditions" "2" sh -c "'$longhaul' query --results '$scratch/one' 'row=8 model.window>=8' --csv --columns run_id | grep -c '^[0-9a-f]\{16\}$'"
succeeds "none, by the condition that none meets" "no run has seed>2" query "row=8" "seed>2"
succeeds "and what was meant" "no run has model=slied (did you mean 'slide'?)" query model=slied
mkdir "$scratch/hollow"
head -n 1 "$(find "$scratch/one" -name runs.csv | head -n 1)" >"$scratch/hollow/runs.csv"
succeeds "nothing to meet a condition" "no runs there" "$longhaul" query --results "$scratch/hollow"
succeeds "none meets both" "no run meets all conditions; each alone is met by some" query row=8 'row!=8'
succeeds "runs of today" "2" sh -c "'$longhaul' query --results '$scratch/one' row=8 --since $(date -u +%F) --csv --columns run_id | grep -c '^[0-9a-f]\{16\}$'"
succeeds "none of the far future" "no run has date>=2999-01-01" query --since 2999-01-01
fails 2 "no date" "--since: 'soon' is no date: 2026-11-30, or today" query --since soon
succeeds "what is not, and what contains" "odd" query 'row!=8 dataset~"odd|"' status=done
succeeds "CSV has values as they stand" $'seed,dataset,train.rate\n1,"an, odd|name",1' query window=4 seed=1 --csv --columns seed,dataset,train.rate
succeeds "JSON has numbers, and texts where rows are called so" '{ "seed": 1, "row": "4", "dataset": "an, odd|name", "error": null }' \
    query row=4 seed=1 --json --columns seed,row,dataset,error
succeeds "Markdown is one line a run" 'an, odd\|name |' query row=4 seed=1 --markdown --columns dataset
quietly 0 "sorted by size" test "$(query --csv --columns bits_per_token --sort bits_per_token)" = \
    "$(query --csv --columns bits_per_token | sort -g)"
quietly 0 "or the greatest first" test "$(query --csv --columns bits_per_token --sort -bits_per_token)" = \
    "$(query --csv --columns bits_per_token | (read -r head && echo "$head" && sort -gr))"
query --csv --all >"$scratch/all.csv"
succeeds "every option is a column" ",train.rate," head -n 1 "$scratch/all.csv"
quietly 1 "and no text of options is" grep -q _options "$scratch/all.csv"
succeeds "which says what is asked for by name" "4 of 4" "$longhaul" lua <(cat <<LUA
local rows = require "longhaul.run.csv".read "$scratch/all.csv"
local good = 0
for _, row in ipairs(rows) do good = good + (row["model.window"] == row.row and row.bits_per_token ~= "" and 1 or 0) end
print(good .. " of " .. #rows)
LUA
)
fails 2 "two choices of columns" "two choices of columns" query --all --columns seed
fails 2 "no column, as of a variable that was never set" "--columns takes NAME,..., not nothing" query --columns ""
succeeds "a column that is named twice stands there once" $'row,seed\n4,1' query row=4 seed=1 --csv --columns row,seed,row
fails 2 "no condition" "'bits' is no condition, as in class=brt" query "row=4 bits"
succeeds "a quote that stays open ends with the text" "run_id" query "dataset~'an, odd"
fails 2 "a size of a text" "seed< takes a number or a date such as 2026-11-30, not 'x'" query "seed<x"
fails 1 "an unknown column" "no run has a column or option 'bits_per_tokn' (did you mean 'bits_per_token'?)" query "bits_per_tokn<3"
fails 1 "an unknown option" "(did you mean 'model.window'?)" query "model.windw=3"
fails 2 "two formats" "two formats" query --csv --json
fails 1 "no folder" "no such folder of results" "$longhaul" query --results "$scratch/none"

# Groups: mean, deviation and count of a quality, and what all runs took.
succeeds "groups of rows" $'row,runs,bits_per_token,bits_per_token_deviation,bits_per_token_count,wall_time_s_sum\n4,2,' query --csv --by row
succeeds "mean, deviation and sum are those of the runs" "2 of 2" "$longhaul" lua <(cat <<LUA
local csv, statistics = require "longhaul.run.csv", require "longhaul.report.statistics"
local by_row, good = {}, 0
for _, run in ipairs(csv.read "$scratch/one/sweep/runs.csv") do
  local own = by_row[run.row] or { sum = 0 }
  own[#own + 1], own.sum, by_row[run.row] = tonumber(run.bits_per_token), own.sum + run.wall_time_s, own
end
local pipe = assert(io.popen("'$longhaul' query --results '$scratch/one' --csv --by row,model.window --columns bits_per_token,row --sort -runs"))
pipe:read "l"
for line in pipe:lines() do
  local row, window, runs, mean, deviation, count, sum = line:match "^(.-),(.-),(.-),(.-),(.-),(.-),(.-)$"
  local wanted_mean, wanted_deviation = statistics.of(by_row[row])
  local is_good = window == row and runs == "2" and count == "2" and math.abs(mean - wanted_mean) < 1e-12
    and math.abs(deviation - wanted_deviation) < 1e-12 and math.abs(sum - by_row[row].sum) < 1e-12
  good = good + (is_good and 1 or 0)
end
print(good .. " of 2")
LUA
)
quietly 0 "sorted by what they have" test "$(query --csv --by row --sort bits_per_token)" = \
    "$(query --csv --by row | (read -r head && echo "$head" && sort -t, -g -k3))"
quietly 1 "groups of one setting are not remarked on" grep -q "that differ" <(query --by row 2>&1)
mkdir -p "$scratch/mixed/sweep"
printf '%s\n' run_id,configuration,identity,experiment,row,dataset,seed,scale,device,status,bits_per_token,train_options,wall_time_s \
    'a,1,2,sweep,x,books,1,small,cpu,done,4,steps=20 rate=0.1,1' 'b,2,2,sweep,x,books,1,small,cpu,done,2,steps=400 rate=0.1,20' \
    'c,3,2,sweep,x,books,2,small,cpu,done,3,steps=20 rate=0.1,1' >"$scratch/mixed/sweep/runs.csv"
mixed() { "$longhaul" query --results "$scratch/mixed" "$@" 2>&1; }
succeeds "those of several are, by name" "note: 1 of 1 groups hold runs of one row, data set and seed that differ in train.steps:" \
    mixed --by row
quietly 1 "and not where it is told apart" grep -q "that differ" <(mixed --by row,train.steps)
succeeds "what groups have in common is no mean beside it" $'parameters,runs,wall_time_s_sum\n' query --csv --by parameters --columns parameters
fails 2 "groups have no other columns" "groups have no 'machine'" query --by row --columns machine
fails 2 "nor every column" "--all shows runs, --by groups" query --by row --all
fails 1 "groups by what is not" "no run has a column or option 'rwo' (did you mean 'row'?)" query --by rwo
fails 2 "sorted by what they have not" "sort" query --by row --sort seed

# What was timed on a busy machine only is in timings.csv, and shown as tables show it.
succeeds "what only timings.csv has" "64" query row=4 seed=1 --csv --columns tokens_per_step
cp -r "$scratch/one" "$scratch/crowded"
"$longhaul" lua <(cat <<LUA
local csv, sweep = require "longhaul.run.csv", "$scratch/crowded/sweep/"
local function change(file, values)
  local rows, columns = csv.read(sweep .. file)
  for _, row in ipairs(rows) do
    for name, value in pairs(values) do row[name] = value end
  end
  csv.write(sweep .. file, columns, rows)
end
change("runs.csv", { step_time_ms = "", tokens_per_second = "" })
change("timings.csv", { busy = "yes", step_time_ms = "12.5" })
LUA
)
crowded() { "$longhaul" query --results "$scratch/crowded" row=4 seed=1 "$@"; }
succeeds "is marked beside a reader's number" "12.5~" crowded --columns step_time_ms
succeeds "and in a column beside a program's" $'seed,step_time_ms,busy\n1,12.5,yes' crowded --csv --columns seed,step_time_ms
succeeds "in JSON, too" '{ "step_time_ms": 12.5, "busy": "yes" }' crowded --json --columns step_time_ms
succeeds "once" $'busy,step_time_ms\nyes,12.5' crowded --csv --columns busy,step_time_ms
quietly 1 "where no time is shown there is none" sh -c "'$longhaul' query --results '$scratch/crowded' --csv --columns seed | grep busy"
succeeds "readers see the unit of bytes" "peak_memory_bytes, MiB" query --columns peak_memory_bytes
succeeds "programs see bytes" $'peak_memory_bytes\n' query --csv --columns peak_memory_bytes

id() { query "row=$1 seed=$2" --csv --columns run_id | tail -n 1; }
# What a round says counts before what a run says of an older one, as in tables.
cp -r "$scratch/crowded" "$scratch/merged"
"$longhaul" lua <(cat <<LUA
local csv, path = require "longhaul.run.csv", "$scratch/merged/sweep/timings.csv"
local rows, columns = csv.read(path)
for _, row in ipairs(rows) do row.busy, row.load = "no", "0" end
csv.write(path, columns, rows)
LUA
)
succeeds "an idle round that no run tells of" $'step_time_ms\n12.5' "$longhaul" query --results "$scratch/merged" row=4 seed=1 --csv --columns step_time_ms

small=$(id 4 1) large=$(id 8 1)
compare() { "$longhaul" compare --results "$scratch/one" "$@"; }
succeeds "options that differ" "model.window                 4                 8" compare "$small" "$large"
quietly 1 "and no others" sh -c "'$longhaul' compare --results '$scratch/one' '$small' '$large' | grep -q train.rate"
succeeds "the difference over seeds" "over 2 seeds" compare "${small:0:6}" "$large"
succeeds "what is not in bytes says so" "state_bytes, KiB  " compare "$small" "$large"
succeeds "curves at common steps" "step 4 " compare "$small" "$large"
succeeds "of two seeds of a row" "OPTIONS are the same" compare "$small" "$(id 4 2)"
fails 1 "no run" "no run or row 'zz'" compare zz "$large"
fails 1 "a folder that is not there" "there is no folder '$scratch/nowhere' to compare it with" compare "$scratch" "$scratch/nowhere"
fails 1 "nor before one that is" "there is no folder 'nowhere' to compare it with" compare nowhere "$scratch"
fails 1 "a beginning of several" "may be one of 4, which --where" compare "" "$large"
fails 2 "two folders have no other" "--results is for two runs" compare "$scratch/one" "$scratch/two"
succeeds "conditions are of folders, too" "1 rows in both, 1 of 1" "$longhaul" compare "$scratch/one" "$scratch/two" --where "row=8 seed=1"

merge() { "$longhaul" results merge "$@"; }
succeeds "two machines" "sweep: 4 of 4 runs are new" merge "$scratch/one" "$scratch/two" "$scratch/both"
succeeds "become one folder" "5" sh -c "'$longhaul' query --results '$scratch/both' --csv --columns run_id | grep -c '^[0-9a-f]\{16\}$'"
quietly 0 "with curves" cmp "$scratch/one/sweep/curves/$large.csv" "$scratch/both/sweep/curves/$large.csv"
quietly 0 "and step times" cmp "$scratch/one/sweep/timings.csv" "$scratch/both/sweep/timings.csv"
cp "$scratch/both/sweep/runs.csv" "$scratch/before.csv"
succeeds "again nothing is new" "0 of 4 runs are new" merge "$scratch/one" "$scratch/two" "$scratch/both"
quietly 0 "and nothing changes" cmp "$scratch/before.csv" "$scratch/both/sweep/runs.csv"
quietly 1 "nor is a word said of runs that are alike" sh -c "'$longhaul' results merge '$scratch/one' '$scratch/both' | grep note:"
mkdir -p "$scratch/other/sweep"
awk -F, -v OFS=, 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "bits_per_token") c = i; }
    NR > 1 { $c = "6.72" } { print }' "$scratch/before.csv" >"$scratch/other/sweep/runs.csv"
succeeds "of others the run and both numbers are named" "bits_per_token is '" merge "$scratch/other" "$scratch/both"
succeeds "and which is kept" "and '6.72' in $scratch/other/sweep/runs.csv; the first is kept" merge "$scratch/other" "$scratch/both"
quietly 0 "it is" cmp "$scratch/before.csv" "$scratch/both/sweep/runs.csv"
quietly 1 "what was merged is not run again" sh -c "$longhaul run $scratch/sweep.lua --scale smoke --results $scratch/both --seeds 2 2>&1 | grep '/4\]'"
sed "s/,done,/,failed,/" "$scratch/before.csv" >"$scratch/both/sweep/runs.csv"
succeeds "a run that failed here and is finished there" "4 of 4 runs are new" merge "$scratch/one" "$scratch/both"
succeeds "is the finished one" "4" grep -c ,done, "$scratch/both/sweep/runs.csv"
succeeds "a packed folder" "3 files" sh -c "'$longhaul' results pack '$scratch/one/sweep' '$scratch/packed/sweep' >/dev/null; '$longhaul' results merge '$scratch/packed' '$scratch/third' >/dev/null; echo \$(ls '$scratch/third/sweep/curves' | grep -vc '$small') files"
quietly 0 "gives the same curves" cmp "$scratch/one/sweep/curves/$small.csv" "$scratch/third/sweep/curves/$small.csv"
fails 1 "no results" "no runs.csv there" merge "$scratch/cache" "$scratch/both"
fails 2 "one folder" "and, last, the one to merge them into" merge "$scratch/one"

succeeds "curves as event files" "5 runs in $scratch/events" "$longhaul" results tensorboard "$scratch/both" "$scratch/events"
quietly 0 "one for each run" test "$(find "$scratch/events/sweep" -name 'events.out.tfevents.*' | wc -l)" -eq 5
fails 2 "nowhere to write them" "and the one for event files" "$longhaul" results tensorboard "$scratch/both"
fails 1 "no results to export" "no such folder of results" "$longhaul" results tensorboard "$scratch/none" "$scratch/events"

finish

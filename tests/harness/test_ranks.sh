#!/usr/bin/env bash
# One run on several ranks: the loss curve of one rank, a rank that dies, and going on from its checkpoint.
. tests/test.sh
export OMP_NUM_THREADS=1 LONGHAUL_BLAS_CHOSEN=1

if ! command -v mpirun >/dev/null || ! ldd "$longhaul" | grep -q libmpi; then
    if ! command -v mpirun >/dev/null; then
        skips "no mpirun here (openmpi-bin), so nothing is trained on several ranks"
    else
        fails 1 "a build without MPI says so" "has no MPI" mpirun -np 2 --oversubscribe --allow-run-as-root "$longhaul" version
    fi
    finish
fi
on_ranks() {
    local count=$1
    shift
    # What Open MPI itself leaks has no names once its parts are unloaded.
    ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0 timeout 600 mpirun -np "$count" --oversubscribe --allow-run-as-root "$longhaul" "$@"
}

# STEPS and EVERY are replaced. Five rows are no multiple of two ranks.
cat >"$scratch/base.lua" <<'LUA'
local lh = require "longhaul"
local bench = lh.experiment "shared"
local text = lh.data.text { "generate:books", documents = 12, document_bytes = 2000, limit_eval_bytes = 2000 }
local task = lh.tasks.language_model { text, segment = 32, batch = 5 }
local train = lh.train { steps = STEPS, log_every = EVERY, clip = 1, checkpoint_every = 10, evaluate_every = 20,
  optimizer = "adam", rate = 0.002, warmup = 5 }
bench:row { "slide", task = task, train = train,
  model = lh.models.slide { layers = 2, width = 32, heads = 2, window = 16, dropout = 0.1 } }
bench:row { "brt", task = task, train = train,
  model = lh.models.brt { layers = 3, width = 32, heads = 2, window = 16, dropout = 0.1, recurrence = "fixed:skip" } }
bench:row { "gpt2", task = task, train = train,
  model = lh.models.gpt2 { layers = 2, width = 32, heads = 2, context = 32, window = 16, dropout = 0.1 } }
bench:row { "reformer", task = task, train = train,
  model = lh.models.reformer { layers = 2, width = 32, heads = 2, chunk = 8, positions = "64", dropout = 0.1, feed_forward_chunk = 8 } }
bench:row { "swapped", task = task, train = train:with { swap_parameters = true },
  model = lh.models.reformer { layers = 2, width = 32, heads = 2, positions = "64", attention = "shared", dropout = 0.1 } }
bench:row { "strings", train = train:with { rate = 0.05 }, model = lh.models.lstm { layers = 1, width = 4, hidden = 8 },
  task = lh.tasks.regular_language { language = "tomita3", batch = 5, shortest = 1, longest = 3, strings = 40, evaluate_strings = 41 } }
bench:table { columns = { "bits_per_byte", "relative_step_time" }, baseline = "slide" }
return bench
LUA
sed 's/STEPS/20/; s/EVERY/1/' "$scratch/base.lua" >"$scratch/short.lua"
sed 's/STEPS/100/; s/EVERY/10/' "$scratch/base.lua" >"$scratch/long.lua"

# same FOLDER OTHER BOUND EARLY: the curves (losses, gradient norms, validation) and the test results of every run agree,
# relatively, those of the first three points by EARLY.
same() {
    cat >"$scratch/same.lua" <<'LUA'
local csv, core = require "longhaul.run.csv", require "longhaul.core"
local one, other, bound, early_bound = ...
local worst, early, compared = 0, 0, 0
local function compare(a, b, point)
  a, b = tonumber(a), tonumber(b)
  assert((a == nil) == (b == nil), "a number is missing")
  if not a then return end
  assert(a ~= 0, "nothing is compared by its share of 0")
  local error = math.abs(a - b) / math.abs(a)
  worst, compared = math.max(worst, error), compared + 1
  if point and point <= 3 then early = math.max(early, error) end
end
local function by_id(folder)
  local rows = {}
  for _, row in ipairs((csv.read(folder .. "/shared/runs.csv"))) do rows[row.run_id] = row end
  return rows
end
local rows = by_id(other)
for id, row in pairs(by_id(one)) do
  assert(rows[id] and rows[id].status == "done" and row.status == "done", "not done")
  for _, name in ipairs { "bits_per_token", "valid_bits_per_token", "mse", "accuracy", "accuracy_bin0", "accuracy_bin1" } do
    compare(row[name], rows[id][name])
  end
  local a, b = csv.read(one .. "/shared/curves/" .. id .. ".csv"), csv.read(other .. "/shared/curves/" .. id .. ".csv")
  assert(#a == #b and #a > 0, "curves of different lengths")
  for i = 1, #a do
    assert(a[i].step == b[i].step)
    for _, name in ipairs { "loss_bits", "gradient_norm", "valid_bits" } do compare(a[i][name], b[i][name], i) end
  end
end
print(("%d numbers, worst %.2g, early %.2g"):format(compared, worst, early))
return worst <= tonumber(bound) and early <= tonumber(early_bound) and compared > 0 and 0 or 1
LUA
    "$longhaul" lua "$scratch/same.lua" "$scratch/$1" "$scratch/$2" "$3" "$4"
}
run() { # FOLDER RANKS SCRIPT
    local folder=$1 ranks=$2 script=$3
    shift 3
    if [ "$ranks" -eq 1 ]; then
        "$longhaul" run "$scratch/$script.lua" --scale smoke --results "$scratch/$folder" "$@"
    else
        on_ranks "$ranks" run "$scratch/$script.lua" --scale smoke --results "$scratch/$folder" "$@"
    fi
}
rows() { # FOLDER COLUMN
    "$longhaul" lua <(echo "for _, row in ipairs((require 'longhaul.run.csv'.read '$scratch/$1/shared/runs.csv')) do
        print(row.$2) end") | paste -sd ' '
}

succeeds "one rank" "bits/byte" run one 1 short
succeeds "two ranks" "relative step time" run two 2 short
succeeds "give one row a run" "done done done done done done" rows two status
succeeds "which says on how many ranks" "2 2 2 2 2 2" rows two ranks
succeeds "and what one rank computes, within rounding" "worst" same one two 5e-3 1e-6
succeeds "again, bit for bit" "bits/byte" run again 2 short --no-timing --only brt
succeeds "the same bits" "worst 0" same again two 0 0
succeeds "three ranks too" "bits/byte" run three 3 short --no-timing --only slide
succeeds "within rounding" "worst" same three one 1e-3 1e-6
# Steps that learn, then far longer ones that undo it: patience ends all ranks after the same step, on any number of them.
sed 's/STEPS/400/; s/EVERY/10/; s/evaluate_every = 20/evaluate_every = 4, patience = 2, keep_best = true/
    s/warmup = 5/warmup = 5, schedule = "step", step_every = 20, step_factor = 1e4/' "$scratch/base.lua" >"$scratch/early.lua"
succeeds "patience ends two ranks" "bits/byte" run early2 2 early --no-timing --only slide
succeeds "and one" "bits/byte" run early1 1 early --no-timing --only slide
quietly 0 "before the last step" test "$(rows early2 step)" -lt 400
quietly 0 "after the same step" test "$(rows early2 step)" -eq "$(rows early1 step)"
until_file() { until_true 300 compgen -G "$1" >/dev/null; }
# rank_of FOLDER RANK: the process of a rank of the run under way there.
rank_of() {
    local process
    for process in $(pgrep -f "^[^ ]*longhaul run .*$scratch/$1 "); do
        if tr '\0' '\n' <"/proc/$process/environ" | grep -qx "OMPI_COMM_WORLD_RANK=$2"; then echo "$process"; fi
    done
}

# What fails on rank 0 alone before the first step is no row of another's step.
mkdir -p "$scratch/spoilt/shared/curves/$(rows again run_id).csv"
fails 1 "a curve that cannot be written" "1 run failed" run spoilt 2 short --no-timing --only brt

# Another process is at the run that a row starts from, for longer than a rank may say nothing.
cat >"$scratch/chain.lua" <<'LUA'
local lh = require "longhaul"
local bench = lh.experiment "shared"
local task = lh.tasks.language_model { lh.data.text { "generate:books", documents = 12, document_bytes = 2000 }, segment = 32, batch = 5 }
local model = lh.models.slide { layers = 1, width = 16, heads = 2, window = 16 }
bench:row { "base", task = task, train = lh.train { steps = 2 }, model = model }
bench:row { "after", task = task, train = lh.train { steps = 1 }, model = model, from = "base" }
bench:table { columns = { "bits_per_byte" } }
return bench
LUA
succeeds "a run and its source" "bits/byte" run chained 1 chain --no-timing
succeeds "one launched process has workers" "bits/byte" on_ranks 1 run "$scratch/chain.lua" --scale smoke --results "$scratch/worked" --no-timing --jobs 2
mkdir -p "$scratch/waits/shared/checkpoints"
cat >"$scratch/hold.lua" <<'LUA'
local core = require "longhaul.core"
local lock <close> = core.lock(...)
core.write_file((...) .. ".held", "")
core.sleep(12)
LUA
lock_file=$scratch/waits/shared/checkpoints/$(rows chained run_id | cut -d ' ' -f 1).snapshot.lock
"$longhaul" lua "$scratch/hold.lua" "$lock_file" &
holder=$!
quietly 0 "another process has the run" until_file "$lock_file.held"
LONGHAUL_RANK_SECONDS=4 succeeds "ranks wait for it together" "bits/byte" run waits 2 chain --no-timing --only after
quietly 0 "until it is done" wait $holder

# What a step of a model takes is measured by one rank, without the others.
cat >"$scratch/matched.lua" <<'LUA'
local lh = require "longhaul"
local bench = lh.experiment "shared"
local task = lh.tasks.language_model { lh.data.text { "generate:books", documents = 12, document_bytes = 2000 }, segment = 32, batch = 5 }
local model = lh.match { lh.models.slide { layers = 1, width = 16, heads = 2, window = 16 }, task = task, step_time_ms = 0.000001 }
bench:row { "sized", task = task, train = lh.train { steps = 1 }, model = model }
bench:table { columns = { "bits_per_byte" } }
return bench
LUA
cat >"$scratch/alone.lua" <<'LUA'
local core, ranks = require "longhaul.core", require "longhaul.run.ranks"
local _, before = core.cpu_time()
ranks.decide(function()
  core.sleep(2)
  return ""
end)
local _, after = core.cpu_time()
local most = -math.huge
for _, spent in ipairs(ranks.each(after - before)) do most = math.max(most, spent) end
if ranks.first then print(most < 0.5 and "they rest" or ("one took %.2f s"):format(most)) end
LUA
cat >"$scratch/gone.lua" <<'LUA'
local core, ranks = require "longhaul.core", require "longhaul.run.ranks"
ranks.each(1)
ranks.together(function()
  if not ranks.first then os.exit(3) end
  core.sleep(0.3)
  core.sum_ranks(1)
end)
LUA
echo 'local r = require "longhaul.run.ranks"; print(table.concat(r.each(r.rank + 0.5), " "), r.near())' >"$scratch/each.lua"
succeeds "each knows the others' numbers" $'0.5 1.5 2.5\t3' on_ranks 3 lua "$scratch/each.lua"
succeeds "who waits long leaves the processors alone" "they rest" on_ranks 3 lua "$scratch/alone.lua"
fails 3 "what ranks do together fails for the reason that it has" "longhaul: rank 0 of 2: rank 1 of 2 " on_ranks 2 lua "$scratch/gone.lua"
fails 1 "no size is so fast, on any rank" "comes no nearer" run sized 2 matched --no-timing

fails 2 "what is for one process" "\`longhaul run\` trains on several" on_ranks 2 bench
fails 1 "more ranks than rows" "a batch of 5 cannot be shared by 6 ranks" run six 6 short --no-timing

# What follows is about one row, with carried state.
succeeds "an undisturbed run" "bits/byte" run calm 2 long --no-timing --only brt

# kill -9 to one rank: the others say so and end soon.
run dying 2 long --no-timing --only brt >"$scratch/dying.log" 2>&1 &
job=$!
quietly 0 "a checkpoint is written" until_file "$scratch/dying/shared/checkpoints/*.snapshot"
victim=$(rank_of dying 1)
kill -9 "$victim"
began=$EPOCHSECONDS
wait $job
status=$?
quietly 0 "the run has failed" test $status -ne 0
# not at the end of mpirun's limit; a second on an idle machine
quietly 0 "soon" test $((EPOCHSECONDS - began)) -le 100
succeeds "and says why" "(process $victim on" cat "$scratch/dying.log"
succeeds "on the rank that is left" "longhaul: rank 0 of 2: " cat "$scratch/dying.log"
quietly 0 "no row is called done" test ! -e "$scratch/dying/shared/runs.csv"

# It goes on on as many ranks, bit for bit, and on others.
for ranks in 1 2 3; do
    cp -r "$scratch/dying" "$scratch/resumed$ranks"
    succeeds "goes on on $ranks" "bits/byte" run "resumed$ranks" "$ranks" long --no-timing --only brt
done
succeeds "the curve that nobody disturbed" "worst 0" same calm resumed2 0 0
succeeds "on one rank within rounding" "worst" same calm resumed1 2e-2 1e-6
succeeds "on three" "worst" same calm resumed3 2e-2 1e-6

# Ranks that are stopped together for longer than a rank may say nothing go on; one that stays stopped is named.
LONGHAUL_RANK_SECONDS=8 run silent 2 long --no-timing --only brt >"$scratch/silent.log" 2>&1 &
job=$!
quietly 0 "a run to be stopped" until_file "$scratch/silent/shared/checkpoints/*.snapshot"
victims=("$(rank_of silent 0)" "$(rank_of silent 1)")
kill -STOP "${victims[@]}"
sleep 10
kill -CONT "${victims[@]}"
rm "$scratch"/silent/shared/checkpoints/*.snapshot
quietly 0 "both go on" until_file "$scratch/silent/shared/checkpoints/*.snapshot"
kill -STOP "${victims[1]}"
began=$EPOCHSECONDS
wait $job
status=$?
quietly 0 "the run has failed" test $status -ne 0
quietly 0 "soon" test $((EPOCHSECONDS - began)) -le 100
succeeds "and names who said nothing" "rank 1 of 2 (process ${victims[1]} on" cat "$scratch/silent.log"
succeeds "for how long" "has said nothing for 8 seconds" cat "$scratch/silent.log"
quietly 0 "the launcher has ended it" until_true 30 bash -c "! kill -0 ${victims[1]}"
succeeds "goes on" "bits/byte" run silent 2 long --no-timing --only brt
succeeds "bit for bit" "worst 0" same calm silent 0 0
LONGHAUL_RANK_SECONDS=soon fails 1 "a limit is a number" "LONGHAUL_RANK_SECONDS takes seconds" run calm 2 long --no-timing
# before they know each other
LONGHAUL_RANK_SECONDS=4 run late 2 long --no-timing --only brt >"$scratch/late.log" 2>&1 &
job=$!
started() { test -n "$(rank_of late 1)"; }
quietly 0 "a rank to be stopped" until_true 100 started
kill -STOP "$(rank_of late 1)"
wait $job
status=$?
quietly 0 "a rank that stops at the start ends the run" test $status -ne 0
succeeds "with a word" "said nothing" cat "$scratch/late.log"

# A signal to one rank stops all after the same step, with a checkpoint.
run stopped 2 long --no-timing --only brt >"$scratch/stopped.log" 2>&1 &
job=$!
quietly 0 "a run under way" until_file "$scratch/stopped/shared/checkpoints/*.snapshot"
kill -TERM "$(rank_of stopped 1)"
wait $job
status=$?
succeeds "one rank's signal stops all" "goes on from the last checkpoint" cat "$scratch/stopped.log"
quietly 0 "as an interruption" test $status -eq 130
succeeds "which resumes" "bits/byte" run stopped 2 long --no-timing --only brt
succeeds "bit for bit" "worst 0" same calm stopped 0 0

finish

#!/usr/bin/env bash
# How far a sweep is, read off its files: before it, in it, where a row is refused, at its end; nothing is changed.
. tests/test.sh
export OMP_NUM_THREADS=1

# A sweep of two rows with STEPS, the second of which has HEADS (of a width of 8).
sweep() {
    cat <<'LUA' | sed "s/STEPS/$1/;s/HEADS/$2/"
local lh = require "longhaul"
local bench = lh.experiment "sweep"
local data = lh.data.text { "generate:books", documents = 4, document_bytes = 1000 }
for _, heads in ipairs { 2, HEADS } do
  bench:row { "heads " .. heads, dataset = "books", model = lh.models.slide { layers = 1, width = 8, heads = heads, window = 8 },
    task = lh.tasks.language_model { data, segment = 32, batch = 2 }, train = lh.train { steps = STEPS, warmup = 2, log_every = 2, checkpoint_every = 10 } }
end
return bench
LUA
}
sweep 100000 1 >"$scratch/long.lua"
sweep 4 3 >"$scratch/failing.lua"
sweep 4 1 >"$scratch/short.lua"
on() { "$longhaul" "$1" "$scratch/$2.lua" --scale smoke --results "$scratch/$3" "${@:4}"; }

succeeds "before anything was run" "sweep, scale smoke: 0 of 2 runs over [....................]  2 new" on watch long results
quietly 1 "a folder is not made" test -e "$scratch/results"

"$longhaul" run "$scratch/long.lua" --scale smoke --results "$scratch/results" --no-timing >/dev/null 2>&1 &
sweeping=$!
until_true 20 sh -c "test \$(cat '$scratch'/results/sweep/curves/*.csv | wc -l) -gt 20"
succeeds "a run that goes on" "heads 2 books seed 1" on watch long results
succeeds "the other one has not begun" "1 begun, 1 new" on watch long results
quietly 1 "which is not called interrupted" sh -c \
    "'$longhaul' watch '$scratch/long.lua' --scale smoke --results '$scratch/results' | grep interrupted"
kill -KILL $sweeping
wait $sweeping 2>/dev/null
succeeds "a run that was killed" ", interrupted; the same command goes on" on watch long results
curve=$(echo "$scratch"/results/sweep/curves/*.csv)
step=$(tail -n 1 "$curve" | cut -d, -f1)
succeeds "how far it has come" "step $step/100000 [" on watch long results
cat >"$scratch/ahead.lua" <<LUA
local outlook = require "longhaul.run.outlook"
local script = require "longhaul.script"
local function saved(force)
  local settings = { scale = "smoke", device = "cpu", results = "$scratch/results", no_timing = true, force = force }
  local expected = outlook.known(script.load("$scratch/long.lua", settings), settings)[1].expected
  local whole = getmetatable(expected)
  return whole and (whole.__index.seconds - expected.seconds) / whole.__index.step_s or 0
end
assert(math.abs(saved() - $step) < 1e-3, "saved " .. saved())
assert(saved(true) == 0, "forced: saved " .. saved(true))
LUA
quietly 0 "its steps are not ahead any more, unless it is forced" "$longhaul" lua "$scratch/ahead.lua"
printf '%s' "$((step + 2)),9" >>"$curve"
state() { find "$scratch/results" -type f -printf '%p %s %T@\n' | sort; }
state >"$scratch/before"
succeeds "a point that is being written is none yet" "step $step/100000 [" on watch long results
quietly 0 "and stays as it is, like all else" cmp "$scratch/before" <(state)
mv "$scratch/results/sweep/checkpoints" "$scratch/kept"
succeeds "without a checkpoint it begins again" ", interrupted before a checkpoint" on watch long results
mv "$scratch/kept" "$scratch/results/sweep/checkpoints"

on run failing failed --no-timing >/dev/null 2>&1
succeeds "a row that is refused, and why" "heads 3 books seed 1: model slide: option 'heads' (3) does not divide" on watch failing failed
succeeds "beside one that is done" "1 of 2 runs over [##########..........]  1 done, 1 refused" on watch failing failed
succeeds "only what is meant" "1 of 1 runs over" on watch failing failed --only "heads 2"
on run short over --no-timing >/dev/null 2>&1
if command -v script >/dev/null; then
    succeeds "on a terminal it ends when all runs are over" "2 of 2 runs over [####################]  2 done" \
        timeout 300 script -qec "'$longhaul' watch '$scratch/short.lua' --scale smoke --results '$scratch/over'" /dev/null
    script -qefc "'$longhaul' watch '$scratch/long.lua' --scale smoke --results '$scratch/results' --every 1" /dev/null \
        >"$scratch/screen" 2>&1 </dev/null &
    watching=$!
    quietly 0 "one that has begun is shown" until_true 100 grep -q "1 begun, 1 new" "$scratch/screen"
    quietly 0 "and waited for" until_true 100 sh -c "test \$(grep -c '1 begun, 1 new' '$scratch/screen') -ge 2"
    kill $watching
fi

# A runs.csv that was cut at a line's end is whole to look at; curves know what it has lost.
cp "$scratch/over/sweep/runs.csv" "$scratch/runs.csv"
sed -i '$d' "$scratch/over/sweep/runs.csv"
lost="runs.csv has lost the row of heads 1 books seed 1, trained to the end: put a copy of the file there"
succeeds "a run whose row is lost is not called interrupted" "its row of runs.csv is lost" on watch short over --once
succeeds "and is counted" "1 of 2 runs over [##########..........]  1 done, 1 lost" on watch short over --once
for command in table plot dry-run; do
    told=$(on $command short over 2>&1 | tr -s '\n ' '  ')
    quietly 0 "$command tells of it" test "${told/"$lost"/}" != "$told"
done
told=$(on run short over --no-timing 2>&1 >/dev/null | tr -s '\n ' '  ')
quietly 0 "run tells of it, too" test "${told/"$lost"/}" != "$told"
succeeds "and trains it again" "2 of 2 runs over" on watch short over --once
told=$(on table short over 2>&1 >/dev/null)
quietly 0 "after which nothing is lost" test "${told/lost/}" = "$told"
cp "$scratch/runs.csv" "$scratch/over/sweep/runs.csv"

sed -i '$s/,done,/,failed,/' "$scratch/over/sweep/runs.csv"
succeeds "a run that failed" "heads 1 books seed 1: failed" on watch short over --once
fails 2 "no time" "--every takes a positive integer" on watch long results --every 0

finish

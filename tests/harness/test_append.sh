#!/usr/bin/env bash
# Eight processes add runs to one folder at once, and two of them are killed (kill -9) again and again: every run that was
# added is there, whole and once, in the memory of each process too.
. tests/test.sh
export LONGHAUL_BLAS_CHOSEN=1 OMP_NUM_THREADS=1

cat >"$scratch/put.lua" <<'LUA'
local store = require "longhaul.run.store"
local folder, name, count = ...
local results = store.open(folder, "sweep")
local first = 1
while results:find(name .. "-" .. first) do first = first + 1 end
for i = first, tonumber(count) do
  local id = name .. "-" .. i
  results:put { run_id = id, identity = 2, seed = 1, row = 'a "b",\n' .. id, status = "done", error = ("x"):rep(5000) }
  print(id)
  io.stdout:flush()
  assert(results:find(id).row == 'a "b",\n' .. id)
end
LUA
cat >"$scratch/check.lua" <<'LUA'
local store, seen = require "longhaul.run.store", {}
for _, row in ipairs(store.at((...), "sweep"):rows()) do
  assert(not seen[row.run_id], "twice: " .. row.run_id)
  assert(row.row == 'a "b",\n' .. row.run_id and row.error == ("x"):rep(5000), "half: " .. row.run_id)
  seen[row.run_id] = true
  print(row.run_id)
end
LUA
put() { "$LONGHAUL_BIN" lua "$scratch/put.lua" "$scratch/results" "$1" "$2"; }

# victim NAME: killed after some runs, four times, then left to end.
has_lines() { [ "$(wc -l <"$1")" -ge "$2" ]; }
victim() {
    local i process
    for i in 1 2 3 4; do
        "$LONGHAUL_BIN" lua "$scratch/put.lua" "$scratch/results" "$1" 60 >>"$scratch/$1.ids" &
        process=$!
        until_true 60 has_lines "$scratch/$1.ids" $((7 * i))
        kill -9 "$process" 2>/dev/null
        wait "$process" 2>/dev/null
    done
    put "$1" 60 >>"$scratch/$1.ids"
}
crowd() {
    local processes=() process i failed=0
    for i in 1 2; do
        : >"$scratch/victim$i.ids"
        victim "victim$i" 2>"$scratch/victim$i.log" &
        processes+=($!)
    done
    for i in 1 2 3 4 5 6; do
        put "steady$i" 60 >"$scratch/steady$i.ids" 2>"$scratch/steady$i.log" &
        processes+=($!)
    done
    for process in "${processes[@]}"; do wait "$process" || failed=$((failed + 1)); done
    cat "$scratch"/*.log
    echo "$failed failed"
}
found() { "$LONGHAUL_BIN" lua "$scratch/check.lua" "$scratch/results" | sort; }

succeeds "eight processes" "0 failed" crowd
quietly 0 "all of them did something" test -s "$scratch/victim2.ids"
found >"$scratch/found"
quietly 0 "all runs are there" test "$(wc -l <"$scratch/found")" -eq 480
sort -u "$scratch"/*.ids >"$scratch/said"
quietly 0 "of those that a process has added none is missing" comm -23 "$scratch/said" "$scratch/found"

# ---- edited by hand, between two runs ----
file=$scratch/results/sweep/runs.csv
edits() {
    cp "$scratch/kept.csv" "$file"
    "${@:2}" "$file"
    put "$1" 2
    found
}
cp "$file" "$scratch/kept.csv"
drop_line_end() { truncate -s -1 "$1"; }
succeeds "without the last line end" "dropped-2" edits dropped drop_line_end
quietly 0 "no run is lost" test "$(found | wc -l)" -eq 482
succeeds "with other line ends" "dos-2" edits dos sed -i 's/\([^,]\)$/\1/; 1s/$/\r/'
quietly 0 "no run is lost" test "$(found | wc -l)" -eq 482
half_row() { printf '\030half,"of a row' >>"$1"; }
succeeds "behind a row that was cut off" "whole-2" edits whole half_row
quietly 0 "no run is lost, none is half" test "$(found | wc -l)" -eq 482
quietly 1 "nothing is left of it" grep -q 'half' "$file"

finish

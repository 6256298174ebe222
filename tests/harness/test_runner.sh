#!/usr/bin/env bash
# The test runner must be able to go red: it is shown one program of each kind of failure.
. tests/test.sh

list() {
    printf '%s\n' "$@" >"$scratch/list"
}

list "echo 3 passed, 0 failed" "echo 2 passed, 0 failed"
succeeds "adds up" "5 passed, 0 failed" tests/run.sh "$scratch/list"

list "echo 3 passed, 0 failed" "echo 2 passed, 4 failed; exit 1"
fails 1 "counts failures" "5 passed, 4 failed" tests/run.sh "$scratch/list"

list "echo 3 passed, 0 failed" "echo no verdict"
fails 1 "wants a verdict" "3 passed, 1 failed" tests/run.sh "$scratch/list"

list "echo 3 passed, 0 failed; exit 7"
fails 1 "believes the exit code" "3 passed, 1 failed" tests/run.sh "$scratch/list"

list 'echo 3 passed, 0 failed; kill -SEGV $$'
fails 1 "sees a crash" "killed by signal 11" tests/run.sh "$scratch/list"

list "sleep 30"
fails 1 "stops what hangs" "0 passed, 1 failed" env LH_TEST_TIMEOUT=1 tests/run.sh "$scratch/list"

list "$scratch/missing"
fails 1 "misses a program" "0 passed, 1 failed" tests/run.sh "$scratch/list"

: >"$scratch/list"
fails 1 "does not call nothing a success" "0 passed, 0 failed" tests/run.sh "$scratch/list"

{
    echo "-- runner: lua5.4"
    echo 'local t = dofile "tests/test.lua"'
    echo 't.test("right", function() t.equal(1, 1) end)'
    echo 't.test("wrong", function() t.equal(1, 2) end)'
    echo 't.finish()'
} >"$scratch/test_red.lua"
list "$scratch/test_red.lua"
fails 1 "runs Lua" "is 1, expected 2" tests/run.sh "$scratch/list"

finish

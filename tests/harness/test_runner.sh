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

list "echo broken: first; echo 0 passed, 1 failed; exit 1" "sleep 1; echo 2 passed, 0 failed"
fails 1 "says at the end once more what failed" $'2 passed   0 failed  sleep 1; echo 2 passed, 0 failed\n== what failed\n--- echo broken' env LH_TEST_JOBS=1 tests/run.sh "$scratch/list"

list "echo 3 passed, 0 failed" "echo no verdict"
fails 1 "wants a verdict" "3 passed, 1 failed" tests/run.sh "$scratch/list"

list "echo 3 passed, 0 failed; exit 7"
fails 1 "believes the exit code" "3 passed, 1 failed" tests/run.sh "$scratch/list"

list 'echo 3 passed, 0 failed; kill -SEGV $$'
fails 1 "sees a crash" "killed by signal 11" tests/run.sh "$scratch/list"

list "sleep 30"
fails 1 "stops what hangs" "0 passed, 1 failed" env LH_TEST_TIMEOUT=1 tests/run.sh "$scratch/list"

list 'while :; do :; done'
fails 1 "stops what computes without end" "stopped after 1 s of processor time" env LH_TEST_CPU=1 tests/run.sh "$scratch/list"

list "sleep 2; echo 1 passed, 0 failed"
succeeds "a wait is no processor time" "1 passed, 0 failed" env LH_TEST_CPU=1 tests/run.sh "$scratch/list"

shared='echo same cases: kernels on'
list "$shared scalar; echo 7 passed, 0 failed" "$shared avx2; echo 7 passed, 0 failed" "echo 2 passed, 0 failed"
succeeds "cases that run in several places count once" "9 passed, 0 failed" tests/run.sh "$scratch/list"
succeeds "and the places are named" "kernels: 7 cases, on scalar, avx2" env LH_TEST_JOBS=1 tests/run.sh "$scratch/list"

list "$shared scalar; echo 7 passed, 0 failed" "$shared avx2; echo 6 passed, 1 failed; exit 1"
fails 1 "but each failure counts" "7 passed, 1 failed" tests/run.sh "$scratch/list"

list "echo 4 skipped; echo 2 passed, 0 failed" "echo 1 skipped; echo 2 passed, 0 failed"
succeeds "skipped tests are named" "5 skipped" tests/run.sh "$scratch/list"

printf '%s\n' '. tests/test.sh' 'skips "nothing to draw with"' 'finish' >"$scratch/test_bare.sh"
printf '%s\n' '-- runner: lua5.4' 'local t = dofile "tests/test.lua"' 't.test("drawn", function() t.skip "no gnuplot" end)' \
    't.finish()' >"$scratch/test_bare.lua"
list "bash $scratch/test_bare.sh" "$scratch/test_bare.lua" "echo 1 passed, 0 failed"
succeeds "those of shell and Lua tests, too" $'2 skipped, for data or libraries that are not here\n1 passed, 0 failed' \
    tests/run.sh "$scratch/list"

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

{
    echo "-- runner: lua5.4"
    echo 'local t = dofile "tests/test.lua"'
    echo 't.test("empty", function() end)'
    echo 't.finish()'
} >"$scratch/test_empty.lua"
list "$scratch/test_empty.lua"
fails 1 "wants a check in a Lua test" "empty: no check made" tests/run.sh "$scratch/list"

{
    echo '. tests/test.sh'
    echo 'succeeds "anything" "" true'
    echo 'finish'
} >"$scratch/test_empty.sh"
list "bash $scratch/test_empty.sh"
fails 1 "wants a text in a shell test" "expects no text" tests/run.sh "$scratch/list"

printf '%s\n' '. tests/test.sh' 'quietly 0 "silence" echo word' 'finish' >"$scratch/test_loud.sh"
list "bash $scratch/test_loud.sh"
fails 1 "hears what should be quiet" "and no output" tests/run.sh "$scratch/list"

finish

#!/usr/bin/env bash
# The runner of seeded mistakes: what it calls caught, survived and broken, on a tree of three files.
. tests/test.sh
runner=$PWD/tests/mutants/run.lua
tree=$scratch/work/tree0
mkdir -p "$scratch/tests/mutants/list" "$tree/tests"
cd "$scratch" || exit 1
text="the answer is 42, and nobody asks"
echo "$text" | tee answer.txt >"$tree/answer.txt"
printf 'build/werror/longhaul: answer.txt\n\t@! grep -q syntax answer.txt\n' >"$tree/Makefile"
printf '#!/bin/sh\ngrep -q "is 42" answer.txt\n' >"$tree/tests/test_sees.sh"
printf '#!/bin/sh\ntest -e answer.txt\n' >"$tree/tests/test_blind.sh"
chmod +x "$tree"/tests/*.sh

# list LINES...: the mistakes of the list
list() {
    printf 'return { { file = "answer.txt", tests = "tests/test_blind.sh tests/test_sees.sh", %s } }\n' "$*" \
        >tests/mutants/list/engine.lua
}
mutants() { lua5.4 "$runner" "$@"; }
run_all() {
    rm -f results.csv
    for id in $(mutants pending results.csv); do mutants one work/tree0 results.csv "$id"; done
    mutants sum results.csv
}

list '{ "42", "43", "another answer" }, { "nobody", "somebody", "somebody asks", tests = "tests/test_blind.sh" },' \
    '{ "the answer", "syntax", "does not build" }'
quietly 0 "the list is fresh" mutants check
succeeds "tests are named once" "tests/test_sees.sh" mutants tests results.csv
quietly 0 "tests are green without a mistake" mutants green work/tree0 tests/test_sees.sh
fails 1 "a mistake that a test sees is caught" "[tests/test_sees.sh]" run_all
fails 1 "survivors are told" "survived answer.txt: somebody asks" mutants sum results.csv
fails 1 "with the text" "nobody" mutants sum results.csv
fails 1 "what does not build is neither" "1 broken, 0 not run" mutants sum results.csv
fails 1 "and they are counted" "1 caught, 1 survived of 2" mutants sum results.csv
succeeds "the text is put back" "$text" cat "$tree/answer.txt"
succeeds "what was caught is not run again" "2" sh -c "lua5.4 $runner pending results.csv | wc -l"
mutants one work/tree0 results.csv "$(lua5.4 "$runner" pending results.csv | head -1)" >/dev/null
succeeds "the newest row of each is kept" "4 lines" sh -c "lua5.4 $runner newest results.csv | wc -l | sed 's/$/ lines/'"
succeeds "only some" "0 caught, 1 survived of 1" env ONLY=somebody lua5.4 "$runner" sum results.csv

list '{ "43", "44", "gone" }'
fails 1 "a text that is gone is an error" "the text is there 0 times, not once" mutants check
list '{ "n", "m", "several" }'
fails 1 "so is one that is there often" "times, not once" mutants check
list '{ "42", "42", "nothing" }'
fails 1 "and one that changes nothing" "the replacement changes nothing" mutants check

sed -i 's/42/43/' "$tree/answer.txt"
fails 1 "a test that is red without a mistake is told" "is red without any mistake" \
    mutants green work/tree0 tests/test_sees.sh

finish

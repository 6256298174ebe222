#!/usr/bin/env bash
# A hostile system: signals, too little memory, a full disk, another locale, pipes in the place of files.
# shellcheck disable=SC2016  # inner shells expand them
. tests/test.sh

train=(train --model lstm --options 'hidden=8 width=8' --task-options 'name=generate:books documents=5 document_bytes=2000 segment=8 batch=1')

# A training that is stopped by the signal $1 after its first checkpoint, then one that goes on.
stopped_by() {
    local snapshot=$scratch/$1.snapshot process
    "$LONGHAUL_BIN" "${train[@]}" --train 'steps=100000 warmup=1 checkpoint_every=50' --snapshot "$snapshot" &
    process=$!
    until_true 300 test -e "$snapshot"
    kill -s "$1" "$process"
    wait "$process"
}
for signal in INT TERM HUP USR1; do
    fails 130 "SIG$signal stops a training that can go on" "embedded generator (books)" stopped_by "$signal"
    succeeds "whose checkpoint is whole" "predicted_tokens" "$LONGHAUL_BIN" lua <(cat <<LUA
local core = require "longhaul.core"
local session <close> = core.session { model = "lstm", model_options = core.check("model", "lstm", "hidden=8 width=8"), task = "language_model",
  task_options = core.check("task", "language_model", "name=generate:books documents=5 document_bytes=2000 segment=8 batch=1"),
  train_options = core.check("train", "train", "steps=100000 warmup=1 checkpoint_every=50"), seed = 1, device = "cpu" }
session:restore "$scratch/$signal.snapshot"
print(session:info().step > 0 and "predicted_tokens" or "no step")
LUA
    )
done

# OpenBLAS asks for ever where memory is short. A program under a sanitizer never fits.
limited() { bash -c 'ulimit -v "$1"; shift; exec timeout -s KILL 60 "$@"' limited "$@"; }
if limited 1000000 "$LONGHAUL_BIN" version >/dev/null 2>&1; then
    for limit in 100000 150000 200000 250000; do
        fails 1 "a limit of $limit KiB is an error" "OpenBLAS takes" limited $limit env OMP_NUM_THREADS=2 "$LONGHAUL_BIN" "${train[@]}" --train steps=2
    done
    succeeds "whoever does not multiply is not bothered" "longhaul" limited 100000 "$LONGHAUL_BIN" help
fi

fails 1 "a full disk behind standard output is an error" "standard output could not be written" bash -c '"$0" help >/dev/full' "$LONGHAUL_BIN"
fails 1 "also for what is printed last" "standard output could not be written" bash -c '"$0" describe lstm >/dev/full' "$LONGHAUL_BIN"

comm() { "$LONGHAUL_BIN" lua <(printf '%s\n' 'os.execute "cat /proc/$PPID/comm"'); }
succeeds "ps shows the program's name" "longhaul" comm

# A locale whose numbers have a comma, made here where the system can.
if localedef -i de_DE -f UTF-8 "$scratch/de_DE.UTF-8" 2>/dev/null; then
    german() {
        LOCPATH=$scratch "$LONGHAUL_BIN" lua <(cat <<'LUA'
assert(os.setlocale "de_DE.UTF-8", "no such locale")
local core = require "longhaul.core"
local text = core.check("train", "train", { rate = 0.5, steps = 3 })
assert(text:find("rate=0.5", 1, true), text)
assert(tonumber "0.25" == 0.25 and ("%.2f"):format(0.25) == "0.25", "comma")
print "points"
LUA
        )
    }
    succeeds "numbers have a point in every locale" "points" german
fi

mkfifo "$scratch/pipe"
for words in "forward --model lstm --tokens $scratch/pipe --out $scratch/x.npy" "dilation $scratch/pipe" "data import $scratch/pipe.jsonl"; do
    if [[ $words == *.jsonl ]]; then mkfifo "$scratch/pipe.jsonl"; fi
    # shellcheck disable=SC2086
    fails 1 "a pipe is not waited for: ${words%% *}" "longhaul: " timeout -s KILL 20 "$LONGHAUL_BIN" $words
done

finish

#!/usr/bin/env bash
# Fails every fallible call once: runs each command with LH_FAIL_AT=1, 2, 3 ... until the faults lie
# behind its end. Each time it must end by itself, either well or with exit code 1 and a message; a
# sanitized build also reports what an error path leaks.
#
# LONGHAUL_BIN is the program; LH_FAULT_STEP=7 tries every seventh call only.
set -u
step=${LH_FAULT_STEP:-1}
# So many successes in a row mean that the command makes no more calls. Long runs of them are normal
# before: the pool frees its cache and tries again when the device has no memory left.
enough=$((400 / step + 1))
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
mkdir "$scratch/out"
export ASAN_OPTIONS=exitcode=99 UBSAN_OPTIONS=exitcode=99 OMP_NUM_THREADS=1
# no new start for a better BLAS core
export LONGHAUL_BLAS_CHOSEN=1
LSAN_OPTIONS="suppressions=$(dirname "$0")/leaks.txt:print_suppressions=0:exitcode=98"
export LSAN_OPTIONS
passed=0
failed=0

# verdict EXIT_CODE: why this end is wrong, or nothing.
verdict() {
    case $1 in
    0) ;;
    1) [ -s "$scratch/log" ] || echo "no message" ;;
    98) echo "a leak" ;;
    99) echo "a sanitizer report" ;;
    124) echo "no end" ;;
    *) echo "exit code $1" ;;
    esac
}

# faults NAME WORDS...: the command under ever later faults; one test per command.
faults() {
    local name=$1 call=1 successes=0 bad=0 status wrong
    shift
    if ! "$LONGHAUL_BIN" "$@" >"$scratch/log" 2>&1; then
        printf '%s fails without any fault:\n' "$name"
        cat "$scratch/log"
        failed=$((failed + 1))
        return
    fi
    while [ "$successes" -lt $enough ]; do
        rm -f "$scratch"/out/*
        LH_FAIL_AT=$call timeout 60 "$LONGHAUL_BIN" "$@" >"$scratch/log" 2>&1
        status=$?
        wrong=$(verdict $status)
        if [ -n "$wrong" ]; then
            bad=$((bad + 1))
            printf '%s, LH_FAIL_AT=%d: %s\n' "$name" "$call" "$wrong"
            head -n 25 "$scratch/log"
            if [ "$bad" -ge 5 ]; then break; fi
        fi
        if [ $status -eq 0 ]; then successes=$((successes + 1)); else successes=0; fi
        call=$((call + step))
    done
    printf '%s: %d faults\n' "$name" $((call / step - successes))
    if [ "$bad" -eq 0 ]; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
}

tiny="layers=2 width=16 heads=2 window=8 recurrent_layers=-1"
books="name=generate:books documents=2 document_bytes=512 limit_eval_bytes=64 segment=16 batch=1"
printf '1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n' >"$scratch/tokens.txt"

faults describe describe brt --options "$tiny"
faults train train --model brt --options "$tiny" --task-options "$books" \
    --train "steps=2" --out "$scratch/out/weights.safetensors" --snapshot "$scratch/out/snapshot"
faults swap train --model reformer --options 'layers=1 width=8 heads=2 positions=16 attention=shared' \
    --task-options "$books" --train 'steps=2 optimizer=adam swap_parameters=true'
faults forward forward --model brt --options "$tiny" --vocabulary 32 \
    --ids "$scratch/tokens.txt" --segment 8 --out "$scratch/out/logits.npy"
faults data data list
{
    echo date,a,b
    for hour in $(seq 0 59); do
        printf '2020-01-%02d %02d:00,%d,%d.5\n' $((1 + hour / 24)) $((hour % 24)) $((hour * 7 % 11)) $((hour * 5 % 13))
    done
} >"$scratch/series.csv"
faults series train --model informer --options 'layers=1 width=8 heads=2 factor=1 rsa_kinds=1,0,0,0,0,0' \
    --task forecasting --task-options "name=$scratch/series.csv seq_len=6 label_len=3 pred_len=2 batch=4" \
    --train 'steps=2 optimizer=adam'

printf '%d passed, %d failed\n' $passed $failed
[ $failed -eq 0 ]

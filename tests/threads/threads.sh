#!/usr/bin/env bash
# The thread sanitizer over what has threads, which are OpenMP's alone: every kernel, and steps of training. LLVM's OpenMP
# tells the sanitizer through Archer who waits for whom; gcc's does not, and would give false alarms.
#
#   tests/threads/threads.sh FOLDER      of a build with CC=clang SANITIZE=thread
. tests/test.sh
built=$1
export OMP_NUM_THREADS=4 OPENBLAS_NUM_THREADS=1 LONGHAUL_BLAS_CHOSEN=1
# What libraries do that were built without the sanitizer is theirs; a report ends a program with 66.
export TSAN_OPTIONS="ignore_noninstrumented_modules=1 halt_on_error=1 exitcode=66"

succeeds "Archer is at work (package libomp-dev)" "Archer detected OpenMP application with TSan" env ARCHER_OPTIONS=verbose=1 "$built/tests/threads/race" sound
fails 66 "a race is found" "ThreadSanitizer: data race" "$built/tests/threads/race" race
succeeds "what is sound is no race" "499500" "$built/tests/threads/race" sound

succeeds "no kernel has a race" " 0 failed" "$built/tests/kernels/conformance" --mode test

books='name=generate:books documents=6 document_bytes=2000 limit_eval_bytes=1000 segment=64 batch=4'
# trains MODEL OPTIONS [TASK TASK_OPTIONS]
trains() {
    succeeds "training $1 has no race" "embedded generator" "$built/longhaul" train --model "$1" --options "$2" \
        --task "${3:-language_model}" --task-options "${4:-$books}" --train 'steps=3 warmup=1 evaluate_every=2 clip=1'
}
trains brt 'layers=3 width=32 heads=2 window=16 dropout=0.1 recurrence=fixed:skip'
trains slide 'layers=2 width=32 heads=2 window=16 dropout=0.1'
trains gpt2 'layers=2 width=32 heads=2 context=64 window=32 dropout=0.1'
trains reformer 'layers=2 width=32 heads=2 chunk=8 positions=64 dropout=0.1 feed_forward_chunk=8'
trains routing 'layers=2 width=32 heads=4 window=16 clusters=4 dropout=0.1'
trains lstm 'layers=1 width=32 hidden=32'

finish

#!/usr/bin/env bash
# The CUDA kernels on the simulator under the thread sanitizer, and its check of alignment: mistakes that were put in are
# found, and no kernel has one.
#
#   tests/cudasim/races.sh FOLDER [KERNEL|planted]      of a build with CUDA=sim SANITIZE=thread; planted: the mistakes
#                                                       alone
. tests/test.sh
built=$1
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 LONGHAUL_BLAS_CHOSEN=1
export TSAN_OPTIONS="halt_on_error=1 exitcode=66 history_size=0 report_bugs=1" UBSAN_OPTIONS="exitcode=67"
# gcc's sanitizer knows only some places for a program to lie in.
alone=(setarch -R)

succeeds "what is sound is no race" "cudaSuccess" "${alone[@]}" "$built/tests/cudasim/race" sound
for mistake in barrier warp shuffle product blocks copy early; do
    fails 66 "a race is found: $mistake" "data race" "${alone[@]}" "$built/tests/cudasim/race" "$mistake"
done
fails 67 "a load that is not aligned is found" "misaligned address" "${alone[@]}" "$built/tests/cudasim/race" alignment
[ "${2:-}" != planted ] || finish

conformance=$built/tests/kernels/conformance
for kernel in ${2:-$("${alone[@]}" "$conformance" --list)}; do
    succeeds "$kernel has no race" " 0 failed" "${alone[@]}" "$conformance" --backend cudasim --mode test --kernel "$kernel"
done
finish

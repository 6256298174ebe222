#!/usr/bin/env bash
# Everything that wants a GPU, in one go of less than ten minutes: the conformance suite on the card
# and parts of it under compute-sanitizer, losses beside the processor's in every precision, the
# paper-size baseline's step time against the card's own matrix rate, with and without graphs, and
# beside PyTorch's where python3, or the one that PYTHON names, has it; every model.
#
#   scripts/gpu-check.sh [FOLDER]      what was seen goes to FOLDER (default $OUT, else results/gpu)
#
# summary.csv says how each part went; log.txt has all that was printed. A part that fails or takes
# too long does not keep the others from running.
set -u
cd "$(dirname "$0")/.." || exit 1
folder=${1:-${OUT:-results/gpu}}
mkdir -p "$folder"
program=build/longhaul conformance=build/tests/kernels/conformance
jobs=$(nproc)
failed=0
echo "part,seconds,verdict" >"$folder/summary.csv"
: >"$folder/log.txt"

# part NAME LIMIT COMMAND...: runs it for at most LIMIT seconds of the ten minutes.
part() {
    local name=$1 limit=$2 start=$SECONDS verdict=good status
    shift 2
    [ $((590 - SECONDS)) -gt "$limit" ] || limit=$((590 - SECONDS > 1 ? 590 - SECONDS : 1))
    printf '\n==== %s\n' "$name" | tee -a "$folder/log.txt"
    timeout --kill-after=5 "$limit" "$@" >>"$folder/log.txt" 2>&1
    status=$?
    if [ $status -eq 124 ] || [ $status -eq 137 ]; then verdict="stopped after $limit s"
    elif [ $status -ne 0 ]; then verdict="failed ($status)"; fi
    [ "$verdict" = good ] || { failed=1; tail -n 12 "$folder/log.txt"; }
    echo "$name,$((SECONDS - start)),$verdict" | tee -a "$folder/summary.csv"
}

# Kernels side by side: the references are what takes the time.
conformance_all() {
    "$conformance" --list |
        OMP_NUM_THREADS=1 xargs -P "$jobs" -I{} "$conformance" --backend cuda --mode test --kernel {}
}

sanitized() {
    local kernel tool=$1
    shift
    for kernel in "$@"; do
        compute-sanitizer --tool "$tool" --error-exitcode 9 "$conformance" --backend cuda \
            --mode test --kernel "$kernel" | tail -n 4 || return
    done
}

# A few steps in bf16: every attention on tensor cores, both ways, and the rest of a step.
sanitized_steps() {
    local model options
    while read -r model options; do
        compute-sanitizer --tool "$1" --error-exitcode 9 "$program" train --device cuda --model "$model" \
            --options "layers=1 width=128 heads=2 dropout=0.1 $options" --task language_model \
            --task-options 'name=generate:books documents=4 segment=128 batch=1 evaluate_batches=1' \
            --train 'steps=2 warmup=1 precision=bf16' || return
    done <<'END'
slide window=64
transformer_xl span=64
reformer positions=128 chunk=32 rounds=2
END
}

rates() {
    nvcc -O3 -std=c++17 -arch=native tests/gpu/matrix_rate.cu -lcublas -o build/matrix_rate &&
        build/matrix_rate >"$folder/rates.csv" && cat "$folder/rates.csv"
}

export -f conformance_all sanitized sanitized_steps rates
export folder jobs conformance program

nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv >"$folder/card.csv"
cat "$folder/card.csv"
part build 240 make CUDA=1 -j"$jobs" all "$conformance"
part rates 60 bash -o pipefail -c rates
part losses 120 "$program" lua tests/gpu/losses.lua "$folder"
part speed 90 "$program" lua tests/gpu/speed.lua "$folder"
part speed-eager 90 env LH_GRAPHS=0 "$program" lua tests/gpu/speed.lua "$folder"
part peers 150 "$program" lua tests/gpu/peers.lua "$folder"
part conformance 120 bash -o pipefail -c conformance_all
part memcheck 60 bash -o pipefail -c 'sanitized memcheck matmul layer_norm_backward adafactor'
part racecheck 60 bash -o pipefail -c 'sanitized racecheck softmax_forward adafactor'
part memcheck-steps 90 bash -c 'sanitized_steps memcheck'
part racecheck-steps 90 bash -c 'sanitized_steps racecheck'
part models 60 env LONGHAUL_BIN="$program" tests/cudasim/sim_train.sh
printf '\n'
cat "$folder/summary.csv"
grep -h 'of bf16' "$folder/log.txt"
exit $failed

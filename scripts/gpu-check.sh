#!/usr/bin/env bash
# What wants a GPU, in two calls of less than ten minutes each, on a machine that may have nothing but
# CUDA and a compiler:
#
#   scripts/gpu-check.sh correct [FOLDER]   the build, the conformance suite and every model on the
#                                           card, losses beside the processor's in every precision,
#                                           kernels and captured steps under compute-sanitizer
#   scripts/gpu-check.sh speed [FOLDER]     the card's own matrix rates, the paper-size baseline's step
#                                           with graphs and without, and one peer: PEER=slide or brt,
#                                           in PyTorch where python3, or what PYTHON names, has it
#
# FOLDER is $OUT, else results/gpu. Libraries come from build/deps.tar.gz (make deps-bundle) where that
# is there. summary.csv has a line for each part as soon as it has ended, NAME.log what it printed;
# conformance.csv has a line for each kernel. A part that fails or takes too long keeps none of the
# others from running.
set -u
cd "$(dirname "$0")/.." || exit 1
mode=${1:-}
folder=${2:-${OUT:-results/gpu}}
case $mode in correct | speed) ;; *) sed -n '2,17s/^# \{0,1\}//p' "$0" >&2 && exit 2 ;; esac
mkdir -p "$folder"
program=build/longhaul conformance=build/tests/kernels/conformance
jobs=$(nproc)
seconds=540 # of the ten minutes that a call may take
failures=$folder/failures
: >"$failures"
echo "part,seconds,verdict" >"$folder/summary.csv"

# part NAME LIMIT COMMAND...: runs it for at most LIMIT seconds, and what is left of the call.
part() {
    local name=$1 limit=$2 start=$SECONDS verdict=good status
    shift 2
    [ $((seconds - SECONDS)) -gt "$limit" ] || limit=$((seconds - SECONDS > 1 ? seconds - SECONDS : 1))
    timeout --kill-after=5 "$limit" "$@" >"$folder/$name.log" 2>&1
    status=$?
    if [ $status -eq 124 ] || [ $status -eq 137 ]; then
        verdict="stopped after $limit s"
    elif [ $status -ne 0 ]; then
        verdict="failed ($status)"
    fi
    if [ "$verdict" != good ]; then
        echo "$name" >>"$failures"
        tail -n 12 "$folder/$name.log"
    fi
    echo "$name,$((SECONDS - start)),$verdict" | tee -a "$folder/summary.csv"
}

# For the card's architecture alone.
build() {
    local settings=(CUDA=1 CUDA_ARCHITECTURES=90)
    if [ -f build/deps.tar.gz ]; then
        [ -d build/deps ] || tar -xzf build/deps.tar.gz -C build || return
        settings+=(DEPS=build/deps)
    fi
    make "${settings[@]}" -j"$jobs" all "$conformance"
}

one_kernel() {
    local verdict=good
    "$conformance" --backend cuda --mode test --kernel "$1" || verdict=failed
    echo "$1,$verdict" >>"$folder/conformance.csv"
    [ $verdict = good ]
}

# Kernels side by side: the references are what takes the time.
conformance_all() {
    echo "kernel,verdict" >"$folder/conformance.csv"
    "$conformance" --list | OMP_NUM_THREADS=1 xargs -P "$jobs" -I{} bash -c 'one_kernel {}'
}

# Models side by side.
models() {
    seq 0 $((jobs - 1)) |
        OMP_NUM_THREADS=1 xargs -P "$jobs" -I{} env SHARE={} SHARES="$jobs" LONGHAUL_BIN="$program" tests/cudasim/sim_train.sh
}

sanitized() {
    local kernel tool=$1
    shift
    for kernel in "$@"; do
        compute-sanitizer --tool "$tool" --error-exitcode 9 "$conformance" --backend cuda \
            --mode test --kernel "$kernel" | tail -n 4 || return
    done
}

# Steps in bf16: every attention on tensor cores, both ways, and the rest of a step; the last two are captured.
sanitized_steps() {
    local model options
    while read -r model options; do
        compute-sanitizer --tool "$1" --error-exitcode 9 "$program" train --device cuda --model "$model" \
            --options "layers=1 width=128 heads=2 dropout=0.1 $options" --task language_model \
            --task-options 'name=generate:books documents=4 segment=128 batch=1 evaluate_batches=1' \
            --train 'steps=4 warmup=1 precision=bf16' || return
    done <<'END'
slide window=64
transformer_xl span=64
reformer positions=128 chunk=32 rounds=2
END
}

rates() {
    local home=${nvcc%/bin/nvcc}
    "$nvcc" -O3 -std=c++17 -arch=sm_90 tests/gpu/matrix_rate.cu -L"$home/lib64" -L"$home/lib" -lcublas \
        -Xlinker -rpath="$home/lib64:$home/lib" -o build/matrix_rate &&
        build/matrix_rate >"$folder/rates.csv" && cat "$folder/rates.csv"
}

correct() {
    part conformance 200 bash -o pipefail -c conformance_all
    part models 120 bash -c models
    part losses 90 "$program" lua tests/gpu/losses.lua "$folder"
    part memcheck-steps 60 bash -c 'sanitized_steps memcheck'
    part racecheck-steps 60 bash -c 'sanitized_steps racecheck'
    part memcheck 60 bash -o pipefail -c 'sanitized memcheck matmul layer_norm_backward adafactor scatter_add'
    part racecheck 60 bash -o pipefail -c 'sanitized racecheck softmax_forward adafactor scatter_add cross_entropy'
}

speed() {
    part rates 60 bash -o pipefail -c rates
    part steps 120 "$program" lua tests/gpu/speed.lua "$folder"
    part steps-eager 90 env LH_GRAPHS=0 "$program" lua tests/gpu/speed.lua "$folder"
    part peer 200 "$program" lua tests/gpu/peers.lua "$folder" "${PEER:-slide}"
    grep -h 'of bf16' "$folder"/*.log
}

GPU_NAME=$(nvidia-smi --query-gpu=name --format=csv,noheader | head -n 1)
export -f build conformance_all one_kernel models sanitized sanitized_steps rates
export folder jobs conformance program GPU_NAME

nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv | tee "$folder/card.csv"
part build 330 bash -c build
# The rest of the toolkit lies beside the compiler that the build found, wherever that is.
nvcc=$(sed -n 's/^NVCC_PATH = //p' build/config.mk)
export nvcc PATH="$PATH${nvcc:+:${nvcc%/*}}"
"$mode"
printf '\n'
cat "$folder/summary.csv"
[ ! -s "$failures" ]

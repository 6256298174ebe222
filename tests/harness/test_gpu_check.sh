#!/usr/bin/env bash
# scripts/gpu-check.sh without a GPU, a build or CUDA: what stands in for them notes what it is asked.
. tests/test.sh

tree=$scratch/tree
mkdir -p "$tree/scripts" "$tree/tests/cudasim" "$scratch/bin" "$scratch/toolkit/bin"
cp scripts/gpu-check.sh "$tree/scripts"

# stub FILE LINES: a program of these lines
stub() { printf '#!/bin/sh\n%s\n' "$2" >"$1" && chmod +x "$1"; }
stub "$scratch/answer" 'echo softmax_forward'
stub "$scratch/bin/nvidia-smi" 'echo a card'
stub "$scratch/bin/make" "mkdir -p build/tests/kernels && echo 'NVCC_PATH = $scratch/toolkit/bin/nvcc' >build/config.mk &&
cp '$scratch/answer' build/longhaul && cp '$scratch/answer' build/tests/kernels/conformance"
stub "$scratch/toolkit/bin/compute-sanitizer" 'echo nothing found'
stub "$scratch/toolkit/bin/nvcc" "echo \"\$*\" >'$scratch/asked'; cp '$scratch/answer' build/matrix_rate"
stub "$tree/tests/cudasim/sim_train.sh" 'echo trained'

check() { PATH="$scratch/bin:$PATH" "$tree/scripts/gpu-check.sh" "$1" "$scratch/$1" 2>&1; }
succeeds "the sanitizer lies beside the compiler, which is not in the path" "racecheck," check correct
succeeds "so does what rates are linked with" "rates," check speed
succeeds "in either folder of its libraries" "-rpath=$scratch/toolkit/lib64:$scratch/toolkit/lib " cat "$scratch/asked"

finish

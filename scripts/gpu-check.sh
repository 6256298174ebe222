#!/usr/bin/env bash
# Everything that wants a GPU, in one go of a few minutes: builds with CUDA, runs the conformance
# suite on the card, trains every model there and on the processor, and Table 1 at scale smoke with
# its step times.
#
#   scripts/gpu-check.sh [FOLDER]      what was seen goes to FOLDER (default results/gpu)
set -euo pipefail
cd "$(dirname "$0")/.."
folder=${1:-results/gpu}
mkdir -p "$folder"

nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv | tee "$folder/card.csv"
make CUDA=1 -j"$(nproc)" all
make CUDA=1 -j"$(nproc)" conformance BACKEND=cuda 2>&1 | tee "$folder/conformance.txt"
LONGHAUL_BIN=build/longhaul tests/cudasim/sim_train.sh 2>&1 | tee "$folder/train.txt"
build/longhaul run experiments/brt/table1.lua --scale smoke --device cuda --results "$folder"

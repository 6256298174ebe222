#!/usr/bin/env bash
# The dynamic shared memory of every kernel on tensor cores is what kernels/cuda/dynamic_shared.csv has for it: no
# object tells it, and the table of machine code reckons occupancy with it. Hashing is in four rounds, of 0.75 KiB each.
. tests/test.sh
export LH_CUDASIM_SHARED=$scratch/told

# step MODEL OPTIONS PRECISION...: one step with a head of each width, of which the simulator tells its launches.
step() {
    local width precision
    for width in 32 64 128; do
        for precision in "${@:3}"; do
            succeeds "$1 steps in $precision with a head of $width" predicted_tokens \
                "$LONGHAUL_BIN" train --device cuda --model "$1" --options "layers=1 width=$width heads=1 $2" \
                --task random_walk --task-options 'grid=2 steps=6 batch=1 segment=8 evaluate_episodes=1' \
                --train "steps=1 warmup=1 rate=0.01 optimizer=adam precision=$precision"
        done
    done
}

step gpt2 'window=4 context=8' bf16 tf32
step transformer_xl '' bf16 tf32
step reformer 'positions=16 chunk=4 rounds=4 eval_rounds=4' bf16 tf32

# The kernels of a width, by the names that the table of machine code has.
{
    echo kernel,bytes
    c++filt <"$LH_CUDASIM_SHARED" | sed -nE 's/, / /g; s/^void ([a-z_]+<[0-9][^>]*>)\(.*\) ([0-9]+)$/\1,\2/p' |
        LC_ALL=C sort -u
} >"$scratch/shared.csv"
quietly 0 "they take what the table says (> is now)" diff kernels/cuda/dynamic_shared.csv "$scratch/shared.csv"
finish

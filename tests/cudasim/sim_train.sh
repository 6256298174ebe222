#!/usr/bin/env bash
# Every model trains on the simulated GPU as it does on the processor.
. tests/test.sh

# loss DEVICE MODEL OPTIONS: bits per token after a few steps, dropout included.
loss() {
    "$LONGHAUL_BIN" train --device "$1" --model "$2" --options "$3" --task random_walk \
        --task-options 'grid=2 steps=6 batch=2 segment=8 evaluate_episodes=2' \
        --train "steps=3 warmup=1 rate=0.01 $4" 2>&1 | awk '/^bits_per_token/ { print $2 }'
}

# same MODEL OPTIONS TRAINING
same() {
    local cpu cuda
    cpu=$(loss cpu "$@")
    cuda=$(loss cuda "$@")
    succeeds "$1 $2 learns the same: $cpu and $cuda" "yes" awk -v a="$cpu" -v b="$cuda" \
        'BEGIN { d = a - b; print (a > 0 && d < 1e-4 && d > -1e-4) ? "yes" : "no" }'
}

tiny='layers=2 width=8 heads=2 dropout=0.1'
same slide "$tiny window=4" optimizer=adafactor
same brt "$tiny window=4 recurrence=fixed:skip recurrent_layers=1" optimizer=adam
same brt "$tiny window=4 recurrence=lstm:dual recurrent_layers=1 feedback=true" optimizer=adamw
same memorizing 'layers=2 width=8 heads=2 window=8 dropout=0 memory=12 top=3 memory_layer=1' optimizer=adafactor
same transformer_xl "$tiny span=6" 'optimizer=sgd clip=0.1'
same staircase "$tiny forward_size=4 steps=2" optimizer=adam
same cached_staircase "$tiny forward_size=2 step_size=6" optimizer=adam
same feedback "$tiny span=5" optimizer=adam
same lstm 'layers=2 width=8 hidden=8 dropout=0.1' optimizer=adam

finish

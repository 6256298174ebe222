#!/usr/bin/env bash
# Every model trains on the simulated GPU as it does on the processor; on a card, whose name is GPU_NAME, too. SHARES=8
# SHARE=0 .. 7 divide the checks among processes side by side.
. tests/test.sh

task=(--task random_walk --task-options 'grid=2 steps=6 batch=2 segment=8 evaluate_episodes=2')

# loss DEVICE MODEL OPTIONS: bits per token, squared error or perplexity after a few steps, dropout included.
loss() {
    "$LONGHAUL_BIN" train --device "$1" --model "$2" --options "$3" "${task[@]}" \
        --train "steps=4 warmup=1 rate=0.01 $4" 2>&1 | awk '/^(bits_per_token|mse|perplexity) / { print $2; exit }'
}

number=0

# Whether the checks that follow fall to this process.
mine() {
    number=$((number + 1))
    [ $((number % ${SHARES:-1})) -eq "${SHARE:-0}" ]
}

# compare MODEL OPTIONS TRAINING BOUND PRECISION...: the processor in f32, the GPU in each PRECISION, apart by
# BOUND of the loss at most.
compare() {
    local bound=$4 cpu cuda precision
    mine || return 0
    cpu=$(loss cpu "$1" "$2" "$3")
    for precision in "${@:5}"; do
        cuda=$(loss cuda "$1" "$2" "$3 precision=$precision")
        succeeds "$1 $2 learns the same in $precision: $cpu and $cuda" "yes" \
            awk -v a="$cpu" -v b="$cuda" -v bound="$bound" \
            'BEGIN { d = (a - b) / a; print (a > 0 && d < bound && d > -bound) ? "yes" : "no" }'
    done
}

# updates MODEL OPTIONS: of every parameter, in f32.
updates() {
    mine || return 0
    succeeds "a step changes each parameter of $1 $2 alike" "apart by" \
        "$LONGHAUL_BIN" lua tests/cudasim/update.lua "${task[1]}" "${task[3]}" "$1" "$2"
}

# same_in_f32 MODEL OPTIONS TRAINING
same_in_f32() {
    compare "$1" "$2" "$3" 2e-5 f32
    updates "$1" "$2"
}

same() {
    same_in_f32 "$@"
    compare "$1" "$2" "$3" 0.01 bf16
}

# The same of a model that chooses: buckets, nearest keys, the queries that attend. A card sums in an order of its own, so
# that of two that nearly tie it may choose the other, in f32 as in bf16, which is no mistake; the simulator does not.
chooses_in_f32() {
    if [ -z "${GPU_NAME:-}" ]; then same_in_f32 "$@"; else compare "$1" "$2" "$3" 0.02 f32; fi
}

tiny='layers=2 width=8 heads=2 dropout=0.1'
same slide "$tiny window=4" optimizer=adafactor
compare slide "$tiny window=4" optimizer=adafactor 0.002 tf32
same xl "$tiny window=8" optimizer=adam
same universal 'width=8 heads=2 span=4 dropout=0.1 steps=2' optimizer=adam
same gpt2 "$tiny window=4 context=8" optimizer=adam
same gpt2_recurrent "$tiny window=4 context=8 pooling=attention" optimizer=adam
same brt "$tiny window=4 recurrence=fixed:skip recurrent_layers=1" optimizer=adam
same brt "$tiny window=4 recurrence=lstm:dual recurrent_layers=1 feedback=true" optimizer=adamw
chooses_in_f32 memorizing 'layers=2 width=8 heads=2 window=8 dropout=0 memory=12 top=3 memory_layer=1' optimizer=adafactor
compare memorizing 'layers=2 width=8 heads=2 window=8 dropout=0 memory=12 top=3 memory_layer=1' optimizer=adafactor 0.01 bf16
same transformer_xl "$tiny span=6" 'optimizer=sgd clip=0.1'
same dai_xl "$tiny memory=6 rsa_kinds=1,0,0,0,0,1 rsa_dilation=2" optimizer=adam
same dai_xl "$tiny memory=6 recurrent_layer=1 states=3 block=4" optimizer=adam
same compressive "$tiny block=4 memory=4 compressed_memory=4" optimizer=adam
same compressive "$tiny block=4 memory=5 compressed_memory=3 compression=max compression_loss=task" optimizer=adam
same rmt "$tiny block=4 memory_tokens=2 memory=5" optimizer=adam
same staircase "$tiny forward_size=4 steps=2" optimizer=adam
same cached_staircase "$tiny forward_size=2 step_size=6" optimizer=adam
same feedback "$tiny span=5" optimizer=adam
same transformer "$tiny positions=relative rsa_kinds=1,0,0,1,0,0 rsa_dilation=2" optimizer=adam
same rnn 'layers=2 width=6 hidden=8 activation=sigmoid' optimizer=adam
# The widest heads.
same gpt2 'layers=1 width=256 heads=1 dropout=0.1 window=4 context=8' optimizer=adam
chooses_in_f32 reformer "$tiny positions=16 chunk=4 rounds=2" optimizer=adam
compare reformer "$tiny positions=16 chunk=4 rounds=2" optimizer=adam 0.02 bf16 tf32
same reformer "$tiny positions=4,4 attention=shared,local local_chunk=3 feed_forward_chunk=3" optimizer=adam
same_in_f32 reformer "$tiny positions=16 attention=shared" 'optimizer=adam clip=1 swap_parameters=true'
compare reformer "$tiny positions=16 attention=shared" 'optimizer=adam clip=1 swap_parameters=true' 0.02 bf16
same lstm 'layers=2 width=8 hidden=8 dropout=0.1' optimizer=adam

# A step captured as a graph computes what its kernels do one by one.
graphs() {
    local first second
    mine || return 0
    first=$(LH_GRAPHS=0 loss cuda "$@")
    second=$(LH_GRAPHS=1 loss cuda "$@")
    succeeds "$1 learns the same by graphs: $first and $second" "$first" echo "$second"
    succeeds "$1 has a loss" "." echo "$first"
}

graphs brt "$tiny window=4 recurrence=fixed:skip recurrent_layers=1" 'optimizer=adam precision=bf16 clip=1'
graphs memorizing 'layers=2 width=8 heads=2 window=8 dropout=0 memory=12 top=3 memory_layer=1' optimizer=adam

if mine; then
    succeeds "activations in bf16 take half the memory" "of them" \
        "$LONGHAUL_BIN" lua tests/cudasim/memory.lua slide 'layers=4 width=32 heads=2 window=8 dropout=0.1'
    fails 1 "tf32 on the processor" "precision=tf32 on the processor needs a GPU" \
        "$LONGHAUL_BIN" train --device cpu --model slide --task random_walk --train precision=tf32
fi

if mine; then
    cpu=$("$LONGHAUL_BIN" lua tests/cudasim/machine.lua | sed -n 's/^cpu: \(.*\)\.$/\1/p')
    succeeds "a row names the GPU beside the processor" "cuda: $cpu with ${GPU_NAME:-simulated GPU}." \
        "$LONGHAUL_BIN" lua tests/cudasim/machine.lua
fi

if mine && command -v mpirun >/dev/null && ldd "$LONGHAUL_BIN" 2>/dev/null | grep -q libmpi; then
    fails 1 "two ranks on one GPU, which each would wait for" \
        "ranks 0 and 1 have one GPU between them (${GPU_NAME:-simulated GPU} on " \
        timeout 60 mpirun -np 2 --oversubscribe --allow-run-as-root "$LONGHAUL_BIN" run experiments/examples/sweep.lua \
        --scale smoke --device cuda --only "16 none" --results "$scratch/ranks"
fi

task=(--task defect --task-options 'batch=2 source_length=24 functions=8 evaluate_functions=2')
same t5 'layers=1 width=8 heads=2 hidden=8 dropout=0.1 rsa_kinds=1,0,0,1,0,0 rsa_dilation=3' optimizer=adamw

task=(--task forecasting --task-options
    'name=generate:seasonal series_rows=200 channels=3 seq_len=6 label_len=3 pred_len=2 batch=2 evaluate_windows=4')
chooses_in_f32 informer "$tiny factor=1" optimizer=adam
compare informer "$tiny factor=1" optimizer=adam 0.01 bf16
same logsparse "$tiny rsa_kinds=0,0,0,1,0,1 rsa_dilation=2" optimizer=adam
same series_xl "$tiny" optimizer=adam
same rsa "layers=2 rsa_kinds=2,1,1,0,0,0" optimizer=adam

task=(--task translation --task-options 'pairs=20 evaluate_pairs=2 tokens=bytes batch_tokens=64 longer=4')
same reformer_encoder_decoder 'layers=1 width=8 heads=2 hidden=12 dropout=0.1' optimizer=adam

task=(--task regular_language --task-options 'language=tomita6 batch=2 longest=6 strings=8 evaluate_strings=4')
same transformer "$tiny positions=none rsa_kinds=0,1,1,0,0,0" optimizer=adam

finish

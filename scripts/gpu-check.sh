#!/usr/bin/env bash
# What wants a GPU, in two calls that fit a quarter of an hour of a lent machine, its start included:
#
#   scripts/gpu-check.sh prepare            where nvcc is and no GPU needs to be: builds for the card what is to be
#                                           carried there by name, since git ignores it: build/gpu.tar.gz beside
#                                           build/deps.tar.gz, the libraries (make deps-bundle)
#   scripts/gpu-check.sh correct [FOLDER]   the conformance suite, every model on the card, and losses beside the
#                                           processor's in every precision, side by side; then steps under
#                                           compute-sanitizer: accesses to memory, and use of barriers
#   scripts/gpu-check.sh speed [FOLDER]     at once after it: the card's own matrix rates, the paper-size baseline's
#                                           step with graphs and, of one setting, without, with passes in place of
#                                           epilogues; attention by itself; what each kernel of a step takes, by ncu; and one peer:
#                                           PEER=slide, brt or gpt2, in PyTorch where python3, or what PYTHON names,
#                                           has it (all three, PEER=all, take a call of their own: LIMIT=540
#                                           PARTS='rates peer'); then, in what time is left, all that ncu knows of a layer's
#                                           kernels (kernels.log), races of captured steps, and kernels under
#                                           compute-sanitizer
#   scripts/gpu-check.sh file [FOLDER]      afterwards, where the history is: puts a call's CSV under results/reference,
#                                           by card
#
# Each of the middle two takes LIMIT seconds at most, 330 unless told, and of its parts those alone that PARTS names; it
# builds on the spot only where build/gpu does not run on the card. FOLDER is $OUT, else results/gpu, and gets eight
# files at most: summary.csv with a line for each part as soon as it has ended, and the commit that was built,
# conformance.csv with one for each kernel, logs.tar.gz with what each part printed. A part that fails or takes too long
# keeps none of the others from running; what spare time did not suffice for is told, and is no failure.
set -u
mode=${1:-}
case $mode in prepare | correct | speed | file) ;; *) sed -n '2,/^set/s/^# \{0,1\}//p' "$0" >&2 && exit 2 ;; esac
folder=${2:-${OUT:-}}
[ -z "$folder" ] || folder=$(realpath -m "$folder") # seen from where it was asked for
cd "$(dirname "$0")/.." || exit 1
folder=${folder:-results/gpu}
seconds=${LIMIT:-330}
card=build/gpu
program=$card/longhaul conformance=$card/conformance
jobs=$(nproc)
half=$(((jobs + 1) / 2))
carried=64   # MiB that a call carries to a lent machine at most
given=${LD_LIBRARY_PATH:-} # where the machine may keep its driver; PyTorch gets no other
refused=77 absent=69 # exit statuses of what the machine does not allow, and of what it lacks

# ---- the build -----------------------------------------------------------------------------------

# In the first second, what a build would stop at in the last.
has_tools() {
    local tool lacking=
    for tool in make gcc g++ objcopy; do command -v "$tool" >/dev/null || lacking+=" $tool"; done
    [ -z "$lacking" ] && return
    echo "gpu-check: no build without$lacking: carry build/gpu.tar.gz here (scripts/gpu-check.sh prepare)" >&2
    return 1
}

# What was carried here.
unpack() {
    local name
    for name in gpu deps; do
        [ ! -f build/$name.tar.gz ] || tar -xzf build/$name.tar.gz -C build || return
    done
}

# For the card's architecture alone, and for one card; what is carried is at most 64 MiB, so without what debuggers read.
build() {
    local settings=(CUDA=1 CUDA_ARCHITECTURES=90 MPI=no O=build/card) made=build/card file
    has_tools || return
    mkdir -p "$card"
    [ ! -d build/deps ] || settings+=(DEPS=build/deps)
    make "${settings[@]}" -j"$jobs" all $made/tests/kernels/conformance $made/tests/gpu/matrix_rate || return
    for file in $made/longhaul $made/tests/kernels/conformance $made/tests/gpu/matrix_rate; do
        objcopy --strip-debug "$file" "$card/${file##*/}" || return
    done
    note_source
}

# Of which commit the build is: "COMMIT DIRTY". Where it is carried to there is no history to ask.
note_source() {
    local source
    source=$(scripts/version.sh)
    [ -f "$card/source" ] && [ "$source" = "unknown unknown" ] || echo "$source" >"$card/source"
}

# What travels to a lent machine: the tree, with all that git does not ignore, and what is carried by name.
travelling() {
    git ls-files -z --cached --others --exclude-standard
    find shared build/gpu.tar.gz build/deps.tar.gz -type f -print0 2>/dev/null
}

# Whether it may: a call is refused where it is more, after the machine was asked for. Tells how much, and what of it.
may_travel() {
    travelling | du -b --files0-from=- 2>/dev/null | awk -F '[\t/]' -v most="$carried" '
        { sum += $1; of[$2 ($3 ~ /./ ? "/" $3 : "")] += $1 }
        END {
            printf "%.1f MiB travel, %d may\n", sum / 1048576, most
            for (name in of) printf "%.1f MiB  %s\n", of[name] / 1048576, name | "sort -rn | head -n 6"
            exit sum > most * 1048576
        }'
}

# Whether what was built, here or elsewhere, finds its libraries, of which those that lack are told, and works on the
# card: a driver may be too old for it, and it may be of another architecture.
runs_here() {
    [ -x "$program" ] || return
    ! ldd "$program" "$conformance" "$card/matrix_rate" 2>&1 | grep 'not found\|not a dynamic' || return
    timeout 60 "$card/matrix_rate" >/dev/null
}

# Sets nvcc, with what lies beside it in the path, and where CUDA's libraries may lie: there or with python3's packages.
find_toolkit() {
    local wheels folders
    nvcc=$(sed -n 's/^NVCC_PATH = //p' build/card/config.mk 2>/dev/null)
    nvcc=$(realpath -m "${nvcc:-$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)}")
    wheels=$(python3 -c 'import nvidia; print(*nvidia.__path__)' 2>/dev/null)
    folders=("$PWD/build/deps/lib" "${nvcc%/bin/nvcc}"/lib* "${wheels:-/nowhere}"/*/lib)
    export PATH="$PATH:${nvcc%/*}" LD_LIBRARY_PATH
    LD_LIBRARY_PATH=$(IFS=: && echo "${folders[*]}")${given:+:$given}
}

# ---- parts ---------------------------------------------------------------------------------------

# verdict STATUS LIMIT LEFT: of a part that had LIMIT of the LEFT seconds of the call.
verdict() {
    case $2,$1 in
    0,* | -*) echo "no time left" ;;
    "$3",124 | "$3",137) echo "no time left after $2 s" ;;
    *,124 | *,137) echo "stopped after $2 s" ;;
    *,$refused) echo "not supported here" ;;
    *,$absent) echo "not installed here" ;;
    *,0) echo good ;;
    *) echo "failed ($1)" ;;
    esac
}

# Whether a part with this verdict fails the call: one in spare time need not end.
is_failure() {
    case $1 in
    good | "not supported here" | "not installed here") return 1 ;;
    "no time left"*) [ "${spare:-no}" = no ] ;;
    esac
}

# part NAME LIMIT COMMAND...: runs it for at most LIMIT seconds, and what is left of the call.
part() {
    local name=$1 limit=$2 start=$SECONDS left=$((seconds - SECONDS)) ending source status=0
    shift 2
    [[ " ${PARTS:-$name} " = *" $name "* ]] || return 0
    [ $left -gt "$limit" ] || limit=$left
    if [ "$limit" -gt 0 ]; then
        timeout --kill-after=5 "$limit" "$@" >"$logs/$name.log" 2>&1
        status=$?
    fi
    ending=$(verdict "$status" "$limit" "$left")
    if is_failure "$ending"; then
        echo "$name" >>"$failures"
        tail -n 12 "$logs/$name.log" 2>/dev/null
    fi
    source=$(cat "$card/source" 2>/dev/null || echo unknown unknown)
    echo "$name,$((SECONDS - start)),$ending,${source/ /,},$(date -u +%FT%TZ)" | tee -a "$folder/summary.csv"
}

in_spare_time() { spare=yes part "$@"; }

one_kernel() {
    local verdict=good
    "$conformance" --backend cuda --mode test --kernel "$1" || verdict=failed
    echo "$1,$verdict" >>"$folder/conformance.csv"
    [ $verdict = good ]
}

# Kernels side by side: the references are what takes the time.
conformance_all() {
    echo "kernel,verdict" >"$folder/conformance.csv"
    "$conformance" --list | OMP_NUM_THREADS=1 xargs -P "$half" -I{} bash -c 'one_kernel {}'
}

# Models side by side: opening the card, more than a hundred times, is what takes the time.
models() {
    seq 0 $((jobs - 1)) | OMP_NUM_THREADS=1 LONGHAUL_BIN=$program SHARES=$jobs \
        xargs -P "$jobs" -I{} env SHARE={} tests/cudasim/sim_train.sh
}

# Whether the tool (its own lines begin with =) says that it found nothing, and the program ran: a tool that never saw
# the program has nothing to tell either, and ends well.
looked_and_found_nothing() {
    grep -Eq '^=+ (ERROR SUMMARY: 0 errors|RACECHECK SUMMARY: .*\(0 errors)' <<<"$1" && grep -Eqv '^(=|$)' <<<"$1"
}

# sanitizer TOOL COMMAND...: of a program that need not start itself anew (harness/main.c), and that reads nothing.
sanitizer() {
    local output status
    command -v compute-sanitizer >/dev/null || return "$absent"
    output=$(LONGHAUL_BLAS_CHOSEN=1 OPENBLAS_NUM_THREADS=1 \
        compute-sanitizer --tool "$1" --target-processes all --error-exitcode 9 "${@:2}" </dev/null 2>&1)
    status=$?
    echo "$output"
    [[ $output != *"Device not supported"* ]] || return "$refused"
    [ $status -eq 0 ] || return $status
    looked_and_found_nothing "$output" || { echo "$1 does not say that it found nothing"; return 1; }
}

sanitized() {
    local kernel
    for kernel in "${@:2}"; do
        sanitizer "$1" "$conformance" --backend cuda --mode test --kernel "$kernel" || return
    done
}

# Steps in bf16: every attention on tensor cores, both ways, and the rest of a step; the last two are captured.
sanitized_steps() {
    local model options
    while read -r model options; do
        sanitizer "$1" "$program" train --device cuda --model "$model" \
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
    "$card/matrix_rate" >"$folder/rates.csv" && cat "$folder/rates.csv"
}

# Attention by itself, of the papers' sizes, in seconds.
attention() {
    local kernel
    for kernel in attention_forward attention_backward; do
        "$conformance" --backend cuda --mode bench --sample 100 --kernel "$kernel" || return
    done
}

# What each kernel of a step takes: started one by one, since ncu sees a graph as one.
profile() {
    local model raw status=0
    command -v ncu >/dev/null || return "$absent"
    for model in "$@"; do
        raw=$logs/profile-$model.csv
        profiled --csv --page raw --print-units base \
            --metrics gpu__time_duration.sum,dram__bytes_read.sum,dram__bytes_write.sum \
            "$program" lua tests/gpu/profile.lua steps "$model" >"$raw" || { tail -n 5 "$raw"; status=1; continue; }
        "$program" lua tests/gpu/profile.lua sum "$raw" "$folder" "$model" || status=1
    done
    return $status
}

# All that ncu knows of those of one layer that are ours: of the last one, its gradients among them.
kernels() {
    command -v ncu >/dev/null || return "$absent"
    profiled --set full --page details --kernel-name-base demangled \
        --kernel-name 'regex:attend_tiles|pass_|rms_norm|unit_norm|unary|column_sums' --launch-skip 6 --launch-count 16 \
        "$program" lua tests/gpu/profile.lua steps slide
}

profiled() {
    LH_GRAPHS=0 LONGHAUL_BLAS_CHOSEN=1 OPENBLAS_NUM_THREADS=1 ncu --target-processes all --clock-control none \
        --print-kernel-base demangled "$@" </dev/null
}

# What is bound by the processor beside what is bound by opening the card; then the sanitizers, which take the card's
# time, in a call that has nothing to time. The first of them is in the limit whatever the others take.
correct() {
    part conformance 250 bash -o pipefail -c conformance_all &
    part models 250 bash -c models &
    part losses 250 env OMP_NUM_THREADS="$half" "$program" lua tests/gpu/losses.lua "$folder" &
    wait
    part memcheck-steps 60 bash -c 'sanitized_steps memcheck'
    in_spare_time synccheck-steps 60 bash -c 'sanitized_steps synccheck'
}

# One after the other, since they are timed. PyTorch finds its libraries by itself.
speed() {
    local peer=${PEER:-slide}
    part rates 30 bash -c rates
    part steps 90 "$program" lua tests/gpu/speed.lua "$folder"
    part steps-passes 25 env LH_EPILOGUES=0 "$program" lua tests/gpu/speed.lua "$folder"
    part steps-eager 25 env LH_GRAPHS=0 "$program" lua tests/gpu/speed.lua "$folder"
    part attention 75 bash -c attention
    part profile 110 bash -c 'profile slide gpt2 reformer transformer_xl'
    part peer "$([ "$peer" = all ] && echo 450 || echo 150)" env PYTHON="env LD_LIBRARY_PATH=$given ${PYTHON:-python3}" \
        "$program" lua tests/gpu/peers.lua "$folder" "$peer"
    grep -h 'of bf16' "$logs"/*.log
    in_spare_time kernels 60 bash -c kernels
    in_spare_time racecheck-steps 60 bash -c 'sanitized_steps racecheck'
    in_spare_time memcheck 60 bash -c 'sanitized memcheck matmul layer_norm_backward adafactor scatter_add'
    in_spare_time racecheck 60 bash -c 'sanitized racecheck softmax_forward adafactor scatter_add cross_entropy'
}

# ---- afterwards ----------------------------------------------------------------------------------

# The card's name in card.csv, as a folder: nvidia-h100-80gb-hbm3.
card_folder() { sed -n '2s/,.*//p' "$folder/card.csv" | tr 'A-Z ' 'a-z-'; }

# What came back from a lent machine may only be read, and is copied as files that a later call replaces. Parts that it
# did not run keep their lines, which name the commit of their files.
file_results() {
    local to before call=speed
    if [ ! -f "$folder/summary.csv" ] || [ ! -s "$folder/card.csv" ]; then
        echo "gpu-check: $folder has no summary.csv and card.csv of a call" >&2
        return 1
    fi
    [ ! -f "$folder/conformance.csv" ] || call=correct
    to=results/reference/$(card_folder)/gpu-$call
    mkdir -p "$to" && touch "$to/summary.csv" && before=$(cat "$to/summary.csv") || return
    cp --no-preserve=mode "$folder"/*.csv "$to" && echo "$to" || return
    awk -F, 'NR == FNR { now[$1]; next } !($1 in now)' "$folder/summary.csv" <(echo "$before") >>"$to/summary.csv"
}

# ---- a call --------------------------------------------------------------------------------------

if [ "$mode" = prepare ]; then
    build && tar -czf build/gpu.tar.gz -C build gpu || exit
    [ -f build/deps.tar.gz ] || echo "gpu-check: no build/deps.tar.gz to carry (make deps-bundle)" >&2
    may_travel && exit
    echo "gpu-check: too much to carry: call from a checkout without what no check reads (results/reference)" >&2
    exit 1
fi
if [ "$mode" = file ]; then
    file_results
    exit
fi
mkdir -p "$folder"
logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT
failures=$logs/failures
: >"$failures"
echo "part,seconds,verdict,code_version,dirty,date" >"$folder/summary.csv"
GPU_NAME=$(nvidia-smi --query-gpu=name --format=csv,noheader | head -n 1)
export -f has_tools build note_source conformance_all one_kernel models rates attention profile kernels profiled
export -f looked_and_found_nothing sanitizer sanitized sanitized_steps
export folder logs jobs half card conformance program refused absent GPU_NAME

nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv | tee "$folder/card.csv"
unpack
find_toolkit
runs_here || part build 240 bash -c build
if runs_here; then
    find_toolkit
    "$mode"
else
    echo "build/gpu does not run here, so nothing was checked" | tee -a "$failures"
fi
tar -czf "$folder/logs.tar.gz" -C "$logs" .
printf '\n'
cat "$folder/summary.csv"
sed -n 's/^\([^,]*\),[0-9]*,no time left.*/not checked for want of time: \1/p' "$folder/summary.csv"
[ ! -s "$failures" ]

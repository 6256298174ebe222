#!/usr/bin/env bash
# One small sweep, disturbed round after round in every way that there is, then finished undisturbed: it must end with the
# very numbers of a sweep that nobody disturbed, and leave nothing half-written.
#
#   SOAK_SECONDS=600 SOAK_SEED=1 tests/soak/soak.sh        a round is drawn from the seed and its number
#   SOAK_ROUND=17 SOAK_SEED=1 tests/soak/soak.sh           that round alone
#
# LONGHAUL_BIN is the program, with tests/soak/slow_disk.so in its folder. What this machine lacks (mount, strace, mpirun) is
# said and left out.
. tests/test.sh
seconds=${SOAK_SECONDS:-600}
seed=${SOAK_SEED:-$((RANDOM * 32768 + RANDOM))}
export OMP_NUM_THREADS=1 LONGHAUL_BLAS_CHOSEN=1 OPENBLAS_NUM_THREADS=1 LONGHAUL_RANK_SECONDS=4
unset LD_PRELOAD
slow_disk=${longhaul%/*}/tests/soak/slow_disk.so
[ -e "$slow_disk" ] || { echo "$slow_disk is missing: make test-soak builds it"; exit 1; }

cat >"$scratch/sweep.lua" <<'LUA'
local lh = require "longhaul"
local bench = lh.experiment "soak"
local text = lh.data.text { "generate:books", documents = 12, document_bytes = 2000, limit_eval_bytes = 2000 }
local task = lh.tasks.language_model { text, segment = 32, batch = 4 }
local train = lh.train { steps = 120, warmup = 5, checkpoint_every = 5, log_every = 10, evaluate_every = 40, keep_best = true }
bench:row { "brt", task = task, train = train,
  model = lh.models.brt { layers = 3, width = 8, heads = 2, window = 8, dropout = 0.1, recurrence = "fixed:skip" } }
bench:row { "lstm", task = task, train = train, keep_weights = true, model = lh.models.lstm { layers = 1, width = 8, hidden = 8 } }
bench:row { "tuned", task = task, train = train:with { steps = 40 }, from = "lstm", model = lh.models.lstm { layers = 1, width = 8, hidden = 8 } }
bench:row { "gpt2", task = task, train = train,
  model = lh.models.gpt2 { layers = 2, width = 8, heads = 2, context = 32, window = 16, dropout = 0.1 } }
bench:table { columns = { "bits_per_byte" } }
return bench
LUA

# ---- the sweep, and what must not depend on what befell it ----

sweep=("$longhaul" run "$scratch/sweep.lua" --scale smoke --no-timing --results)
on_ranks=(mpirun -np 2 --oversubscribe --allow-run-as-root "${sweep[@]}")

numbers() { "$longhaul" lua tests/harness/numbers.lua "$1/soak"; }

# What a finished sweep has no more: partial files, checkpoints, best weights.
leftovers() { find "$1" -name '*.partial' -o -name '*.snapshot' -o -name '*.best.safetensors'; }

# ---- drawing ----

# draw N: a number below N, in $drawn. One in a subshell would be drawn again.
draw() { drawn=$((RANDOM % $1)); }

# Waits for up to two seconds, often much less.
pause() {
    local hundredths
    draw 200
    hundredths=$drawn
    draw 3
    if [ "$drawn" -eq 0 ]; then hundredths=$((hundredths / 10)); fi
    sleep "$(printf '%d.%02d' $((hundredths / 100)) $((hundredths % 100)))"
}

# ---- processes ----

declare -A counts=([kills]=0 [signals]=0 [processes]=0 [faults]=0 [full]=0 [slow]=0 [ranks]=0)
count() { counts[$1]=$((counts[$1] + ${2:-1})); }

# launch WORDS...: starts the sweep behind these words.
launch() {
    "$@" "${command[@]}" "$folder" >>"$log" 2>&1 &
    running+=($!)
    count processes
}
launch_many() {
    local i
    for ((i = 0; i < $1; ++i)); do launch "${@:2}"; done
}

none_running() {
    local process
    for process in "${running[@]}"; do
        if kill -0 "$process"; then return 1; fi
    done
}

# All have ended by themselves, in some way, soon enough.
settle() {
    local process
    until_true 300 none_running || {
        hung=yes
        for process in "${running[@]}"; do kill -9 "$process" 2>/dev/null; done
    }
    wait "${running[@]}" 2>/dev/null
    running=()
}

# One of those that were started; it may have ended.
draw_process() {
    draw ${#running[@]}
    process=${running[drawn]}
}

# ---- what befalls the sweep ----

killed() { # by kill -9 at any moment
    local i process times
    draw 6
    launch_many $((drawn + 1)) "$@"
    draw 6
    for ((times = drawn + 1, i = 0; i < times; ++i)); do
        pause
        draw_process
        if kill -9 "$process" 2>/dev/null; then count kills; fi
    done
    settle
}

signalled() { # once or twice, by what asks a run to stop
    local i process signals=(TERM HUP USR1 INT)
    draw 4
    launch_many $((drawn + 1))
    for ((i = 0; i < 3; ++i)); do
        pause
        draw_process
        draw 4
        if kill -s "${signals[drawn]}" "$process" 2>/dev/null; then count signals; fi
        draw 2
        if [ "$drawn" -eq 0 ] && kill -s INT "$process" 2>/dev/null; then count signals; fi
    done
    settle
}

filled() { # the disk, but for some bytes; it is emptied again later
    local filler=$disk/filler
    launch
    pause
    dd if=/dev/zero of="$filler" bs=1k 2>/dev/null
    draw 400
    truncate -s "-$((drawn * 1024))" "$filler"
    launch
    count full
    settle
    rm "$filler"
}

limited() { # to files of so many KiB; more is SIGXFSZ, or an error where that is ignored
    draw 40
    # shellcheck disable=SC2016  # the inner shell expands them
    launch bash -c 'ulimit -f "$1"; shift; exec "$@"' limited $((drawn + 1))
    draw 40
    # shellcheck disable=SC2016
    launch bash -c 'trap "" XFSZ; ulimit -f "$1"; shift; exec "$@"' limited $((drawn + 1))
    count full 2
    settle
}

failing() { # a call of the program's own that can fail
    local i
    for ((i = 0; i < 4; ++i)); do
        draw 6000
        launch env LH_FAIL_AT=$((drawn + 1))
        count faults
    done
    settle
}

failing_calls() { # of the system
    local i kinds=(EIO ENOSPC EINTR EDQUOT) kind
    for ((i = 0; i < 2; ++i)); do
        draw 4
        kind=${kinds[drawn]}
        draw 300
        launch strace -f -qq -o /dev/null -e trace=write,fsync,rename,fcntl \
            -e inject=write,fsync,rename,fcntl:error="$kind":when=$((drawn + 20))
        count faults
    done
    settle
}

slowed() { # by a disk that takes its time, and killed there
    draw 60
    count slow
    killed env LD_PRELOAD="$slow_disk" SLOW_DISK_MS=$((drawn + 1)) SLOW_DISK_SEED="$drawn"
}

crowded() { # by sixteen processes, of which some are killed
    local i process
    launch_many 16
    draw 4
    for ((i = drawn; i > 0; --i)); do
        pause
        draw_process
        if kill -9 "$process" 2>/dev/null; then count kills; fi
    done
    settle
}

# The processes of the ranks, in the order in which they were started.
ranks_of() { pgrep -P "$1" -x longhaul; }

bereaved() { # of a rank: killed, signalled or stopped
    local ranks signals=(KILL TERM STOP)
    launch
    pause
    mapfile -t ranks < <(ranks_of "${running[0]}")
    draw 3
    if [ ${#ranks[@]} -eq 2 ]; then
        count ranks
        kill -s "${signals[drawn]}" "${ranks[RANDOM % 2]}" 2>/dev/null
    fi
    settle
}

kinds=(killed signalled limited failing slowed crowded)
disk=$scratch/disk
mkdir "$disk"
if mount -t tmpfs -o size=24m none "$disk" 2>/dev/null; then
    trap 'umount -l "$disk"; rm -rf "$scratch"' EXIT
    kinds+=(filled)
else
    echo "left out: a full disk, since nothing can be mounted here"
fi
if strace -qq -o /dev/null -e inject=write:error=EIO:when=99 true 2>/dev/null; then
    kinds+=(failing_calls)
else
    echo "left out: failing system calls, since there is no strace that may inject them"
fi
if command -v mpirun >/dev/null && ldd "$longhaul" | grep -q libmpi; then
    kinds+=(bereaved)
else
    echo "left out: ranks, since there is no MPI"
fi

# ---- rounds ----

# round NUMBER: some of these in a row, then an undisturbed end.
round() {
    local times i kind what=() before=$tests_failed
    RANDOM=$(((seed + $1 * 7919) % 32768))
    folder=$disk/round$1
    log=$scratch/round$1.log
    hung=no
    running=()
    draw ${#kinds[@]}
    kind=${kinds[drawn]}
    reference=alone
    command=("${sweep[@]}")
    if [ "$kind" = bereaved ]; then
        reference=ranks
        command=("${on_ranks[@]}")
    fi
    draw 3
    times=$((drawn + 1))
    for ((i = 0; i < times; ++i)); do
        if [ $i -gt 0 ] && [ $reference = alone ]; then
            draw $((${#kinds[@]} - 1))
            kind=${kinds[drawn]}
            if [ "$kind" = bereaved ]; then kind=killed; fi
        fi
        what+=("$kind")
        "$kind"
    done
    quietly 0 "round $1 (${what[*]}): every process ends" test $hung = no
    succeeds "round $1 (${what[*]}): the sweep is finished" "bits/byte" "${command[@]}" "$folder"
    numbers "$folder" >"$scratch/numbers" 2>&1
    quietly 0 "round $1 (${what[*]}): with the numbers of an undisturbed one" cmp "$scratch/numbers" "$scratch/$reference"
    quietly 0 "round $1 (${what[*]}): nothing is left behind" leftovers "$folder"
    if [ "$tests_failed" -gt "$before" ]; then
        echo "round $1 failed: SOAK_SEED=$seed SOAK_ROUND=$1"
        diff "$scratch/numbers" "$scratch/$reference" | cut -c 1-300 | head -n 20
        tail -n 30 "$log"
    fi
    rm -rf "$folder" "$log"
}

log=/dev/null
command=("${sweep[@]}")
succeeds "an undisturbed sweep" "bits/byte" "${sweep[@]}" "$disk/alone"
numbers "$disk/alone" >"$scratch/alone"
quietly 0 "has all its numbers" test "$(grep -c "status.done" "$scratch/alone")" -eq 4
if [[ " ${kinds[*]} " == *" bereaved "* ]]; then
    succeeds "one of two ranks" "bits/byte" "${on_ranks[@]}" "$disk/ranks"
    numbers "$disk/ranks" >"$scratch/ranks"
fi
# bash tells of every job that was killed; what else it says is shown at the end
exec 3>&2 2>"$scratch/said"
began=$EPOCHSECONDS
rounds=0
if [ -n "${SOAK_ROUND:-}" ]; then
    round "$SOAK_ROUND"
    rounds=1
else
    while [ $((EPOCHSECONDS - began)) -lt "$seconds" ]; do
        rounds=$((rounds + 1))
        round $rounds
    done
fi
exec 2>&3
grep -Ev ' (Killed|Terminated|Hangup|User defined signal 1|File size limit exceeded)' "$scratch/said"
echo "seed $seed: $rounds rounds in $((EPOCHSECONDS - began)) s, ${counts[processes]} processes, ${counts[kills]} kills," \
    "${counts[signals]} signals, ${counts[full]} full disks, ${counts[faults]} failing calls, ${counts[slow]} slow disks," \
    "${counts[ranks]} ranks lost or stopped"
finish

#!/usr/bin/env bash
# A job array on a real Slurm of one node, started here by this test and ended with it: runs on one and on two ranks, a rank
# that is killed, a job that is told to stop.
. tests/test.sh

for program in munged slurmctld slurmd sbatch; do
    if ! command -v $program >/dev/null && [ ! -x /usr/sbin/$program ]; then
        skips "no $program here (packages munge, slurm-wlm)"
        finish
    fi
done
PATH=$PATH:/usr/sbin
export SLURM_CONF=$scratch/slurm.conf

# Daemons of our own, on sockets and ports of our own.
mkdir -m 755 "$scratch/munge" "$scratch/state" "$scratch/spool"
chmod 755 "$scratch"
head -c 128 /dev/urandom >"$scratch/munge/key"
chmod 600 "$scratch/munge/key"
port=$((20000 + $$ % 20000))
node=$(hostname -s)
cat >"$SLURM_CONF" <<CONF
ClusterName=test
SlurmctldHost=$node(127.0.0.1)
SlurmUser=$(id -un)
SlurmdUser=$(id -un)
AuthInfo=socket=$scratch/munge/socket
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
StateSaveLocation=$scratch/state
SlurmdSpoolDir=$scratch/spool
SlurmctldPidFile=$scratch/slurmctld.pid
SlurmdPidFile=$scratch/slurmd.pid
SlurmctldPort=$port
SlurmdPort=$((port + 1))
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
JobAcctGatherType=jobacct_gather/none
NodeName=$node NodeAddr=127.0.0.1 CPUs=$(nproc) State=UNKNOWN
PartitionName=main Nodes=ALL Default=YES State=UP
CONF
munged --force --foreground --key-file="$scratch/munge/key" --socket="$scratch/munge/socket" \
    --pid-file="$scratch/munge/pid" --log-file="$scratch/munge/log" --seed-file="$scratch/munge/seed" >/dev/null 2>&1 &
daemons=$!
sleep 1
slurmctld -D -f "$SLURM_CONF" >"$scratch/slurmctld.log" 2>&1 &
daemons="$daemons $!"
sleep 2
slurmd -D -f "$SLURM_CONF" >"$scratch/slurmd.log" 2>&1 &
daemons="$daemons $!"
# shellcheck disable=SC2064,SC2086  # the list as it is now, word by word
trap "kill $daemons 2>/dev/null; wait; rm -rf '$scratch'" EXIT
for _ in $(seq 20); do
    if sinfo -h -o %t 2>/dev/null | grep -qx idle; then break; fi
    sleep 1
done
if ! sinfo -h -o %t 2>/dev/null | grep -qx idle; then
    skips "Slurm does not start here"
    tail -n 3 "$scratch"/slurm*.log
    finish
fi

# STEPS is replaced.
cat >"$scratch/base.lua" <<'LUA'
local lh = require "longhaul"
local bench = lh.experiment "array"
local text = lh.data.text { "generate:books", documents = 12, document_bytes = 3000, limit_eval_bytes = 3000 }
local task = lh.tasks.language_model { text, segment = 32, batch = 5 }
local train = lh.train { steps = STEPS, warmup = 5, log_every = 10, checkpoint_every = 10 }
local slide = lh.models.slide { layers = 2, width = 32, heads = 2, window = 16, dropout = 0.1 }
bench:row { "first", task = task, train = train, model = slide, keep_weights = true, seeds = 2 }
bench:row { "second", task = task, train = train, model = slide, from = "first", seeds = 2 }
bench:table { columns = { "bits_per_byte" } }
return bench
LUA
sed 's/STEPS/40/' "$scratch/base.lua" >"$scratch/short.lua"
sed 's/STEPS/1500/' "$scratch/base.lua" >"$scratch/slow.lua"
# submit SCRIPT RESULTS [OPTIONS]: the job's number; with `wait` set, after its end.
submit() {
    local script=$1 results=$2
    shift 2
    "$longhaul" slurm "$scratch/$script.lua" --scale smoke --threads 1 --results "$scratch/$results" "$@" >"$scratch/job.sh"
    sbatch --parsable ${wait:+--wait} --chdir="$scratch" --output="$scratch/$results-%a.log" "$scratch/job.sh"
}
statuses() { cut -d, -f10 "$scratch/$1/array/runs.csv" | paste -sd ' '; }
until_checkpoint() {
    for _ in $(seq 300); do
        if compgen -G "$scratch/$1/array/checkpoints/*.snapshot" >/dev/null; then return 0; fi
        sleep 0.1
    done
    return 1
}
until_idle() {
    for _ in $(seq 100); do
        if [ -z "$(squeue -h)" ]; then return 0; fi
        sleep 0.2
    done
    return 1
}

wait=yes submit short one >/dev/null
succeeds "four runs, a task each" "status done done done done" statuses one
succeeds "each task ran one or found it run" "4" sh -c "grep -l 'bits/token.*parameters\|another process' '$scratch'/one-*.log | wc -l"

job=$(submit slow stopped --only first --seeds 1)
quietly 0 "a run under way" until_checkpoint stopped
scancel --signal=TERM --batch "$job"
quietly 0 "is told to stop" until_idle
succeeds "and stops with a checkpoint" "goes on from the last checkpoint" cat "$scratch/stopped-1.log"

if command -v mpirun >/dev/null && ldd "$longhaul" | grep -q libmpi && [ "$(nproc)" -gt 1 ]; then
    job=$(submit slow stopped --only first --seeds 1 --ranks 2)
    sleep 4
    victim=$(pgrep -f "^[^ ]*longhaul run $scratch/slow.lua" | tail -n 1)
    kill -9 "$victim"
    quietly 0 "a rank is killed" until_idle
    succeeds "which the other says" "(process $victim on" cat "$scratch/stopped-1.log"
    wait=yes submit slow stopped --only first --seeds 1 --ranks 2 >/dev/null
    succeeds "and the next job ends the run" "status done" statuses stopped
fi

finish

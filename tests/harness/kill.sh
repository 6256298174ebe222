# shellcheck shell=bash
# For tests of what kill -9 leaves; tests/test.sh comes first.
: "${scratch:?}"

# new_checkpoint FOLDER: a checkpoint of an experiment was written since $scratch/started.
new_checkpoint() {
    find "$1/checkpoints" -name '*.snapshot' -newer "$scratch/started" | grep -q .
}

# unfinished FOLDER: a run has a checkpoint and points of its curve, but no row that calls it done.
unfinished() {
    local checkpoint run
    for checkpoint in "$1"/checkpoints/*.snapshot; do
        run=$(basename "$checkpoint" .snapshot)
        if [ -e "$checkpoint" ] && [ "$(wc -l <"$1/curves/$run.csv")" -gt 1 ] &&
            ! grep -q "$run.*done" "$1/runs.csv" 2>/dev/null; then return 0; fi
    done
    return 1
}

# kill_midway TIMES FOLDER COMMAND...: starts the command again and again and kills it when it has written
# a checkpoint, until that has hit an unfinished run TIMES times. FOLDER is the experiment's.
kill_midway() {
    local times=$1 folder=$2 hits=0 starts=0 process
    shift 2
    while [ "$hits" -lt "$times" ] && [ "$starts" -lt $((10 * times)) ]; do
        starts=$((starts + 1))
        touch "$scratch/started"
        "$@" >/dev/null 2>&1 &
        process=$!
        until_true 60 new_checkpoint "$folder"
        kill -9 $process
        wait $process 2>/dev/null
        if unfinished "$folder"; then hits=$((hits + 1)); fi
    done
    echo "$hits of $starts kills hit an unfinished run"
}

#!/usr/bin/env bash
# scripts/gpu-check.sh without a GPU, a build or CUDA: what stands in for them notes what it is asked.
. tests/test.sh

tree=$scratch/tree
bin=$scratch/bin
mkdir -p "$tree/scripts" "$tree/tests/cudasim" "$bin" "$scratch/toolkit/bin"
cp scripts/gpu-check.sh scripts/version.sh "$tree/scripts"
echo /build/ >"$tree/.gitignore"
in_tree() { git -C "$tree" -c user.name=x -c user.email=x@y.z "$@"; }
in_tree init -q && in_tree add . && in_tree commit -q -m first
commit=$(in_tree rev-parse --short=12 HEAD)

# stub FILE LINES: a program of these lines
stub() { printf '#!/bin/sh\n%s\n' "$2" >"$1" && chmod +x "$1"; }
mkdir "$scratch/built"
stub "$scratch/built/conformance" 'echo softmax_forward'
stub "$scratch/built/matrix_rate" 'echo name,result,size,value,unit'
# shellcheck disable=SC2016  # its own words
stub "$scratch/built/longhaul" 'echo "longhaul $*: libraries in $LD_LIBRARY_PATH, python is $PYTHON"'
# shellcheck disable=SC2016  # its own words
stub "$bin/nvidia-smi" 'case "$*" in *noheader*) ;; *) echo "name, memory" ;; esac; echo "NVIDIA H200, 143771 MiB"'
stub "$bin/ldd" 'exit 0'
# shellcheck disable=SC2016  # the stub's own words
stub "$bin/objcopy" 'cp "$2" "$3"'
stub "$bin/make" "echo made >>'$scratch/made'; for there in tests/kernels/conformance tests/gpu/matrix_rate longhaul; do
mkdir -p build/card/tests/kernels build/card/tests/gpu && cp '$scratch/built'/\${there##*/} build/card/\$there; done
echo 'NVCC_PATH = $scratch/toolkit/bin/nvcc' >build/card/config.mk"
sanitizer_says() { stub "$scratch/toolkit/bin/compute-sanitizer" "$1"; }
# It reads what it is given to read, and sums up as each of its tools does.
# shellcheck disable=SC2016  # its own words
sanitizer_says 'cat; echo "$*, settled: $LONGHAUL_BLAS_CHOSEN"
case $2 in
racecheck) echo "========= RACECHECK SUMMARY: 2 hazards displayed (0 errors, 2 warnings)" ;;
*) echo "========= ERROR SUMMARY: 0 errors" ;;
esac'
# shellcheck disable=SC2016  # its own words
stub "$scratch/toolkit/bin/ncu" 'echo "ncu $*, graphs: $LH_GRAPHS"'
stub "$tree/tests/cudasim/sim_train.sh" 'echo trained'

driver=$scratch/driver/lib
check() { PATH="$bin:$PATH" LD_LIBRARY_PATH="$driver" "$tree/scripts/gpu-check.sh" "$1" "$scratch/$1" 2>&1; }
files() { "$tree/scripts/gpu-check.sh" file "$scratch/$1"; }
logged() { tar -xzOf "$scratch/$1/logs.tar.gz" "./$2"; }
printed() { logged "$1" "$2.log"; }
builds() { wc -l <"$scratch/made"; }
fails 2 "says how it is called" "scripts/gpu-check.sh prepare" check nothing
elsewhere() { (cd "$tree/scripts" && PATH="$bin:$PATH" ./gpu-check.sh "$@"); }
fails 2 "from another folder, too" "scripts/gpu-check.sh prepare" elsewhere nothing
mkdir "$tree/scripts/call" && echo part >"$tree/scripts/call/summary.csv" && printf 'name\nA Card, 1\n' >"$tree/scripts/call/card.csv"
succeeds "where a folder is that of the caller" "results/reference/a-card/gpu-speed" elsewhere file call
rm -r "$tree/scripts/call" "$tree/results"
succeeds "builds beforehand" "no build/deps.tar.gz to carry" check prepare
succeeds "and says what travels" " MiB  build/gpu.tar.gz" check prepare
truncate -s 65M "$tree/recording"
fails 1 "what is too much to carry, too" "65.0 MiB  recording" check prepare
fails 1 "by its sum" "65.0 MiB travel, 64 may" check prepare
mkdir "$tree/shared" && mv "$tree/recording" "$tree/shared/recording" && echo /shared/ >>"$tree/.git/info/exclude"
fails 1 "shared/ travels, ignored or not" "65.0 MiB  shared/recording" check prepare
mv "$tree/shared/recording" "$tree/build/recording"
succeeds "what git ignores does not" "travel, 64 may" check prepare
rm "$tree/build/recording" "$scratch/made"
check prepare >/dev/null
succeeds "what is to be carried" "gpu/matrix_rate" tar -tzf "$tree/build/gpu.tar.gz"
rm -r "$tree/build/gpu"
mv "$tree/.git" "$scratch/history"
succeeds "models are trained" ",good" check correct
for tool in memcheck synccheck; do
    succeeds "before anything is timed, $tool" "good" \
        grep "^$tool-steps,[0-9]*,good,$commit,no,20" "$scratch/correct/summary.csv"
done
succeeds "of the last model, too, which no tool reads away" "--model reformer" printed correct memcheck-steps
succeeds "in the first process, and in others" \
    "--target-processes all --error-exitcode 9 build/gpu/longhaul train --device cuda --model slide" \
    grep ", settled: 1" <(printed correct memcheck-steps)
succeeds "kernels are counted" "softmax_forward,good" cat "$scratch/correct/conformance.csv"
succeeds "the sanitizer lies beside the compiler, which is not in the path" "racecheck," check speed
succeeds "and is found there" ",good" grep racecheck-steps "$scratch/speed/summary.csv"
succeeds "nothing was built anew" "1" builds
for model in slide gpt2 reformer transformer_xl; do
    succeeds "what ncu saw of $model is summed" "longhaul lua tests/gpu/profile.lua sum" \
        grep "profile-$model.csv $scratch/speed $model:" <(printed speed profile)
    succeeds "of kernels that start one by one" "graphs: 0" logged speed "profile-$model.csv"
done
succeeds "of a few it tells all in the log" "--page details" printed speed kernels
succeeds "in a part of its own" ",good" grep "^kernels," "$scratch/speed/summary.csv"
for call in correct speed; do
    quietly 0 "$call leaves no more than is brought back" test "$(find "$scratch/$call" -type f | wc -l)" -le 8
done
succeeds "with what parts printed" "trained" printed correct models
succeeds "the driver may lie where the machine says" "lib:$driver, python" printed correct losses
succeeds "PyTorch finds it there, and no library of ours" "python is env LD_LIBRARY_PATH=$driver python3" \
    printed speed peer

mv "$scratch/history" "$tree/.git"
chmod a-w "$scratch/correct/"*.csv
for time in first again; do
    succeeds "what came back is filed, $time" "results/reference/nvidia-h200/gpu-correct" files correct
done
succeeds "each call by itself" "nvidia-h200/gpu-speed" files speed
succeeds "with what is in its CSV" "part,seconds,verdict" \
    cat "$tree/results/reference/nvidia-h200/gpu-speed/summary.csv"
PATH="$bin:$PATH" PARTS=peer PEER=all "$tree/scripts/gpu-check.sh" speed "$scratch/peer" >/dev/null
succeeds "peers are chosen by name" "peers.lua $scratch/peer all:" printed peer peer
succeeds "without one it is slide's" "peers.lua $scratch/speed slide:" printed speed peer
succeeds "a call of one part is filed beside the others" "nvidia-h200/gpu-speed" files peer
# shellcheck disable=SC2016  # its own words
succeeds "with their lines, and its own once" "peer steps ." \
    awk -F, '/^steps,|^peer,/ { printf "%s ", $1 } END { print "." }' "$tree/results/reference/nvidia-h200/gpu-speed/summary.csv"
fails 1 "what is no call's is not" "has no summary.csv" files bin

sanitizer_says 'echo "Device not supported"; exit 1'
succeeds "a refusal of the machine is no failure" ",not supported here" check speed
sanitizer_says 'echo "1 error"; exit 9'
fails 1 "a finding is one" ",failed (9)" check speed
sanitizer_says 'echo trained; echo "========= ERROR SUMMARY: 1 error"'
fails 1 "whatever the exit code" "memcheck does not say that it found nothing" check correct
sanitizer_says 'echo trained; echo "========= RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)"'
fails 1 "races, too" "racecheck does not say that it found nothing" check speed
sanitizer_says 'echo trained; echo "========= Target application terminated before first instrumented API call"'
fails 1 "nor is it good to have seen no kernel" "memcheck does not say that it found nothing" check correct
sanitizer_says 'echo; echo "========= ERROR SUMMARY: 0 errors"'
fails 1 "or no program" "memcheck does not say that it found nothing" check correct
# shellcheck disable=SC2016  # its own words
slow() { sanitizer_says 'echo trained; [ $2 != '"$1"' ] || sleep 600; echo "========= ERROR SUMMARY: 0 errors"'; }
slow synccheck
LIMIT=8 succeeds "what spare time does not suffice for is no failure" "not checked for want of time: synccheck-steps" \
    check correct
slow memcheck
LIMIT=8 fails 1 "what has its time by right is" "not checked for want of time: memcheck-steps" check correct
rm "$scratch/toolkit/bin/compute-sanitizer"
succeeds "a machine without it is told, and fails nothing" ",not installed here" check correct
LIMIT=0 fails 1 "a call has an end" "no time left" check speed

# What the card trains: a program that finds another loss there, by 0.001 of it, as a near tie may make it.
# shellcheck disable=SC2016  # of the stub, again
stub "$scratch/trains" 'case "$*" in *"--device cuda"*) loss=0.999 ;; *) loss=1 ;; esac; echo "mse $loss"'
trains() { env LONGHAUL_BIN="$scratch/trains" "$@" tests/cudasim/sim_train.sh; }
fails 1 "a check is of one share" "0 passed, 0 failed" trains SHARES=999 SHARE=998
trains >"$scratch/simulated"
trains GPU_NAME="a card" >"$scratch/on_card"
for model in memorizing 'reformer .*chunk=4' informer; do
    succeeds "the simulator's loss has to be the processor's: $model" "in f32" grep "^$model .*in f32" "$scratch/simulated"
    quietly 1 "a card may choose the other of two: $model" grep "^$model .*in f32" "$scratch/on_card"
done
succeeds "where a model does not choose it may not" "in f32" grep "^slide .*in f32" "$scratch/on_card"

# On a machine for which nothing was built.
rm -r "$tree/build"
succeeds "it is built there" "build," check correct
succeeds "once" "2" builds
refused_by_card() { stub "$1" 'echo "no kernel image is available" >&2; exit 1'; }
refused_by_card "$tree/build/gpu/matrix_rate"
succeeds "and anew where what is there finds its libraries, but does not work on the card" "build," check correct
succeeds "that one time" "3" builds
refused_by_card "$scratch/built/matrix_rate"
rm -r "$tree/build"
fails 1 "what does not work then is the end" "no kernel image is available" check correct
rm -r "$tree/build"
stub "$bin/make" 'echo "no rule"; exit 2'
fails 1 "a build that fails is the end" "build/gpu does not run here, so nothing was checked" check correct
quietly 1 "of everything" grep -q models "$scratch/correct/summary.csv"
mkdir "$scratch/few"
ln -s /usr/bin/* /bin/* "$scratch/few" 2>/dev/null
rm -f "$scratch/few/gcc"
PATH="$bin:$scratch/few" fails 1 "and so is a machine without tools" "no build without gcc" \
    "$tree/scripts/gpu-check.sh" prepare

finish

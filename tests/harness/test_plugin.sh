#!/usr/bin/env bash
# A model outside of the tree is found on the search path and used like any other.
. tests/test.sh

plugins=${LH_TEST_PLUGINS:-build/werror/tests/plugins}
outside() { LONGHAUL_PLUGINS=$plugins "$LONGHAUL_BIN" "$@"; }

fails 2 "is unknown without the path" "no model 'bigram'" "$LONGHAUL_BIN" describe bigram
succeeds "is listed with the path" "bigram" outside describe
succeeds "describes its parameters" "embedding.weight" outside describe bigram --vocabulary 100
succeeds "trains" "bits_per_token" outside train --model bigram \
    --task-options 'name=generate:books documents=5 document_bytes=2000 segment=64 batch=2' --train 'steps=3 warmup=1'
fails 2 "refuses a misspelt option" "did you mean 'width'?" outside train --model bigram --options widht=4

# A model of the tree built both ways learns the same.
train() {
    outside train --model "$1" --options 'layers=2 width=16 heads=2 window=8' \
        --task-options 'name=generate:books documents=5 document_bytes=2000 segment=32 batch=2' \
        --train 'steps=5 warmup=1'
}
bits=$(train slide | grep bits_per_token)
succeeds "learns outside of the tree what it learns inside" "${bits:-slide did not train}" train outside_slide

# The skeleton, from what `make install` puts there and nothing else.
prefix=$scratch/prefix
succeeds "headers are installed" "model.h" bash -c "make -s install-headers PREFIX='$prefix' && ls '$prefix/include/longhaul/harness/engine'"
skeleton() { (cd "$scratch" && "$LONGHAUL_BIN" new plugin mine); }
LONGHAUL_BIN=$(realpath "$LONGHAUL_BIN")
succeeds "a plug-in begins from a skeleton" "mine/mine.c" skeleton
# the head is the model's to count: 2 x 128 x 64
flops() {
    (cd "$scratch" && "$LONGHAUL_BIN" new plugin counted | sed -n 's/^next: //p' >next.sh && bash -e next.sh &&
        LONGHAUL_PLUGINS=counted "$LONGHAUL_BIN" describe counted --vocabulary 64) 2>&1
}
succeeds "what is to be done next works, and the head is among the operations" "16.4K" flops
# build FILE.c OUT.so FLAG...
build() { (cd "$scratch" && env -i PATH=/usr/bin:/bin cc -std=c11 -Wall -Wextra -Werror -Wno-missing-field-initializers -shared -fPIC -Iprefix/include/longhaul "$1" -o "$2" "${@:3}"); }
mkdir "$scratch/good" "$scratch/bad"
quietly 0 "which an installed prefix suffices to build" build mine/mine.c good/mine.so
mine() { LONGHAUL_PLUGINS=$1 "$LONGHAUL_BIN" train --model mine \
    --task-options 'name=generate:books documents=5 document_bytes=2000 segment=32 batch=2' --train 'steps=3 warmup=1'; }
succeeds "and which trains" "bits_per_token" mine "$scratch/good"

# So does a model with kernels of its own, from its one file of the tree: the interface lacks nothing that it needs.
mkdir "$scratch/models" "$scratch/rival"
cp models/gated_deltanet.c "$scratch/models/"
sed '/outside_xl/d; s/slide/gated_deltanet/g' tests/plugins/slide.c >"$scratch/rival.c"
quietly 0 "Gated DeltaNet is built from the installed headers" build rival.c rival/rival.so -I.
rival() {
    LONGHAUL_PLUGINS=$scratch/rival "$LONGHAUL_BIN" train --model "$1" --options 'layers=2 width=32 heads=2' \
        --task-options 'name=generate:books documents=5 document_bytes=2000 segment=32 batch=2' --train 'steps=5 warmup=1'
}
bits=$(rival gated_deltanet | grep bits_per_token)
succeeds "and learns what it learns inside" "${bits:-gated_deltanet did not train}" rival outside_gated_deltanet

# bad NAME SED: the skeleton with a mistake, among good ones
bad() {
    sed -e "s/mine/$1/g" -e "$2" "$scratch/mine/mine.c" >"$scratch/$1.c"
    quietly 0 "$1 is built" build "$1.c" "bad/$1.so" -w
}
bad nameless 's/.name = "nameless"/.name = NULL/'
bad shouting 's/.name = "shouting"/.name = "No Name"/'
bad elsewhen 's/= LH_MODEL_ABI_MAJOR/= 99/'
bad tomorrow 's/= LH_MODEL_ABI_MINOR/= 99/'
bad tiny 's/sizeof(lh_model_class)/8/'
bad huge 's/sizeof(lh_model_class)/100000/'
bad nobody 's/return &plugin/return plugin.classes ? NULL : \&plugin/'
bad unclassed 's/.classes = classes/.classes = classes[0] ? NULL : classes/'
bad helpless 's/.forward = forward/.forward = NULL/'
bad copycat 's/.name = "copycat"/.name = "brt"/'
bad silent 's/lh_plugin_get/lh_plugin_got/'
# of an older ABI: it has nothing behind its required entries, and what lies there is none of ours
bad older 's/sizeof(lh_model_class)/offsetof(lh_model_class, check)/;s/.forward = forward/&, .check = (void *)1, .destroy = (void *)1, .probe = (void *)1, .published_names = (void *)1/;1s/^/#include <stddef.h>\n/'
printf 'no library\n' >"$scratch/bad/broken.so"
mkdir "$scratch/bad/folder.so"
mkfifo "$scratch/bad/pipe.so"
cp "$scratch/good/mine.so" "$scratch/bad/zebra.so"
described() { LONGHAUL_PLUGINS=$scratch/nowhere:$scratch/bad timeout -s KILL 300 "$LONGHAUL_BIN" "$@"; }
for name in nameless shouting elsewhen tomorrow tiny huge nobody unclassed helpless copycat silent broken folder pipe; do
    succeeds "$name is named and left out" "left out: plug-in $scratch/bad/$name.so: " described describe
done
succeeds "and so is a missing folder" "left out: plug-in folder $scratch/nowhere" described describe
succeeds "good ones stay" "zebra.so" bash -c "LONGHAUL_PLUGINS='$scratch/bad' '$LONGHAUL_BIN' describe 2>/dev/null | grep '^mine ' | sed 's/mine/zebra.so/'"
older() { LONGHAUL_PLUGINS=$scratch/bad "$LONGHAUL_BIN" train --model older \
    --task-options 'name=generate:books documents=5 document_bytes=2000 segment=32 batch=2' --train 'steps=3 warmup=1'; }
succeeds "one of an older ABI trains, with defaults for what it lacks" "bits_per_token" older
help() { described help >/dev/null; }
quietly 0 "help is not disturbed" help

# Each kind by its own Makefile and test, from the prefix, which lies in a folder with a blank in its name.
mkdir "$scratch/my tools"
ln -s "$prefix" "$LONGHAUL_BIN" "$scratch/my tools"
# made NAME KIND: its folder in scratch
made() {
    (cd "$scratch" && "$LONGHAUL_BIN" new plugin "$1" --kind "$2") >/dev/null &&
        env -i PATH=/usr/bin:/bin make -s -C "$scratch/$1" test CFLAGS=-Werror \
            PREFIX="$scratch/my tools/prefix" LONGHAUL="$scratch/my tools/longhaul"
}
headless() { (cd "$scratch" && "$LONGHAUL_BIN" new plugin headless >/dev/null) && make -s -C "$scratch/headless" PREFIX="$scratch/nowhere" 2>&1; }
fails 2 "headers that are not there are asked for" "no headers of longhaul in PREFIX=$scratch/nowhere: in its tree say make install-headers" headless
succeeds "a model passes the test that it is given" "ours: bits_per_token" made ours model
again() { env -i PATH=/usr/bin:/bin make -s -C "$scratch/ours" test PREFIX="$prefix" LONGHAUL="$LONGHAUL_BIN"; }
sed -i 's/^    out->head_weight = .*/    out->hidden = lh_add_batch(tape, out->hidden, lh_mean(tape, out->hidden, 0));\n&/' "$scratch/ours/ours.c"
fails 2 "which fails where rows mix" "FAILED  rows" again
succeeds "a task outside of the tree trains and goes on" "steps_out: bits_per_token" made steps_out task
# versioned N: what a run of the task is called when its class has that version
versioned() {
    mkdir -p "$scratch/version$1"
    sed "s/.name = \"steps_out\"/&, .version = $1/" "$scratch/steps_out/steps_out.c" >"$scratch/steps_version$1.c"
    build "steps_version$1.c" "version$1/steps.so" &&
        (cd "$scratch" && LONGHAUL_PLUGINS=$scratch/version$1 "$LONGHAUL_BIN" dry-run versioned.lua --scale smoke | grep -o '^[0-9a-f]\{16\}')
}
cat >"$scratch/versioned.lua" <<'LUA'
local lh = require "longhaul"
local bench = lh.experiment "versioned"
bench:row { label = "r", model = lh.models.lstm { width = 8 }, task = lh.tasks.steps_out {}, train = lh.train { steps = 2 } }
return bench
LUA
first=$(versioned 0)
succeeds "a task's first version is that of runs without one" "${first:-no run}" versioned 1
next=$(versioned 2)
succeeds "runs of its next version are others" "another" bash -c "[ -n '$first' ] && [ '${next:-$first}' != '$first' ] && echo another"

# A rebuild keeps the name of runs, which say by which build they are; the next version gives them another.
cat >"$scratch/built.lua" <<'LUA'
local lh = require "longhaul"
local bench = lh.experiment "built"
local books = lh.data.text { "generate:books", documents = 20, document_bytes = 2000, tokens = "bytes" }
local task = lh.tasks.language_model { books, segment = 32, batch = 2, evaluate_batches = 2 }
for _, name in ipairs { "mine", "lstm" } do
  bench:row { name, model = lh.models[name] { width = 8 }, task = task, train = lh.train { steps = 3, warmup = 1, log_every = 3 }, seeds = 2 }
end
bench:table { columns = { "bits_per_byte" } }
return bench
LUA
# built FOLDER COMMAND WORD...: with the plug-ins of a folder
built() { (cd "$scratch" && LONGHAUL_PLUGINS=$scratch/$1 "$LONGHAUL_BIN" "$2" built.lua --scale smoke --results built "${@:3}" 2>&1); }
mkdir "$scratch/rebuilt" "$scratch/raised"
sed 's/1e-6/1e-1/' "$scratch/mine/mine.c" >"$scratch/changed.c"
sed 's/.version = 1/.version = 2/' "$scratch/changed.c" >"$scratch/raised.c"
build changed.c rebuilt/mine.so && build raised.c raised/mine.so
succeeds "rows of a plug-in are run" "[4/4]" built good run --no-timing
quietly 1 "without a word on builds" bash -c "$(declare -f built); scratch=$scratch LONGHAUL_BIN=$LONGHAUL_BIN; built good dry-run | grep build"
column=$("$LONGHAUL_BIN" query seed=1 --results "$scratch/built" --columns row,plugin --csv 2>&1)
succeeds "a run names the build of its plug-in alone" "mine,mine.so " echo "$column"
quietly 0 "which others have not" grep -qx 'lstm,' <<<"$column"
for command in dry-run table "run --no-timing"; do
    # shellcheck disable=SC2086
    succeeds "${command%% *} tells of another build" "2 runs by another build of mine.so: raise its .version" built rebuilt $command
done
succeeds "whose runs are done" "4 runs, 4 done" built rebuilt dry-run
succeeds "unless its version is another" "4 runs, 2 done" built raised dry-run
quietly 1 "of which there are no others" bash -c "$(declare -f built); scratch=$scratch LONGHAUL_BIN=$LONGHAUL_BIN; built raised table | grep 'another build'"
succeeds "or they are run again" "[4/4]" built rebuilt run --no-timing --force
quietly 1 "and are by this build then" bash -c "$(declare -f built); scratch=$scratch LONGHAUL_BIN=$LONGHAUL_BIN; built rebuilt dry-run | grep 'another build'"

# A run that goes on by another build is by both.
both='mine.so [0-9a-f]+, mine.so [0-9a-f]+'
succeeds "runs are kept to be gone on from" "[2/2]" built good run --no-timing --force --keep-checkpoints --only mine
succeeds "another build goes on from them" "going on from the 3 steps" built rebuilt extend --no-timing --only mine --steps 900
quietly 0 "which are by both then" bash -c "'$LONGHAUL_BIN' query row=mine seed=1 --results '$scratch/built' --columns step,plugin --csv | grep -qE '^900,.*$both'"
(cd "$scratch" && LONGHAUL_PLUGINS=$scratch/good exec "$LONGHAUL_BIN" run built.lua --scale smoke --results half --no-timing --only mine --seeds 1 \
    --set 'train.steps=2000 train.checkpoint_every=10' >/dev/null 2>&1) &
until compgen -G "$scratch/half/built/checkpoints/*.snapshot" >/dev/null || ! kill -0 $! 2>/dev/null; do sleep 0.02; done
kill -TERM $!
wait $!
curve=$(echo "$scratch"/half/built/curves/*.csv)
mv "$curve" "$curve.kept" && mkdir "$curve"
fails 1 "where its curve cannot be read it fails" "failed: " built good run --results half --no-timing --only mine --seeds 1 \
    --set 'train.steps=2000 train.checkpoint_every=10'
rmdir "$curve" && mv "$curve.kept" "$curve"
succeeds "one that was interrupted is gone on with" "[1/1]" built rebuilt run --results half --no-timing --only mine --seeds 1 \
    --set 'train.steps=2000 train.checkpoint_every=10'
quietly 0 "and is by both, too" bash -c "'$LONGHAUL_BIN' query row=mine --results '$scratch/half' --columns plugin --csv | grep -qE '$both'"
succeeds "of which nothing is left beside the results" "0" bash -c "find '$scratch/half' -name '*.builds' | wc -l"

succeeds "a corpus outside of the tree is read" "diary: bits_per_token" made diary data
fails 1 "data that no plug-in has are named" "no corpus 'diaryy' (did you mean 'diary'?)" env LONGHAUL_PLUGINS="$scratch/diary" \
    "$LONGHAUL_BIN" train --model lstm --task-options 'name=plugin:diaryy segment=32 batch=2'
fails 2 "kinds are listed" "no kind 'tasks' (did you mean 'task'?)" "$LONGHAUL_BIN" new plugin more --kind tasks
fails 2 "other skeletons have none" "new metric has no --kind" "$LONGHAUL_BIN" new metric more --kind task

# broken NAME FROM SED: the source of plug-in FROM with a mistake
mkdir "$scratch/broken"
broken() {
    sed -e "s/$2/$1/g" -e "$3" "$scratch/$2/$2.c" >"$scratch/$1.c"
    quietly 0 "$1 is built" build "$1.c" "broken/$1.so" -w
}
broken late steps_out 's/= LH_TASK_ABI_MAJOR/= 99/'
broken earlier steps_out 's/= LH_TASK_ABI_MAJOR/= 2/' # when lh_batcher_cursor_words was there
broken first diary 's/= LH_CORPUS_ABI_MAJOR/= 1/'
broken idle steps_out 's/.train_batch = train_batch/.train_batch = NULL/'
broken taken steps_out 's/.name = "taken"/.name = "recall"/'
broken wordless steps_out 's/.digest = digest/.digest = NULL/'
broken unread diary 's/.read = unread_read/.read = NULL/'
broken young diary 's/= LH_CORPUS_ABI_MINOR/= 99/'
described() { LONGHAUL_PLUGINS=$scratch/broken:$scratch/steps_out "$LONGHAUL_BIN" "$@"; }
while IFS=: read -r name why; do
    succeeds "$name is named and left out" "left out: plug-in $scratch/broken/$name.so: $why" described describe tasks
done <<'LIST'
late:built for task ABI 99.
earlier:built for task ABI 2.
first:built for corpus ABI 1.
idle:task 'idle' lacks a required entry
taken:task 'recall' is already defined by longhaul itself
wordless:task 'wordless' lacks a required entry
unread:corpus 'unread' lacks a required entry
young:built for corpus ABI 2.99
LIST
succeeds "and the good one stays" "steps_out" described describe tasks

finish

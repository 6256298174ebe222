#!/usr/bin/env bash
# `longhaul check` names what a plug-in makes wrong, and finds nothing where nothing is.
. tests/test.sh

plugins=${LH_TEST_PLUGINS:-build/werror/tests/plugins}
outside() { LONGHAUL_PLUGINS=$plugins "$LONGHAUL_BIN" "$@"; }
faulty() { outside check faulty --options "fault=$1" "${@:2}"; }

succeeds "a model without faults passes" "ok      causality" faulty none
quietly 1 "in all that is checked" bash -c "LONGHAUL_PLUGINS=$plugins $LONGHAUL_BIN check faulty | grep -E 'FAILED|warning'"
# Beside its own line a fault may fail others.
while IFS=: read -r fault check found; do
    fails 1 "$fault is found" "$found" faulty "$fault"
    succeeds "$fault fails $check" "FAILED" bash -c "LONGHAUL_PLUGINS=$plugins $LONGHAUL_BIN check faulty --options fault=$fault | grep 'FAILED *$check '"
done <<'LIST'
next:causality:what is read from position 25 on changes the output of position 24 (row 0)
chunk:causality:changes the output of position 24 (row 0)
pair:causality:changes the output of position 24 (row 0)
rows:rows:what row 1 reads changes the output of row 0
later:state:where a document begins, what was read before it changes the output
seed:determinism:made twice from one seed it has other gradients
uncarried:state:a segment's outputs are those of a fresh start
blind:outputs:other inputs give the same ones
infinite:outputs:not all are finite numbers
length:segments:in segments of 16 and of 32 the output of position 0 (row 0) differs
count:flops:-7 for a token: it is to be a count
sign:gradients:along a direction of mix.
term:gradients:10 % is allowed
LIST
succeeds "a parameter that learns nothing is named" "warning parameters   no gradient comes to unused.bias" faulty unused
fails 1 "outputs that grow from pass to pass are refused" "a row before" faulty growing
fails 1 "behind an adapter, too" "FAILED  causality" faulty next --task recall --task-options 'lengths=16 pairs=2'
succeeds "a length can be told" "two segments of 7" faulty none --segment 7
succeeds "the small options that it chose are printed" "options: layers=2 heads=2 width=16 window=8" "$LONGHAUL_BIN" check slide
succeeds "with those that were said" "options: width=32 layers=2 heads=2 window=8" "$LONGHAUL_BIN" check slide --options width=32
fails 2 "a wrong one is told as it was said" "unknown option 'widht'" "$LONGHAUL_BIN" check slide --options widht=32
fails 2 "which model has to be said" "which MODEL?" "$LONGHAUL_BIN" check
fails 2 "a misspelt one is named" "did you mean 'slide'?" "$LONGHAUL_BIN" check slied
fails 2 "options of a task without one are refused" "--task-options is said with --task" faulty none --task-options segment=3
fails 1 "a length that it does not take is refused" "window" "$LONGHAUL_BIN" check xl --options 'layers=1 width=8 heads=2 window=4' --segment 7

# Before it is trained, a plug-in's model is held to its causality.
books="name=generate:books documents=5 document_bytes=2000 segment=32 batch=2"
train() { outside train --model faulty --options "fault=$1" --task-options "$books" --train 'steps=2 warmup=1'; }
fails 1 "one that looks ahead is not trained" "faulty is not trained: it declares LH_ABLE_CAUSAL" train next
fails 1 "which names the check" "see \`longhaul check faulty\`" train next
succeeds "an honest one is" "bits_per_token" train none
for segment in 14 16 30 32; do
    books="name=generate:books documents=5 document_bytes=2000 segment=$segment batch=2"
    fails 1 "nor one that looks within pairs, in segments of $segment" "faulty is not trained" train pair
done
cat >"$scratch/twins.lua" <<'LUA'
local lh = require "longhaul"
local bench = lh.experiment "twins"
local books = lh.tasks.language_model { lh.data.text { "generate:books", documents = 5, document_bytes = 2000 }, segment = 32, batch = 2 }
for _, fault in ipairs { "none", "next" } do
  bench:row { label = fault, model = lh.models.faulty { fault = fault }, task = books, train = lh.train { steps = 2 } }
end
return bench
LUA
LONGHAUL_BIN=$(realpath "$LONGHAUL_BIN")
plugins=$(realpath "$plugins")
run() { (cd "$scratch" && LONGHAUL_PLUGINS=$plugins "$LONGHAUL_BIN" run twins.lua --scale smoke); }
scores() { (cd "$scratch" && LONGHAUL_PLUGINS=$plugins "$LONGHAUL_BIN" query experiment=twins --columns row,status); }
fails 1 "nor in a sweep" "faulty is not trained: it declares LH_ABLE_CAUSAL" run
succeeds "where its twin has a row of results" "none  done" scores
succeeds "and it has none" "next  failed" scores

finish

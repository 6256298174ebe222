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
fails 1 "refuses a misspelt option" "did you mean 'width'?" outside train --model bigram --options widht=4

# A model of the tree built both ways learns the same.
train() {
    outside train --model "$1" --options 'layers=2 width=16 heads=2 window=8' \
        --task-options 'name=generate:books documents=5 document_bytes=2000 segment=32 batch=2' \
        --train 'steps=5 warmup=1'
}
bits=$(train slide | grep bits_per_token)
succeeds "learns outside of the tree what it learns inside" "${bits:-slide did not train}" train outside_slide

mkdir "$scratch/broken"
printf 'no library\n' >"$scratch/broken/broken.so"
fails 1 "names a broken plug-in" "broken.so" env LONGHAUL_PLUGINS="$scratch/broken" "$LONGHAUL_BIN" describe
fails 1 "names a missing folder" "nowhere" env LONGHAUL_PLUGINS="$scratch/nowhere" "$LONGHAUL_BIN" describe

finish

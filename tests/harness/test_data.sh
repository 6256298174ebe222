#!/usr/bin/env bash
# Corpora: fetching through curl (from file addresses here), its sums, and importing a tree.
. tests/test.sh

export XDG_CACHE_HOME=$scratch/cache
unset LONGHAUL_DATA
mkdir -p "$scratch/remote" "$scratch/tree/project/inner" "$scratch/tree/other"
printf 'some text\n' >"$scratch/remote/small.txt"
printf 'int main;\n' >"$scratch/tree/project/a.c"
printf 'int b;\n' >"$scratch/tree/project/inner/b.c"
printf 'x\0y' >"$scratch/tree/other/binary.o"

fetch() {
    "$LONGHAUL_BIN" lua <(cat <<LUA
local sources = {{ name = "small", licence = "none", files = {{ url = "file://$scratch/remote/$1", file = "small.txt", sha256 = $2 }} }}
require("longhaul.data").fetch("small", sources)
LUA
    )
}

succeeds "lists the generators" "generate:books" "$LONGHAUL_BIN" data list
fails 1 "suggests the nearest corpus" "did you mean 'enwik8'?" "$LONGHAUL_BIN" data fetch enwik9
fails 1 "a download that fails says so" "goes on with it" fetch missing.txt nil
succeeds "a download is kept" "small.txt" fetch small.txt nil
fails 1 "a wrong sum is refused" "sha256 is" fetch small.txt '"00"'
succeeds "and again is no download" "small.txt" fetch small.txt nil
printf 'changed\n' >"$XDG_CACHE_HOME/longhaul/small/small.txt"
fails 1 "a changed file is noticed" "expected" fetch small.txt nil
rm "$XDG_CACHE_HOME/longhaul/small/"*
printf 'SOME' >"$XDG_CACHE_HOME/longhaul/small/small.txt.part" # its capitals show that it was kept
sum=$(printf 'SOME text\n' | sha256sum | cut -d ' ' -f 1)
succeeds "a broken download goes on where it stopped" "$sum" fetch small.txt "\"$sum\""

# Weights in PyTorch's format become safetensors; a Python of our own stands in for one that has torch.
fetch_weights() {
    "$LONGHAUL_BIN" lua <(cat <<LUA
local sources = {{ name = "weights", licence = "none", files = {{ url = "file://$scratch/remote/small.txt", file = "pytorch_model.bin",
  unpack = "pytorch" }} }}
require("longhaul.data").fetch("weights", sources)
LUA
    )
}
mkdir -p "$scratch/bin"
printf '#!/bin/sh\nexit 1\n' >"$scratch/bin/python3"
chmod +x "$scratch/bin/python3"
fails 1 "without torch the conversion says what it takes" "pip install torch safetensors" env PATH="$scratch/bin:$PATH" bash -c \
    "$(declare -f fetch_weights); scratch=$scratch; fetch_weights"
# shellcheck disable=SC2016  # the inner shell expands them
printf '#!/bin/sh\ncase $2 in *weights_only=True*) cp "$3" "$4" ;; *) exit 1 ;; esac\n' >"$scratch/bin/python3"
succeeds "the same command goes on" "is in" env PATH="$scratch/bin:$PATH" bash -c \
    "$(declare -f fetch_weights); scratch=$scratch; fetch_weights"
succeeds "and leaves model.safetensors" "some text" cat "$XDG_CACHE_HOME/longhaul/weights/model.safetensors"

succeeds "imports a folder as a document" "2 documents" "$LONGHAUL_BIN" data import "$scratch/tree" --name code --join-folders
succeeds "and leaves binaries out" "code" ls "$XDG_CACHE_HOME/longhaul"
fails 1 "names a missing folder" "no such folder" "$LONGHAUL_BIN" data import "$scratch/nowhere"
for i in $(seq 100); do printf '{"text": "hello %d"}\n["hi", "who is it?"]\n' "$i"; done >"$scratch/talk.jsonl"
succeeds "imports JSON lines" "bytes of JSON lines" "$LONGHAUL_BIN" data import "$scratch/talk.jsonl" --name reddit
succeeds "which train like any corpus" "bits_per_token" "$LONGHAUL_BIN" train --model lstm --options 'hidden=8 width=8' \
    --task-options 'name=reddit segment=8 batch=1' --train 'steps=2 warmup=1'
mkdir -p "$scratch/splits" "$scratch/mixed"
printf '{"body": "good morning"}\n' >"$scratch/splits/train.jsonl"
printf '{"body": "hello again"}\n' | tee "$scratch/splits/valid.jsonl" >"$scratch/splits/test.jsonl"
succeeds "imports a folder of JSON lines" "bytes of JSON lines" "$LONGHAUL_BIN" data import "$scratch/splits/" --name web
succeeds "whose files are its splits" "bits_per_token" "$LONGHAUL_BIN" train --model lstm --options 'hidden=8 width=8' \
    --task-options 'name=web field=body segment=4 batch=1' --train 'steps=2 warmup=1'
fails 1 "and names a line without the field" "jsonl: line 1: no field 'text'" "$LONGHAUL_BIN" train --model lstm \
    --task-options 'name=web' --train 'steps=2 warmup=1'
printf 'no JSON\n' >"$scratch/mixed/notes.jsonl"
printf 'text\n' >"$scratch/mixed/readme"
succeeds "JSON lines among other files are text" "2 documents" "$LONGHAUL_BIN" data import "$scratch/mixed" --name mixed
succeeds "and are called so" "notes.jsonl.txt" find "$XDG_CACHE_HOME/longhaul/mixed" -type f
fails 1 "names a missing file" "no such file" "$LONGHAUL_BIN" data import "$scratch/nowhere.jsonl"
fails 2 "wants an action" "no action" "$LONGHAUL_BIN" data lsit

finish

#!/usr/bin/env bash
# What longhaul and a peer in another language tell each other, with a stand-in for the peer.
. tests/test.sh
export OMP_NUM_THREADS=1
unset LONGHAUL_DATA
longhaul=$LONGHAUL_BIN

cat >"$scratch/python" <<'SH'
#!/bin/sh
case $1 in
-c) echo "torch,9.9" ;;
tests/peers/block_stack.py)
    grep -q '"window":	8' "$2/run.json" && [ -s "$2/weights.safetensors" ] &&
        [ -s "$2/batches.safetensors" ] || exit 3
    echo "$2" >"$FOLDER"
    printf 'a line of other things\nloss_bits,2.5\nlosses,2 3\ntorch,9.9\narguments,%s\n' "$3 $4" ;;
*) echo "no such peer" >&2; exit 4 ;;
esac
SH
chmod +x "$scratch/python"
cat >"$scratch/ask.lua" <<'LUA'
local core, peer = require "longhaul.core", require "longhaul.peer"
if ... then peer.run(..., "") end
local session <close> = core.session { model = core.options("model", "slide", "layers=1 width=16 heads=2 window=8 dropout=0"),
  task = core.options("task", "language_model",
    "name=generate:books documents=4 document_bytes=2000 segment=16 batch=2"),
  train = core.options("train", "train", "steps=3 log_every=3"), seed = 1, device = "cpu" }
local values = peer.version() and peer.train(session, 3, "--warmup 1")
print(peer.version(), values and ("%s %s %s %s"):format(values.loss_bits, #values.losses, values.losses[2],
  values.arguments))
core.time_steps({ session }, 1, 1)
print(peer.mean_loss(session) > 1 and "a mean loss")
LUA

export PYTHON=$scratch/python FOLDER=$scratch/folder
succeeds "what the peer says" "9.9	2.5 2 3 --warmup 1" "$longhaul" lua "$scratch/ask.lua"
quietly 1 "what it got is gone" test -e "$(cat "$FOLDER")"
succeeds "the mean over all steps" "a mean loss" "$longhaul" lua "$scratch/ask.lua"
fails 1 "why a peer failed" "no such peer" "$longhaul" lua "$scratch/ask.lua" other.py
PYTHON=/nowhere/python succeeds "no PyTorch" "nil	nil" "$longhaul" lua "$scratch/ask.lua"
finish

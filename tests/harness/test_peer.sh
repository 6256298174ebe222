#!/usr/bin/env bash
# What longhaul and a peer in another language tell each other, with a stand-in for the peer.
. tests/test.sh
export OMP_NUM_THREADS=1

cat >"$scratch/python" <<'SH'
#!/bin/sh
case $1 in
-c) case $2 in *torch*) echo "torch,9.10" ;; *jax*) [ -n "${JAX:-}" ] && echo "jax,0.9" ;; esac ;;
tests/peers/standard.py)
    case "$*" in
    *"gpt2 layers=4 width=64 heads=1"*"--precision bf16 --eager"*) echo "no such setting" >&2; exit 5 ;;
    *"gpt2 layers=4 width=64 heads=1"*--eager*) ms=1000000 ;;
    *"gpt2 layers=4 width=64 heads=1"*) ms=2000000 ;;
    *) exit 6 ;;
    esac
    printf 'step_time_ms,%s\nstep_time_q1_ms,1\nstep_time_q3_ms,2\npeak_memory_bytes,1099511627776\ntorch,9.10\n' $ms ;;
tests/peers/block_stack.py)
    grep -q '"window":	64' "$2/run.json" && { echo "no such setting" >&2; exit 5; }
    grep -q '"window":	8' "$2/run.json" && [ -s "$2/weights.safetensors" ] &&
        [ -s "$2/batches.safetensors" ] || exit 3
    echo "$2" >"$FOLDER"
    printf 'a line of other things\nloss_bits,2.5\nlosses,2 3\ntorch,9.9\narguments,%s\n' "$3 $4" ;;
tests/peers/block_stack_jax.py) echo "no such device" >&2; exit 7 ;;
*) echo "no such peer" >&2; exit 4 ;;
esac
SH
chmod +x "$scratch/python"
cat >"$scratch/ask.lua" <<'LUA'
local core, peer = require "longhaul.core", require "longhaul.bench.peer"
if ... then peer.run(..., "") end
local session <close> = core.session { model = core.options("model", "slide", "layers=1 width=16 heads=2 window=8 dropout=0"),
  task = core.options("task", "language_model",
    "name=generate:books documents=4 document_bytes=2000 segment=16 batch=2"),
  train = core.options("train", "train", "steps=3 log_every=3"), seed = 1, device = "cpu" }
local values = peer.version "torch" and peer.train(session, 3, "block_stack.py", "--warmup 1")
print(peer.version "torch", values and ("%s %s %s %s"):format(values.loss_bits, #values.losses, values.losses[2],
  values.arguments))
core.time_steps({ session }, 1, 1)
print(peer.mean_loss(session) > 1 and "a mean loss")
LUA

export PYTHON=$scratch/python FOLDER=$scratch/folder
succeeds "what the peer says" "9.10	2.5 2 3 --warmup 1" "$longhaul" lua "$scratch/ask.lua"
quietly 1 "what it got is gone" test -e "$(cat "$FOLDER")"
succeeds "the mean over all steps" "a mean loss" "$longhaul" lua "$scratch/ask.lua"
fails 1 "why a peer failed" "no such peer" "$longhaul" lua "$scratch/ask.lua" other.py
cat >"$scratch/compare.lua" <<'LUA'
local rows = {}
require("longhaul.bench.peers").run(rows, function(_, work) work() end, ... or "gpt2", { 64 }, 1)
for _, row in ipairs(rows) do
  print("row", row.benchmark, row.metric, row.ratio_to, row.ratio and row.ratio > 0 and row.ratio < 0.5, row.compiler)
end
LUA
"$longhaul" lua "$scratch/compare.lua" >"$scratch/compared" 2>&1
compared=$scratch/compared
succeeds "our step over the fastest of PyTorch's" "row	gpt2, longhaul f32	step_time_ms	PyTorch f32	true	nil" cat "$compared"
succeeds "our memory, too" "row	gpt2, longhaul f32	peak_memory_bytes	PyTorch f32	true	nil" cat "$compared"
succeeds "a peer's line has its library" "row	gpt2, PyTorch f32, compiled	step_time_ms	nil	nil	PyTorch 9.10" cat "$compared"
succeeds "a setting that fails is named" "PyTorch bf16             failed: tests/peers/standard.py: no such setting" cat "$compared"
JAX=here succeeds "of JAX, too, below what it is of" "slide, width 64, window 64, 4096 tokens
  PyTorch f32              failed: tests/peers/block_stack.py: no such setting
  PyTorch f32, compiled    failed: tests/peers/block_stack.py: no such setting
  PyTorch bf16             failed: tests/peers/block_stack.py: no such setting
  PyTorch bf16, compiled   failed: tests/peers/block_stack.py: no such setting
  JAX f32                  failed: tests/peers/block_stack_jax.py: no such device" "$longhaul" lua "$scratch/compare.lua" slide
PYTHON=/nowhere/python succeeds "no PyTorch" "nil	nil" "$longhaul" lua "$scratch/ask.lua"
finish

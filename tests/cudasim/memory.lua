-- What a run in bf16 keeps for its backward pass: activations take half the bytes of f32.
--   longhaul lua tests/cudasim/memory.lua MODEL OPTIONS
-- The peak grows with the batch by the activations of a row alone. Prints both growths; fails when
-- bf16 keeps more than 0.6 of f32, since statistics, keys of dropout and the head stay f32.
local core = require "longhaul.core"

local model, options = ...
local most = 0.6

local function peak(precision, batch)
  local task = ("grid=4 steps=24 batch=%d segment=32 evaluate_episodes=2"):format(batch)
  local train = "steps=1 warmup=1 optimizer=sgd precision=" .. precision
  local session <close> = core.session {
    model = core.options("model", model, options),
    task = core.options("task", "random_walk", task),
    train = core.options("train", "train", train), seed = 1, device = "cuda",
  }
  session:train()
  return session:info().peak_memory_bytes
end

local function growth(precision)
  return peak(precision, 6) - peak(precision, 2)
end

local f32, bf16 = growth("f32"), growth("bf16")
print(("%s: 4 rows more take %d bytes in f32 and %d in bf16, %.2f of them"):format(model, f32, bf16,
  bf16 / f32))
return f32 > 0 and bf16 <= most * f32 and 0 or 1

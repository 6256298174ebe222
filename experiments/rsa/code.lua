-- What the experiments on code share (Huang et al. 2023, section 4.3): CodeT5-small with and without RSA on Devign's
-- functions. From `gpu` on the released weights are fine-tuned; below, smaller models of the same kind learn from nothing.
local lh = require "longhaul"

local code = {}

code.released = lh.by_scale { smoke = false, gpu = true }
code.seeds = lh.by_scale { smoke = 1, small = 2, medium = 3, gpu = 1, paper = 5 }

-- CodeT5's vocabulary where it is on this machine.
local vocabulary = lh.data.first { "codet5-small", "codet5-bpe", "bytes" }
local tokens = vocabulary == "bytes" and "bytes" or "bpe:" .. vocabulary
local batch = lh.by_scale { smoke = 4, small = 16, gpu = 32 }

code.task = lh.tasks.defect {
  tokens = lh.by_scale { smoke = "bytes", small = tokens, gpu = "bpe:codet5-small" }, batch = batch,
  source_length = lh.by_scale { smoke = 48, small = 256, medium = 512 },
  functions = lh.by_scale { smoke = 64, small = 0 }, evaluate_functions = lh.by_scale { smoke = 16, small = 0 },
}

local size = lh.by_scale {
  smoke = { layers = 1, width = 16, heads = 2, hidden = 32 },
  small = { layers = 2, width = 64, heads = 8, hidden = 256 },
  medium = { layers = 4, width = 128, heads = 8, hidden = 512 },
  gpu = { layers = 6, width = 512, heads = 8, hidden = 2048 },
}

code.plain = lh.models.t5(size)

-- Table 7: all heads dilated regular, d = 64, mu = -3.
code.rsa = code.plain:with {
  rsa = {
    kinds = lh.by_scale { smoke = { 0, 0, 0, 2, 0, 0 }, small = { 0, 0, 0, 8, 0, 0 } },
    dilation = lh.by_scale { smoke = 8, small = 64 }, gate = -3,
  },
}

--- RSA's parameters are not in the released file.
code.weights = code.released and { "codet5-small", partly = true } or nil

-- The released script: AdamW, a linear decay after 1000 steps of warm-up, nothing clipped, 683 steps an epoch; the
-- paper trains for 20 epochs. Here the weights of the best epoch by validation loss are kept.
local epoch = lh.by_scale { smoke = 8, small = 200, medium = 683 }
code.train = lh.train {
  optimizer = "adamw", schedule = "linear", keep_best = true,
  steps = epoch * lh.by_scale { smoke = 1, small = 6, medium = 10, gpu = 20 }, evaluate_every = epoch,
  rate = lh.by_scale { smoke = 1e-3, medium = 5e-4, gpu = 2e-5 },
  warmup = lh.by_scale { smoke = 2, small = 100, medium = 1000 },
  log_every = lh.by_scale { smoke = 4, small = 50 },
}

return code

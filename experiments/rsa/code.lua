-- What the experiments on code share (Huang et al. 2023, section 4.3): CodeT5-small with and
-- without RSA on Devign's functions. From `gpu` on the released weights are fine-tuned; below,
-- smaller models of the same kind learn from nothing.
local lh = require "longhaul"

local code = {}

code.seeds = lh.by_scale { smoke = 1, small = 2, study = 3, gpu = 1, paper = 5 }

-- CodeT5's vocabulary, below `gpu` where it is on this machine.
local vocabulary = lh.data.first { "codet5-small", "codet5-bpe",
  lh.by_scale { smoke = "bytes", gpu = "codet5-small" } }
local tokens = vocabulary == "bytes" and "bytes" or "bpe:" .. vocabulary
local batch = lh.by_scale { smoke = 4, small = 16, gpu = 32 }

code.task = lh.tasks.defect {
  tokens = lh.by_scale { smoke = "bytes", small = tokens }, batch = batch,
  source_length = lh.by_scale { smoke = 48, small = 256, medium = 512 },
  functions = lh.by_scale { smoke = 64, small = 0 },
  evaluate_functions = lh.by_scale { smoke = 16, small = 0 },
}

local published = { layers = 6, width = 512, heads = 8, hidden = 2048 }
local size = lh.by_scale {
  smoke = { layers = 1, width = 16, heads = 2, hidden = 32 },
  small = { layers = 2, width = 64, heads = 8, hidden = 256 },
  medium = { layers = 4, width = 128, heads = 8, hidden = 512 },
  gpu = published,
}

-- Table 7: all heads dilated regular, d = 64, mu = -3.
local function with_rsa(model, heads, dilation)
  return model:with { rsa = { kinds = { 0, 0, 0, heads, 0, 0 }, dilation = dilation, gate = -3 } }
end

-- The published model's parameters, over 32,000 tokens and 100 sentinels.
local function count(model) return lh.parameters(model, 32100) end

local plain, layout = lh.models.t5(size), lh.models.t5(published)

--- Label, slug and model of Table 3 (a), and what the published one counts.
code.rows = {
  { "CodeT5-small", "codet5_small", plain, count(layout) },
  {
    "RSA-CodeT5-small", "rsa_codet5_small",
    with_rsa(plain, size.heads, lh.by_scale { smoke = 8, small = 64 }),
    count(with_rsa(layout, 8, 64)),
  },
}

-- RSA's parameters are not in the released file.
local weights = lh.by_scale { smoke = false, gpu = true } and { "codet5-small", partly = true }
  or nil

-- The released script: AdamW, a linear decay after 1000 steps of warm-up, nothing clipped, 683
-- steps an epoch; the paper trains for 20 epochs. The epoch of the best validation accuracy is
-- kept; the released patience of 2 stops after the third epoch without a better loss or accuracy.
-- Models that learn from nothing take higher rates, since the embeddings that T5 draws are large.
local epoch = lh.by_scale { smoke = 8, small = 150, medium = 683 }
local function train(steps)
  return lh.train {
    optimizer = "adamw", schedule = "linear", keep_best = "accuracy", steps = steps,
    evaluate_every = epoch,
    rate = lh.by_scale { smoke = 5e-3, medium = 3e-3, gpu = 2e-5 },
    warmup = lh.by_scale { smoke = 2, small = 100, medium = 1000 },
    patience = lh.by_scale { smoke = 0, gpu = 3 },
    log_every = lh.by_scale { smoke = 4, small = 50 },
  }
end

--- Adds the rows; `steps`: of training, default the scale's.
function code.add_rows(bench, steps)
  for _, row in ipairs(code.rows) do
    bench:row {
      row[1], slug = row[2], model = row[3], task = code.task, dataset = "devign",
      weights = weights,
      train = train(steps or epoch * lh.by_scale { smoke = 1, small = 6, medium = 10, gpu = 20 }),
      values = { layout_parameters = row[4] },
    }
  end
end

return code

-- What the experiments of the Compressive Transformer share (Rae et al. 2019, section 5): its models
-- and the Transformer-XL beside them, corpora and training by scale.
local lh = require "longhaul"
local corpus_of = lh.include "../corpus.lua"

local setting = {}

setting.seeds = lh.by_scale { smoke = 1, small = 3, gpu = 1 }

-- The paper's models are 24 (Enwik8) and 36 layers (PG-19) of width 1024.
local size = lh.by_scale {
  smoke = { layers = 2, width = 32, heads = 2 },
  small = { layers = 4, width = 64, heads = 2 },
  medium = { layers = 6, width = 128, heads = 4 },
  gpu = { layers = 12, width = 512, heads = 8 },
  paper = { width = 1024, heads = 8 },
}

-- Tokens of a block, which are also those of the memory: short below `gpu`, so that what lies further
-- back matters to a short run.
local block = lh.by_scale { smoke = 12, small = 48, medium = 96, gpu = 384 }

-- Short documents below `gpu`.
local piece = lh.by_scale { smoke = 4096, small = 16384, medium = 65536, gpu = 0 }

local function corpus(name)
  return corpus_of(piece, {
    name, tokens = "bytes", documents = lh.by_scale { smoke = 40, small = 500 },
    limit_eval_bytes = lh.by_scale { smoke = 4096, small = 131072, medium = 524288, gpu = 0 },
  })
end

-- The paper's proportions: on Enwik8 a compressed memory of one and a half blocks, three memories to
-- one; on PG-19 a block, two to one.
setting.enwik8 = {
  name = "enwik8", corpus = corpus(lh.data.first { "enwik8", "code" }),
  layers = lh.by_scale { smoke = size.layers, paper = 24 }, rate = 3,
  block = lh.by_scale { smoke = block, paper = 768 },
}
setting.enwik8.compressed = 3 * setting.enwik8.block // 2
setting.pg19 = {
  name = "pg19", corpus = corpus(lh.by_scale { smoke = "books", paper = "pg19" }),
  layers = lh.by_scale { smoke = size.layers, paper = 36 }, rate = 2,
  block = lh.by_scale { smoke = block, paper = 512 },
}
setting.pg19.compressed = setting.pg19.block

-- Narrow layers behind norms want larger first weights.
local function core(dataset)
  return lh.merged(size, {
    layers = dataset.layers, dropout = lh.by_scale { smoke = 0, gpu = 0.1 },
    initial_deviation = lh.by_scale { smoke = 0.1, medium = 0.05, gpu = 0.02 },
  })
end

--- The Compressive Transformer of a data set, with `more` on top.
function setting.compressive(dataset, more)
  return lh.models.compressive(lh.merged(core(dataset), {
    block = dataset.block, memory = dataset.block, compressed_memory = dataset.compressed,
    compression_rate = dataset.rate,
  }, more or {}))
end

--- Transformer-XL that attends to as many memories as both of those together.
function setting.transformer_xl(dataset)
  return lh.models.dai_xl(lh.merged(core(dataset), { memory = dataset.block + dataset.compressed }))
end

local tokens = lh.by_scale { smoke = 480, small = 2304, medium = 9216, gpu = 49152 }
local steps = lh.by_scale { smoke = 6, small = 800, medium = 6000, gpu = 5e4, paper = 5e5 }

--- Adds a row; `blocks`: how many it reads at once (1), which is as far as compression_loss=task
--- flows.
function setting.add(bench, dataset, label, model, blocks)
  local segment = (blocks or 1) * dataset.block
  bench:row {
    label, model = model, dataset = dataset.name,
    task = lh.tasks.language_model { dataset.corpus, segment = segment, batch = tokens // segment },
    -- section 5: Adam, a cosine from 3e-4 down, gradients clipped to 0.1
    train = lh.train {
      optimizer = "adam", schedule = "cosine", steps = steps, warmup = steps // 10, clip = 0.1,
      rate = lh.by_scale { smoke = 1e-2, medium = 3e-3, gpu = 3e-4 },
      log_every = lh.by_scale { smoke = 2, small = 50, medium = 200 },
    },
  }
end

return setting

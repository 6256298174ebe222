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

local function corpus(name, tokenizer)
  return corpus_of(piece, {
    name, tokens = tokenizer, documents = lh.by_scale { smoke = 40, small = 500 },
    limit_eval_bytes = lh.by_scale { smoke = 4096, small = 131072, medium = 524288, gpu = 0 },
  })
end

-- The paper's proportions: on Enwik8 a compressed memory of one and a half blocks, three memories to
-- one, beside a Transformer-XL of three blocks; on PG-19, whose published model reads 32,000
-- sub-words, a block, two to one, beside one of two blocks.
setting.enwik8 = {
  name = "enwik8", corpus = corpus(lh.data.first { "enwik8", "code" }, "bytes"),
  layers = lh.by_scale { smoke = size.layers, paper = 24 }, rate = 3,
  block = lh.by_scale { smoke = block, paper = 768 },
  read = lh.by_scale { smoke = "none", paper = "streams" },
}
setting.enwik8.compressed = 3 * setting.enwik8.block // 2
setting.enwik8.remembered = lh.by_scale { smoke = setting.enwik8.block + setting.enwik8.compressed, paper = 2304 }
setting.pg19 = {
  name = "pg19", corpus = corpus(lh.by_scale { smoke = "books", paper = "pg19" },
    lh.by_scale { smoke = "bytes", gpu = "sentencepiece:t5-32k" }),
  layers = lh.by_scale { smoke = size.layers, paper = 36 }, rate = 2,
  block = lh.by_scale { smoke = block, paper = 512 },
}
setting.pg19.compressed = setting.pg19.block
setting.pg19.remembered = 2 * setting.pg19.block

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

--- Transformer-XL with as long a memory as both of those together, at full size the paper's.
function setting.transformer_xl(dataset)
  return lh.models.dai_xl(lh.merged(core(dataset), { memory = dataset.remembered }))
end

local tokens = lh.by_scale { smoke = 480, small = 2304, medium = 9216, gpu = 49152 }

-- At full size characters are learnt in a fifth of the steps of words (section 5).
local function steps_of(dataset)
  local is_characters = dataset == setting.enwik8
  local steps = lh.by_scale { smoke = 6, small = 800, medium = 6000, gpu = 5e4, paper = is_characters and 1e5 or 5e5 }
  return steps, lh.by_scale { smoke = steps // 10, paper = is_characters and 4e3 or 16e3 }
end

--- Adds a row; `blocks`: how many it reads at once (1), which is as far as compression_loss=task
--- flows.
function setting.add(bench, dataset, label, model, blocks)
  local segment, steps, warmup = (blocks or 1) * dataset.block, steps_of(dataset)
  bench:row {
    label, model = model, dataset = dataset.name,
    task = lh.tasks.language_model {
      dataset.corpus, segment = segment, batch = tokens // segment, subsequences = dataset.read,
    },
    -- section 5: Adam, a cosine from 3e-4 down, gradients clipped to 0.1
    train = lh.train {
      optimizer = "adam", schedule = "cosine", steps = steps, warmup = warmup, clip = 0.1,
      rate = lh.by_scale { smoke = 1e-2, medium = 3e-3, gpu = 3e-4 },
      log_every = lh.by_scale { smoke = 2, small = 50, medium = 200 },
    },
  }
end

return setting

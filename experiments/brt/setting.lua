-- What the experiments of the Block-Recurrent Transformer paper share (Hutchins et al. 2022,
-- section 4): sizes, corpora and training by scale.
local lh = require "longhaul"
local corpus_of = lh.include "../corpus.lua"

local setting = {}

-- Depth, width and window of the 12-layer baseline at each scale. Below `gpu` the window counts
-- bytes, so that a table fits a laptop, and the model is a third as deep; a study has the depth, so
-- that a 13th layer adds what it adds in the paper. The proportions (segment of 8 windows, states as
-- many as the window, the recurrent layer third from the top) are the paper's.
setting.size = lh.by_scale {
  smoke = { layers = 3, width = 32, heads = 2, window = 16 },
  small = { layers = 4, width = 64, heads = 2, window = 32 },
  study = { layers = 12, width = 32, heads = 2, window = 32 },
  medium = { layers = 4, width = 64, heads = 2, window = 64 },
  gpu = { layers = 12, width = 512, heads = 8, window = 256 },
  paper = { layers = 12, width = 1024, heads = 8, window = 512 },
}

-- Tokens per training step: the same for every row (section 4.2).
local tokens = lh.by_scale { smoke = 1024, small = 4096, gpu = 65536, paper = 131072 }

setting.dropout = lh.by_scale { smoke = 0, gpu = 0.05 }

-- First weights of the rivals: narrow layers behind norms want larger ones.
setting.deviation = lh.by_scale { smoke = 0.1, gpu = 0.02 }

setting.seeds = lh.by_scale { smoke = 1, small = 2, study = 3, gpu = 1 }

--- Options of a model with `more` on top.
function setting.model(more) return lh.merged(setting.size, { dropout = setting.dropout }, more or {}) end

--- The paper's segment: 4096 tokens at a window of 512.
setting.long = 8 * setting.size.window

--- Transformer-XL with one, two and four times the window: label, model and segment, which is the window.
setting.windows = {}
for i, name in ipairs { "XL:512", "XL:1024", "XL:2048" } do
  local wide = setting.size.window << (i - 1)
  setting.windows[i] = { name, lh.models.xl(setting.model { window = wide }), wide }
end

--- The nearest-neighbour memory of Table 1, on segments of a window.
function setting.memorizing()
  return lh.models.memorizing(setting.model {
    memory = 64 * setting.size.window, top = lh.by_scale { smoke = 8, small = 32, gpu = 128 },
    memory_layer = setting.size.layers >= 4 and -4 or 1,
  })
end

-- Short documents below `gpu`, whole books above.
local piece = lh.by_scale { smoke = 4096, small = 8192, medium = 32768, gpu = 0 }
local evaluated = lh.by_scale { smoke = 16384, small = 131072, medium = 524288, gpu = 0 }

local function corpus(name, tokens)
  return corpus_of(piece, {
    name, tokens = tokens, documents = lh.by_scale { smoke = 100, small = 1500 },
    limit_eval_bytes = evaluated,
  })
end

local pieces_32k = lh.by_scale { smoke = "bytes", gpu = "sentencepiece:t5-32k" }
local pieces = lh.by_scale { smoke = "sentencepiece:train:1000", gpu = "sentencepiece:t5-32k" }

-- The columns of Table 1: corpus, multiple of the rate, and of the tokens of a step at full size, which
-- quieten GitHub (section 4.1). Below `gpu` the token columns are read as bytes, or over few pieces: a
-- vocabulary of 32,000 would be most of so small a model.
local all = {
  { "pg19_bytes", corpus(lh.by_scale { smoke = "books", paper = "pg19" }, "bytes"), 1.0, 1 },
  { "pg19_tokens", corpus(lh.by_scale { smoke = "books", paper = "pg19" }, pieces), 1.0, 1 },
  { "arxiv", corpus("latex", pieces_32k), 0.5, 1 },
  { "github", corpus("code", pieces_32k), 0.25, 8 },
}

-- Which of them, by scale.
local chosen = lh.by_scale {
  smoke = { 1 }, small = { 1, 3, 4 }, study = { 1, 2, 3, 4 }, medium = { 1, 3 },
  gpu = { 1, 2, 3, 4 },
}

setting.datasets = {}
for i, index in ipairs(chosen) do
  local name, text, multiple, batches = table.unpack(all[index])
  setting.datasets[i] = { name = name, text = text, multiple = multiple,
    tokens = tokens * lh.by_scale { smoke = 1, paper = batches } }
end

--- The language-modelling task of a dataset on segments of `segment` tokens, `times` (1) as many a step
--- as Table 1 has.
function setting.task(dataset, segment, times)
  return lh.tasks.language_model {
    dataset.text, segment = segment, batch = (times or 1) * dataset.tokens // segment,
    -- the released code never predicts the first token of a segment
    predict_across = lh.by_scale { smoke = true, paper = false },
  }
end

--- Training as in section 4: Adafactor, inverse square root decay, warm-up, a rate per corpus.
function setting.train(dataset, steps)
  local scaled = lh.by_scale { smoke = true, paper = false }
  return lh.train {
    optimizer = "adafactor", schedule = "rsqrt",
    steps = steps or lh.by_scale {
      smoke = 12, small = 500, study = 2000, medium = 4000, gpu = 50e3,
      paper = dataset.name == "github" and 250e3 or 500e3,
    },
    warmup = lh.by_scale { smoke = 10, small = 100, medium = 500, gpu = 1000 },
    -- The multiples 0.5 and 0.25 tame the instabilities of long runs at full size; short runs take
    -- one rate.
    rate = scaled and 0.5 or dataset.multiple,
    log_every = lh.by_scale { smoke = 4, small = 10, medium = 50, gpu = 100 },
  }
end

return setting

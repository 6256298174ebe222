-- What the experiments of the Reformer paper share (Kitaev et al. 2020, sections 2.1 and 5): tasks,
-- sizes and training.
local lh = require "longhaul"

local setting = {}

-- Adafactor as the released code has it.
local function adafactor(more)
  return lh.merged({ optimizer = "adafactor", schedule = "rsqrt", warmup = 8000, momentum = 0,
    factor_minimum = 1 }, more)
end

setting.seeds = lh.by_scale { smoke = 1, small = 2, study = 3, gpu = 1, paper = 3 }

-- ---- duplication: one layer, 8 chunks of sorted tokens at `small` (published: 32). Attention
-- finds the first word only once it has learnt where that stands, which takes the longer the longer
-- the word is ----

local word = lh.by_scale { smoke = 3, small = 15, medium = 63, gpu = 511 }
local length = 2 * (word + 1)

setting.duplication = {
  task = lh.tasks.duplication {
    word = word, alphabet = lh.by_scale { smoke = 7, small = 15, medium = 31, gpu = 127 },
    batch = lh.by_scale { smoke = 4, small = 32 },
    evaluate_sequences = lh.by_scale { smoke = 16, small = 512, gpu = 2048 },
  },
  core = lh.merged(lh.by_scale {
    smoke = { width = 16, heads = 2, hidden = 16 },
    small = { width = 64, heads = 4, hidden = 64 },
    medium = { width = 128, heads = 4, hidden = 128 },
    gpu = { width = 256, heads = 4, hidden = 256 },
  }, {
    layers = 1, residual = "plain", positions = length,
    chunk = length // lh.by_scale { smoke = 4, small = 8, medium = 16, gpu = 32 },
  }),
  -- Adafactor with the inverse square root (released); short runs learn faster with Adam.
  train = lh.train(lh.by_scale {
    smoke = { steps = 8, optimizer = "adam", schedule = "constant", rate = 5e-3, warmup = 2,
      log_every = 2 },
    small = { steps = 4000, optimizer = "adam", schedule = "cosine", rate = 5e-3, warmup = 200,
      log_every = 100 },
    medium = { steps = 40e3, optimizer = "adam", schedule = "cosine", rate = 3e-3, warmup = 500,
      log_every = 200 },
    gpu = adafactor { steps = 150e3, rate = 1, log_every = 500 },
  }),
}

-- ---- enwik8-64K and imagenet64: three layers ----

local core = lh.by_scale {
  smoke = { layers = 1, width = 16, heads = 2 },
  small = { layers = 3, width = 64, heads = 4 },
  medium = { layers = 3, width = 128, heads = 4 },
  gpu = { layers = 3, width = 512, heads = 8 },
  paper = { layers = 3, width = 1024, heads = 8, hidden = 4096, head_width = 64 },
}

local side = lh.by_scale { smoke = 8, small = 16, medium = 32, gpu = 64 }
local batch = lh.by_scale { smoke = 2, small = 2, gpu = 8 }
local subsequence = lh.by_scale { smoke = 128, small = 1024, medium = 4096, gpu = 65536 }

setting.corpora = {
  {
    name = "enwik8-64K", length = subsequence, dropout = lh.by_scale { smoke = 0, gpu = 0.1 },
    task = lh.tasks.language_model {
      lh.data.text {
        lh.by_scale { smoke = "generate:books",
          small = lh.data.first { "enwik8", "generate:books" } },
        documents = lh.by_scale { smoke = 20, small = 300 },
        document_bytes = lh.by_scale { smoke = 1024, small = 16384 },
      },
      segment = subsequence, batch = batch, subsequences = "quarter",
      evaluate_batches = lh.by_scale { smoke = 2, small = 32, gpu = 8 },
    },
  },
  {
    name = "imagenet64", length = 3 * side * side, dropout = 0,
    steps = lh.by_scale { smoke = false, paper = 500e3 } or nil,
    task = lh.tasks.imagenet64 {
      name = "imagenet64", side = side, batch = batch,
      images = lh.by_scale { smoke = 32, small = 5000 },
      evaluate_images = lh.by_scale { smoke = 4, small = 64, gpu = 512 },
    },
  },
}

--- A model for a corpus with `more` on top; the chunk of the paper's figures is 128 of 65,536 or of
--- 12,288 tokens.
function setting.model(corpus, more)
  return lh.models.reformer(lh.merged(core, {
    positions = corpus.length, dropout = corpus.dropout,
    chunk = lh.by_scale { smoke = 16, small = 32, gpu = 128 },
  }, more))
end

-- Adafactor with the inverse square root and a constant of 2 (released); short runs take Adam.
setting.train = lh.train(lh.by_scale {
  smoke = { steps = 8, optimizer = "adam", schedule = "cosine", rate = 2e-3, warmup = 2,
    log_every = 2, evaluate_every = 4 },
  small = {
    steps = 800, optimizer = "adam", schedule = "cosine", rate = 3e-3, warmup = 80, clip = 1,
    log_every = 20,
    evaluate_every = 100,
  },
  -- After 800 steps loss still falls by half a bit in 200.
  study = {
    steps = 2000, optimizer = "adam", schedule = "cosine", rate = 3e-3, warmup = 80, clip = 1,
    log_every = 50,
    evaluate_every = 250,
  },
  medium = {
    steps = 4000, optimizer = "adam", schedule = "cosine", rate = 2e-3, warmup = 200, clip = 1,
    log_every = 50,
    evaluate_every = 250,
  },
  gpu = adafactor { steps = 60e3, rate = 2, log_every = 100, evaluate_every = 500 },
})

--- A row per model of the list { label, options } on both corpora.
function setting.rows(bench, models, corpora)
  for _, corpus in ipairs(corpora or setting.corpora) do
    for _, row in ipairs(models) do
      bench:row {
        row[1], label = row.label, model = setting.model(corpus, row[2]), task = corpus.task,
        train = setting.train:with { steps = corpus.steps },
        seeds = lh.by_scale { smoke = 1, study = 3, gpu = 1 }, dataset = corpus.name,
      }
    end
  end
end

return setting

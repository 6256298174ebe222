-- What the experiments of the Staircase paper share (Ju et al. 2022, section 4): the core, the
-- tasks and the training of each scale. All rows of a task have the same core; recurrence adds no
-- parameter.
local lh = require "longhaul"
local corpus_of = lh.include "../corpus.lua"

local setting = {}

-- ---- state tracking: random walk and algorithm ----

setting.tracking = {
  seeds = lh.by_scale { smoke = 1, small = 3, study = 5, medium = 3, paper = 5 },
  -- The released script's core for Algorithm; its README says that Random Walk keeps it.
  core = lh.by_scale {
    smoke = { layers = 2, width = 16, heads = 2 },
    small = { layers = 2, width = 64, heads = 4 },
    medium = { layers = 4, width = 128, heads = 4 },
    paper = { layers = 4, width = 256, heads = 4, dropout = 0.2 },
  },
  lstm = lh.by_scale {
    smoke = { layers = 1, width = 16, hidden = 32 },
    small = { layers = 1, width = 64, hidden = 128 },
    medium = { layers = 1, width = 128, hidden = 384 },
    paper = { layers = 2, width = 128, hidden = 512 },
  },
}

-- Both tasks shortened below `paper`: fewer cells and actions, fewer and smaller numbers.
local walk = lh.by_scale {
  smoke = { grid = 2, steps = 10 }, small = { grid = 3, steps = 30 },
  study = { grid = 3, steps = 40 },
  medium = { grid = 8, steps = 100 }, paper = { grid = 8, steps = 400 },
}
local program = lh.by_scale {
  smoke = { variables = 2, statements = 5, largest = 3 },
  small = { variables = 1, statements = 30, largest = 5 },
  medium = { variables = 3, statements = 30, largest = 10 },
  paper = { variables = 3, statements = 100, largest = 10 },
}
local stream = lh.by_scale {
  smoke = { batch = 4, segment = 16, episodes = 0, evaluate_episodes = 16 },
  small = { batch = 16, segment = 48, episodes = 0, evaluate_episodes = 512 },
  medium = { batch = 32, segment = 64, episodes = 0, evaluate_episodes = 512 },
  paper = { batch = 256, segment = 128, episodes = 10000, evaluate_episodes = 1000 },
}

-- The released trainer steps its schedule before its optimizer.
local first_rate = lh.by_scale { smoke = "zero", paper = "step" }

-- The released scripts: Adam, a constant rate after the warm-up. Short runs end on a cosine.
local function train(small_steps)
  return lh.train {
    optimizer = "adam",
    schedule = lh.by_scale { smoke = "cosine", paper = "constant" },
    steps = lh.by_scale { smoke = 12, small = small_steps, study = 3 * small_steps // 2, medium = 20e3, paper = 100e3 },
    rate = lh.by_scale { smoke = 4e-3, medium = 1e-3, paper = 1e-4 },
    warmup = lh.by_scale { smoke = 4, small = 500, medium = 1000 },
    first_rate = first_rate, clip = 0.1,
    log_every = lh.by_scale { smoke = 4, small = 100 },
  }
end

-- Forward sizes C of the staircase and of the cached one, whose step size is `step`; `span` is what
-- the baselines see. A statement of the shortened programs fills up to eight symbols, an action is
-- one.
setting.tracking.tasks = {
  {
    name = "random_walk", task = lh.tasks.random_walk(lh.merged(stream, walk)), train = train(12e3),
    chunk = lh.by_scale { smoke = 4, small = 4, medium = 8, paper = 64 },
    cached = lh.by_scale { smoke = 2, small = 2, medium = 4, paper = 32 },
    step = lh.by_scale { smoke = 8, small = 16, medium = 32, paper = 128 },
    span = lh.by_scale { smoke = 8, small = 32, medium = 64, paper = 100 },
  },
  {
    name = "algorithm", task = lh.tasks.algorithm(lh.merged(stream, program)), train = train(10e3),
    chunk = lh.by_scale { smoke = 4, small = 8, medium = 16, paper = 64 },
    cached = lh.by_scale { smoke = 2, small = 4, medium = 8, paper = 32 },
    step = lh.by_scale { smoke = 8, small = 32, medium = 64, paper = 128 },
    span = lh.by_scale { smoke = 8, small = 16, medium = 64, paper = 100 },
  },
}

--- A model of the tracking core with `more` on top.
function setting.tracker(class, more)
  return lh.models[class](lh.merged(setting.tracking.core, more))
end

-- What the released code keeps across segments: the outputs of one segment.
local kept = lh.by_scale { smoke = "inputs", paper = "outputs" }

--- N recurrent steps on a tracking task.
function setting.tracking_staircase(task, steps)
  return setting.tracker("staircase", {
    steps = steps, forward_size = task.chunk, cache = kept,
    segment_chunks = kept == "outputs" and stream.segment // task.chunk or 0,
  })
end

-- ---- language modelling ----

local sizes = lh.by_scale {
  smoke = { layers = 2, width = 32, heads = 2 },
  small = { layers = 4, width = 64, heads = 4 },
  medium = { layers = 6, width = 128, heads = 4 },
  gpu = { layers = 8, width = 512, heads = 8 },
  paper = { layers = 8, width = 1024, heads = 8 },
}

setting.language = {
  core = sizes,
  seeds = lh.by_scale { smoke = 1, small = 2, study = 3, gpu = 1 },
  -- The step size NC of Table 2, which is also the span of the baselines.
  step_size = lh.by_scale { smoke = 16, small = 64, medium = 128, gpu = 256 },
  -- From `medium` on as many parameters as the core; at `small` and `study` three quarters more.
  lstm = {
    layers = 2, width = sizes.width,
    hidden = lh.by_scale { smoke = 64, small = 160, medium = 296, gpu = 1368, paper = 2736 },
  },
}

local step_size = setting.language.step_size
local segment = 2 * step_size
local tokens = lh.by_scale { smoke = 512, small = 4096, medium = 8192, gpu = 65536 }

local function text(name, vocabulary)
  local piece = lh.by_scale { smoke = 4096, small = 16384, medium = 32768, gpu = 0 }
  return lh.tasks.language_model {
    corpus_of(piece, {
      name, tokens = vocabulary, documents = lh.by_scale { smoke = 40, small = 500 },
      limit_eval_bytes = lh.by_scale { smoke = 8192, small = 131072, medium = 524288, gpu = 0 },
    }),
    segment = segment, batch = tokens // segment,
    subsequences = lh.by_scale { smoke = "none", paper = "streams" },
  }
end

-- Reddit and BASE were never released: `longhaul data import` brings a user's own; Shakespeare's
-- plays, which are dialogue, and Wikipedia stand in. Below `gpu` all are read as bytes.
local pieces = lh.by_scale { smoke = "bytes", gpu = "sentencepiece:train:8000" }
local function standing_in(names)
  return lh.by_scale { smoke = names[#names], small = lh.data.first(names) }
end

setting.language.corpora = {
  { name = "enwik8", task = text(standing_in { "enwik8", "books" }, "bytes") },
  { name = "reddit", task = text(standing_in { "reddit", "shakespeare", "books" }, pieces) },
  { name = "base_data", task = text(standing_in { "base_data", "wikitext-103", "latex" }, pieces) },
}

setting.language.train = lh.train {
  optimizer = "adam", schedule = "cosine", first_rate = first_rate, clip = 0.3,
  steps = lh.by_scale { smoke = 12, small = 600, study = 1200, medium = 4000, gpu = 50e3, paper = 100e3 },
  rate = lh.by_scale { smoke = 2e-3, medium = 1e-3, gpu = 3e-4 },
  warmup = lh.by_scale { smoke = 4, small = 60, study = 120, medium = 400, gpu = 8000 },
  log_every = lh.by_scale { smoke = 4, small = 20, medium = 50, gpu = 100 },
}

-- ---- the models of Tables 2 and 3 ----

local language = setting.language

function setting.transformer_xl(more)
  return lh.models.transformer_xl(lh.merged(language.core, { span = step_size }, more or {}))
end

--- N recurrent steps of `step_size / N` new tokens.
function setting.staircase(steps, size)
  size = size or step_size
  return lh.models.staircase(lh.merged(language.core, {
    steps = steps, forward_size = size // steps, cache = kept,
  }))
end

--- One computed step; the cached tokens in reach are `step_size` (Table 3's rule: NC = 256 + C).
function setting.cached(forward_size)
  return lh.models.cached_staircase(lh.merged(language.core, {
    forward_size = forward_size, step_size = step_size + forward_size,
  }))
end

--- A span of twice the step size, one key and value matrix for all layers (the paper's 102M).
function setting.feedback()
  return lh.models.feedback(lh.merged(language.core, { span = 2 * step_size, share_kv = true }))
end

-- How much wider one layer has the parameters of all of the core's: about the root of their number.
local widening = lh.by_scale { smoke = 3 / 2, small = 2, medium = 5 / 2 }

--- One layer of the core's size, or so wide that it has the parameters of the whole core.
function setting.universal(steps, wide)
  local core = lh.merged(language.core)
  core.layers = nil
  core.head_width = core.width // core.heads
  if wide then
    core.width, core.heads = math.tointeger(core.width * widening), math.tointeger(core.heads * widening)
  end
  return lh.models.universal(lh.merged(core, { span = step_size, steps = steps }))
end

setting.reddit = language.corpora[2]

--- The rows of Table 2, which Figure 3 draws.
function setting.reddit_rows(bench)
  local size = step_size
  local rows = {
    { "Transformer-XL [9]", "transformer_xl", setting.transformer_xl() },
    { "Transformer-XL 2x deep", "transformer_xl:2x_deep",
      setting.transformer_xl { layers = 2 * language.core.layers } },
    { "Feedback Transformer [13]", "feedback_transformer", setting.feedback() },
    { "Cached Staircase", "cached_staircase:r1", setting.cached(size // 2) },
  }
  for _, steps in ipairs { 2, 4, 8 } do
    rows[#rows + 1] = {
      ("Staircase, N = %d"):format(steps), "staircase:r" .. steps, setting.staircase(steps),
    }
  end
  for _, steps in ipairs { 2, 4, 8, 16 } do
    rows[#rows + 1] = {
      ("Universal Transformer, %d steps"):format(steps), "universal_transformer:29m:r" .. steps,
      setting.universal(steps),
    }
  end
  rows[#rows + 1] = {
    "Universal Transformer, wide, 8 steps", "universal_transformer:120m:r8",
    setting.universal(8, true),
  }
  for _, row in ipairs(rows) do
    bench:row {
      row[1], slug = row[2], model = row[3], task = setting.reddit.task, train = language.train,
      seeds = language.seeds, dataset = setting.reddit.name,
    }
  end
end

return setting

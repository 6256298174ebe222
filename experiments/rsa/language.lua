-- What the language-modelling experiments of "Encoding Recurrence into Transformers" share (Huang
-- et al. 2023, section 4.3 and appendix D): layouts of Table 7, corpora, Transformer-XL's training.
local lh = require "longhaul"
local corpus_of = lh.include "../corpus.lua"

local language = {}

-- ---- layouts ----

-- Head counts k1 .. k6, dilations and the initial gate, as Table 7 prints them.
local rsa = {
  text8 = { kinds = { 0, 0, 0, 0, 2, 2 }, dilation = { 6, 6, 12, 12 }, gate = 1 },
  enwik8 = { kinds = { 0, 0, 0, 0, 2, 2 }, dilation = { 3, 6, 9, 12 }, gate = 1 },
  wikitext103 = { kinds = { 0, 0, 0, 2, 2, 2 }, dilation = { 12, 24, 12, 24, 12, 24 }, gate = -1 },
}

local characters = { layers = 14, width = 512, heads = 8, hidden = 2048, memory = 512 }

-- The published models and vocabularies. BRT goes without an adaptive softmax, and two of its
-- attentions have wider heads.
local layout = {
  text8 = { vocabulary = 27, xl = characters },
  enwik8 = { vocabulary = 204, xl = characters, brt = { recurrent_layer = -3, states = 128 } },
  wikitext103 = {
    vocabulary = 267735,
    xl = { layers = 16, width = 410, heads = 12, head_width = 41, hidden = 2100, memory = 150 },
    softmax = { cutoffs = { 20000, 40000, 200000 } },
    brt = { recurrent_layer = -3, states = 128, state_head_width = 64 },
  },
}

-- Below `gpu` a quarter of the layers of an eighth of the width, with the same heads and dilations;
-- so narrow a model does not leave the frequencies of the letters behind in a short run when it
-- begins with the published weights of 0.02.
local small = lh.by_scale {
  smoke = { layers = 3, width = 32, heads = 8, hidden = 64, memory = 32, initial_deviation = 0.05 },
  small = { layers = 4, width = 64, heads = 8, hidden = 256, memory = 64,
    initial_deviation = 0.05 },
  medium = { layers = 4, width = 128, heads = 8, hidden = 512, memory = 128,
    initial_deviation = 0.05 },
  gpu = false,
}
language.segment = lh.by_scale { smoke = 32, small = 64, medium = 128, gpu = 512 }
local states = lh.by_scale { smoke = 8, small = 32, medium = 64, gpu = 128 }
local dropout = lh.by_scale { smoke = 0, gpu = 0.1 }

-- The states' gate of RSA-BRT begins at 0.
local function encoding(name, recurrent)
  return { rsa = lh.merged(rsa[name], recurrent and { gate = 0 } or {}) }
end

--- The published model of a data set: "XL", "RSA-XL", "BRT" or "RSA-BRT"; nil where the paper has
--- none.
function language.published(name, row)
  local of, recurrent = layout[name], row:find "BRT$" ~= nil
  if recurrent and (not of.brt or row == "RSA-BRT" and name == "wikitext103") then return nil end
  return lh.models.dai_xl(lh.merged(of.xl, recurrent and of.brt or of.softmax or {},
    row:find "^RSA" and encoding(name, recurrent) or {})), of.vocabulary
end

--- Its parameters, over the published vocabulary.
function language.count(name, row)
  local model, vocabulary = language.published(name, row)
  return model and lh.parameters(model, vocabulary)
end

-- Words: the vocabulary, and where its softmax is cut.
local words = lh.by_scale { smoke = 200, small = 4000, medium = 20000, gpu = 267735 }
local cutoffs = lh.by_scale {
  smoke = { 50, 100 }, small = { 500, 1000, 2000 }, medium = { 2000, 4000, 10000 },
  gpu = { 20000, 40000, 200000 },
}

--- The model that is trained at this scale: over bytes, or the words of wikitext103.
function language.model(name, row, more)
  local recurrent = row:find "BRT$" ~= nil
  local base = lh.merged(small or layout[name].xl,
    name == "wikitext103" and not recurrent and { cutoffs = cutoffs } or {})
  -- As released the states are never trained; below `paper` a segment has two blocks, so that they
  -- are.
  local block = lh.by_scale { smoke = language.segment // 2, paper = 0 }
  return lh.models.dai_xl(lh.merged(base, { dropout = dropout },
    recurrent and { recurrent_layer = -3, states = states, block = block } or {},
    recurrent and not small and layout[name].brt or {},
    row:find "^RSA" and encoding(name, recurrent) or {}, more or {}))
end

-- ---- corpora ----

-- Slices of the published corpora where they are, else the generator. Short documents below `gpu`.
local piece = lh.by_scale { smoke = 4096, small = 16384, gpu = 0 }
local evaluated = lh.by_scale { smoke = 8192, small = 65536, medium = 262144, gpu = 0 }

local folder = { enwik8 = "enwik8", text8 = "text8", wikitext103 = "wikitext-103" }

-- The words of WikiText-103 come in shorter segments at full size.
local function segment_of(name)
  return name == "wikitext103" and not small and layout[name].xl.memory or language.segment
end

--- The task on a corpus; `limit` bytes of its training split (0: all).
function language.task(name, limit)
  return lh.tasks.language_model {
    corpus_of(piece, {
      lh.data.first { folder[name], "books" }, documents = lh.by_scale { smoke = 40, small = 400 },
      limit_bytes = limit or 0, limit_eval_bytes = evaluated,
      tokens = name == "wikitext103" and "words:train:" .. words or "bytes",
    }),
    segment = segment_of(name),
    batch = lh.by_scale { smoke = 4, small = 16, gpu = name == "wikitext103" and 60 or 22 },
    -- as Transformer-XL's code; what it changes below: streams.lua
    subsequences = lh.by_scale { smoke = "none", paper = "streams" },
  }
end

-- ---- training: Adam, a cosine to 0, gradients clipped at 0.25, as released ----

function language.train(name)
  local full = name == "wikitext103" and 200e3 or 400e3
  -- At twice the rate BRT, whose softmax over words is plain, may stay with their frequencies.
  local small_rate = name == "wikitext103" and 2e-3 or 4e-3
  return lh.train {
    optimizer = "adam", schedule = "cosine", clip = 0.25,
    steps = lh.by_scale { smoke = 10, small = 2000, study = 4000, gpu = 40e3, paper = full },
    rate = lh.by_scale { smoke = small_rate, medium = 2e-3, gpu = 2.5e-4 },
    warmup = lh.by_scale { smoke = 2, small = 100, gpu = 0 },
    log_every = lh.by_scale { smoke = 2, small = 20, gpu = 100 },
  }
end

language.seeds = lh.by_scale { smoke = 1, small = 2, study = 3, gpu = 1 }

return language

-- What the experiments of "Adding Recurrence to Pretrained Transformers" share (Yoshida et al.
-- 2020, section 5): the pretrained model, windows and overlaps, corpora, fine-tuning.
local lh = require "longhaul"
local gpt2 = lh.include "model.lua"

local setting = { tokens = gpt2.tokens }

-- The window of Tables 1 and 2, those of Figures 4 and 5, and overlaps as the paper's shares of the
-- window.
setting.window = lh.by_scale { smoke = 60, small = 64, gpu = 300 }
setting.windows = lh.by_scale {
  smoke = { 15, 30, 60 }, small = { 64, 128, 256 }, gpu = { 200, 300, 400, 500, 600 },
}
setting.overlaps = { 0, 5, 10, 30, 50 }
setting.more_overlaps = { 75, 100, 150, 200 }

--- The overlap that stands for the paper's, which is out of a window of 300.
function setting.overlap(published)
  return math.max(published > 0 and 1 or 0, published * setting.window // 300)
end

local function named(model, window, overlap)
  return ("%s, window %d%s"):format(model, window, overlap > 0 and ", overlap " .. overlap or "")
end

--- What the rows are called: by the window and overlap that they have, of which the paper's are in
--- their slugs.
function setting.plain_label(window, overlap) return named("GPT-2", window, overlap) end
function setting.recurrent_label(window, overlap) return named("Recurrent", window, overlap) end

-- Tokens of a training sequence: 20 windows of 300 in the paper, about as many at every window.
local sequence = lh.by_scale { smoke = 120, small = 1200, gpu = 6000 }
local batch = lh.by_scale { smoke = 2, small = 8, gpu = 1 }

local function windows_of(window) return (2 * sequence + window) // (2 * window) end

-- ---- models ----

local recompute = lh.by_scale { smoke = true, small = false, gpu = true }

local function windowed(window, overlap)
  return { window = window, overlap = overlap, recompute = recompute }
end

function setting.plain(window, overlap)
  return lh.models.gpt2(lh.merged(gpt2.size, windowed(window, overlap)))
end

-- The module's size; a study has the paper's share of the width, so that it costs as little.
local module = lh.by_scale {
  smoke = { summary_hidden = 8 }, small = {},
  study = { summary_hidden = 200 * (gpt2.size.width or 768) // 768 }, medium = {},
}

function setting.recurrent(window, overlap)
  return lh.models.gpt2_recurrent(lh.merged(gpt2.size, windowed(window, overlap), module))
end

-- ---- tasks ----

local evaluated = lh.by_scale { smoke = 2048, small = 196608, medium = 393216, gpu = 0 }

local corpora = {
  wikitext103 = {
    names = { "wikitext-103-raw", "wikitext-103", "generate:latex" },
    whole = { documents = 28475, tokens = 117e6 },
  },
  pg19 = {
    names = { "pg19", "books", "generate:books" }, whole = { documents = 1250, tokens = 117e6 },
    -- the first 1250 books by file name, the first 15000 tokens of each validation book (section 5)
    documents = lh.by_scale { smoke = false, gpu = 1250 } or nil,
    valid_tokens = lh.by_scale { smoke = false, gpu = 15000 } or nil,
  },
}

-- Below `medium` on the generators: what is worth carrying over in real text takes a small model
-- longer to learn than two cores have time for (docs/studies.md).
local function corpus(name)
  local names = corpora[name].names
  return lh.data.text {
    lh.by_scale { smoke = names[#names], medium = lh.data.first(names) }, tokens = setting.tokens,
    documents = lh.by_scale { smoke = 40, small = 600 },
    document_bytes = lh.by_scale { smoke = 1024, small = 16384 },
    split_bytes = lh.by_scale { smoke = 1024, small = 16384, gpu = 0 },
    limit_eval_bytes = evaluated,
    limit_documents = corpora[name].documents, valid_tokens = corpora[name].valid_tokens,
  }
end

local function segment_of(window, overlap) return overlap + windows_of(window) * (window - overlap) end

--- Windows of `window` tokens of a corpus, each repeating `overlap` of the one before.
function setting.task(name, window, overlap)
  return lh.tasks.language_model {
    corpus(name), segment = segment_of(window, overlap), overlap = overlap, batch = batch,
  }
end

-- ---- training ----

-- Steps of an epoch of the whole corpus, and of two million of its tokens: no segment has two
-- documents, so that half of a document's last one is padding.
local function epoch_of(name, window, overlap)
  local whole, fresh = corpora[name].whole, segment_of(window, overlap) - overlap
  local steps = (whole.tokens // fresh + whole.documents // 2) // batch
  return math.tointeger(steps), math.tointeger(steps * 2e6 // whole.tokens)
end

-- Adam, 100 steps of warm-up, then constant; two epochs, validation every two million tokens, and
-- the best weights (section 5). The learning rates are not in the paper. Short runs end on a
-- cosine.
local function fine_tuning(name, window, overlap)
  local epoch, two_millions = epoch_of(name, window, overlap)
  return lh.train {
    optimizer = "adam", schedule = lh.by_scale { smoke = "cosine", gpu = "constant" },
    keep_best = true,
    clip = lh.by_scale { smoke = 1, gpu = 0 },
    steps = lh.by_scale { smoke = 8, small = 2500, medium = 5000, gpu = 4000, paper = 2 * epoch },
    rate = lh.by_scale { smoke = 1e-3, small = 2e-3, medium = 1e-3, gpu = 3e-5 },
    warmup = lh.by_scale { smoke = 2, small = 100 },
    evaluate_every = lh.by_scale { smoke = 4, small = 500, gpu = 333, paper = two_millions },
    log_every = lh.by_scale { smoke = 4, small = 20 },
  }
end

--- Evaluation of weights as they are.
setting.none = lh.train { steps = 0, optimizer = "adam" }

setting.seeds = lh.by_scale { smoke = 1, study = 3, gpu = 1 }

-- ---- rows ----

local function three_digits(value) return tonumber(("%.2e"):format(value)) end

--- Forward FLOPs per token as the paper counts them (Kaplan et al. 2020): no embeddings, no head,
--- causal attention at half; the tokens of an overlap are computed again. The paper scales the
--- rounded number, and so do we.
function setting.kaplan_flops(window, overlap)
  local layers, width = gpt2.size.layers or 12, gpt2.size.width or 768
  local base = 2 * 12 * layers * width ^ 2 + 2 * layers * window * width
  return three_digits(base) * window / (window - overlap)
end

local function values_of(window, overlap)
  return { kaplan_flops_per_token = setting.kaplan_flops(window, overlap) }
end

-- What the figures draw by: the row's first value.
local function point_of(series, window)
  return lh.grid { { "series", series }, { "window", window } }()
end

local pretrain, pretrained = lh.include "pretrain.lua", "GPT-2"

--- The plain model, fine-tuned on disjoint windows.
function setting.tune_plain(bench, name, window, slug)
  bench:row {
    point_of("GPT-2, overlap 0", window), label = setting.plain_label(window, 0), slug = slug,
    model = setting.plain(window, 0), task = setting.task(name, window, 0),
    train = fine_tuning(name, window, 0),
    seeds = setting.seeds, dataset = name, from = { pretrain, pretrained },
    values = values_of(window, 0),
  }
end

--- The same at another overlap: it is not trained again (section 4.2).
function setting.evaluate_plain(bench, name, window, overlap, slug)
  bench:row {
    point_of(("GPT-2, overlap %d"):format(overlap), window),
    label = setting.plain_label(window, overlap), slug = slug,
    model = setting.plain(window, overlap), task = setting.task(name, window, overlap),
    train = setting.none,
    seeds = setting.seeds, dataset = name, from = setting.plain_label(window, 0),
    values = values_of(window, overlap),
  }
end

--- The recurrent model, trained with the overlap that it is tested with.
function setting.tune_recurrent(bench, name, window, overlap, slug)
  bench:row {
    point_of("Recurrent", window), label = setting.recurrent_label(window, overlap), slug = slug,
    model = setting.recurrent(window, overlap), task = setting.task(name, window, overlap),
    train = fine_tuning(name, window, overlap), seeds = setting.seeds, dataset = name,
    from = { pretrain, pretrained },
    -- Tables 3 and 4 write with them
    values = values_of(window, overlap), keep_weights = overlap == 0,
  }
end

--- The rows of Table 1 or 2; `overlaps` those of the plain model.
function setting.overlap_rows(bench, name, overlaps)
  local window = setting.window
  setting.tune_plain(bench, name, window, "gpt2_small:w300:o0")
  for _, published in ipairs(overlaps) do
    local overlap, slug = setting.overlap(published), ("gpt2_small:w300:o%d"):format(published)
    if overlap > 0 then setting.evaluate_plain(bench, name, window, overlap, slug) end
  end
  for _, published in ipairs(setting.overlaps) do
    setting.tune_recurrent(bench, name, window, setting.overlap(published),
      ("gpt2_recurrent:w300:o%d"):format(published))
  end
end

return setting

-- What the experiments of the comparison share: every architecture at one budget of parameters,
-- with the same layers and heads, the same tokens a step, its rate chosen by the same trials.
local lh = require "longhaul"

local setting = {}

setting.seeds = lh.by_scale { smoke = 1, small = 3 }

-- Parameters of every row, embeddings included. At small a run meets eight tokens for each: what two
-- cores have time for, and with fewer parameters than with more the better spent.
setting.parameters = lh.by_scale { smoke = 4e4, small = 1e5, medium = 1e6, gpu = 2e7, paper = 1.5e8 }

-- What a token of text sees directly of its past, wherever that is an option; what lies further back
-- reaches it by layers, by states or not at all.
setting.span = lh.by_scale { smoke = 16, small = 64, medium = 128, gpu = 512 }

local core = lh.by_scale {
  smoke = { layers = 2, width = 32, heads = 2 },
  small = { layers = 4, width = 64, heads = 2 },
  medium = { layers = 4, width = 128, heads = 4 },
  gpu = { layers = 8, width = 512, heads = 8 },
  paper = { layers = 12, width = 1024, heads = 8 },
}

-- First weights of Dai XL and of what is built on it: from 0.02, that of width 512, its narrow layers
-- behind norms learn no more than how often a byte comes (4.48 bits on books at small, at any rate).
local deviation = lh.by_scale { smoke = 0.1, small = 0.1, medium = 0.05, gpu = 0.02 }

-- Layers of the LSTM: two of them are still at the frequencies of bytes after most of 400 steps
-- (3.5 to 4.5 bits on books), where one has 2.9.
local cells = lh.by_scale { smoke = 1, small = 1, medium = 2 }

-- A layer of Mamba-2 has no feed-forward network beside it: its releases have twice the layers of a
-- Transformer of their size. States and heads are no larger than theirs.
local mamba = {
  layers = 2 * core.layers, width = core.width, state = math.min(core.width, 128),
  head_width = math.min(core.width // 2, 64),
}

-- The release's shapes: keys of 3/4 of the width, values of twice that, SwiGLU of 8/3.
local delta = {
  head_width = 3 * core.width // (4 * core.heads), hidden = 8 * core.width // 3,
}

local function sized(class, more) return lh.models[class](lh.merged(core, more or {})) end

local function one_layer(class, more)
  local options = lh.merged(core, more)
  options.layers = nil
  return lh.models[class](options)
end

-- Axial positions of so many tokens.
local function positions(length)
  return { positions = { 16, (length + 15) // 16 },
    position_widths = { core.width // 2, core.width // 2 } }
end

-- Label and model of what reads tokens, for segments of `length` of which `span` are seen directly;
-- `segment` where what is seen directly is the segment: a step then goes through as many of them as
-- make `length`, so that all rows meet the same documents in a step; `looks_at` where tokens are
-- looked at again without a state that would hold their keys and values: how many. `divisor`: of the
-- logits of a sliding window and what is built on it, where it is not the standard one.
local function architectures(span, length, divisor)
  local window = { window = span, dropout = 0, logit_divisor = divisor }
  local context = { context = span, window = span, dropout = 0, recompute = false }
  local memory = { memory = span, dropout = 0, initial_deviation = deviation }
  return {
    { "Transformer", sized "transformer", looks_at = length },
    { "Sliding window", sized("slide", window) },
    { "Block-recurrent", sized("brt", window) },
    { "Block-recurrent, feedback", sized("brt", lh.merged(window, { feedback = true })) },
    { "Memorizing", sized("memorizing", lh.merged(window, {
      memory = 16 * span, top = lh.by_scale { smoke = 8, medium = 32, gpu = 128 },
      memory_layer = core.layers > 2 and -2 or 1,
    })), segment = span },
    { "Transformer-XL", sized("transformer_xl", { span = span }) },
    { "Universal", one_layer("universal", { span = span, steps = core.layers }) },
    { "Staircase", sized("staircase", { forward_size = span // 4, steps = 4 }) },
    { "Cached staircase", sized("cached_staircase", { forward_size = span // 4, step_size = span }) },
    { "Feedback", sized("feedback", { span = span }) },
    { "Dai XL", sized("dai_xl", memory), segment = span },
    { "Compressive", sized("compressive", lh.merged(memory, {
      block = span, memory = span // 2, compressed_memory = span // 2,
    })) },
    { "Recurrent memory", sized("rmt", {
      block = span, memory_tokens = (span + 7) // 8, dropout = 0, initial_deviation = deviation,
    }) },
    { "RSA-XL", sized("dai_xl", lh.merged(memory, { rsa_kinds = { 1, 1, 0, 0, 0, 0 } })),
      segment = span },
    { "GPT-2", sized("gpt2", context), looks_at = span },
    { "Recurrent GPT-2", sized("gpt2_recurrent", lh.merged(context, { summary_hidden = core.width })),
      looks_at = span },
    { "Reformer", sized("reformer", lh.merged(positions(length), { rounds = 2, chunk = span // 2 })),
      looks_at = length },
    { "Routing", sized("routing", { window = span // 2, clusters = math.max(2, length // span),
      longest_distance = span }), looks_at = length },
    { "LSTM", lh.models.lstm { layers = cells, width = core.width, hidden = 2 * core.width } },
    { "Linear attention", sized "linear_attention" },
    { "Mamba-2", lh.models.mamba2(mamba) },
    { "Gated DeltaNet", sized("gated_deltanet", delta) },
  }
end

-- What was made for time series.
local function series_models()
  local options = { decoder_layers = 1, dropout = 0 }
  return { { "Informer", sized("informer", options) }, { "LogSparse", sized("logsparse", options) } }
end

-- What a model holds of a sequence: its carried state, and keys and values of all layers for the
-- tokens that it looks at again.
local function held_bytes(model, task, looks_at)
  local width, layers = model:option "width", model:option "layers"
  local number = 4
  return lh.state_bytes(model, task)
    + (looks_at and 2 * number * width * layers * looks_at or 0)
end

-- The models of a list at a budget for the task that `task(segment)` makes of segments of `length`
-- or of their own: label, model, task, `segments` of a step, what it holds.
local function matched(list, task, parameters, length)
  local rows = {}
  for i, entry in ipairs(list) do
    local segment = entry.segment or length
    local own = task(segment)
    local model = lh.match { entry[2], task = own, parameters = parameters }
    rows[i] = { label = entry[1], task = own, model = model, segment = entry.segment,
      segments = length // segment, held_bytes = held_bytes(model, own, entry.looks_at) }
  end
  return rows
end

local function in_one_segment(list)
  for _, entry in ipairs(list) do entry.segment = nil end
  return list
end

--- Every architecture that reads tokens, at a budget for the task that `options.task(segment)` makes
--- of segments of `length`, or of `span` where a model sees no more at once: label, model, task, and
--- then `segment`. `longest`: of the segments that are evaluated, where these are longer. `whole`:
--- the task has sequences that come in one segment, whatever the model sees. `logit_divisor`: of a
--- sliding window and what is built on it.
function setting.rows(options)
  local list = architectures(options.span, options.longest or options.length, options.logit_divisor)
  return matched(options.whole and in_one_segment(list) or list, options.task,
    options.parameters or setting.parameters, options.length)
end

--- Every architecture as a forecaster of windows of so many steps: label, model. A day of hours,
--- which divides the windows in use, is seen directly.
function setting.forecasters(task, length)
  local list = series_models()
  for _, entry in ipairs(architectures(24, length)) do list[#list + 1] = entry end
  return matched(in_one_segment(list), function() return task end, setting.parameters, length)
end

local steps = lh.by_scale { smoke = 8, small = 400, medium = 4000, gpu = 2e4, paper = 1e5 }

--- Training, the same for all; the rate is that of the trials.
setting.train = lh.train {
  optimizer = "adam", schedule = "cosine", steps = steps, warmup = steps // 10, clip = 1,
  rate = 3e-3, log_every = lh.by_scale { smoke = 4, small = 20, medium = 100 },
}

-- Trials of every row, on the validation split: all rates for a quarter of the steps, the better
-- half of them for half of the steps. Short training wants high rates: on books ten of 16 rows chose
-- 0.03 among 0.001 to 0.03, none 0.001; and six chose 0.1 from trials of a quarter of the steps
-- alone, all of which the next lower rate would have served better on the test book. Training of
-- more steps wants lower ones: on recall half of the rows chose 0.003, the least of 0.003 to 0.1,
-- and Universal, which guesses there, recalls all with 0.001.
local rates = lh.by_scale {
  smoke = { 1e-3, 3e-3 }, small = { 3e-3, 1e-2, 3e-2, 1e-1 }, medium = { 1e-3, 3e-3, 1e-2 },
  gpu = { 1e-4, 3e-4, 1e-3 },
}

--- For more steps, and for tasks on which most rows choose the least of the others.
setting.lower_rates = lh.by_scale {
  smoke = rates, small = { 1e-3, 3e-3, 1e-2, 3e-2 }, medium = rates,
}

--- Adds rows of `setting.rows` or `setting.forecasters`, each with the trials of all. `asked.by`
--- decides among `asked.rates`, or else those for as many steps; `asked.times` as many of these (1)
--- as language has: what is learned all at once, after long without, needs more of them, and of
--- fewer tokens.
function setting.add(bench, rows, dataset, asked)
  local own_steps = (asked.times or 1) * steps
  local own_rates = asked.rates or own_steps > steps and setting.lower_rates or rates
  for _, row in ipairs(rows) do
    bench:row {
      row.label, model = row.model, task = row.task,
      train = setting.train:with {
        steps = own_steps, warmup = own_steps // 10, segments_per_step = row.segments,
      },
      tune = lh.tune { by = asked.by, steps = own_steps // 2, halving = true, rate = own_rates },
      dataset = dataset, context = row.context, values = { held_bytes = row.held_bytes },
    }
  end
end

return setting

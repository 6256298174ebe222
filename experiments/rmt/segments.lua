-- Recurrent Memory Transformer: copy and reverse of sequences that are cut into more and more
-- segments, beside a Transformer-XL with as many cached inputs as there are memory tokens (section
-- 4). The paper shows accuracies in a figure, without numbers.
local lh = require "longhaul"

local bench = lh.experiment "rmt-segments"
bench:seeds(lh.by_scale { smoke = 1, small = 3 })

local core = lh.by_scale {
  smoke = { layers = 2, width = 16, heads = 2 },
  small = { layers = 3, width = 48, heads = 2 },
  gpu = { layers = 4, width = 128, heads = 4 },
}
core.dropout, core.initial_deviation = 0, lh.by_scale { smoke = 0.1, gpu = 0.02 }

local word = lh.by_scale { smoke = 6, small = 12, medium = 24 }
local counts = lh.by_scale { smoke = { 1, 3 }, small = { 1, 2, 3, 6 } }
local tokens = lh.by_scale { smoke = 72, small = 720, medium = 9216 }
local steps = lh.by_scale { smoke = 6, small = 1500, medium = 5000, gpu = 2e4 }

local function task(name, segment)
  return lh.tasks.scripted_tokens {
    "tasks.lua", parameters = { task = name, word = word }, segment = segment,
    batch = tokens // segment, evaluate_examples = lh.by_scale { smoke = 8, small = 256 },
  }
end

-- As many memory tokens, or cached inputs, as a word has symbols, unless segments are shorter.
local function held(segment) return math.min(segment, word) end

-- Model and task of a sequence of `length` in segments. Gradients flow through memory tokens, so that
-- the whole sequence is read at once, in blocks; none flow through a cache, which is carried from one
-- segment of the task to the next.
local series = {
  ["Transformer-XL"] = function(name, segment)
    return lh.models.dai_xl(lh.merged(core, { memory = held(segment) })), task(name, segment)
  end,
  ["Recurrent memory"] = function(name, segment, length)
    return lh.models.rmt(lh.merged(core, { block = segment, memory_tokens = held(segment) })),
      task(name, length)
  end,
}

-- A word is written twice, or once backwards.
local lengths = { copy = 3 * word, reverse = 2 * word }

local function label(point)
  return ("%s, %d segment%s"):format(point.series, point.segments, point.segments > 1 and "s" or "")
end

for point in lh.grid {
  { "order", "copy", "reverse" }, { "segments", table.unpack(counts) },
  { "series", "Transformer-XL", "Recurrent memory" },
} do
  local length = lengths[point.order]
  local model, own = series[point.series](point.order, length // point.segments, length)
  bench:row {
    point, label = label(point), dataset = point.order,
    model = model, task = own,
    train = lh.train {
      optimizer = "adam", schedule = "cosine", steps = steps, warmup = steps // 10, clip = 1,
      rate = lh.by_scale { smoke = 3e-3, small = 1e-3, gpu = 3e-4 },
      log_every = lh.by_scale { smoke = 2, small = 50 },
    },
  }
end

bench:table { columns = { "accuracy", "bits_per_token", "relative_step_time", "parameters" },
  baseline = "Transformer-XL, 1 segment" }
for _, name in ipairs { "copy", "reverse" } do
  bench:plot {
    "lines", x = "segments", y = "accuracy", group = "series", dataset = name, name = name, band = "seeds",
    title = ("To %s %d symbols, by the segments that a sequence is cut into"):format(name, word),
  }
end
return bench

-- The comparison on recall: keys with their values, then the keys again, at gaps that follow a power
-- law (multi-query associative recall, Arora et al. 2023). Accuracy over the queries against what a
-- model holds of the past, at two widths of every architecture.
local lh = require "longhaul"
local setting = lh.include "setting.lua"

local bench = lh.experiment "compare-recall"
bench:seeds(setting.seeds)

local vocabulary = lh.by_scale { smoke = 80, small = 32, medium = 512, gpu = 8192 }

-- Pairs and tokens of a sequence, and how many of these are seen directly where that is an option.
-- Attention learns to look a key up only after hundreds of steps in which it tells the values of a
-- sequence from others.
local pairs, length, span = table.unpack(lh.by_scale {
  smoke = { 3, 24, 8 }, small = { 4, 24, 8 }, medium = { 16, 128, 32 }, gpu = { 64, 512, 128 },
})
local tokens_per_step = lh.by_scale { smoke = 96, small = 768, medium = 8192, gpu = 32768 }

-- Two widths of every architecture.
local larger = math.tointeger(setting.parameters)
local budgets = { larger, larger // 2 }

-- Of the steps of language. At small 400 leave a Transformer at a guess among the values of its
-- sequence, 1200 of half as many tokens do not.
local times = lh.by_scale { smoke = 1, small = 3, medium = 1 }

local function task(segment)
  return lh.tasks.recall {
    vocabulary = vocabulary, pairs = pairs, lengths = length, power = 0.01,
    segment = segment, batch = tokens_per_step // length,
    evaluate_sequences = lh.by_scale { smoke = 16, small = 256, gpu = 3000 },
  }
end

-- A data set for each budget, so that rows are called by their architecture alone.
for _, budget in ipairs(budgets) do
  local rows = setting.rows { task = task, span = span, length = length, parameters = budget }
  setting.add(bench, rows, ("%d pairs, %dK parameters"):format(pairs, budget // 1000),
    { by = "valid_accuracy", times = times })
end

bench:table {
  columns = { "accuracy", "bits_per_token", "held_bytes" },
}
bench:plot { "pareto", x = { "held_bytes", log = true }, y = "accuracy", group = "dataset", together = true }
bench:plot { "lines", x = { "held_bytes", log = true }, y = "accuracy", group = "row",
  band = "seeds", together = true }
return bench

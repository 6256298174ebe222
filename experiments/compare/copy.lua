-- The comparison on copying: a word of fresh symbols comes twice, and the second one is scored, at
-- words within what a model sees directly and beyond it.
local lh = require "longhaul"
local setting = lh.include "setting.lua"

local bench = lh.experiment "compare-copy"
bench:seeds(setting.seeds)

local span = lh.by_scale { smoke = 8, small = 16, medium = 64, gpu = 128 }
local alphabet = lh.by_scale { smoke = 7, small = 31, medium = 127 }

-- A sequence is 0w0w: two symbols more than two words. Words of half a span less one
-- are seen directly, longer ones reach beyond it. For these `times` as many steps of fewer tokens:
-- at small no row has begun to copy 31 symbols where its trials of 200 steps end.
local sizes = lh.by_scale { smoke = { 1, 4, 8 }, small = { 1, 4 }, medium = { 1, 4, 8 } }
for _, spans in ipairs(sizes) do
  local length, times = spans * span, lh.by_scale { smoke = 1, small = spans > 1 and 3 or 1, medium = 1 }
  local function task(segment)
    return lh.tasks.duplication {
      word = length // 2 - 1, alphabet = alphabet, segment = segment < length and segment or 0,
      batch = lh.by_scale { smoke = 4, small = 2048 // (length * math.min(times, 2)) },
      evaluate_sequences = lh.by_scale { smoke = 16, small = 256 },
    }
  end
  setting.add(bench, setting.rows { task = task, span = span, length = length },
    ("words of %d"):format(length // 2 - 1), { by = "valid_accuracy", times = times })
end

bench:table {
  columns = { "accuracy", "bits_per_token", "relative_step_time", "state_bytes", "parameters" },
  baseline = "Sliding window",
}
bench:plot { "pareto", x = { "held_bytes", log = true }, y = "accuracy", frontier = true }
return bench

-- Staircase, Table 1: the architectures on all tasks. The value of a tracking task is that of the seed
-- with the best validation result, as in the paper.
local lh = require "longhaul"
local setting = lh.include "setting.lua"

local bench = lh.experiment "staircase-table1"

local tracking = setting.tracking

local function core(more)
  local options = {}
  for key, value in pairs(tracking.core) do options[key] = value end
  for key, value in pairs(more) do options[key] = value end
  return options
end

-- With C as the chunk: the staircase takes two recurrent steps (section 4.2.1), the cached one computes one.
local chunk = tracking.chunk
local trackers = {
  { "LSTM", lh.models.lstm(tracking.lstm) },
  { "Transformer-XL [9]", lh.models.transformer_xl(core { span = tracking.span }) },
  { "Feedback Transformer [13]", lh.models.feedback(core { span = tracking.span }) },
  { "Staircase", lh.models.staircase(core { forward_size = chunk, steps = 2 }) },
  { "Cached Staircase", lh.models.cached_staircase(core {
      forward_size = chunk // 2, step_size = lh.by_scale { smoke = 8, small = 16, medium = 32, paper = 128 },
  }) },
}

for _, dataset in ipairs(tracking.tasks) do
  for _, row in ipairs(trackers) do
    bench:row {
      row[1], model = row[2], task = dataset.task, train = tracking.train, seeds = tracking.seeds,
      dataset = dataset.name,
    }
  end
end

local language = setting.language
local size = language.step_size
local writers = {
  { "LSTM", lh.models.lstm(language.lstm) },
  { "Transformer-XL [9]", setting.transformer_xl() },
  { "Feedback Transformer [13]", setting.feedback() },
  { "Staircase", setting.staircase(8) },
  { "Cached Staircase", setting.cached(size // 2) },
}

for _, corpus in ipairs(language.corpora) do
  for _, row in ipairs(writers) do
    if row[1] ~= "LSTM" or corpus.name == "enwik8" then
      bench:row {
        row[1], model = row[2], task = corpus.task, train = language.train, seeds = language.seeds,
        dataset = corpus.name,
      }
    end
  end
end

bench:table {
  columns = { "error_percent", "bits_per_byte", "perplexity", "valid_perplexity", "relative_step_time",
    "inference_memory_bytes" },
  baseline = "Transformer-XL [9]", published = "staircase_table1", select = "best_valid",
}
bench:plot { "pareto", x = "step_time_ms", y = "error_percent" }
return bench

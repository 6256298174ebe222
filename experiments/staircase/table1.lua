-- Staircase, Table 1: the architectures on all tasks. The value of a tracking task is that of the
-- seed with the best validation result, as in the paper.
-- At `study` 3.1 hours of two cores.
local lh = require "longhaul"
local setting = lh.include "setting.lua"

local bench = lh.experiment "staircase-table1"

local tracking = setting.tracking

for _, task in ipairs(tracking.tasks) do
  local rows = {
    { "LSTM", lh.models.lstm(tracking.lstm) },
    { "Transformer-XL [9]", setting.tracker("transformer_xl", { span = task.span }) },
    { "Feedback Transformer [13]", setting.tracker("feedback", { span = task.span }) },
    -- two recurrent steps solve both tasks (section 4.2.1); the cached one computes one
    { "Staircase", setting.tracking_staircase(task, 2) },
    { "Cached Staircase",
      setting.tracker("cached_staircase", { forward_size = task.cached, step_size = task.step }) },
  }
  for _, row in ipairs(rows) do
    bench:row {
      row[1], model = row[2], task = task.task, train = task.train, seeds = tracking.seeds,
      dataset = task.name,
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
  columns = { "error_percent", "bits_per_byte", "perplexity", "valid_perplexity",
    "relative_step_time",
    "inference_memory_bytes" },
  baseline = "Transformer-XL [9]", published = "staircase_table1", select = "best_valid",
}
bench:plot { "pareto", x = "step_time_ms", y = "error_percent" }
return bench

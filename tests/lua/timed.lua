-- Experiments of which step times are the matter.
local lh = require "longhaul"

lh.configure { scale = "small" }

local task = lh.tasks.language_model { lh.data.text { "generate:books" }, segment = 64, batch = 2 }
local train = lh.train { steps = 5 }
local slide = lh.models.slide { layers = 1, width = 16, heads = 2, window = 16 }

local timed = {}

--- Adds a row of the one small model, with these fields besides.
function timed.row(bench, label, more)
  bench:row(lh.merged({ label, model = slide, task = task, train = train, dataset = "books" }, more))
end

--- An experiment with these rows on one dataset; its table is relative to the first.
function timed.bench(name, labels)
  local bench = lh.experiment(name)
  for _, label in ipairs(labels) do timed.row(bench, label) end
  bench:table { columns = { "relative_step_time", "step_time_ms", "tokens_per_second",
    "bits_per_byte" }, baseline = labels[1] }
  return bench
end

return timed

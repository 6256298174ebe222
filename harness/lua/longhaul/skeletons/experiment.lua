-- An experiment: two models on one corpus, a table and a chart.
return {
  says = "a script: rows, a table, a chart; PAPER/NAME for one of a paper",
  files = { { "experiments/PATH.lua", [==[
-- NAME: what this experiment asks, in one sentence.
local lh = require "longhaul"

local bench = lh.experiment "NAME"
local books = lh.data.text { "books", tokens = "bytes" }
local task = lh.tasks.language_model { books, segment = 512, batch = 8,
  evaluate_batches = lh.by_scale { smoke = 2, small = 32 } }
local train = lh.train { steps = lh.by_scale { smoke = 10, small = 1000 }, warmup = 100 }
local slide = lh.models.slide { layers = 4, width = 128, heads = 4, window = 64 }
local brt = lh.models.brt { layers = 4, width = 128, heads = 4, window = 64 }

bench:row { "slide", model = slide, task = task, train = train, seeds = 2 }
bench:row { "brt", model = brt, task = task, train = train, seeds = 2 }

bench:table { columns = { "bits_per_byte", "relative_step_time" }, baseline = "slide" }
bench:plot { "pareto", x = "step_time_ms", y = "bits_per_byte" }
return bench
]==] } },
  next = "longhaul run experiments/PATH.lua --scale smoke",
}

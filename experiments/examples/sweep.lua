-- How much does a recurrent layer buy at each window length?
local lh = require "longhaul"

local bench = lh.experiment "window-sweep"
local books = lh.data.text { "books", tokens = "bytes", document_bytes = 8192, limit_eval_bytes = 65536 }
local train = lh.train { steps = lh.by_scale { smoke = 10, small = 300 }, rate = 0.5, warmup = 50 }

for point in lh.grid { { "window", 16, 32, 64 }, { "recurrence", "none", "fixed:skip" } } do
  bench:row { point,
    model = lh.models.brt { layers = 4, width = 64, heads = 2, dropout = 0,
                            window = point.window, recurrence = point.recurrence },
    task = lh.tasks.language_model { books, segment = 256, batch = 16 },
    train = train,
  }
end

bench:table { columns = { "bits_per_byte", "relative_step_time" },
  baseline = { window = 64, recurrence = "none" } }
bench:plot { "lines", x = "window", y = "bits_per_byte", group = "recurrence" }
return bench

-- "Encoding Recurrence into Transformers", Table 1: errors of forecasts, Informer, LogSparse and
-- Transformer-XL against themselves with recurrence encoding.
-- At `study` 2.4 hours of two cores.
local lh = require "longhaul"
local series = lh.include "series.lua"

local bench = lh.experiment "rsa-table1"
bench:seeds(series.seeds)

series.add_rows(bench)

bench:table { columns = { "mse", "mae", "parameters", "relative_step_time" }, baseline = "Informer",
  published = "rsa_table1" }
bench:table { name = "gates", title = "rsa-table1: mean gate of the attentions",
  columns = { "rsa_gate" } }

return bench

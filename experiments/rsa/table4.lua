-- "Encoding Recurrence into Transformers", Table 4: the errors of Table 1 with their standard
-- deviations over repetitions.
local lh = require "longhaul"
local series = lh.include "series.lua"

local bench = lh.experiment("rsa-table4", { runs = "rsa-table1" })
bench:seeds(series.seeds)
series.add_rows(bench)
bench:table { columns = { "mse", "mae" }, published = "rsa_table4" }
return bench

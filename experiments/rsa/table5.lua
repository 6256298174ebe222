-- "Encoding Recurrence into Transformers", Table 5: what came of its recurrence encodings, error
-- and mean gate of every model of Table 1 that has them. The encodings themselves stand in
-- series.lua; a test compares them with the paper's.
local lh = require "longhaul"
local series = lh.include "series.lua"

local bench = lh.experiment("rsa-table5", { runs = "rsa-table1" })
bench:seeds(series.seeds)
series.add_rows(bench, "RSA")
bench:table { columns = { "mse", "rsa_gate" } }
return bench

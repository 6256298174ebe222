-- "Encoding Recurrence into Transformers", Figure 3: box plots of the trained gates over attention
-- layers, from the runs of Tables 1 to 3: RSA-Informer on time series (all horizons),
-- RSA-Transformer on regular languages (all four cases), and models of code and natural language,
-- where outliers have the number of their layer.
local lh = require "longhaul"

local bench = lh.experiment "rsa-figure3"

bench:plot {
  "boxes", of = lh.include "table1.lua", y = "rsa_gate", row = "RSA-Informer", name = "time-series",
  by = function(row) return row.dataset:match "%S+" end,
  title = "RSA, Figure 3, left: gates of RSA-Informer",
}
bench:plot {
  "boxes", of = lh.include "table2.lua", y = "rsa_gate", name = "regular-languages",
  title = "RSA, Figure 3, middle: gates of RSA-Transformer",
}
bench:plot {
  "boxes", of = { lh.include "table3a.lua", lh.include "table3.lua" }, y = "rsa_gate",
  name = "code-and-language",
  by = function(row) return row.label .. "\n" .. row.dataset end,
  title = "RSA, Figure 3, right: gates of models of code and language",
}
return bench

-- "Encoding Recurrence into Transformers", Figure 7: what recurrence encodings take of a training
-- step on Weather.
-- At `study` 0.1 hours of two cores, with figure8.
local lh = require "longhaul"
local time_steps = lh.include "step_times.lua"

local bench = lh.experiment "rsa-figure7"
time_steps(bench)
bench:plot {
  "columns", y = "step_time_ms", name = "figure7",
  rows = { "RSA-Informer", "RSA-LogSparse", "RSA-XL" }, without = "%s, no REM",
  parts = { "the rest", "recurrence encodings" }, x_title = "horizon, hours",
  title = "RSA, Figure 7: training step on Weather",
}
return bench

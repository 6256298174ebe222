-- "Encoding Recurrence into Transformers", Figure 8: training steps on Weather of the models with
-- recurrence encodings and of their baselines, over the runs of Figure 7.
-- At `study` 0.1 hours of two cores, with figure7.
local lh = require "longhaul"
local time_steps = lh.include "step_times.lua"

local bench = lh.experiment("rsa-figure8", { runs = "rsa-figure7" })
time_steps(bench)
for _, name in ipairs { "Informer", "LogSparse", "XL" } do
  bench:plot {
    "columns", y = "step_time_ms", name = "figure8-" .. name:lower(),
    rows = { name, "RSA-" .. name },
    title = ("RSA, Figure 8: training step of %s on Weather"):format(name), x_title = "horizon, hours",
  }
end
return bench

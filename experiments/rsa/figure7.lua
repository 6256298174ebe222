-- "Encoding Recurrence into Transformers", Figures 7 and 8: the time of a training step on Weather by horizon, of the RSA
-- models, of themselves without their recurrence encodings, and of the baselines with their own positions.
local lh = require "longhaul"
local series = lh.include "series.lua"

local bench = lh.experiment "rsa-figure7"

-- Steps are timed after training; a few will do.
local train = lh.train { steps = 2, optimizer = "adam", rate = 1e-4, schedule = "constant", warmup = 0 }

local rows = {
  { "Informer", series.informer }, { "RSA-Informer", series.rsa_informer }, { "RSA-Informer, no REM", series.bare_informer },
  { "LogSparse", series.logsparse }, { "RSA-LogSparse", series.rsa_logsparse },
  { "RSA-LogSparse, no REM", series.bare_logsparse },
  { "XL", series.xl }, { "RSA-XL", series.rsa_xl }, { "RSA-XL, no REM", series.bare_xl },
}

for _, pred_len in ipairs(series.horizons.Weather) do
  local setting = series.setting("Weather", pred_len)
  for _, row in ipairs(rows) do
    bench:row { row[1], dataset = setting.dataset, model = row[2](setting), task = series.task(setting), train = train }
  end
end

bench:plot {
  "columns", y = "step_time_ms", name = "figure7", rows = { "RSA-Informer", "RSA-LogSparse", "RSA-XL" }, without = "%s, no REM",
  parts = { "the rest", "recurrence encodings" }, title = ("RSA, Figure 7: training step (scale %s)"):format(lh.scale()),
}
for _, name in ipairs { "Informer", "LogSparse", "XL" } do
  bench:plot {
    "columns", y = "step_time_ms", name = "figure8-" .. name:lower(), rows = { name, "RSA-" .. name },
    title = ("RSA, Figure 8: training step of %s (scale %s)"):format(name, lh.scale()),
  }
end
bench:table { columns = { "parameters", "step_time_ms" } }

return bench

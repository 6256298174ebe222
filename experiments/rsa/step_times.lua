-- What Figures 7 and 8 of "Encoding Recurrence into Transformers" time on Weather, by horizon: the
-- RSA models, themselves without their recurrence encodings, and the baselines with their own
-- positions.
local lh = require "longhaul"
local series = lh.include "series.lua"

-- Steps are timed after training; a few will do.
local train = lh.train { steps = 2, optimizer = "adam", rate = 1e-4, schedule = "constant",
  warmup = 0 }

-- What two steps have taught is not worth the windows that larger scales read of a split.
local evaluated = lh.by_scale { smoke = 16, small = 1024 }

local rows = {
  { "Informer", series.informer }, { "RSA-Informer", series.rsa_informer },
  { "RSA-Informer, no REM", series.bare_informer },
  { "LogSparse", series.logsparse }, { "RSA-LogSparse", series.rsa_logsparse },
  { "RSA-LogSparse, no REM", series.bare_logsparse },
  { "XL", series.xl }, { "RSA-XL", series.rsa_xl }, { "RSA-XL, no REM", series.bare_xl },
}

return function(bench)
  for _, pred_len in ipairs(series.horizons.Weather) do
    local setting = series.setting("Weather", pred_len)
    local task = series.task(setting):with { evaluate_windows = evaluated }
    for _, row in ipairs(rows) do
      bench:row { row[1], dataset = setting.dataset, model = row[2](setting),
        task = task, train = train }
    end
  end
  bench:table { columns = { "parameters", "step_time_ms" } }
end

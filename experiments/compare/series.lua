-- The comparison on time series: every forecaster and every token model behind its adapter, with the
-- same number of parameters, beside two linear maps and the last season, without which no table of
-- forecasts is honest.
local lh = require "longhaul"
local setting = lh.include "setting.lua"

local bench = lh.experiment "compare-series"
bench:seeds(setting.seeds)

local seen = lh.by_scale { smoke = 48, small = 96, gpu = 336 }
local tokens_per_step = lh.by_scale { smoke = 2304, small = 2048, medium = 8192 }
local horizons = lh.by_scale {
  smoke = { 24 }, small = { 24, 96 }, medium = { 24, 48, 168, 336 }, gpu = { 24, 48, 168, 336, 720 },
}

-- Each with the steps of a day, its season.
local all = { { "ETTh1", 24 }, { "Weather", 24 }, { "ETTh2", 24 }, { "ETTm1", 96 } }
local series = table.move(all, 1, lh.by_scale { smoke = 1, small = 4 }, 1, {})

local function task_of(name, horizon)
  return lh.tasks.forecasting {
    lh.data.series { name }, seq_len = seen, label_len = seen // 2, pred_len = horizon,
    batch = math.max(1, tokens_per_step // (seen + horizon)), sampler = "shuffled",
    evaluate_windows = lh.by_scale { smoke = 64, small = 1024, gpu = 0 },
  }
end

for _, entry in ipairs(series) do
  for _, horizon in ipairs(horizons) do
    local name, season = table.unpack(entry)
    local task, dataset = task_of(name, horizon), ("%s, %d steps"):format(name, horizon)
    local rows = setting.forecasters(task, seen + horizon)
    for i, label in ipairs { "DLinear", "NLinear" } do
      rows[#rows + 1] = { label = label, task = task,
        model = lh.models.dlinear { decompose = i == 1, subtract_last = i == 2 } }
    end
    -- Half of the rows chose the least of the rates that other training of as few steps has.
    setting.add(bench, rows, dataset, { by = "valid_mse", rates = setting.lower_rates })
    bench:row {
      "Last season", model = lh.models.seasonal_naive { season = season }, task = task,
      train = setting.train:with { steps = 1, warmup = 1, log_every = 1 }, dataset = dataset, seeds = 1,
    }
  end
end

bench:table {
  columns = { "mse", "mae", "relative_step_time", "peak_memory_bytes", "parameters" },
  baseline = "DLinear",
}
bench:plot { "pareto", x = { "step_time_ms", log = true }, y = "mse", frontier = true }
return bench

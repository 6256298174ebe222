-- Runs as the runner records them, for tests that write results folders of their own:
--
--   local runs = dofile "tests/lua/runs.lua"
--   runs.put(folder, bench, { label = "Slide:13L", seed = 1, bits_per_byte = 2.0 })
--   runs.time(folder, bench, { round = "r1", times = { ["Slide:13L"] = 10, ["XL:512"] = 8 } })
local identity = require "longhaul.run.identity"
local metrics = require "longhaul.run.metrics"
local store = require "longhaul.run.store"

local runs = {}

local function row_of(bench, label, dataset)
  for _, row in ipairs(bench.rows) do
    if row.label == label and (not dataset or row.dataset == dataset) then return row end
  end
  error(("no row '%s'"):format(label))
end

--- The identity of a script's row, of a scale ("small") and device ("cpu").
function runs.identity(bench, label, seed, scale, device, dataset)
  return identity.of { experiment = bench.runs, row = row_of(bench, label, dataset), seed = seed
    or 1,
    scale = scale or "small", device = device or "cpu" }
end

--- Records a finished run of a script's row: `values` has its label, seed, and what else its record
--- is to say; `dataset` where rows of several share the label.
function runs.put(folder, bench, values)
  local row = row_of(bench, values.label, values.dataset)
  local record = { seed = 1, scale = "small", device = "cpu", status = "done",
    date = "2026-01-01T00:00:00Z" }
  for key, value in pairs(values) do record[key] = value end
  local id = runs.identity(bench, row.label, record.seed, record.scale, record.device, row.dataset)
  local fixed = {
    experiment = bench.runs, row = row.label, dataset = row.dataset, class = row.model.name,
    task = row.task.name,
    version = identity.class_version(row.model.name), identity = identity.version,
    configuration = id.configuration,
    run_id = id.run_id, data_digest = id.data_digest, starts_from = id.starts_from,
    model_options = row.model.text,
    task_options = row.task.text, train_options = row.train.text,
  }
  for key, value in pairs(fixed) do
    if record[key] == nil then record[key] = value end
  end
  record.label = nil
  local own = { values.reach and "reach" }
  for _, name in ipairs(metrics.columns_from "script") do
    if values[name] then own[#own + 1] = name end
  end
  store.open(folder, bench.runs):put(record, own)
  return record
end

--- Records a round: `times` maps labels to milliseconds; `busy`, `date`, `scale`, `device`,
--- `dataset`.
function runs.time(folder, bench, round)
  local records = {}
  for label, ms in pairs(round.times) do
    local row = row_of(bench, label, round.dataset)
    records[#records + 1] = {
      round = round.round, row = label, dataset = row.dataset, scale = round.scale or "small",
      configuration = runs.identity(bench, label, 1, round.scale, round.device,
        row.dataset).configuration,
      device = round.device or "cpu", machine = "test", kernels = round.kernels, threads = 2, ranks = 1,
      step_time_ms = ms,
      step_time_q1_ms = 0.9 * ms,
      step_time_q3_ms = 1.2 * ms, tokens_per_second = 128000 / ms, tokens_per_step = 128,
      load = round.load or 0,
      busy = round.busy or "no", date = round.date or "2026-01-01T00:00:00Z",
    }
  end
  store.open(folder, bench.runs):add_timings(records)
end

return runs

-- What an experiment has measured: runs.csv grouped by row and dataset, with mean and spread over
-- seeds. Tables, charts and claims all read through here.
local core = require "longhaul.core"
local metrics = require "longhaul.metrics"
local store = require "longhaul.store"

local results = {}

---@class longhaul.results
local Results = {}
Results.__index = Results

local function key_of(row, dataset) return row .. "\n" .. dataset end

local function options_of(run)
  return table.concat({ run.model_options, run.task_options, run.train_options }, "\n")
end

local function wanted_options(row)
  return table.concat({ row.model.text, row.task.text, row.train.text }, "\n")
end

-- Of runs of one row and dataset, those whose options are the script's; when there are none, those
-- of the latest options, marked as stale.
local function current(runs, row)
  local by_options, latest = {}, nil
  for _, run in ipairs(runs) do
    local text = options_of(run)
    by_options[text] = by_options[text] or {}
    table.insert(by_options[text], run)
    if not latest or run.date >= latest.date then latest = run end
  end
  local exact = row and by_options[wanted_options(row)]
  if exact then return exact, false end
  return by_options[options_of(latest)], row ~= nil
end

local function group(runs, row, planned)
  local kept, stale = current(runs, row)
  local made = { row = kept[1].row, dataset = kept[1].dataset, stale = stale, done = {},
    failed = 0 }
  for _, run in ipairs(kept) do
    if run.status == "done" then
      made.done[#made.done + 1] = run
    else
      made.failed = made.failed + 1
    end
  end
  made.first = kept[1]
  made.planned = planned
  return made
end

--- Results at results/<name>, of `scale` and `device`. `rows` are the script's rows (nil: whatever
--- is in the file), `planned(row)` how many seeds a row is meant to have.
function results.open(folder, name, scale, device, rows, planned)
  local made = setmetatable({ groups = {}, order = {}, name = name, scale = scale, datasets = {} },
    Results)
  local path = ("%s/%s/runs.csv"):format(folder, name)
  local by_key, keys = {}, {}
  if core.exists(path) then
    for _, run in ipairs(store.at(folder, name):rows()) do
      if run.scale == scale and run.device == device then
        local key = key_of(run.row, run.dataset)
        if not by_key[key] then
          by_key[key] = {}
          keys[#keys + 1] = key
        end
        table.insert(by_key[key], run)
      end
    end
  end
  local seen = {}
  local function add(key, row)
    if by_key[key] and not made.groups[key] then
      made.groups[key] = group(by_key[key], row, row and planned and planned(row))
      made.order[#made.order + 1] = made.groups[key]
      local dataset = made.groups[key].dataset
      if not seen[dataset] then
        seen[dataset] = true
        made.datasets[#made.datasets + 1] = dataset
      end
    end
  end
  for _, row in ipairs(rows or {}) do add(key_of(row.label, row.dataset), row) end
  if not rows then
    for _, key in ipairs(keys) do add(key) end
  end
  return made
end

--- The group of a row on a dataset, or nil when it was never run.
function Results:group(row, dataset) return self.groups[key_of(row, dataset)] end

--- The values of a metric, keyed by seed, and their seeds in order.
function Results:values(row, metric, dataset)
  local found = self:group(row, dataset)
  local values, seeds = {}, {}
  for _, run in ipairs(found and found.done or {}) do
    local value = tonumber(run[metric])
    if value then
      values[run.seed] = value
      seeds[#seeds + 1] = run.seed
    end
  end
  return values, seeds
end

local function statistics(values)
  local sum, squares = 0, 0
  for _, value in ipairs(values) do sum = sum + value end
  local mean = sum / #values
  for _, value in ipairs(values) do squares = squares + (value - mean) ^ 2 end
  return mean, #values > 1 and math.sqrt(squares / (#values - 1)) or nil, #values
end

-- How the registry says that seeds become one value.
local pool = { mean = statistics }

function pool.max(values) return math.max(table.unpack(values)), nil, #values end

function pool.same(values, row, metric)
  for _, value in ipairs(values) do
    if value ~= values[1] then
      error(("results: the runs of row '%s' have different %s, %.17g and %.17g, which all seeds share"):format(row, metric,
        values[1], value), 0)
    end
  end
  return values[1], nil, #values
end

--- The seeds' values pooled as the registry says, their standard deviation where that is the mean (nil for one seed) and
--- their number; nil when there is no value. Without a dataset: the mean over datasets.
function Results:value(row, metric, dataset)
  local list = {}
  if dataset then
    local values, seeds = self:values(row, metric, dataset)
    for i, seed in ipairs(seeds) do list[i] = values[seed] end
  else
    for _, name in ipairs(self.datasets) do list[#list + 1] = (self:value(row, metric, name)) end
  end
  if #list == 0 then return nil end
  if dataset then return pool[metrics.pooled(metric)](list, row, metric) end
  local mean, _, count = statistics(list)
  return mean, nil, count
end

--- The value of the seed that did best on the validation split by the same metric, as the papers of several seeds report
--- it; nil where there is no such metric or it was not measured.
function Results:best(row, metric, dataset)
  local twin = metrics.twin(metric)
  local valid, seeds = self:values(row, twin or metric, dataset)
  local sign, best = metrics.better(metric) == "max" and -1 or 1, nil
  for _, seed in ipairs(twin and seeds or {}) do
    if not best or sign * valid[seed] < sign * valid[best] then best = seed end
  end
  return best and self:values(row, metric, dataset)[best]
end

--- The difference of two rows, seed by seed: mean, standard error (nil for one seed), seeds.
function Results:difference(metric, row, other, dataset)
  local a, seeds = self:values(row, metric, dataset)
  local b = self:values(other, metric, dataset)
  local list = {}
  for _, seed in ipairs(seeds) do
    if b[seed] then list[#list + 1] = a[seed] - b[seed] end
  end
  if #list == 0 then return nil end
  local mean, spread, count = statistics(list)
  return mean, spread and spread / math.sqrt(count), count
end

--- "done", "partial" (seeds are missing), "stale" (made with other options), "failed", "missing".
function Results:status(row, dataset)
  local found = self:group(row, dataset)
  if not found then return "missing" end
  if #found.done == 0 then return "failed" end
  if found.stale then return "stale" end
  return found.planned and #found.done < found.planned and "partial" or "done"
end

return results

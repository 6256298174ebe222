-- A metric of two configurations seed by seed. A side is { run = a row of runs.csv, from = its store }:
-- the configuration of that run; with `runs` those of them alone.
local csv = require "longhaul.run.csv"
local finished = require "longhaul.run.finished"
local lists = require "longhaul.run.lists"
local metrics = require "longhaul.run.metrics"
local statistics = require "longhaul.report.statistics"

local paired = {}

--- The runs of a side, one of each seed.
function paired.runs_of(side)
  return finished.of_seeds(side.runs or side.from:by_configuration()[side.run.configuration] or {})
end

--- The values by seed, of the finished runs; none where one of them lacks what every seed has to have.
function paired.by_seed(side, name)
  local values, every = {}, metrics.pooled(name) == "every"
  for _, run in ipairs(paired.runs_of(side)) do
    if run.status == "done" then
      values[run.seed] = csv.number(run[name])
      if every and not values[run.seed] then return {} end
    end
  end
  return values
end

--- The column that tells whether both read the same data: runs of an older longhaul have no digest, and
--- say in words what they read.
function paired.data_column(a, b)
  local has_digests = (a.run.data_digest or "") ~= "" and (b.run.data_digest or "") ~= ""
  return has_digests and "data_digest" or "data"
end

--- Whether both read the same data: scores of others say nothing of the models.
function paired.has_same_data(a, b)
  local name = paired.data_column(a, b)
  return (a.run[name] or "") == (b.run[name] or "") and a.run.task == b.run.task
end

--- Whether a difference of this metric says something: that of a cost always does.
function paired.is_comparable(a, b, name)
  local kind = metrics.kind(name) or "quality"
  return kind ~= "quality" or paired.has_same_data(a, b)
end

--- The means of both over the seeds that both have; nil where there are none.
function paired.means(a, b, name)
  local lists, of_b = { {}, {} }, paired.by_seed(b, name)
  for seed, value in pairs(paired.by_seed(a, name)) do
    if of_b[seed] then
      table.insert(lists[1], value)
      table.insert(lists[2], of_b[seed])
    end
  end
  if #lists[1] == 0 then return nil end
  return (statistics.of(lists[1])), (statistics.of(lists[2]))
end

-- The first seed of both in which one of them is infinite.
local function infinite_seed(of_a, of_b)
  for _, seed in ipairs(lists.keys(of_a)) do
    local is_infinite = of_b[seed] and math.max(math.abs(of_a[seed]), math.abs(of_b[seed])) == math.huge
    if is_infinite then return seed end
  end
end

--- b less a, over the seeds that both have; none where one of these is infinite, since the others would be
--- without the seed that did worst, and why.
function paired.differences(a, b, name)
  local of_a, of_b = paired.by_seed(a, name), paired.by_seed(b, name)
  local seed = infinite_seed(of_a, of_b)
  if seed then return {}, ("seed %s is infinite"):format(seed) end
  return statistics.paired(of_b, of_a)
end

--- Differences, of which there are any, as "+0.021 ± 0.004": their mean and its standard error, which
--- one seed has none of.
function paired.text(name, differences)
  local mean, err = statistics.mean_error(differences)
  local text = metrics.difference(name, mean)
  return err and text .. " ± " .. metrics.spread(name, err) or text
end

return paired

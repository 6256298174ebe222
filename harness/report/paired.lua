-- A metric of two configurations seed by seed. A side is { run = a row of runs.csv, from = its store }:
-- the configuration of that run.
local metrics = require "longhaul.run.metrics"
local statistics = require "longhaul.report.statistics"

local paired = {}

--- The values by seed, of the finished runs; none where one of them lacks what every seed has to have.
function paired.by_seed(side, name)
  local values, every = {}, metrics.pooled(name) == "every"
  for _, run in ipairs(side.from:by_configuration()[side.run.configuration] or {}) do
    if run.status == "done" then
      values[run.seed] = tonumber(run[name])
      if every and not values[run.seed] then return {} end
    end
  end
  return values
end

--- b less a, over the seeds that both have.
function paired.differences(a, b, name)
  return statistics.paired(paired.by_seed(b, name), paired.by_seed(a, name))
end

--- Differences, of which there are any, as "+0.021 ± 0.004": their mean and its standard error, which
--- one seed has none of.
function paired.text(name, differences)
  local mean, err = statistics.mean_error(differences)
  local text = metrics.difference(name, mean)
  return err and text .. " ± " .. metrics.text(name, err) or text
end

return paired

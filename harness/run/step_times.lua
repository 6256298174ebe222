-- What timings.csv says of step times: a round holds the rows that were timed side by side in one
-- process; of several rounds with a configuration the latest counts that was measured on an idle
-- machine.
local csv = require "longhaul.run.csv"
local metrics = require "longhaul.run.metrics"
local provenance = require "longhaul.run.provenance"

local step_times = {}

---@class longhaul.step_times
local StepTimes = {}
StepTimes.__index = StepTimes

-- Where nobody knows who else used the machine (rounds of older stores), it may have been busy.
local function is_usable(record) return record.busy == "no" end

local function index(records)
  local made = setmetatable({ of = {}, rounds = {} }, StepTimes)
  for i, record in ipairs(records) do
    record.place = i
    local round, list = made.rounds[record.round] or {}, made.of[record.configuration] or {}
    made.rounds[record.round], made.of[record.configuration] = round, list
    if not round[record.configuration] then -- files that were joined by hand have a round twice
      round[record.configuration], list[#list + 1] = record, record
    end
  end
  for _, list in pairs(made.of) do
    table.sort(list, function(a, b)
      if a.date ~= b.date then return a.date > b.date end
      return a.place > b.place
    end)
  end
  return made
end

--- The step times of a store, as its file is now.
function step_times.of(results) return results:timings(index) end

local function why_not(list)
  if #list == 0 then return "was not timed" end
  local load = tonumber(list[1].load)
  if not load then return "was timed where nobody knows who else used the machine" end
  return ("was timed on a busy machine only (others used %.1f processors)"):format(load)
end

-- Of records, the latest first, the one that counts; else why there is none, with the latest of a
-- busy machine.
local function choose(list)
  for _, record in ipairs(list) do
    if is_usable(record) then return record end
  end
  return nil, why_not(list), list[1]
end

--- The record of the latest idle round with a configuration; nil, why there is none, and that of
--- the latest busy one.
function StepTimes:latest(configuration) return choose(self.of[configuration] or {}) end

--- The quartiles of a record's steps as shares of their median; nil where they were not kept.
function step_times.quartiles(record)
  local q1, median, q3 = tonumber(record.step_time_q1_ms), tonumber(record.step_time_ms),
    tonumber(record.step_time_q3_ms)
  if q1 and q3 then return q1 / median, q3 / median end
end

--- Records of a configuration that stand in one round with all of `others` (configurations), the
--- latest first.
function StepTimes:beside(configuration, others)
  local found = {}
  for _, record in ipairs(self.of[configuration] or {}) do
    local all = true
    for _, other in ipairs(others) do all = all and self.rounds[record.round][other] ~= nil end
    if all then found[#found + 1] = record end
  end
  return found
end

--- Whether two records are of one machine, with the same kernels, threads and ranks.
function step_times.are_of_one_place(a, b)
  return provenance.are_of_one_machine(a, b) and tostring(a.threads) == tostring(b.threads)
    and tostring(a.ranks) == tostring(b.ranks)
end

--- Those of them that are of idle rounds, on the machine and with the kernels, threads and ranks of the
--- latest of these.
function StepTimes:idle(configuration, others)
  local found = {}
  for _, record in ipairs(self:beside(configuration, others)) do
    if is_usable(record) and step_times.are_of_one_place(record, found[1] or record) then
      found[#found + 1] = record
    end
  end
  return found
end

--- The ratio of a record's median to that of a configuration in the same round.
function StepTimes:ratio_in(record, baseline)
  local base = self.rounds[record.round][baseline]
  return tonumber(record.step_time_ms) / tonumber(base.step_time_ms)
end

--- The ratio of the medians of a configuration and a baseline in the latest idle round that has
--- both; nil, why there is none, and the ratio in the latest busy one; then the records of the two
--- that count.
function StepTimes:ratio(configuration, baseline)
  local function ratio_of(record) return record and self:ratio_in(record, baseline) end
  local together = self:beside(configuration, { baseline })
  local record, reason, busy = choose(together)
  local base = record and self.rounds[record.round][baseline]
  if #together > 0 then return ratio_of(record), reason, ratio_of(busy), record, base end
  reason = select(2, self:latest(configuration))
  return nil, reason or "was not timed beside the baseline"
end

-- ---- the columns of runs.csv ----

-- The metrics of a round.
local times, memory, is_time = {}, {}, {}

for _, name in ipairs(metrics.columns_from "timing") do
  is_time[name] = metrics.pooled(name) ~= "max"
  table.insert(is_time[name] and times or memory, name)
end

--- Whether a metric is a time of a row by itself: step_time_ms, tokens_per_second ...
function step_times.is_time(metric) return is_time[metric] == true end

--- "~" behind such a time of a run that says it was measured on a busy machine, "" otherwise.
function step_times.busy_mark(run, metric)
  return is_time[metric] and run.busy == "yes" and "~" or ""
end

-- Of records, the latest first, that whose memory is shown beside the times of `timed` (nil: no times):
-- memory does not depend on who else runs, but on how many ranks share a batch.
local function of_memory(list, timed)
  for _, record in ipairs(list) do
    if not timed or record.ranks == timed.ranks then return record end
  end
end

-- What a run of the configuration shows of its rounds.
local function columns_of(self, configuration, baseline)
  local shown, latest = {}, self:latest(configuration)
  local held = of_memory(self.of[configuration] or {}, latest)
  for _, name in ipairs(held and memory or {}) do shown[name] = held[name] end
  for _, name in ipairs(latest and times or {}) do shown[name] = latest[name] end
  if baseline then
    local ratio = self:ratio(configuration, baseline)
    shown.relative_step_time = ratio and ("%.17g"):format(ratio) or ""
  end
  return shown
end

local shown_columns = { "configuration", "relative_step_time" }
for _, list in ipairs { times, memory } do
  table.move(list, 1, #list, #shown_columns + 1, shown_columns)
end

--- Brings the columns of times and memory of runs.csv up to the rounds of each run's own
--- configuration, the one place that fills them; `baselines` maps configurations to that of the
--- baseline they are shown against.
function step_times.project(results, baselines)
  local self, shown = step_times.of(results), {}
  local function shown_of(id)
    shown[id] = shown[id] or columns_of(self, id, baselines[id])
    return shown[id]
  end
  local function is_changed()
    for _, row in ipairs(csv.distinct(results:rows(), shown_columns)) do
      for name, value in pairs(shown_of(row.configuration)) do
        if row[name] ~= value then return true end
      end
    end
    return false
  end
  if not is_changed() then return end
  results:update(function(rows)
    for _, row in ipairs(rows) do
      for name, value in pairs(shown_of(row.configuration)) do row[name] = value end
    end
  end)
end

return step_times

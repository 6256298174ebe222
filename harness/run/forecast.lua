-- The time that is left for a sweep: what is known of the same configuration (another seed), else
-- what was expected (estimate.lua), corrected by how long the runs of this sweep take instead.
local core = require "longhaul.core"
local quantity = require "longhaul.run.quantity"
local work = require "longhaul.run.work"

local forecast = {}

---@class longhaul.forecast
local Forecast = {}
Forecast.__index = Forecast

-- What is left is not counted again more often.
local seconds_between = 1

-- What a run has to do: the seconds that are expected of it, else its operations.
local function work_of(run)
  if run.refusal then return 0 end
  return run.expected and run.expected.seconds or work.of(run.row).run
end

--- Of a plan of `total` runs `waiting` are still to be run; `known` has seconds by configuration;
--- `later` is what follows this plan, { runs =, seconds = as expected }, or nil.
function forecast.new(total, waiting, known, later)
  local made = {
    total = total, finished = total - #waiting, waiting = {}, running = {}, known = known
      or {}, work = 0, seconds = 0,
    counted = -math.huge, later = later or { runs = 0, seconds = 0 }, expects = true,
  }
  for _, run in ipairs(waiting) do
    made.waiting[run] = true
    made.expects = made.expects and (run.expected or run.refusal) ~= nil
  end
  return setmetatable(made, Forecast)
end

--- A run begins; one that begins again starts from what it had.
function Forecast:begin(run)
  self.waiting[run] = nil
  self.running[run] = { started = core.clock() }
end

--- A run stands at this step.
function Forecast:show(run, step, steps)
  local state = self.running[run]
  if not state then return end
  state.share, state.now = step / math.max(1, steps), core.clock()
  state.from, state.at = state.from or state.share, state.at or state.now
end

-- What a run has done since it was first seen: work, seconds.
local function seen(run, state)
  if not state.from or state.share <= state.from then return 0, 0 end
  return work_of(run) * (state.share - state.from), state.now - state.at
end

--- A run is waiting again, from where it stands.
function Forecast:put_back(run)
  self.running[run] = nil
  self.waiting[run] = true
end

--- A run is over; `whole` says that it was trained to its end.
function Forecast:finish(run, whole)
  local state = self.running[run]
  self.waiting[run], self.running[run] = nil, nil
  self.finished = self.finished + 1
  if not state or not whole then return end
  local seconds = core.clock() - (state.at or state.started)
  self.work = self.work + work_of(run) * (1 - (state.from or 0))
  self.seconds = self.seconds + seconds
  -- one that went on from a checkpoint says nothing of a whole one
  if (state.from or 0) < 0.2 then
    self.known[run.identity.configuration] = seconds / (1 - (state.from or 0))
  end
end

-- Seconds of a whole run; nil where nothing has been seen yet.
local function seconds_of(self, run, rate)
  return self.known[run.identity.configuration] or (rate and work_of(run) / rate)
end

local function rate_of(self)
  local done, seconds = self.work, self.seconds
  for run, state in pairs(self.running) do
    local more, time = seen(run, state)
    done, seconds = done + more, seconds + time
  end
  if seconds > 0 and done > 0 then return done / seconds end
  return self.expects and 1 or nil
end

-- Seconds that a run under way still takes.
local function rest_of(self, run, state, rate)
  local done, time = seen(run, state)
  if done > 0 then
    return math.max(0, time / (state.share - state.from) * (1 - state.share) - (
      core.clock() - state.now))
  end
  local whole = seconds_of(self, run, rate)
  return whole and whole * (1 - (state.share or 0))
end

local function count(self)
  local rate, sum, longest, lanes = rate_of(self), 0, 0, 0
  for run, state in pairs(self.running) do
    local rest = rest_of(self, run, state, rate)
    if not rest then return nil end
    sum, longest, lanes = sum + rest, math.max(longest, rest), lanes + 1
  end
  for run in pairs(self.waiting) do
    local whole = seconds_of(self, run, rate)
    if not whole then return nil end
    sum, longest = sum + whole, math.max(longest, whole)
  end
  lanes = math.max(1, lanes)
  local later = self.expects and self.later.seconds / rate / lanes or 0
  return math.max(longest, sum / lanes) + later
end

--- Seconds until all runs have ended, if as many go on side by side as now; nil while nothing is
--- known.
function Forecast:left()
  local now = core.clock()
  if now - self.counted >= seconds_between then self.counted, self.rest = now, count(self) end
  return self.rest and math.max(0, self.rest - (now - self.counted))
end

--- "3 of 84 runs done, ETA 14m03s"; nil for a plan of one run.
function Forecast:text()
  if self.total < 2 then return nil end
  local left = self:left()
  local more = self.later.runs > 0 and (", then %d more"):format(self.later.runs) or ""
  return ("%d of %d runs done%s, all ETA %s"):format(self.finished, self.total, more, left
    and quantity.duration(left) or "?")
end

return forecast

-- More steps of a finished run: from its last checkpoint, where what comes out is bit for bit what a
-- run of so many steps would have been. Where it would not, there is a reason, in words.
local core = require "longhaul.core"
local csv = require "longhaul.run.csv"
local finished = require "longhaul.run.finished"
local identity = require "longhaul.run.identity"

local extension = {}

--- Why there is nothing to go on from, where that is all.
extension.nothing = "no run of fewer steps is finished"

--- Why no run of these training options goes on to more steps as the same run; nil where one does.
function extension.refusal(train)
  if core.schedule_uses_steps(train.options) then
    return ("the schedule %s is made for its number of steps: with more of them every rate is another"):format(
      train:option "schedule")
  end
  if train:option "keep_best" ~= "false" then
    return ("keep_best=%s: of a finished run the best weights before its end are gone"):format(
      train:spelled "keep_best")
  end
end

-- The numbers of steps that the rows of runs.csv have, the most first. A plan asks for each of its
-- runs: they are counted again only where a row was added.
local counted = setmetatable({}, { __mode = "k" })

local function numbers_of(rows)
  local before = counted[rows]
  if before and before.of == #rows then return before end
  local found, list = {}, { of = #rows }
  for _, row in ipairs(csv.distinct(rows, { "train_options" })) do
    local number = tonumber((" " .. (row.train_options or "")):match " steps=(%d+)")
    if number and number > 0 and not found[number] then
      found[number] = true
      list[#list + 1] = number
    end
  end
  table.sort(list, function(a, b) return a > b end)
  counted[rows] = list
  return list
end

-- The run that differs from `run` in its number of steps alone.
local function of_steps(run, steps)
  local row = setmetatable({ train = run.row.train:with { steps = steps } }, { __index = run.row })
  return setmetatable({ row = row }, { __index = run })
end

-- Why a finished run of `steps` steps cannot be gone on from; nil where it can.
local function why_not(train, results, id, steps)
  local every = train:option "log_every"
  if every > 0 and steps % every ~= 0 then
    return ("the curve of its %d steps ends with a point that log_every=%d has not"):format(steps, every)
  end
  if not core.exists(results:last_checkpoint(id)) then
    return ("no last checkpoint of its %d steps is kept (run --keep-checkpoints)"):format(steps)
  end
end

--- The finished run from whose last checkpoint `run` goes on, { id =, steps = }; nil and why there is
--- none.
function extension.of(run, results)
  local refusal, why = extension.refusal(run.row.train), nil
  if refusal then return nil, refusal end
  local own = run.row.train:option "steps"
  for _, steps in ipairs(numbers_of(results:rows())) do
    local id = steps < own and identity.of(of_steps(run, steps)).run_id
    local record = id and results:find(id)
    if record and finished.is_over(record.status) then
      local reason = why_not(run.row.train, results, id, steps)
      if not reason then return { id = id, steps = steps } end
      why = why or reason
    end
  end
  return nil, why or extension.nothing
end

return extension

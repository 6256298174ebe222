-- A loss that a row is to reach: `reach = { valid_bits = 2.0 }` names a column of the curve and a
-- value. What it took are the training tokens at the first point of the curve that is at least as
-- good: a training loss is known every log_every steps, as the mean since the point before, a
-- validation one after each evaluation, and nothing is read in between.
local core = require "longhaul.core"
local csv = require "longhaul.run.csv"
local metrics = require "longhaul.run.metrics"

local reach = {}

--- The field of a row as { column, value }; nil and what is wrong with it.
function reach.read(given)
  local column, value = next(given)
  if column == nil or next(given, column) ~= nil then
    return nil, "field 'reach' names one loss, as in { valid_bits = 2.0 }"
  end
  if not metrics.curve_better(column) then
    return nil, ("field 'reach': no loss '%s' in a curve%s"):format(column,
      core.did_you_mean(tostring(column), metrics.losses()))
  end
  if type(value) ~= "number" or value ~= value then
    return nil, ("field 'reach': %s must be a number"):format(column)
  end
  return { column, value }
end

--- What the column `reach` of runs.csv says: "valid_bits 2.0"; nil for nil.
function reach.text(wanted) return wanted and ("%s %s"):format(wanted[1], wanted[2]) end

--- Training tokens at the first point of a curve that reaches it; nil when none does.
function reach.tokens(points, wanted)
  local sign = metrics.curve_better(wanted[1]) == "max" and -1 or 1
  for _, point in ipairs(points) do
    local value = tonumber(point[wanted[1]])
    if value and sign * value <= sign * wanted[2] then return tonumber(point.tokens) end
  end
  return nil
end

local told = {}

-- The curve of a finished run. Where it is gone, which is said once, nobody can tell when the run reached a loss:
-- that is not to pass for a run that never did.
local function curve_of(run, store)
  local points = store:read_curve(run.run_id, math.huge)
  local is_gone, path = #points == 0 and (tonumber(run.step) or 0) > 0, store:curve(run.run_id)
  if is_gone and not told[path] then
    told[path] = true
    io.stderr:write(("note: %s is gone: nobody can tell when the run reached the loss that its row now names\n"):format(
      path))
  end
  return points
end

--- Training tokens that finished runs (rows of runs.csv of a store) took, by their places; from their
--- curves where they were to reach something else when they were made, or recorded last.
function reach.of_runs(runs, wanted, store)
  local list, text = {}, reach.text(wanted)
  local named, recorded = csv.texts(runs, "reach"), csv.numbers(runs, "tokens_to_reach")
  for i, run in ipairs(wanted and runs or {}) do
    if named[i] == text then
      list[i] = recorded[i]
    else
      list[i] = reach.tokens(curve_of(run, store), wanted)
    end
  end
  return list
end

--- Puts into a run's row what it is to reach, or nil, and what the points of its curve say of that.
function reach.fill(record, wanted, points)
  record.reach = reach.text(wanted)
  record.tokens_to_reach = wanted and reach.tokens(points, wanted)
end

return reach

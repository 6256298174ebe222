-- A loss that a row is to reach: `reach = { valid_bits = 2.0 }` names a column of the curve and a
-- value. What it took are the training tokens at the first point of the curve that is at least as
-- good: a training loss is known every log_every steps, as the mean since the point before, a
-- validation one after each evaluation, and nothing is read in between.
local core = require "longhaul.core"
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
  if type(value) ~= "number" then
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

--- Puts into a run's row what it is to reach, or nil, and what the points of its curve say of that.
function reach.fill(record, wanted, points)
  record.reach = reach.text(wanted)
  record.tokens_to_reach = wanted and reach.tokens(points, wanted)
end

return reach

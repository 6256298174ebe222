-- bench.csv: lines of what was measured, each with the load, the time and the commit of its own, so
-- that it is written after every group of them and what is not measured again stays.
local core = require "longhaul.core"
local csv = require "longhaul.run.csv"
local provenance = require "longhaul.run.provenance"

local lines = {}

local columns = { "benchmark", "size", "metric", "value", "unit", "ratio_to", "ratio", "data",
  "data_digest" }
table.move(provenance.columns, 1, #provenance.columns, #columns + 1, columns)

-- What a line is of: of several of one name, on one thread and on two, the first, the second.
local function keys_of(list)
  local keys, counts = {}, {}
  for i, line in ipairs(list) do
    local name = table.concat({ line.benchmark, line.size, line.metric }, "\n")
    counts[name] = (counts[name] or 0) + 1
    keys[i] = ("%s\n%d"):format(name, counts[name])
  end
  return keys
end

--- `old` lines, each in its place that of `new` of the same where there is one; the others of `new`
--- behind them.
function lines.merged(old, new)
  local list, places = table.move(old, 1, #old, 1, {}), {}
  for i, key in ipairs(keys_of(old)) do places[key] = i end
  for i, key in ipairs(keys_of(new)) do list[places[key] or #list + 1] = new[i] end
  return list
end

--- A function that writes what was measured so far to the file at `path`, among the lines that were
--- there before.
function lines.writer(path)
  local before = core.exists(path) and csv.read(path) or {}
  return function(measured) csv.write(path, columns, lines.merged(before, measured)) end
end

--- Writes lines, and none beside them.
function lines.write(path, measured) csv.write(path, columns, measured) end

return lines

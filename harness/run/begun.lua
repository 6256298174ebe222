-- What a folder holds that seems to hold no runs: those that have begun, of which no runs.csv tells yet.
local core = require "longhaul.core"
local store = require "longhaul.run.store"

local begun = {}

-- The depth of results/reference/<machine>/<experiment>.
local deepest = 2

local function count(path, depth)
  local sum = #store.of(path):begun()
  for _, name in ipairs(depth > 0 and core.list_folder(path) or {}) do
    local inner = path .. "/" .. name
    if core.is_folder(inner) then sum = sum + count(inner, depth - 1) end
  end
  return sum
end

--- A sentence about the runs that have begun in a folder and those below it; nil where none has.
function begun.text(path)
  local runs = count(path, deepest)
  if runs == 0 then return nil end
  return ("%d run%s begun, none finished: the same `longhaul run` goes on, `longhaul watch` says how far it is"):format(
    runs, runs == 1 and "" or "s")
end

--- Why there are no runs in a folder without a runs.csv.
function begun.nothing(path)
  return ("%s: %s"):format(path, begun.text(path) or "no runs.csv there, nor in a folder below")
end

return begun

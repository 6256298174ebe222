-- What a folder holds that seems to hold no runs: those that have begun, of which no runs.csv tells yet.
local store = require "longhaul.run.store"

local begun = {}

--- A sentence about the runs that have begun in a folder and those below it; nil where none has.
function begun.text(path)
  local runs = 0
  for _, folder in ipairs(store.folders(path)) do runs = runs + #store.of(folder):begun() end
  if runs == 0 then return nil end
  return ("%d run%s begun, none finished: the same `longhaul run` goes on, `longhaul watch` says how far it is"):format(
    runs, runs == 1 and "" or "s")
end

--- Why there are no runs in a folder without a runs.csv.
function begun.nothing(path)
  return ("%s: %s"):format(path, begun.text(path) or "no runs.csv there, nor in a folder below")
end

return begun

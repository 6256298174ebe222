-- Quantities as readers want them: short, with a unit.
local quantity = {}

--- 75 -> "1m15s".
function quantity.duration(seconds)
  seconds = math.max(0, math.floor(seconds + 0.5))
  if seconds < 60 then return ("%ds"):format(seconds) end
  if seconds < 3600 then return ("%dm%02ds"):format(seconds // 60, seconds % 60) end
  return ("%.0fh%02dm"):format(seconds // 3600, seconds % 3600 // 60) -- what no integer holds, too
end

local units = { { 1, "" }, { 1e3, "K" }, { 1e6, "M" }, { 1e9, "G" }, { 1e12, "T" }, { 1e15, "P" }, { 1e18, "E" } }

--- 12345 -> "12.3K", 999700 -> "1M".
function quantity.amount(number)
  local at = 1
  -- what three digits round to 1000 is one of the next unit
  while at < #units and number / units[at][1] >= 999.5 do at = at + 1 end
  return ("%.3g%s"):format(number / units[at][1], units[at][2])
end

return quantity

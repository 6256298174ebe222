-- Quantities as readers want them: short, with a unit.
local quantity = {}

--- 75 -> "1m15s".
function quantity.duration(seconds)
  seconds = math.max(0, math.floor(seconds + 0.5))
  if seconds < 60 then return ("%ds"):format(seconds) end
  if seconds < 3600 then return ("%dm%02ds"):format(seconds // 60, seconds % 60) end
  return ("%dh%02dm"):format(seconds // 3600, seconds % 3600 // 60)
end

--- 12345 -> "12.3K".
function quantity.amount(number)
  for _, unit in ipairs { { 1e12, "T" }, { 1e9, "G" }, { 1e6, "M" }, { 1e3, "K" } } do
    if number >= unit[1] then return ("%.3g%s"):format(number / unit[1], unit[2]) end
  end
  return ("%.3g"):format(number)
end

return quantity

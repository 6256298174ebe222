-- The factors that lh.grid gives a row: { name, value } each, in the order of the axes.
local factors = {}

--- A value as labels, groups and messages say it: 50000 of 5e4, which Lua would write 50000.0.
function factors.text(value)
  local whole = math.type(value) == "float" and math.tointeger(value)
  return tostring(whole or value)
end

--- The value of a row's factor; nil where it has none of that name.
function factors.value(row, name)
  for _, pair in ipairs(row.factors or {}) do
    if pair[1] == name then return pair[2] end
  end
  return nil
end

return factors

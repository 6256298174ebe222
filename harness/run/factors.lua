-- The factors that lh.grid gives a row: { name, value } each, in the order of the axes.
local factors = {}

--- The value of a row's factor; nil where it has none of that name.
function factors.value(row, name)
  for _, pair in ipairs(row.factors or {}) do
    if pair[1] == name then return pair[2] end
  end
  return nil
end

return factors

-- Lists that a script writes.
local lists = {}

--- Whether a value is a table with at least so many entries 1, 2, 3 ... and nothing else, which would
--- be lost.
function lists.is(value, least)
  if type(value) ~= "table" then return false end
  local in_order, all = 0, 0
  for _ in ipairs(value) do in_order = in_order + 1 end
  for _ in pairs(value) do all = all + 1 end
  return in_order == all and all >= least
end

--- The same, of texts.
function lists.is_of_texts(value, least)
  if not lists.is(value, least) then return false end
  for _, text in ipairs(value) do
    if type(text) ~= "string" then return false end
  end
  return true
end

return lists

-- Lists: those that a script writes, and those that are made of tables.
local lists = {}

--- Whether a value is a table with at least so many entries 1, 2, 3 ... and nothing else, which would
--- be lost. Entries are its own: those that a metatable makes up may have no end.
function lists.is(value, least)
  if type(value) ~= "table" then return false end
  local count = 0
  for _ in next, value do count = count + 1 end
  for i = 1, count do
    if rawget(value, i) == nil then return false end
  end
  return count >= least and value[count + 1] == nil
end

--- The same, of texts.
function lists.is_of_texts(value, least)
  if not lists.is(value, least) then return false end
  for _, text in ipairs(value) do
    if type(text) ~= "string" then return false end
  end
  return true
end

--- Whether a list has a value.
function lists.has(list, value)
  for _, other in ipairs(list) do
    if other == value then return true end
  end
  return false
end

--- The entry whose field `name` says this; nil where none does.
function lists.named(list, name)
  for _, entry in ipairs(list) do
    if entry.name == name then return entry end
  end
end

--- The field `name` of each entry.
function lists.names(list)
  local names = {}
  for i, entry in ipairs(list) do names[i] = entry.name end
  return names
end

--- The keys of a table, sorted.
function lists.keys(of)
  local keys = {}
  for key in pairs(of) do keys[#keys + 1] = key end
  table.sort(keys)
  return keys
end

local Set = {}
Set.__index = Set

function Set:add(value)
  if not self.has[value] then self.list[#self.list + 1] = value end
  self.has[value] = true
end

--- The values of a list (nil: none) and what is added to it, each once: `list` in the order in which they
--- came, `has` by value.
function lists.set(values)
  local set = setmetatable({ list = {}, has = {} }, Set)
  for _, value in ipairs(values or {}) do set:add(value) end
  return set
end

--- The modules of the library in a folder, "longhaul.report.charts.", by their names in it, sorted.
function lists.modules(folder)
  local names = {}
  for module in pairs(package.preload) do
    if module:sub(1, #folder) == folder then names[#names + 1] = module:sub(#folder + 1) end
  end
  table.sort(names)
  return names
end

return lists

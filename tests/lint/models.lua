-- What one opens to read a model, and what models/layers/ holds.
--
-- An include of "x.h" opens x.h and every .c of models/ whose first include is x.h: the file that
-- keeps what the header promises. From a descriptor (models/NAME.c) on, that is everything to read.
-- With an argument, prints the count of each descriptor and the files of those it names.
local tree = dofile "tests/lint/tree.lua"
local most = 10
-- Forecasters are an encoder, a decoder and an embedding; dai_xl has every alternative of a paper,
-- and what shares its layers takes recurrence encodings, too.
local longer = { ["models/compressive.c"] = 11, ["models/dai_xl.c"] = 15,
  ["models/informer.c"] = 13, ["models/rmt.c"] = 11, ["models/series_xl.c"] = 11 }

local included, kept_by = {}, {}

local function own_includes(path)
  local list, first = {}, nil
  for _, line in ipairs(tree.lines(path)) do
    local header = line:match('^%s*#%s*include%s+"(.-)"')
    first = first or header
    if header and header:find "^models/.+%.h$" then list[#list + 1] = header end
  end
  return list, first
end

for _, path in ipairs(tree.files("c h", "models")) do
  local first
  included[path], first = own_includes(path)
  if path:find "^models/[^/]+/.+%.c$" then
    first = first or "nothing"
    kept_by[first] = kept_by[first] or {}
    table.insert(kept_by[first], path)
    if not first:find "^models/" then
      tree.offence(path, 1, "include the header that promises these functions first")
    end
  end
end

local function open(path, opened)
  if opened[path] or not included[path] then return opened end
  opened[path] = true
  opened[#opened + 1] = path
  for _, header in ipairs(included[path]) do open(header, opened) end
  for _, code in ipairs(kept_by[path] or {}) do open(code, opened) end
  return opened
end

-- The family that a descriptor belongs to: the folder it includes from, or itself.
local function family_of(path, opened)
  for _, file in ipairs(opened) do
    local folder = file:match "^models/([^/]+)/"
    if folder and folder ~= "layers" then return folder end
  end
  return path
end

local families = {} -- of each file of models/layers/
for _, path in ipairs(tree.files("c", "models")) do
  if path:find "^models/[^/]+%.c$" then
    local opened = open(path, {})
    local family, limit = family_of(path, opened), longer[path] or most
    for _, file in ipairs(opened) do
      families[file] = families[file] or {}
      families[file][family] = true
    end
    if #opened > limit then
      tree.offence(path, 1, "%d files of models/ to open, at most %d: merge parts, or share less",
        #opened, limit)
    end
    if arg[1] then print(("%2d %s"):format(#opened, path)) end
    for _, name in ipairs(arg) do
      if name == path then print("   " .. table.concat(opened, "\n   ")) end
    end
  end
end

for _, path in ipairs(tree.files("h", "models/layers")) do
  local users = {}
  for family in pairs(families[path] or {}) do users[#users + 1] = family end
  if #users < 2 then
    tree.offence(path, 1, "used by %s alone: it belongs to that family's folder",
      users[1] or "no model")
  end
end
tree.finish()

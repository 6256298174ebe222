-- `data import` of a file with any bytes behind the first, which says what it is called and whether
-- a name is given: refused, or a corpus of the cache folder, and nothing beside it.
local core = require "longhaul.core"
local data = require "longhaul.run.data"
local refused = dofile "tests/fuzz/refused.lua"

local names = { [0] = "a/text", "lines.jsonl", "lines.jsonl.gz", "b c/d.txt" }

local function ignore() end

local function remove(path)
  for _, name in ipairs(core.is_folder(path) and core.list_folder(path) or {}) do
    remove(path .. "/" .. name)
  end
  os.remove(path)
end

return function(bytes, folder)
  local first = bytes:byte() or 0
  local from, cache = folder .. "/from", folder .. "/cache"
  core.cache_folder = function() return cache end
  _G.print = ignore -- nobody reads it
  for _, name in ipairs { from .. "/a", from .. "/b c", cache } do core.make_folder(name) end
  local path = from .. "/" .. names[first % 4]
  local file = assert(io.open(path, "wb"))
  file:write(bytes:sub(2))
  file:close()
  local called = first >= 128 and bytes:sub(2, 20) or nil
  local imported, message = refused(data.import, from, called, { join_folders = first & 64 ~= 0 })
  os.remove(path)
  assert(imported or message:find(from, 1, true) or called, "a refusal does not name its file")
  local there = core.list_folder(folder)
  assert(#there == 2 and there[1] == "cache" and there[2] == "from",
    "it wrote beside the cache folder")
  remove(cache)
end

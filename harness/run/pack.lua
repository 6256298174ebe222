-- Packs a folder of results into what is kept for good: CSV alone, the curves of all runs in one
-- file and what models said of themselves in another. The store reads both forms.
local core = require "longhaul.core"
local csv = require "longhaul.run.csv"
local store = require "longhaul.run.store"

local pack = {}

-- One record for each line of <folder>/<id>.csv, with the run it is of; and the columns of all of
-- them.
local function gathered(folder, ids)
  local records, columns, seen = {}, { "run_id" }, {}
  for _, id in ipairs(ids) do
    local path = ("%s/%s.csv"):format(folder, id)
    local lines, names = {}, {}
    if core.exists(path) then lines, names = csv.read(path) end
    for _, name in ipairs(names) do
      if not seen[name] then columns[#columns + 1] = name end
      seen[name] = true
    end
    for _, line in ipairs(lines) do
      line.run_id = id
      records[#records + 1] = line
    end
  end
  return records, columns
end

-- The files of a folder of runs that no longer stand alone.
local function remove_parts(folder)
  for _, name in ipairs(core.list_folder(folder)) do assert(os.remove(folder .. "/" .. name)) end
  if core.is_folder(folder) then assert(os.remove(folder)) end
end

local function write_parts(from, to, name, ids)
  local records, columns = gathered(("%s/%s"):format(from, name), ids)
  if #records == 0 then return {} end
  local path = ("%s/%s.csv"):format(to, name)
  csv.write(path, columns, records)
  if from == to then remove_parts(("%s/%s"):format(from, name)) end
  return { path }
end

--- Packs results/<experiment> at `from` into the folder `to`, which may be the same; gives the
--- paths written.
function pack.folder(from, to)
  if not core.is_folder(from) then error(from .. ": no such folder of results", 0) end
  core.make_folder(to)
  local paths, ids = {}, {}
  for _, name in ipairs(core.list_folder(from)) do
    if name:match "%.csv$" then
      if from ~= to then core.write_file(to .. "/" .. name, core.read_file(from .. "/" .. name)) end
      paths[#paths + 1] = to .. "/" .. name
    end
  end
  if #paths == 0 then error(from .. ": no CSV file to pack", 0) end
  local folder, name = from:match "^(.*)/([^/]+)$"
  for i, run in ipairs(store.at(folder or ".", name or from):rows()) do ids[i] = run.run_id end
  for _, part in ipairs { "curves", "probes" } do
    table.move(write_parts(from, to, part, ids), 1, 1, #paths + 1, paths)
  end
  return paths
end

return pack

-- Packs a folder of results into what is kept for good: CSV alone, the curves of all runs in one
-- file and what models said of themselves in another. The store reads both forms.
local core = require "longhaul.core"
local csv = require "longhaul.run.csv"
local identity = require "longhaul.run.identity"
local plan = require "longhaul.run.plan"
local store = require "longhaul.run.store"

local pack = {}

-- The lines of a file that was packed before, by run, and their columns.
local function packed(path)
  local by_run, names = {}, {}
  if not core.exists(path) then return by_run, names end
  local lines
  lines, names = csv.read(path)
  for _, alike in ipairs(csv.groups(lines, { "run_id" })) do by_run[alike[1].run_id] = alike end
  return by_run, names
end

-- One record for each line of <folder>/<id>.csv or, where that run has none, of <folder>.csv, with
-- the run it is of; and the columns of all of them.
local function gathered(folder, ids)
  local records, columns, seen = {}, { "run_id" }, { run_id = true }
  local before, old_names = packed(folder .. ".csv")
  for _, id in ipairs(ids) do
    local path = ("%s/%s.csv"):format(folder, id)
    local lines, names = before[id] or {}, before[id] and old_names or {}
    if core.exists(path) then lines, names = csv.read_lines(path) end
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

-- The records of a file that are wanted, by what they say in `column`, in the order of `wanted`.
local function write_wanted(from, to, column, wanted)
  local records, columns = csv.read(from)
  local by_value, kept = {}, {}
  for _, alike in ipairs(csv.groups(records, { column })) do by_value[alike[1][column]] = alike end
  for _, value in ipairs(wanted) do
    table.move(by_value[value] or {}, 1, #(by_value[value] or {}), #kept + 1, kept)
    by_value[value] = nil
  end
  csv.write(to, columns, kept)
end

-- Of which records of a file some are wanted, by which column.
local filtered = { ["runs.csv"] = "run_id", ["timings.csv"] = "configuration" }

local function copy(from, to, file, wanted)
  local source, target = from .. "/" .. file, to .. "/" .. file
  local column = wanted and filtered[file]
  if column then
    write_wanted(source, target, column, wanted[column])
  elseif from ~= to then
    core.write_file(target, core.read_file(source))
  end
  return target
end

--- Packs results/<experiment> at `from` into the folder `to`, which may be the same; gives the
--- paths written. `wanted` (nil: all): run ids and configurations in order, { run_id = { ... },
--- configuration = { ... } }; nothing is kept of others.
function pack.folder(from, to, wanted)
  if not core.is_folder(from) then error(from .. ": no such folder of results", 0) end
  core.make_folder(to)
  local paths, ids = {}, {}
  for _, name in ipairs(core.list_folder(from)) do
    if name:match "%.csv$" and name ~= "curves.csv" and name ~= "probes.csv" then
      paths[#paths + 1] = copy(from, to, name, wanted)
    end
  end
  if #paths == 0 then error(from .. ": no CSV file to pack", 0) end
  local folder, name = from:match "^(.*)/([^/]+)$"
  for i, run in ipairs(store.at(folder or ".", name or from):rows()) do ids[i] = run.run_id end
  ids = wanted and wanted.run_id or ids
  for _, part in ipairs { "curves", "probes" } do
    table.move(write_parts(from, to, part, ids), 1, 1, #paths + 1, paths)
  end
  return paths
end

-- What runs of an experiment are of its script as it is now, in its order.
local function wanted_of(experiment, settings)
  local wanted = { run_id = {}, configuration = {} }
  for _, run in ipairs(plan.of(experiment, settings)) do
    if not run.row.untuned then
      if not plan.identify(run.shared) then error(plan.refusal_of(run), 0) end
      table.insert(wanted.run_id, identity.id(run))
      table.insert(wanted.configuration, run.identity.configuration)
    end
  end
  return wanted
end

--- Packs what a script would run today of the results folder `settings.results` into the results
--- folder `to`: its trials, what its charts need, and itself. Runs of other options stay behind. Gives
--- the paths written.
function pack.script(experiment, settings, to)
  local paths, seen = {}, {}
  local function add(part)
    if seen[part] then return end
    seen[part] = true
    for _, source in ipairs(part.sources) do add(source) end
    local from = settings.results .. "/" .. part.runs
    if not core.exists(from .. "/runs.csv") then return end
    local made = pack.folder(from, to .. "/" .. part.runs, wanted_of(part, settings))
    table.move(made, 1, #made, #paths + 1, paths)
  end
  add(experiment)
  return paths
end

return pack

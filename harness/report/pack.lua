-- Packs a folder of results into what is kept for good: CSV alone, the curves of all runs in one
-- file and what models said of themselves in another. The store reads both forms. What was packed into
-- a folder before stays in it.
local claims = require "longhaul.report.claims"
local core = require "longhaul.core"
local csv = require "longhaul.run.csv"
local finished = require "longhaul.run.finished"
local identity = require "longhaul.run.identity"
local lists = require "longhaul.run.lists"
local plan = require "longhaul.run.plan"
local store = require "longhaul.run.store"
local views = require "longhaul.report.views"

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

-- One record for each line of <folder>/<id>.csv or, where that run has none, of <folder>.csv or of what
-- was packed at `target`, with the run it is of; and the columns of all of them. `runs`: { id =, own =
-- whether the packed one is the folder's, and not one that was packed before }.
local function gathered(folder, target, runs)
  local records, columns = {}, { "run_id" }
  local before, old_names = packed(folder .. ".csv")
  local there, names_there = packed(target)
  for _, run in ipairs(runs) do
    local id = run.id
    local path = ("%s/%s.csv"):format(folder, id)
    local lines, names = there[id] or {}, there[id] and names_there or {}
    if run.own and before[id] then lines, names = before[id], old_names end
    if run.own and core.exists(path) then lines, names = csv.read_lines(path) end
    columns = store.all_columns(columns, {}, names)
    for _, line in ipairs(lines) do
      line.run_id = id
      records[#records + 1] = line
    end
  end
  return records, columns
end

-- Whether a run still needs the file that it has: any does while a process is at it; and, where nothing was packed
-- of it, one that goes on from its checkpoint, or that has ended meanwhile. It has its row before it loses its
-- checkpoint.
local function is_needed(results, id, is_packed)
  local checkpoint = results:checkpoint(id)
  if core.is_locked(checkpoint .. ".lock") then return true end
  return not is_packed and (core.exists(checkpoint) or results:find(id) ~= nil)
end

-- The files of a folder that no longer stand alone, since these runs were packed; and the folder once nothing is left
-- in it.
local function remove_parts(folder, results, runs)
  local is_packed = {}
  for _, run in ipairs(runs) do is_packed[run.id] = true end
  for _, name in ipairs(core.list_folder(folder)) do
    local id = name:match "^[^.]*"
    if not is_needed(results, id, is_packed[id]) then assert(os.remove(folder .. "/" .. name)) end
  end
  if #core.list_folder(folder) == 0 then os.remove(folder) end -- unless hidden files of others keep it
end

local function write_parts(from, to, name, runs)
  local path = ("%s/%s.csv"):format(to, name)
  local records, columns = gathered(("%s/%s"):format(from, name), path, runs)
  if #records == 0 then return {} end
  csv.write(path, columns, records)
  if from == to then remove_parts(("%s/%s"):format(from, name), store.of(from), runs) end
  return { path }
end

-- The records that are wanted, by what they say in `column`, in the order of `wanted`.
local function wanted_of_records(records, column, wanted)
  local by_value, kept = {}, {}
  for _, alike in ipairs(csv.groups(records, { column })) do by_value[alike[1][column]] = alike end
  for _, value in ipairs(wanted) do
    table.move(by_value[value] or {}, 1, #(by_value[value] or {}), #kept + 1, kept)
    by_value[value] = nil
  end
  return kept
end

-- Of which records of a file some are wanted, by which column, and what tells them apart.
local filtered = {
  ["runs.csv"] = { column = "run_id", key = { "run_id" } },
  ["timings.csv"] = { column = "configuration", key = { "configuration", "round" } },
}

local function key_of(record, names)
  local words = {}
  for i, name in ipairs(names) do words[i] = record[name] or "" end
  return table.concat(words, "\n")
end

-- Whether a record that was packed before stays where one of its key comes: a finished run does, but
-- for the same one of the same machine, whose step times may have been taken anew. `unlike`: the runs
-- of one id and other scores.
local function stays(before, record, unlike)
  if not finished.is_over(before.status) then return false end
  return not finished.is_over(record.status) or unlike[record.run_id]
    or (before.machine or "") ~= (record.machine or "")
end

-- Puts records among others, each in place of the one with its key or behind them; gives the keys of
-- those that stay.
local function put_among(others, records, names, unlike)
  local places, kept = {}, {}
  for i, other in ipairs(others) do
    local key = key_of(other, names)
    places[key], kept[key] = i, true
  end
  for _, record in ipairs(records) do
    local key = key_of(record, names)
    local place = places[key]
    if not (place and stays(others[place], record, unlike)) then
      others[place or #others + 1], kept[key] = record, nil
    end
  end
  return kept
end

-- Writes what is wanted of a file (nil: all) to where others may have been packed; gives the keys of
-- those that stay.
local function write_records(source, target, kind, wanted, unlike)
  local records, columns = csv.read(source)
  local kept = {}
  if wanted then records = wanted_of_records(records, kind.column, wanted[kind.column]) end
  if core.exists(target) then
    local others, names = csv.read(target)
    kept = put_among(others, records, kind.key, unlike)
    columns, records = store.all_columns(columns, {}, names), others
  end
  csv.write(target, columns, records)
  return kept
end

-- A file that is a view, or another that is whole: a view of another scale or device that was packed
-- before keeps a name of its own.
local function copy_whole(source, target)
  local owner = views.owner_of(source)
  if owner then views.make_room(target:gsub("%.csv$", ""), { "csv", "md", "html", "tex" }, owner) end
  core.write_file(target, core.read_file(source))
end

-- Copies a file; gives the paths written, and the keys of the records that were packed before and stay.
local function copy(from, to, file, wanted, unlike)
  local source, target = from .. "/" .. file, to .. "/" .. file
  local kind = filtered[file]
  if from == to then return { target }, {} end
  if file == "claims.csv" then return claims.write(to, (csv.read(source))), {} end
  if kind and (wanted or core.exists(target)) then
    return { target }, write_records(source, target, kind, wanted, unlike)
  end
  copy_whole(source, target)
  return { target }, {}
end

-- Lines that name the runs that both folders have with other scores, and the set of their ids.
local function conflicts_of(from, to, wanted)
  local notes, unlike, is_meant = {}, {}, {}
  for _, id in ipairs(wanted and wanted.run_id or {}) do is_meant[id] = true end
  local conflicts = from ~= to and finished.conflicts(store.of(to), store.of(from)) or {}
  for _, conflict in ipairs(conflicts) do
    if not wanted or is_meant[conflict.id] then notes[#notes + 1] = conflict.text end
    unlike[conflict.id] = true
  end
  return notes, unlike
end

-- The runs of a packed folder, and which of them are those of the folder that was packed.
local function runs_of(from, to, kept)
  local list, source = {}, store.of(from)
  for i, run in ipairs(store.of(to):rows()) do
    list[i] = { id = run.run_id, own = source:find(run.run_id) ~= nil and not kept[run.run_id] }
  end
  return list
end

-- Not copied, but made of what was.
local made_anew = { ["curves.csv"] = true, ["probes.csv"] = true, ["totals.csv"] = true }

-- Lines for the trials beside a folder that are not beside the packed one: without them nobody can tell
-- which options the rows of a script have.
local function notes_of_trials(from, to)
  local parent, own = from:match "^(.*/)([^/]+)$"
  parent, own = parent or "./", own or from
  local notes = {}
  for _, name in ipairs(core.list_folder(parent)) do
    local suffix = name:sub(1, #own) == own and name:sub(#own + 1) or ""
    local is_trials = suffix == "-trials" or suffix:find "^%-trials%-round%d+$"
    if is_trials and core.exists(from .. suffix .. "/runs.csv") and not core.exists(to .. suffix .. "/runs.csv") then
      notes[#notes + 1] = ("note: its trials in %s are not packed; --script SCRIPT.lua packs all that a script needs")
        :format(from .. suffix)
    end
  end
  return notes
end

--- Packs results/<experiment> at `from` into the folder `to`, which may be the same; gives the
--- paths written, and lines that name the runs that `to` had with other scores and keeps, and trials that
--- are not packed with the folder. `wanted`
--- (nil: all): run ids and configurations in order, { run_id = { ... }, configuration = { ... } };
--- nothing is copied of others.
function pack.folder(from, to, wanted)
  if not core.is_folder(from) then error(from .. ": no such folder of results", 0) end
  core.make_folder(to)
  store.refuse_folder_of_experiments(to, from:match "([^/]+)/*$", "pack")
  local paths, kept = {}, {}
  local notes, unlike = conflicts_of(from, to, wanted)
  for _, name in ipairs(core.list_folder(from)) do
    if name:match "%.csv$" and not made_anew[name] then
      local made
      made, kept[name] = copy(from, to, name, wanted, unlike)
      table.move(made, 1, #made, #paths + 1, paths)
    end
  end
  if #paths == 0 then error(from .. ": no CSV file to pack", 0) end
  local runs = runs_of(from, to, kept["runs.csv"] or {})
  for _, part in ipairs { "curves", "probes" } do
    table.move(write_parts(from, to, part, runs), 1, 1, #paths + 1, paths)
  end
  local more = wanted and {} or notes_of_trials(from, to)
  return paths, table.move(more, 1, #more, #notes + 1, notes)
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

-- A line on the runs of a folder, of this scale and device, that are not among those that are wanted; nil for none.
local function left_behind(from, wanted, settings)
  local is_wanted, all, left = lists.set(wanted.run_id).has, 0, 0
  for _, run in ipairs(store.of(from):rows()) do
    if run.scale == settings.scale and run.device == settings.device then
      all, left = all + 1, left + (is_wanted[run.run_id] and 0 or 1)
    end
  end
  if left == 0 then return nil end
  return ("note: %d of %d runs of scale %s in %s are not those that the script would have today (names, options, data, "
    .. "seeds or versions are others) and are not packed; without --script all are"):format(left, all, settings.scale,
    from)
end

--- Packs what a script would run today of the results folder `settings.results` into the results
--- folder `to`: its trials, what its charts need, and itself. Runs of other options stay behind, which is told, and
--- what was packed there before, of another scale or script, stays there. Gives the paths written, and
--- lines as pack.folder does.
function pack.script(experiment, settings, to)
  local paths, notes = {}, {}
  for _, part in ipairs(plan.all(experiment)) do
    local from = settings.results .. "/" .. part.runs
    if core.exists(from .. "/runs.csv") then
      local wanted = wanted_of(part, settings)
      local made, told = pack.folder(from, to .. "/" .. part.runs, wanted)
      told[#told + 1] = left_behind(from, wanted, settings)
      table.move(made, 1, #made, #paths + 1, paths)
      table.move(told, 1, #told, #notes + 1, notes)
    end
  end
  return paths, notes
end

return pack

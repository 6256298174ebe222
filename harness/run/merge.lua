-- Several folders of results as one: what runs on several machines have left, brought together by run
-- ids. Nothing that is there is changed but for a run that had failed there and is finished elsewhere.
local begun = require "longhaul.run.begun"
local core = require "longhaul.core"
local finished = require "longhaul.run.finished"
local lists = require "longhaul.run.lists"
local store = require "longhaul.run.store"

local merge = {}

local function copy_of(run, columns)
  local copy = {}
  for _, name in ipairs(columns) do copy[name] = run[name] end
  return copy
end

-- The finished runs of `from` that the other folder has not finished, the others that it has not begun, whose
-- checkpoint goes with a curve of its own; and the columns of the file.
local function missing_runs(from, to)
  local list, columns, known, is_begun = {}, from:columns(), to:by_id(), lists.set(to:begun()).has
  for _, run in ipairs(from:rows()) do
    local id, there = run.run_id, known[run.run_id]
    local is_missing = finished.is_over(run.status) and not (there and finished.is_over(there.status))
    if is_missing or not there and not is_begun[id] then list[#list + 1] = copy_of(run, columns) end
  end
  return list, columns
end

local function add_runs(to, list, columns)
  local new = {}
  for _, run in ipairs(list) do new[run.run_id] = run end
  to:update(function(rows)
    for i, row in ipairs(rows) do
      if new[row.run_id] then rows[i], new[row.run_id] = new[row.run_id], nil end
    end
    for _, run in ipairs(list) do
      if new[run.run_id] then rows[#rows + 1] = run end
    end
  end, columns)
end

-- Step times by round and configuration.
local function add_timings(from, to)
  local function all(records) return records end
  local known, list = {}, {}
  local function key(record) return record.round .. " " .. record.configuration end
  for _, record in ipairs(to:timings(all)) do known[key(record)] = true end
  for _, record in ipairs(from:timings(all)) do
    if not known[key(record)] then list[#list + 1] = record end
  end
  if #list > 0 then to:add_timings(list) end
end

-- The columns of a curve beside those of every one: gates, and what was watched of the test split.
local function own_columns(points)
  local usual, names = { run_id = true }, {}
  for _, name in ipairs(store.curve_columns) do usual[name] = true end
  for _, point in ipairs(points) do
    for name, text in pairs(point) do
      if not usual[name] and text ~= "" then names[#names + 1], usual[name] = name, true end
    end
  end
  table.sort(names)
  return names
end

local function copy_file(from, to)
  if core.exists(from) then core.write_file(to, core.read_file(from)) end
end

-- What runs left beside their rows, in place of what a failed attempt left there; a packed folder has
-- the curves of all in one file.
local function copy_parts(from, to, ids)
  for _, id in ipairs(ids) do
    local points = from:read_curve(id, math.huge)
    if #points > 0 or #to:read_curve(id, math.huge) > 0 then
      to:write_curve(id, points, own_columns(points))
    end
    local probes = {}
    for name, value in pairs(from:read_probes(id)) do
      probes[#probes + 1] = { name = name, value = value }
    end
    table.sort(probes, function(a, b) return a.name < b.name end)
    if #probes > 0 or next(to:read_probes(id)) then to:write_probes(id, probes) end
    copy_file(from:weights(id), to:weights(id))
  end
end

local function merge_experiment(from_path, to_path)
  local from, to = store.of(from_path), store.of(to_path):prepare()
  local list, columns = missing_runs(from, to)
  local ids, notes = {}, {}
  for i, conflict in ipairs(finished.conflicts(to, from)) do notes[i] = conflict.text end
  for i, run in ipairs(list) do ids[i] = run.run_id end
  copy_parts(from, to, ids) -- before the rows that name them
  if #list > 0 then add_runs(to, list, columns) end
  for _, run in ipairs(list) do
    if finished.is_over(run.status) then to:drop_attempt(run.run_id) end
  end
  add_timings(from, to)
  return #list, #from:rows(), notes
end

--- Brings the runs of the folders `sources` (results, or results/EXPERIMENT) together in `target`;
--- gives lines of what was done, and of runs that both have with other scores. Unfinished runs stay
--- where they are.
function merge.folders(sources, target)
  local lines = {}
  local function add(from, to)
    local new, all, notes = merge_experiment(from, to)
    lines[#lines + 1] = ("%s: %d of %d runs are new in %s"):format(from, new, all, to)
    table.move(notes, 1, #notes, #lines + 1, lines)
  end
  for _, source in ipairs(sources) do
    local before = #lines
    if core.exists(source .. "/runs.csv") then
      store.refuse_folder_of_experiments(target, source:match "[^/]*$", "merge")
      add(source, target)
    end
    for _, name in ipairs(store.experiments(source)) do add(source .. "/" .. name, target .. "/" .. name) end
    if #lines == before then error(begun.nothing(source), 0) end
  end
  return lines
end

return merge

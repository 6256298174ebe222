-- The results store: results/<experiment>/runs.csv with one tidy row per run, timings.csv with one per measured
-- configuration and round, curves/<id>.csv, and checkpoints/<id>.snapshot while a run is under way. Every write is whole
-- or not at all; several processes may share a folder.
local core = require "longhaul.core"
local csv = require "longhaul.csv"
local metrics = require "longhaul.metrics"
local provenance = require "longhaul.provenance"

local store = {}

---@class longhaul.store
local Store = {}
Store.__index = Store

-- Which run it is, the metrics, and where it was measured.
local run_columns = { "run_id", "configuration", "experiment", "row", "model", "task", "data", "seed", "scale", "device",
  "status", "step" }
local origin_columns = { "precision", "ranks", "dataset", "class", "version", "identity", "data_digest", "starts_from",
  "model_options", "task_options", "train_options", "error" }

local function joined(...)
  local all = {}
  for _, list in ipairs { ... } do table.move(list, 1, #list, #all + 1, all) end
  return all
end

store.columns = joined(run_columns, metrics.columns(), provenance.columns, origin_columns)

store.curve_columns = metrics.curve_columns()

--- results/<experiment> as it is, for reading.
function store.at(folder, experiment) return store.of(folder .. "/" .. experiment) end

--- The same by the path of the folder.
function store.of(path) return setmetatable({ path = path, file = path .. "/runs.csv", known = {} }, Store) end

-- Removes what processes that were killed left behind: half-written files, and best weights of runs that are done and
-- that nobody runs again.
local function clean(made, folders)
  for _, name in ipairs(folders) do core.sweep_folder(made.path .. "/" .. name) end
  for _, name in ipairs(core.list_folder(made.path .. "/weights")) do
    local id = name:match("^(.+)%.best%.safetensors$")
    local run = id and made:find(id)
    if run and run.status == "done" then
      local lock <close> = core.lock(made:checkpoint(id) .. ".lock", true)
      if lock then core.remove_file(made:best_weights(id)) end
      if lock then core.remove_file(made:checkpoint(id) .. ".lock") end
    end
  end
end

--- Opens results/<experiment>, making it.
function store.open(folder, experiment)
  local made, folders = store.at(folder, experiment), { "", "curves", "checkpoints", "weights" }
  for _, name in ipairs(folders) do core.make_folder(made.path .. "/" .. name) end
  clean(made, folders)
  return made
end

-- ---- reading ----

-- Without these nobody can tell which run a row is.
local needed_columns = { "run_id", "row", "dataset", "seed", "scale", "device", "status" }

-- What `read` makes of a CSV file's records, read again once the file is another one.
local function known(self, path, read, needed)
  local stamp = core.file_stamp(path)
  local before = self.known[path]
  if not before or before.stamp ~= stamp then
    before = { stamp = stamp, value = read(stamp and csv.read(path, needed) or {}) }
    self.known[path] = before
  end
  return before.value
end

-- Rows that were written before runs had a configuration cannot be told apart.
local function check_identity(self, rows)
  for _, row in ipairs(rows) do
    if (row.identity or "") == "" then
      error(("%s has runs of an older longhaul, whose step times and data cannot be told apart: "
        .. "`longhaul results migrate %s` keeps what is certain"):format(self.path, self.path), 0)
    end
  end
end

local function read_runs(self)
  return known(self, self.file, function(rows)
    check_identity(self, rows)
    local by_id = {}
    for _, row in ipairs(rows) do by_id[row.run_id] = row end
    return { rows = rows, by_id = by_id }
  end, needed_columns)
end

--- All rows, in the order of the file; read only.
function Store:rows() return read_runs(self).rows end

--- The row of a run, or nil; read only.
function Store:find(id) return read_runs(self).by_id[id] end

-- ---- writing ----

--- The columns of a file: those that it always has, then the script's own (factors of a sweep), then what rows have beside.
function store.all_columns(first, rows, extra)
  local columns, seen = {}, {}
  local function add(name)
    if not seen[name] then
      seen[name] = true
      columns[#columns + 1] = name
    end
  end
  for _, name in ipairs(first) do add(name) end
  for _, name in ipairs(extra) do add(name) end
  for _, row in ipairs(rows) do
    local names = {}
    for name in pairs(row) do names[#names + 1] = name end
    table.sort(names)
    for _, name in ipairs(names) do add(name) end
  end
  return columns
end

-- Reads a file for changing, under the lock; what was known of it no longer holds.
local function change_file(self, path, columns, change, extra)
  local lock <close> = core.lock(self.path .. "/.lock")
  local rows = core.exists(path) and csv.read(path) or {}
  self.known[path] = nil
  if change(rows) == false then return end
  csv.write(path, store.all_columns(columns, rows, extra or {}), rows)
end

--- Changes rows under the lock: `change(rows)` edits the array in place; false leaves the file as it is.
function Store:update(change, extra)
  change_file(self, self.file, store.columns, function(rows)
    check_identity(self, rows)
    return change(rows)
  end, extra)
end

--- Adds a run's row or replaces the one with its id.
function Store:put(row, extra)
  self:update(function(rows)
    for i, other in ipairs(rows) do
      if other.run_id == row.run_id then
        rows[i] = row
        return
      end
    end
    rows[#rows + 1] = row
  end, extra)
end

-- ---- step times ----

-- What was timed beside what, the metrics of it, and how.
store.timing_columns = joined(
  { "round", "configuration", "row", "dataset", "scale", "device", "machine", "threads", "ranks", "precision" },
  metrics.columns_from "timing",
  { "tokens_per_step", "matrix_rate", "steps", "warmup", "load", "busy", "code_version", "dirty",
    "compiler", "kernels", "blas", "cores", "data", "data_digest", "date" })

--- The records of timings.csv by `read(records)`, which is called again when the file has changed.
function Store:timings(read) return known(self, self.path .. "/timings.csv", read) end

--- Adds records to timings.csv.
function Store:add_timings(records)
  change_file(self, self.path .. "/timings.csv", store.timing_columns, function(rows)
    table.move(records, 1, #records, #rows + 1, rows)
  end)
end

-- ---- what else a run leaves ----

function Store:checkpoint(id) return ("%s/checkpoints/%s.snapshot"):format(self.path, id) end

--- The weights that a run ended with, where others start from them, and the best ones so far.
function Store:weights(id) return ("%s/weights/%s.safetensors"):format(self.path, id) end

function Store:best_weights(id) return ("%s/weights/%s.best.safetensors"):format(self.path, id) end

function Store:curve(id) return ("%s/curves/%s.csv"):format(self.path, id) end

-- A point that was being written when the process was killed ends without a line break.
local function drop_torn_line(path)
  local text = core.read_file(path)
  if text:sub(-1) ~= "\n" then core.write_file(path, text:match("^(.*\n)") or "") end
end

-- The lines of a run in <name>.csv, where a packed folder has those of all runs; {} where it has none.
local function packed(self, name, id)
  local by_run = known(self, ("%s/%s.csv"):format(self.path, name), function(lines)
    local made = {}
    for _, line in ipairs(lines) do
      made[line.run_id] = made[line.run_id] or {}
      table.insert(made[line.run_id], line)
    end
    return made
  end)
  return by_run[id] or {}
end

--- The points of a curve that were written up to `step`; later ones come from a run that was killed
--- after its last checkpoint.
function Store:read_curve(id, step)
  local path, kept = self:curve(id), {}
  local whole = core.exists(path)
  if whole then drop_torn_line(path) end
  for _, point in ipairs(whole and csv.read(path) or packed(self, "curves", id)) do
    if tonumber(point.step) <= step then kept[#kept + 1] = point end
  end
  return kept
end

--- What a model says of itself after training (gates ...): name and value.
function Store:probes(id) return ("%s/probes/%s.csv"):format(self.path, id) end

function Store:write_probes(id, probes)
  core.make_folder(self.path .. "/probes")
  csv.write(self:probes(id), { "name", "value" }, probes)
end

--- As a table from name to number; empty where nothing was written.
function Store:read_probes(id)
  local values, path = {}, self:probes(id)
  for _, probe in ipairs(core.exists(path) and csv.read(path) or packed(self, "probes", id)) do values[probe.name] = tonumber(probe.value) end
  return values
end

local function curve_columns(extra)
  return table.move(extra or {}, 1, #(extra or {}), #store.curve_columns + 1, { table.unpack(store.curve_columns) })
end

--- Writes a curve, whole or not at all; `extra` names columns of the model's own.
function Store:write_curve(id, points, extra) csv.write(self:curve(id), curve_columns(extra), points) end

--- Writes `points` and gives a function that appends one more. Each is in the file before the
--- checkpoint that follows it, so that a run that is killed loses no point.
function Store:extend_curve(id, points, extra)
  self:write_curve(id, points, extra)
  local file = assert(io.open(self:curve(id), "a"))
  file:setvbuf("no")
  return function(point)
    local line = csv.format(curve_columns(extra), { point }):match("\n(.*)$")
    assert(file:write(line))
  end, file
end

return store

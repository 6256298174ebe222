-- The results store: results/<experiment>/runs.csv with one tidy row per run, curves/<id>.csv, and
-- checkpoints/<id>.snapshot while a run is under way. Every write is whole or not at all; several
-- processes may share a folder.
local core = require "longhaul.core"
local csv = require "longhaul.csv"
local metrics = require "longhaul.metrics"

local store = {}

---@class longhaul.store
local Store = {}
Store.__index = Store

-- Which run it is, the metrics, and where it was measured.
local run_columns = { "run_id", "experiment", "row", "model", "task", "data", "seed", "scale", "device", "status", "step" }
local origin_columns = { "code_version", "machine", "blas", "precision", "ranks", "dataset", "class", "version", "date",
  "model_options", "task_options", "train_options", "error" }

store.columns = table.move(metrics.columns(), 1, #metrics.columns(), #run_columns + 1, run_columns)
table.move(origin_columns, 1, #origin_columns, #store.columns + 1, store.columns)

store.curve_columns = metrics.curve_columns()

--- results/<experiment> as it is, for reading.
function store.at(folder, experiment)
  local path = folder .. "/" .. experiment
  return setmetatable({ path = path, file = path .. "/runs.csv" }, Store)
end

--- Opens results/<experiment>, making it.
function store.open(folder, experiment)
  local made = store.at(folder, experiment)
  core.make_folder(made.path .. "/curves")
  core.make_folder(made.path .. "/checkpoints")
  core.make_folder(made.path .. "/weights")
  return made
end

--- All rows, in the order of the file.
function Store:rows()
  if not core.exists(self.file) then return {} end
  return (csv.read(self.file))
end

--- The row of a run, or nil.
function Store:find(id)
  for _, row in ipairs(self:rows()) do
    if row.run_id == id then return row end
  end
  return nil
end

-- Columns of the file that are not ours (factors of a sweep) stay at its end.
local function all_columns(rows, extra)
  local columns, seen = {}, {}
  local function add(name)
    if not seen[name] then
      seen[name] = true
      columns[#columns + 1] = name
    end
  end
  for _, name in ipairs(store.columns) do add(name) end
  for _, name in ipairs(extra) do add(name) end
  for _, row in ipairs(rows) do
    local names = {}
    for name in pairs(row) do names[#names + 1] = name end
    table.sort(names)
    for _, name in ipairs(names) do add(name) end
  end
  return columns
end

--- Changes rows under the lock: `change(rows)` edits the array in place.
function Store:update(change, extra)
  local lock <close> = core.lock(self.path .. "/.lock")
  local rows = self:rows()
  change(rows)
  csv.write(self.file, all_columns(rows, extra or {}), rows)
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

--- The points of a curve that were written up to `step`; later ones come from a run that was killed
--- after its last checkpoint.
function Store:read_curve(id, step)
  local path, kept = self:curve(id), {}
  if not core.exists(path) then return kept end
  drop_torn_line(path)
  for _, point in ipairs((csv.read(path))) do
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
  local values = {}
  if not core.exists(self:probes(id)) then return values end
  for _, probe in ipairs((csv.read(self:probes(id)))) do values[probe.name] = tonumber(probe.value) end
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

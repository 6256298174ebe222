-- The results store: results/<experiment>/runs.csv with one tidy row per run, timings.csv with one
-- per measured configuration and round, curves/<id>.csv, and checkpoints/<id>.snapshot while a run
-- is under way. Every write is whole or not at all; several processes may share a folder.
local core = require "longhaul.core"
local csv = require "longhaul.run.csv"
local finished = require "longhaul.run.finished"
local lists = require "longhaul.run.lists"
local metrics = require "longhaul.run.metrics"
local provenance = require "longhaul.run.provenance"

local store = {}

---@class longhaul.store
local Store = {}
Store.__index = Store

-- Which run it is, the metrics, and where it was measured.
local run_columns = { "run_id", "configuration", "experiment", "row", "model", "task", "data",
  "seed", "scale", "device",
  "status", "step" }
local origin_columns = { "precision", "ranks", "dataset", "class", "version", "identity",
  "data_digest", "starts_from",
  "model_options", "task_options", "train_options", "error" }

local function joined(...)
  local all = {}
  for _, list in ipairs { ... } do table.move(list, 1, #list, #all + 1, all) end
  return all
end

store.columns = joined(run_columns, metrics.columns(), provenance.columns, origin_columns)

-- What tuning chose, the loss that a row names and the build of a plug-in are columns where a row has
-- them.
local is_own = lists.set(joined(store.columns, metrics.names(), { "tuned", "reach", "plugin" })).has

--- Whether a column of runs.csv is the program's, and so no factor of a sweep.
function store.is_own_column(name) return is_own[name] == true end

-- Those of the program's columns that hold numbers or nothing: what else stands there is a damaged file, not a run
-- that lacks it.
local is_numeric = lists.set(joined(metrics.names(),
  { "seed", "step", "version", "identity", "ranks", "cores", "threads", "load" })).has

--- Whether a column of runs.csv holds what the program calls things, digits though they may be. Those of a script
--- hold what their texts are.
function store.is_text_column(name) return is_own[name] and not is_numeric[name] end

store.curve_columns = metrics.curve_columns()

--- results/<experiment> as it is, for reading.
function store.at(folder, experiment) return store.of(folder .. "/" .. experiment) end

--- The same by the path of the folder.
function store.of(path)
  return setmetatable({ path = path, file = path .. "/runs.csv", known = {} }, Store)
end

-- The depth of results/reference/<machine>/<experiment>.
local deepest = 2

local function add_folders(path, depth, list)
  list[#list + 1] = path
  for _, name in ipairs(depth > 0 and core.list_folder(path) or {}) do
    local inner = path .. "/" .. name
    if core.is_folder(inner) then add_folders(inner, depth - 1, list) end
  end
  return list
end

--- The paths of a folder and those below it, as deep as results lie.
function store.folders(path) return add_folders(path, deepest, {}) end

--- The names in a folder of those of experiments that have runs.
function store.experiments(folder)
  local names = {}
  for _, name in ipairs(core.list_folder(folder)) do
    if core.exists(("%s/%s/runs.csv"):format(folder, name)) then names[#names + 1] = name end
  end
  return names
end

--- Fails where the folder `to`, into which an experiment's runs are to come ("pack", "merge"), is one of
--- experiments: it would be an experiment, too, and its runs count twice. `name`: of the experiment's folder.
function store.refuse_folder_of_experiments(to, name, what)
  local inner = store.experiments(to)[1]
  if not inner then return end
  error(("%s: is a folder of experiments, such as %s; %s into %s/%s"):format(to, inner, what, to, name), 0)
end

-- Removes files of a run, unless a process is at it; with `is_meant` only where that says so then.
local function remove_idle(made, id, paths, is_meant)
  local lock_file = made:checkpoint(id) .. ".lock"
  local lock <close> = core.lock(lock_file, true)
  if not lock or is_meant and not is_meant() then return end
  for _, path in ipairs(paths) do core.remove_file(path) end
  core.remove_file(lock_file)
end

-- What an attempt at a run would go on from.
local function attempt_files(made, id)
  return { made:checkpoint(id), made:best_weights(id), made:forced(id), made:builds(id) }
end

local attempt_names = { checkpoints = { "^(.+)%.snapshot$", "^(.+)%.forced$", "^(.+)%.builds$" },
  weights = { "^(.+)%.best%.safetensors$" } }

-- The ids of runs that have left a file of an attempt.
local function attempted(made)
  local ids = {}
  for folder, patterns in pairs(attempt_names) do
    for _, name in ipairs(core.list_folder(made.path .. "/" .. folder)) do
      for _, pattern in ipairs(patterns) do
        local id = name:match(pattern)
        if id then ids[id] = true end
      end
    end
  end
  return lists.keys(ids)
end

--- The ids of runs that have a curve or a checkpoint, and no row yet.
function Store:begun()
  local ids, left, rows = attempted(self), {}, self:by_id()
  for _, name in ipairs(core.list_folder(self.path .. "/curves")) do ids[#ids + 1] = name:match "^(.+)%.csv$" end
  for _, id in ipairs(ids) do
    id = id:gsub("%-last$", "") -- of a kept checkpoint
    left[id] = not rows[id] or nil
  end
  return lists.keys(left)
end

-- Removes what processes that were killed left behind: half-written files, and what runs would go on
-- from that are over. A run that is begun again has lost its row before it leaves a checkpoint.
local function clean(made, folders)
  for _, name in ipairs(folders) do core.sweep_folder(made.path .. "/" .. name) end
  for _, id in ipairs(attempted(made)) do
    local function is_over() return finished.row(id, made) ~= nil end
    if is_over() then remove_idle(made, id, attempt_files(made, id), is_over) end
  end
end

--- Opens results/<experiment> for writing: makes it, and removes what killed processes left.
function Store:prepare()
  local folders = { "", "curves", "checkpoints", "weights" }
  for _, name in ipairs(folders) do core.make_folder(self.path .. "/" .. name) end
  clean(self, folders)
  return self
end

--- results/<experiment>, made and ready for writing.
function store.open(folder, experiment) return store.at(folder, experiment):prepare() end

local shared = setmetatable({}, { __mode = "k" })

--- The store of an experiment that all share who have these `settings` (results: a folder), so that
--- its files are read once.
function store.under(settings, experiment)
  local stores = shared[settings] or {}
  shared[settings] = stores
  stores[experiment] = stores[experiment] or store.at(settings.results, experiment)
  return stores[experiment]
end

-- ---- reading ----

-- Without these nobody can tell which run a row is.
local needed_columns = { "run_id", "row", "dataset", "seed", "scale", "device", "status" }

-- What `read(path)` makes of a file (of none: `read(nil)`), read again once it is another one, or
-- where it said that it soon may be.
local function known(self, path, read)
  local stamp = core.file_stamp(path)
  local before = self.known[path]
  if not before or before.changing or before.stamp ~= stamp then
    local value, changing = read(stamp and path)
    before = { stamp = stamp, value = value, changing = changing }
    self.known[path] = before
  end
  return before.value
end

-- Rows that were written before runs had a configuration cannot be told apart.
local function check_identity(path, rows)
  for _, row in ipairs(csv.distinct(rows, { "identity" })) do
    if (row.identity or "") == "" then
      local folder = path:match "^(.*)/"
      error(("%s has runs of an older longhaul, whose step times and data cannot be told apart: "
        .. "`longhaul results migrate %s` keeps what is certain"):format(folder, folder), 0)
    end
  end
end

-- By its seed a run is told from others of its configuration.
local function check_seeds(path, rows)
  for _, row in ipairs(csv.distinct(rows, { "seed" })) do
    if (row.seed or "") == "" then
      error(("%s: run %s has no seed: the file is damaged there; write its seed, or take the line away"):format(path,
        row.run_id), 0)
    end
  end
end

-- The rows without those of a run that stands there again, as where two files were put one behind the other: the one
-- that counts of a seed's stays.
local function each_once(rows)
  if #csv.distinct(rows, { "run_id" }) == #rows then return rows end
  local list = {}
  for i, alike in ipairs(csv.groups(rows, { "run_id" })) do list[i] = finished.of_seeds(alike)[1] end
  return list
end

-- A row that is being appended gets its first byte last, which no clock of the file system need
-- show.
local function runs_of(path)
  local rows, columns, size, unfinished = {}, {}, 0, false
  if path then rows, columns, size, unfinished = csv.rows(path, needed_columns, is_numeric) end
  check_identity(path, rows)
  check_seeds(path, rows)
  return { rows = each_once(rows), columns = columns, size = size }, unfinished
end

local function read_runs(self) return known(self, self.file, runs_of) end

--- All rows, in the order of the file; read only. csv.texts gives a column of them.
function Store:rows() return read_runs(self).rows end

--- At what there are runs in some stores, each once and in their order: { { scale =, device = } ... }.
function store.measured_at(stores)
  local list, seen = {}, {}
  for _, each in ipairs(stores) do
    for _, run in ipairs(csv.distinct(each:rows(), { "scale", "device" })) do
      local key = run.scale .. "\n" .. run.device
      if not seen[key] then list[#list + 1] = { scale = run.scale, device = run.device } end
      seen[key] = true
    end
  end
  return list
end

--- The names of the columns of runs.csv, in the order of the file.
function Store:columns() return read_runs(self).columns end

--- All rows by the id of their run; read only.
function Store:by_id()
  local runs = read_runs(self)
  runs.by_id = runs.by_id or csv.by(runs.rows, "run_id")
  return runs.by_id
end

--- The row of a run, or nil; read only.
function Store:find(id) return self:by_id()[id] end

--- All rows by their configuration, an array for each; read only.
function Store:by_configuration()
  local runs = read_runs(self)
  if not runs.by_configuration then
    runs.by_configuration = {}
    for _, rows in ipairs(csv.groups(runs.rows, { "configuration" })) do
      runs.by_configuration[rows[1].configuration or ""] = rows
    end
  end
  return runs.by_configuration
end

--- The last finished run of a configuration, of those on the machine `here` (of provenance.here())
--- where that is given; nil where there is none.
function Store:last_done(configuration, here)
  local rows = self:by_configuration()[configuration] or {}
  for i = #rows, 1, -1 do
    local row = rows[i]
    if row.status == "done" and (not here or provenance.are_of_one_machine(row, here)) then return row end
  end
  return nil
end

-- ---- writing ----

--- The columns of a file: those that it always has, then the script's own (factors of a sweep),
--- then what rows have beside.
function store.all_columns(first, rows, extra)
  local columns = lists.set(joined(first, extra))
  for _, row in ipairs(rows) do
    for _, name in ipairs(lists.keys(row)) do columns:add(name) end
  end
  return columns.list
end

-- Reads a file for changing, under the lock; what was known of it no longer holds.
local function change_file(self, path, columns, change, extra)
  local lock <close> = core.lock(self.path .. "/.lock")
  local rows = core.exists(path) and csv.read(path) or {}
  self.known[path] = nil
  change(rows)
  csv.write(path, store.all_columns(columns, rows, extra or {}), rows)
end

--- Changes rows, which have been read before, under the lock: `change(rows)` edits the array in place.
function Store:update(change, extra) change_file(self, self.file, store.columns, change, extra) end

local function has_all(columns, names)
  local there = lists.set(columns)
  for _, name in ipairs(names) do
    if not there.has[name] then return false end
  end
  return true
end

-- The row as it will be read.
local function texts_of(columns, row)
  local texts = {}
  for _, name in ipairs(columns) do texts[name] = csv.text(row[name]) end
  return texts
end

-- Puts a row behind the others, where that is all that there is to do: the file has its columns and
-- no run of its id. False where it is not. The others are not read again.
local function append(self, row, extra)
  local lock <close> = core.lock(self.path .. "/.lock")
  local runs, by_id = read_runs(self), self:by_id()
  if by_id[row.run_id]
    or not has_all(runs.columns, store.all_columns(store.columns, { row }, extra or {})) then
    return false
  end
  local line = csv.line(runs.columns, row)
  if not csv.append(self.file, runs.size, line) then return false end
  local kept = texts_of(runs.columns, row)
  runs.rows[#runs.rows + 1], by_id[row.run_id], runs.by_configuration = kept, kept, nil
  runs.size = runs.size + #line
  self.known[self.file].stamp = core.file_stamp(self.file)
  return true
end

-- Takes what rows have of a run away; gives the place where it first stood, or nil.
local function take_out(rows, id)
  local place
  for i = #rows, 1, -1 do
    if rows[i].run_id == id then
      table.remove(rows, i)
      place = i
    end
  end
  return place
end

--- Adds a run's row or replaces what there is with its id.
function Store:put(row, extra)
  if append(self, row, extra) then return end
  self:update(function(rows)
    local place = take_out(rows, row.run_id)
    table.insert(rows, place or #rows + 1, row)
  end, extra)
end

--- Removes a run's row, and its probes, which would tell of a run whose row was lost.
function Store:forget(id)
  self:update(function(rows) take_out(rows, id) end)
  core.remove_file(self:probes(id))
end

-- ---- step times ----

-- What was timed beside what, the metrics of it, and how.
store.timing_columns = joined(
  { "round", "configuration", "row", "dataset", "scale", "device", "machine", "threads", "ranks",
    "precision" },
  metrics.columns_from "timing",
  { "tokens_per_step", "matrix_rate", "steps", "warmup", "load", "busy", "code_version", "dirty",
    "compiler", "kernels", "blas", "cores", "data", "data_digest", "date" })

-- Without these nobody can tell what was timed beside what, and when.
local needed_of_timings = { "round", "configuration", "date", "step_time_ms" }

-- What else is a number or nothing there, as those of runs.csv.
local numbers_of_timings = joined(metrics.columns_from "timing",
  { "threads", "ranks", "tokens_per_step", "matrix_rate", "steps", "warmup", "load", "cores" })

--- The records of timings.csv by `read(records)`, which is called again when the file has changed.
function Store:timings(read)
  local path = self.path .. "/timings.csv"
  return known(self, path, function(there)
    local records = there and csv.read(path, needed_of_timings) or {}
    csv.check_numbers(path, records, { "step_time_ms" }, numbers_of_timings)
    return read(records)
  end)
end

--- Adds records to timings.csv.
function Store:add_timings(records)
  change_file(self, self.path .. "/timings.csv", store.timing_columns, function(rows)
    table.move(records, 1, #records, #rows + 1, rows)
  end)
end

-- ---- what else a run leaves ----

function Store:checkpoint(id) return ("%s/checkpoints/%s.snapshot"):format(self.path, id) end

--- Removes what an unfinished attempt at a run would go on from, unless a process is at it.
function Store:drop_attempt(id)
  if not core.exists(self:checkpoint(id)) then return end
  remove_idle(self, id, attempt_files(self, id))
end

--- Removes the same of a run that has ended; the caller holds its lock.
function Store:end_attempt(id)
  for _, path in ipairs(attempt_files(self, id)) do core.remove_file(path) end
end

--- There while a run that was begun by --force is under way.
function Store:forced(id) return ("%s/checkpoints/%s.forced"):format(self.path, id) end

--- By which builds of a plug-in a run's checkpoint is, while it is under way.
function Store:builds(id) return ("%s/checkpoints/%s.builds"):format(self.path, id) end

--- Forgets that an earlier command began a run by --force, unless a process is at it.
function Store:forget_forced(id)
  if core.exists(self:forced(id)) then remove_idle(self, id, { self:forced(id) }) end
end

--- Under a run's lock: it begins anew, whatever was left of it. A worker (`goes_on`), which may have been
--- started again, goes on where its command had begun the run.
function Store:begin_forced(id, goes_on)
  if goes_on and core.exists(self:forced(id)) then return end
  core.remove_file(self:checkpoint(id))
  core.remove_file(self:last_checkpoint(id))
  core.remove_file(self:best_weights(id))
  core.write_file(self:forced(id), "")
end

--- The state of a run that has ended, where it is kept.
function Store:last_checkpoint(id) return ("%s/checkpoints/%s-last.snapshot"):format(self.path, id) end

--- The weights that a run ended with, where others start from them, and the best ones so far.
function Store:weights(id) return ("%s/weights/%s.safetensors"):format(self.path, id) end

function Store:best_weights(id) return ("%s/weights/%s.best.safetensors"):format(self.path, id) end

function Store:curve(id) return ("%s/curves/%s.csv"):format(self.path, id) end

-- What a run leaves beside its row: the name of the file where a packed folder has it of all runs, the columns without
-- which a file is another one, those of them that hold a number in each line, and what reads a run's own file: a curve
-- may be under way.
local curves = { name = "curves", needed = { "step" }, full = { "step" }, read = csv.read_lines }
local probes = { name = "probes", needed = { "name", "value" }, full = {}, read = csv.read }

-- All other columns hold numbers or nothing, a model's own among them.
local is_text = lists.set({ "run_id", "name" }).has

local function check_numbers(path, lines, columns, kind)
  local numbers = {}
  for _, name in ipairs(columns) do numbers[#numbers + 1] = not is_text[name] and name or nil end
  csv.check_numbers(path, lines, kind.full, numbers)
end

-- The lines of a run in a packed folder; {} where it has none.
local function packed(self, id, kind)
  local path = ("%s/%s.csv"):format(self.path, kind.name)
  local by_run = known(self, path, function(there)
    if not there then return {} end
    local lines, columns = csv.read(path, joined({ "run_id" }, kind.needed))
    local made = {}
    check_numbers(path, lines, columns, kind)
    for _, line in ipairs(lines) do
      made[line.run_id] = made[line.run_id] or {}
      table.insert(made[line.run_id], line)
    end
    return made
  end)
  return by_run[id] or {}
end

-- The lines of a run, whose own file would be at `path`.
local function lines_of(self, path, id, kind)
  if not core.exists(path) then return packed(self, id, kind) end
  local lines, columns = kind.read(path, kind.needed)
  check_numbers(path, lines, columns, kind)
  return lines
end

--- The points of a curve that were written up to `step`; later ones come from a run that was killed
--- after its last checkpoint.
function Store:read_curve(id, step)
  local kept = {}
  for _, point in ipairs(lines_of(self, self:curve(id), id, curves)) do
    if csv.number(point.step) <= step then kept[#kept + 1] = point end
  end
  return kept
end

--- The last whole point of the curve of a run that may be under way, by column; nil where there is none.
--- Curves hold names and numbers, nothing that CSV would quote.
function Store:last_point(id)
  local is_read, curve = pcall(core.read_file, self:curve(id))
  if not is_read then return nil end -- where there is one, its run fails when it writes there, and says why
  local lines = {}
  for line in curve:gmatch "([^\n]*)\n" do
    lines[math.min(#lines + 1, 2)] = line
  end
  if #lines < 2 then return nil end
  local names, point, at = {}, {}, 0
  for name in (lines[1] .. ","):gmatch "([^,]*)," do names[#names + 1] = name end
  for text in (lines[2] .. ","):gmatch "([^,]*)," do
    at = at + 1
    point[names[at] or at] = tonumber(text)
  end
  return point
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
  for _, probe in ipairs(lines_of(self, self:probes(id), id, probes)) do
    values[probe.name] = csv.number(probe.value)
  end
  return values
end

local function curve_columns(extra)
  return table.move(extra or {}, 1, #(extra or {}), #store.curve_columns + 1,
    { table.unpack(store.curve_columns) })
end

--- Writes a curve, whole or not at all; `extra` names columns of the model's own.
function Store:write_curve(id, points, extra)
  csv.write(self:curve(id), curve_columns(extra), points)
end

--- Writes `points` and gives a function that appends one more. Each is in the file before the
--- checkpoint that follows it, so that a run that is killed loses no point.
function Store:extend_curve(id, points, extra)
  self:write_curve(id, points, extra)
  local path = self:curve(id)
  local file = assert(io.open(path, "a"))
  file:setvbuf("no")
  return function(point)
    local written, reason = file:write(csv.line(curve_columns(extra), point))
    if not written then error(("%s: cannot write: %s"):format(path, reason), 0) end
  end, file
end

return store

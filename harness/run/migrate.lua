-- Brings results of an older longhaul up to date. Its runs had an id but no configuration, and step
-- times stood in runs.csv, written by label into every finished run that shared it. The runs get a
-- configuration of their own, of all that was recorded of them, and `identity` 1, so that they are
-- never taken for current runs. Step times move into timings.csv where the runs of a label,
-- dataset, scale and device have one configuration; else nobody knows whose they are, and they go.
local begun = require "longhaul.run.begun"
local core = require "longhaul.core"
local csv = require "longhaul.run.csv"
local identity = require "longhaul.run.identity"
local store = require "longhaul.run.store"

local migrate = {}

-- What a timing wrote into a run.
local timed = { "step_time_ms", "step_time_q1_ms", "step_time_q3_ms", "tokens_per_second",
  "relative_step_time",
  "peak_memory_bytes", "inference_memory_bytes" }

local function has(row, name) return (row[name] or "") ~= "" end

-- Rows with step times by label, dataset, scale and device, in the order of the file; with the
-- number of configurations of all finished runs there.
local function groups_of(rows)
  local groups, by_key = {}, {}
  for _, row in ipairs(rows) do
    local key = table.concat({ row.row, row.dataset, row.scale, row.device }, "\n")
    if not by_key[key] then
      by_key[key] = { configurations = 0, seen = {} }
      groups[#groups + 1] = by_key[key]
    end
    local group = by_key[key]
    if row.status == "done" and not group.seen[row.configuration] then
      group.seen[row.configuration] = true
      group.configurations = group.configurations + 1
    end
    if has(row, "step_time_ms") then table.insert(group, row) end
  end
  return groups
end

-- The median of the baseline that a row was timed with: rows with the same one were timed side by
-- side.
local function base_of(row)
  return has(row, "relative_step_time")
    and tonumber(row.step_time_ms) / tonumber(row.relative_step_time)
end

local function record_of(row, round)
  local ms, rate = tonumber(row.step_time_ms), tonumber(row.tokens_per_second)
  local record = {
    round = round, configuration = row.configuration, row = row.row, dataset = row.dataset,
    scale = row.scale,
    device = row.device, machine = row.machine, ranks = row.ranks, precision = row.precision,
    tokens_per_step = rate and ("%.0f"):format(rate * ms / 1000), code_version = row.code_version,
    blas = row.blas,
    date = row.date,
  }
  for _, name in ipairs(timed) do record[name] = row[name] end
  record.relative_step_time = nil
  return record
end

-- What a round is called, by the first of its rows: no other folder, which this one may be merged with, has it.
local function name_of_round(row)
  return "migrated " .. core.hash(table.concat({ row.run_id, row.date or "", row.step_time_ms }, " "), 16)
end

-- The rounds that the times of a file tell of: their records, and the rows whose baseline is no
-- longer in their round.
local function rounds_of(groups)
  local records, rounds, based, known = {}, {}, {}, {}
  for _, group in ipairs(groups) do
    for _, row in ipairs(group.configurations == 1 and group or {}) do
      local base = base_of(row)
      local key = base and ("%s\n%s\n%s\n%.10g"):format(row.dataset, row.scale, row.device, base)
      local round = key and rounds[key] or name_of_round(row)
      if key then rounds[key] = round end
      if base and tonumber(row.relative_step_time) == 1 then based[round] = true end
      local time = round .. row.configuration .. row.step_time_ms
      if not known[time] then records[#records + 1] = record_of(row, round) end
      known[time] = true
      row.round = round
    end
  end
  return records, based
end

-- Takes times that are nobody's for certain out of the rows; gives how many rows that were, and how
-- many relative times.
local function clean(groups, based)
  local ambiguous, alone = 0, 0
  for _, group in ipairs(groups) do
    for _, row in ipairs(group) do
      if group.configurations ~= 1 then
        ambiguous = ambiguous + 1
        for _, name in ipairs(timed) do row[name] = "" end
      elseif has(row, "relative_step_time") and not based[row.round] then
        alone = alone + 1
        row.relative_step_time = ""
      end
      row.round = nil
    end
  end
  return ambiguous, alone
end

-- Times that were moved before stay, but for those of an earlier try that was cut off.
local function write_timings(path, records)
  local kept, is_moved = {}, {}
  for _, record in ipairs(records) do is_moved[record.round] = true end
  for _, record in ipairs(core.exists(path) and csv.read(path) or {}) do
    if not is_moved[record.round] then kept[#kept + 1] = record end
  end
  table.move(records, 1, #records, #kept + 1, kept)
  if #kept > 0 then csv.write(path, store.all_columns(store.timing_columns, kept, {}), kept) end
end

local function is_old(row) return not has(row, "identity") end

-- One experiment's folder; gives a line that says what was done.
local function experiment(path)
  local lock <close> = core.lock(path .. "/.lock")
  local file = path .. "/runs.csv"
  local rows, columns = csv.read(file)
  local old = {}
  for _, row in ipairs(rows) do
    if is_old(row) then
      row.configuration, row.identity = identity.of_version_1(row), 1
      old[#old + 1] = row
    end
  end
  if #old == 0 then return path .. ": up to date" end
  if not core.exists(file .. ".v1") then core.write_file(file .. ".v1", core.read_file(file)) end
  local groups = groups_of(old)
  local records, based = rounds_of(groups)
  local ambiguous, alone = clean(groups, based)
  write_timings(path .. "/timings.csv", records)
  csv.write(file, store.all_columns(store.columns, rows, columns), rows)
  local text = ("%s: %d runs are of identity 1, %d step times moved"):format(path, #old, #records)
  if ambiguous > 0 then
    text = text .. ("; %d runs lost theirs, since runs of several configurations share a label"):format(ambiguous)
  end
  if alone > 0 then
    text = text .. ("; %d lost the relative one, since the time of the baseline beside them is gone"):format(alone)
  end
  return text
end

--- Migrates a folder of results, or one experiment's in it; gives a line for each experiment.
function migrate.folder(path)
  local lines = {}
  if core.exists(path .. "/runs.csv") then return { experiment(path) } end
  for i, name in ipairs(store.experiments(path)) do lines[i] = experiment(path .. "/" .. name) end
  if #lines == 0 then error(begun.nothing(path), 0) end
  return lines
end

return migrate

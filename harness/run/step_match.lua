-- Sizes of models by the time that a training step takes on this machine: what a step of a candidate
-- takes, and what was found before. A search by time would find another width each time that a script
-- is read, and its runs would never be finished: what was found once stays, in matches.csv of the
-- cache folder, until somebody removes it.
local core = require "longhaul.core"
local csv = require "longhaul.run.csv"

local step_match = {}

local columns = { "key", "machine", "threads", "class", "options", "task", "step_time_ms", "changes",
  "found_ms" }

-- Steps that are not counted, and steps whose median counts.
local warmup, counted = 1, 5

--- The median of a few training steps of one session, in milliseconds. Fails as a run would.
function step_match.cost(model, task, train)
  local session <close> = core.session { model = model.options, task = task.options,
    train = train.options, seed = 1, device = "cpu" }
  return core.time_steps({ session }, warmup, counted)[1].median_ms
end

local function file_of()
  local folder = core.cache_folder()
  if folder == "" then
    error("match: a width found by step time is kept in the cache folder, and there is none: set "
      .. "XDG_CACHE_HOME or HOME", 0)
  end
  return folder, folder .. "/matches.csv"
end

local function record_of(model, task, train, budget)
  local machine = core.machine()
  local record = { machine = machine.cpu, threads = tostring(machine.threads), class = model.name,
    options = model.text, task = task.name .. " " .. task.text, step_time_ms = ("%.17g"):format(budget) }
  record.key = core.hash(table.concat({ record.machine, record.threads, record.class, record.options,
    record.task, train.text, record.step_time_ms }, "\n"), 16)
  return record
end

--- The changes of options that meet the budget, as text: those that were found before, else what
--- `search()` finds, changes and milliseconds.
function step_match.changes(model, task, train, budget, search)
  local folder, path = file_of()
  local wanted = record_of(model, task, train, budget)
  core.make_folder(folder)
  local lock <close> = core.lock(path .. ".lock")
  local records = core.exists(path) and csv.read(path, columns) or {}
  for _, record in ipairs(records) do
    if record.key == wanted.key then return record.changes end
  end
  wanted.changes, wanted.found_ms = search()
  records[#records + 1] = wanted
  csv.write(path, columns, records)
  return wanted.changes
end

return step_match

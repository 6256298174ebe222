-- Sizes of models by the time that a training step takes on this machine: what a step of a candidate
-- takes, and what was found before. A search by time would find another width each time that a script
-- is read, and its runs would never be finished: what was found once stays, in matches.csv of the
-- cache folder, until somebody removes it.
local core = require "longhaul.core"
local csv = require "longhaul.run.csv"
local others = require "longhaul.run.others"
local provenance = require "longhaul.run.provenance"
local ranks = require "longhaul.run.ranks"

--- `device`: what the script's rows are run on.
local step_match = { device = "cpu" }

local needed = { "key", "machine", "threads", "class", "options", "task", "step_time_ms", "changes",
  "found_ms" }
-- the CPU kernels' instruction set, which older files do not have; and the processors that others used
-- meanwhile, where that made the machine busy
local columns = table.move({ "kernels", "busy_load" }, 1, 2, #needed + 1, { table.unpack(needed) })

-- Steps that are not counted, and steps whose median counts.
local warmup, counted = 1, 5

--- The median of a few training steps of one session, which no other rank has part in, in milliseconds.
--- Fails as a run would.
function step_match.cost(model, task, train)
  local session <close> = core.session { model = model.options, task = task.options,
    train = train.options, seed = 1, device = step_match.device, alone = true }
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

-- The name of this machine with the device; nil, and why, where it has none.
local function name_of(machine)
  local good, name = pcall(provenance.machine_name, machine, step_match.device)
  if good then return name end
  return nil, name
end

-- Whether a record is of the machine that is called so, or, without a name, of this one with some device.
local function is_of(record, name, machine)
  local with = machine.cpu .. " with "
  local is_named = record.machine == name or not name and record.machine:sub(1, #with) == with
  return is_named and record.kernels == machine.kernels
end

local function record_of(name, model, task, train, budget)
  local machine = core.machine()
  local record = { machine = name, kernels = machine.kernels, threads = tostring(machine.threads), class = model.name,
    options = model.text, task = task.name .. " " .. task.text, step_time_ms = ("%.17g"):format(budget) }
  record.key = core.hash(table.concat({ record.machine, record.kernels, record.threads, record.class, record.options,
    record.task, train.text, record.step_time_ms }, "\n"), 16)
  return record
end

-- What search() finds, beside what others used meanwhile. A width of a busy machine stays as any other:
-- the runs of a script must not be others each time that it is read.
local function find(wanted, path, search)
  local found, seen = others.watch(function() return { search() } end)
  wanted.changes, wanted.found_ms = found[1], found[2]
  if seen.busy ~= "yes" then return end
  wanted.busy_load = seen.load
  io.stderr:write(("match: others used %.1f processors meanwhile, so the size may be too small: it is measured again "
    .. "once its line (key %s) is removed from %s\n"):format(seen.load, wanted.key, path))
end

-- What was found is known without the device, so that a script can be read where tables are made.
local function known_or_found(model, task, train, budget, search)
  local folder, path = file_of()
  local machine = core.machine()
  local name, why = name_of(machine)
  core.make_folder(folder)
  local lock <close> = core.lock(path .. ".lock")
  local records = core.exists(path) and csv.read(path, needed) or {}
  for _, record in ipairs(records) do
    local same = is_of(record, name, machine) and record_of(record.machine, model, task, train, budget)
    if same and same.key == record.key then return record.changes end
  end
  if not name then
    error(("match: which width of %s takes %g ms a step is found on a machine that has the device: %s"):format(
      model.name, budget, why), 0)
  end
  local wanted = record_of(name, model, task, train, budget)
  find(wanted, path, search)
  records[#records + 1] = wanted
  csv.write(path, columns, records)
  return wanted.changes
end

--- The changes of options that meet the budget, as text: those that were found before, else what
--- `search()` finds, changes and milliseconds. Rank 0 alone looks for them.
function step_match.changes(...)
  local asked = { ... }
  return ranks.decide_or_fail(function() return known_or_found(table.unpack(asked)) end)
end

return step_match

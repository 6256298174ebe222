-- What the commands about a script share: the options that choose its runs and what they set, and the script, or the
-- scripts of a folder, loaded with that.
local command = require "longhaul.command"
local core = require "longhaul.core"
local experiments = require "longhaul.experiment"
local lists = require "longhaul.run.lists"
local overrides = require "longhaul.overrides"
local plan = require "longhaul.run.plan"
local ranks = require "longhaul.run.ranks"
local scale = require "longhaul.scale"
local script = require "longhaul.script"
local selection = require "longhaul.run.selection"
local summary = require "longhaul.report.summary"

local asked = {}

asked.most_threads = 1024
local most_rounds, most_named = 100, 20

-- ---- options ----

--- Options of all of them: which runs are meant.
asked.options = {
  scale.option,
  { "seeds=", "seeds per row; default: what the script says", "N" },
  command.device_option "cpu, or cuda where built",
  { "only=", "only rows with this in label or dataset, or LABEL/DATASET; may be repeated", "TEXT",
    repeats = true },
  { "set=", "change options of these rows: model.window=64, task. or train.; may be repeated",
    "KIND.OPTION=VALUE", repeats = true, alone = "^%a+%.[%w_]+=" },
  { "results=", "folder for results (default results)", "FOLDER" },
  { "sandbox", "for a stranger's script: no files, no programs, bounded memory and time" },
}

--- Options of some.
asked.threads = { "threads=", "processor threads", "N" }
asked.no_timing = { "no-timing", "leave the step times out" }
asked.side_by_side = { "jobs=", "runs side by side, the threads divided; auto: as many as fill them",
  "N|auto" }

--- The options of all, and more.
function asked.with(...)
  return table.move({ ... }, 1, select("#", ...), #asked.options + 1, { table.unpack(asked.options) })
end

local function settings_of(values)
  if values.threads then
    core.set_threads(command.integer(values, "threads", nil, 1, asked.most_threads))
  end
  if values.rounds and values["no-timing"] then
    command.misuse "--rounds times steps, which --no-timing leaves out"
  end
  local set, wrong = overrides.read(values.set)
  if not set then command.misuse("--set: " .. wrong) end
  if lists.has(values.only or {}, "") then command.misuse "--only takes a part of a label or data set" end
  return {
    scale = values.scale or "small", set = set,
    seeds = command.integer(values, "seeds", nil, 1, experiments.most_seeds),
    device = values.device or "cpu",
    only = values.only,
    results = values.results or "results",
    sandbox = values.sandbox,
    force = values.force, rounds = command.integer(values, "rounds", 1, 1, most_rounds),
    no_timing = values["no-timing"], fail_fast = values["fail-fast"],
    keep_checkpoints = values["keep-checkpoints"],
  }
end

local passed_on = { "scale", "seeds", "device", "only", "set", "results" }

--- The words after the program's name that run a script as the command line here says, on so many
--- threads.
function asked.run_words(values, script_path, cores)
  local words = { "run", script_path }
  for _, name in ipairs(passed_on) do
    local given = values[name]
    for _, value in ipairs(type(given) == "table" and given or { given }) do
      words[#words + 1] = "--" .. name .. "=" .. value
    end
  end
  for _, name in ipairs { "sandbox", "keep-checkpoints" } do
    if values[name] then words[#words + 1] = "--" .. name end
  end
  words[#words + 1] = "--threads=" .. cores
  return words
end

--- How many runs go on side by side: nil for one after the other in this process, "auto", or a
--- number.
function asked.jobs(values)
  if not values.jobs or values.jobs == "1" then return nil end
  if ranks.size > 1 then
    command.misuse("--jobs is for one process: ranks train each run together")
  end
  if values.run then command.misuse("--jobs is for a whole plan, --run for one run of it") end
  if (values.device or "cpu") ~= "cpu" then
    command.misuse("--jobs divides the processor; runs on a card go one after the other")
  end
  if values.jobs == "auto" then return "auto" end
  if not math.tointeger(tonumber(values.jobs)) then
    command.misuse(("--jobs takes a number or auto, not '%s'"):format(values.jobs))
  end
  return command.integer(values, "jobs", nil, 1, asked.most_threads)
end

--- The experiment whose plan --plan means: the script's, or one that a run of it runs first.
function asked.planned(values, experiment)
  if not values.plan then return experiment end
  local named = lists.named(plan.all(experiment), values.plan)
  return named or command.misuse(("--plan: the script's charts show no rows of an experiment '%s'"):format(values.plan))
end

-- ---- scripts ----

-- Whether --only means a row of an experiment, or of one that is run before it.
local function means_some(experiment, only)
  for _, each in ipairs(plan.all(experiment)) do
    for _, row in ipairs(each.rows) do
      if selection.means(only, row.label, row.dataset) then return true end
    end
  end
  return false
end

-- "there are: 8, 16 and 3 more", the labels of its rows.
local function labels_of(experiment)
  local labels = lists.set()
  for _, each in ipairs(plan.all(experiment)) do
    for _, row in ipairs(each.rows) do labels:add(row.label) end
  end
  return "there are: " .. summary.first(labels.list, most_named)
end

-- A script without rows may show those of others, or judge claims by what was run before.
local function has_purpose(experiment)
  return #experiment.rows + #experiment.sources + #experiment.claims > 0
end

local function check_given(path)
  if not path then command.misuse "expected one SCRIPT.lua; --help says more" end
end

--- The experiment of a script, and the settings that the command line makes for it.
function asked.script(values, path)
  check_given(path)
  if core.is_folder(path) then error(path .. " is a folder: this command takes one SCRIPT.lua of it", 0) end
  local settings = settings_of(values)
  local experiment = script.load(path, settings)
  if not has_purpose(experiment) then
    error(("%s: the experiment '%s' has no row at scale %s, no other's and no claim: bench:row { ... } adds one")
      :format(path, experiment.name, settings.scale), 0)
  end
  if settings.only and not means_some(experiment, settings.only) then
    error(("no row contains '%s'; %s"):format(table.concat(settings.only, "', nor '"), labels_of(experiment)), 0)
  end
  return experiment, settings
end

-- Whether a file of a folder is a script, not what others include, with something of what is asked for.
local function is_meant(path, settings)
  local experiment = script.value(path, settings)
  return experiment and has_purpose(experiment) and (not settings.only or means_some(experiment, settings.only))
end

-- The scripts of a folder, all read before the first of them is run.
local function scripts_in(folder, values)
  if values.run or values.plan then command.misuse "--run and --plan take one SCRIPT.lua, not a folder of them" end
  local settings, list = settings_of(values), {}
  for _, name in ipairs(core.list_folder(folder)) do
    local path = ("%s/%s"):format(folder, name)
    if name:find "%.lua$" and is_meant(path, settings) then list[#list + 1] = path end
  end
  if #list == 0 then
    error(("%s: no script there has a row at scale %s that is asked for"):format(folder, settings.scale), 0)
  end
  return list
end

--- Calls `act(path)` for each script that the command line names, one or those of a folder by their names, until one
--- gives true.
function asked.each_script(values, rest, act)
  check_given(rest[1])
  local path = script.find(rest[1])
  local paths = core.is_folder(path) and scripts_in(path:gsub("/+$", ""), values) or { rest[1] }
  for i, one in ipairs(paths) do
    if #paths > 1 and ranks.first then io.stderr:write(("%s (%d of %d)\n"):format(one, i, #paths)) end
    if act(one) then return end
  end
end

return asked

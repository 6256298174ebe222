-- results: what can be done with a folder of results.
local command = require "longhaul.command"
local merge = require "longhaul.run.merge"
local migrate = require "longhaul.run.migrate"
local pack = require "longhaul.report.pack"
local query = require "longhaul.report.query"
local quote = require "longhaul.run.quote"
local scale = require "longhaul.scale"
local script = require "longhaul.script"
local tensorboard = require "longhaul.report.tensorboard"

-- The device of the runs that --script is to find.
local of_script = command.device_option "with --script: cpu, or cuda where built"
of_script.with = "script"

local names = { "merge", "migrate", "pack", "tensorboard" }

local actions = {}

function actions.migrate(_, folder, other)
  if other then command.misuse("results migrate takes one FOLDER") end
  for _, line in ipairs(migrate.folder(folder)) do print(line) end
end

function actions.pack(values, from, to, other)
  if not to or other then
    command.misuse("results pack takes the folder of an experiment and the one to pack it into")
  end
  local made, notes
  if values.script then
    local settings = { scale = values.scale or "small", device = values.device or "cpu", results = from }
    made, notes = pack.script(script.load(values.script, settings), settings, to)
    if #made == 0 then error(("%s has no runs of %s"):format(from, values.script), 0) end
  else
    made, notes = pack.folder(from, to)
  end
  for _, path in ipairs(made) do print(path) end
  for _, note in ipairs(notes) do print(note) end
end

function actions.merge(_, ...)
  local sources = { ... }
  if #sources < 2 then
    command.misuse("results merge takes folders of results and, last, the one to merge them into")
  end
  local target = table.remove(sources)
  for _, line in ipairs(merge.folders(sources, target)) do print(line) end
end

function actions.tensorboard(_, from, to, other)
  if not to or other then
    command.misuse("results tensorboard takes a folder of results and the one for event files")
  end
  local paths = tensorboard.write(query.stores(from), to)
  if #paths == 0 then error(from .. ": no run has a curve", 0) end
  print(("%d runs in %s: tensorboard --logdir %s"):format(#paths, to, quote.shell(to)))
end

local function results(values, rest)
  local name = command.one_of("action", rest[1] or "", names)
  if values.script and name ~= "pack" then command.misuse "--script is said of results pack" end
  if not rest[2] then
    command.misuse(("results %s takes folders; `longhaul results --help`"):format(name))
  end
  for i, folder in ipairs(rest) do rest[i] = folder:gsub("(.)/+$", "%1") end
  actions[name](values, table.unpack(rest, 2))
end

return {
  {
    name = "results", takes = function(before) return #before == 0 and names or nil end,
    summary = "merge folders of results, bring one up to date, pack it or export its curves",
    options = {
      { "script=", "pack: of the results folder FROM only what this script would run today", "SCRIPT.lua" },
      { "scale=", "with --script: " .. scale.option[2], "SCALE", words = scale.names, with = "script" },
      of_script,
    },
    most = math.huge, run = results,
    usage = "results merge FROM ... TO | results migrate FOLDER | results pack FROM TO [--script SCRIPT.lua] "
      .. "| results tensorboard FROM TO",
    description = "merge: brings the runs of several folders (results, or results/EXPERIMENT) together "
      .. "in TO, which need not be there: runs by their ids, curves, probes, kept weights and step times. What TO has "
      .. "stays, but for a failed run that is finished elsewhere; of two finished runs of one id with other scores or "
      .. "ends a note names both. `longhaul table` makes the tables again.\n"
      .. "migrate: gives the runs of an older longhaul in FOLDER (results, or results/EXPERIMENT) what newer "
      .. "ones have: a configuration, and step times in timings.csv where it is certain whose they are. Tables show "
      .. "such runs as stale. The old file stays as runs.csv.v1.\n"
      .. "pack: copies results/EXPERIMENT as it is kept for good, CSV alone: the curves of all "
        .. "runs in curves.csv, what "
      .. "models said of themselves in probes.csv. Everything reads both forms. With --script FROM and TO are results "
      .. "folders, and only runs that the script would have today are copied, in its order: its trials, what its "
      .. "charts show, and its own. What was packed into TO before stays there: of two finished runs of one "
      .. "id with other scores or ends the first, which a note names, and tables of another scale under its name.\n"
      .. "tensorboard: writes the curves of all runs in FROM, and their results as test/NAME, as event files that "
      .. "TensorBoard reads, a folder in TO for each run.",
  },
}

-- results: what can be done with a folder of results.
local command = require "longhaul.command"
local merge = require "longhaul.run.merge"
local migrate = require "longhaul.run.migrate"
local pack = require "longhaul.run.pack"

local names = { "merge", "migrate", "pack" }

local actions = {}

function actions.migrate(folder, other)
  if other then command.misuse("results migrate takes one FOLDER") end
  for _, line in ipairs(migrate.folder(folder)) do print(line) end
end

function actions.pack(from, to, other)
  if not to or other then
    command.misuse("results pack takes the folder of an experiment and the one to pack it into")
  end
  for _, path in ipairs(pack.folder(from, to)) do print(path) end
end

function actions.merge(...)
  local sources = { ... }
  if #sources < 2 then
    command.misuse("results merge takes folders of results and, last, the one to merge them into")
  end
  local target = table.remove(sources)
  for _, line in ipairs(merge.folders(sources, target)) do print(line) end
end

local function results(_, rest)
  local name = command.one_of("action", rest[1] or "", names)
  if not rest[2] then
    command.misuse(("results %s takes folders; `longhaul results --help`"):format(name))
  end
  for i, folder in ipairs(rest) do rest[i] = folder:gsub("(.)/+$", "%1") end
  actions[name](table.unpack(rest, 2))
end

return {
  {
    name = "results", takes = function() return names end,
    summary = "merge folders of results, bring one up to date, or pack it",
    options = {},
    most = math.huge, run = results,
    usage = "results merge FROM ... TO | results migrate FOLDER | results pack FROM TO",
    description = "merge: brings the runs of several folders (results, or results/EXPERIMENT) together\n"
      .. "in TO, which need not be there: runs by their ids, curves, probes, kept weights and step times. What TO has\n"
      .. "stays, but for a failed run that is finished elsewhere; `longhaul table` makes the tables again.\n"
      .. "migrate: gives the runs of an older longhaul in FOLDER (results, or results/EXPERIMENT) what newer\n"
      .. "ones have: a configuration, and step times in timings.csv where it is certain whose they are. Tables show\n"
      .. "such runs as stale. The old file stays as runs.csv.v1.\n"
      .. "pack: copies results/EXPERIMENT as it is kept for good, CSV alone: the curves of all "
        .. "runs in curves.csv, what\n"
      .. "models said of themselves in probes.csv. Everything reads both forms.",
  },
}

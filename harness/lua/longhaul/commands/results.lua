-- results: what can be done with a folder of results.
local command = require "longhaul.command"
local migrate = require "longhaul.run.migrate"
local pack = require "longhaul.run.pack"

local actions = {}

function actions.migrate(folder, other)
  if other then command.misuse("results migrate takes one FOLDER") end
  for _, line in ipairs(migrate.folder(folder)) do print(line) end
end

function actions.pack(from, to)
  if not to then
    command.misuse("results pack takes the folder of an experiment and the one to pack it into")
  end
  for _, path in ipairs(pack.folder(from, to)) do print(path) end
end

local function results(_, rest)
  local action = actions[rest[1] or ""]
  if not action or not rest[2] then
    command.misuse("results takes `migrate FOLDER` or `pack FOLDER FOLDER`; `longhaul results --help`")
  end
  for i, folder in ipairs(rest) do rest[i] = folder:gsub("(.)/+$", "%1") end
  action(rest[2], rest[3])
end

return {
  {
    name = "results", summary = "bring a folder of results up to date, or pack it", options = {},
    most = 3, run = results,
    usage = "results migrate FOLDER | results pack FROM TO",
    description = "migrate: gives the runs of an older longhaul in FOLDER (results, or results/EXPERIMENT) what newer\n"
      .. "ones have: a configuration, and step times in timings.csv where it is certain whose they are. Tables show\n"
      .. "such runs as stale. The old file stays as runs.csv.v1.\n"
      .. "pack: copies results/EXPERIMENT as it is kept for good, CSV alone: the curves of all "
        .. "runs in curves.csv, what\n"
      .. "models said of themselves in probes.csv. Everything reads both forms.",
  },
}

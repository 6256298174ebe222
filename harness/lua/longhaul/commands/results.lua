-- results: what can be done with a folder of results.
local command = require "longhaul.command"

local actions = {
  migrate = function(folder)
    for _, line in ipairs(require("longhaul.migrate").folder(folder)) do print(line) end
  end,
}

local function results(_, rest)
  local action = actions[rest[1] or ""]
  if not action or not rest[2] then command.misuse("results takes `migrate FOLDER`; `longhaul results --help`") end
  action((rest[2]:gsub("(.)/+$", "%1")))
end

return {
  {
    name = "results", summary = "bring a folder of results up to date", options = {}, most = 2, run = results,
    usage = "results migrate FOLDER",
    description = "migrate: gives the runs of an older longhaul in FOLDER (results, or results/EXPERIMENT) what newer\n"
      .. "ones have: a configuration, and step times in timings.csv where it is certain whose they are. Tables show\n"
      .. "such runs as stale. The old file stays as runs.csv.v1.",
  },
}

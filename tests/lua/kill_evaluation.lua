-- Runs a script's experiment at smoke and dies by SIGKILL in the final evaluation, between its
-- splits.
--   longhaul lua tests/lua/kill_evaluation.lua SCRIPT RESULTS
local core = require "longhaul.core"
local runner = require "longhaul.run.runner"
local script = require "longhaul.script"

local path, folder = ...
local open = core.session

-- The methods belong to all sessions.
function core.session(spec)
  local session = open(spec)
  local methods = getmetatable(session).__index
  local evaluate = methods.evaluate
  function methods.evaluate(self, split)
    if split == "test" then os.execute "kill -9 $PPID" end
    return evaluate(self, split)
  end
  return session
end

runner.run(script.load(path, { scale = "smoke" }),
  { results = folder, scale = "smoke", device = "cpu", no_timing = true })

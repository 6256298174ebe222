-- Experiment scripts: found, run with random numbers that do not change from run to run, and
-- checked; our own library whatever lies beside them.
local core = require "longhaul.core"
local experiment = require "longhaul.experiment"
local loader = require "longhaul.loader"
local match = require "longhaul.match"
local overrides = require "longhaul.overrides"
local place = require "longhaul.report.place"
local sandbox = require "longhaul.sandbox"
local scale = require "longhaul.scale"
local spec = require "longhaul.spec"
local step_match = require "longhaul.run.step_match"

local script = {}

-- Lua 5.4 seeds itself from the clock; a script that shuffles gets the same order every time.
local function fixed_random() math.randomseed(1, 1) end

--- Finds a script as given, else among those that come with the program.
function script.find(path)
  if core.exists(path) then return path end
  return path:sub(1, 1) ~= "/" and place.find(path) or path
end

-- What scripts call of an experiment, then of a spec.
local methods = { "row", "seeds", "table", "plot", "fit", "best_at", "sample", "claim", "with", "option", "spelled" }

-- What a call of ours makes of a value that no field of it describes is said at the script's line, and a method
-- that is not there with the one that was meant.
local function at_script(message)
  if type(message) ~= "string" then return message end
  local method = message:match "attempt to call a nil value %(method '([%w_]+)'%)$"
  -- of another object the list would be wrong
  if method then return message .. (core.did_you_mean(method, methods):match "^ %b()" or "") end
  local line = spec.line()
  local is_ours = message:find "^harness/[%w_/]+%.lua:%d+: " and line ~= ""
  return is_ours and ("%s: %s"):format(line, message) or message
end

local function run_file(run)
  local good, value = xpcall(run, at_script)
  if not good then error(value, 0) end
  return value
end

local function checked(value)
  if not experiment.is(value) then return nil end
  value:check()
  return value
end

--- Runs a Lua file and gives the experiment that it returns; nil where it returns something else,
--- as a file does that others include. `settings`: scale, device, set (what overrides.read gave), only,
--- sandbox.
function script.value(path, settings)
  scale.set(settings.scale)
  step_match.device = settings.device or "cpu"
  match.forget()
  overrides.set(settings.set, settings.only)
  fixed_random()
  sandbox.bound_examples(settings.sandbox)
  local run = loader.begin(script.find(path), settings.sandbox and sandbox.globals())
  if not settings.sandbox then return checked(run_file(run)) end
  return sandbox.call(checked, sandbox.taken(sandbox.call(run_file, run)))
end

--- Runs the script and gives the experiment that it returns.
function script.load(path, settings)
  local value = script.value(path, settings)
  if not value then
    error(("%s: a script ends with `return` and its experiment"):format(path), 0)
  end
  return value
end

return script

-- Loads experiment scripts: a strict environment, our own library whatever lies beside the script,
-- and random numbers that do not change from run to run.
local core = require "longhaul.core"
local experiment = require "longhaul.experiment"
local sandbox = require "longhaul.sandbox"

local spec = require "longhaul.spec"

local script = {}

-- Lua 5.4 seeds itself from the clock; a script that shuffles gets the same order every time.
local function fixed_random() math.randomseed(1, 1) end

-- What scripts see, and how the file that is run is called: directly, or within bounds.
local globals, call = _G, function(f) return f() end

-- Reading or writing a name that nobody declared is a mistake, reported at its line.
local function environment()
  return setmetatable({}, {
    __index = function(_, name)
      local value = globals[name]
      if value == nil then error(("undefined global '%s'"):format(name), 2) end
      return value
    end,
    __newindex = function(_, name)
      error(("assignment to undefined global '%s'; write local"):format(name), 2)
    end,
  })
end

--- Finds a script as given, else under the installed share folder.
function script.find(path)
  if core.exists(path) then return path end
  local installed = core.machine().share .. "/" .. path
  return core.exists(installed) and installed or path
end

local function run_file(path)
  local chunk, message = loadfile(path, "t", environment())
  if not chunk then error(message, 0) end
  return chunk()
end

-- The folder of the file that runs, how many files wait for it, and what includes gave.
local folder, waiting, included = ".", 0, {}

local most_waiting = 50
local under_way = {} -- in place of a value

local function folder_of(path) return path:match("^(.*)/[^/]*$") or "." end

--- Used by lh.include: the value of a file, by its path from the file that includes it, run once.
function script.include(name)
  local from, path = folder, folder .. "/" .. name
  if included[path] == under_way or waiting == most_waiting then
    spec.fail(("include: %s includes itself"):format(path))
  end
  if included[path] == nil then
    folder, included[path], waiting = folder_of(path), under_way, waiting + 1
    included[path] = run_file(path)
    folder, waiting = from, waiting - 1
  end
  return included[path]
end

--- Runs a Lua file and gives the experiment that it returns; nil where it returns something else, as a file does that
--- others include.
function script.value(path, settings)
  local file = script.find(path)
  require("longhaul").configure(settings)
  fixed_random()
  folder, waiting, included = folder_of(file), 0, {}
  globals, call = _G, function(f) return f() end
  if settings.sandbox then globals, call = sandbox.globals(), sandbox.call end
  local value = call(function() return run_file(file) end)
  if not experiment.is(value) then return nil end
  value:check()
  if settings.sandbox then sandbox.guard(value) end
  return value
end

--- Runs the script and gives the experiment that it returns.
function script.load(path, settings)
  local value = script.value(path, settings)
  if not value then error(("%s: a script ends with `return` and its experiment"):format(path), 0) end
  return value
end

return script

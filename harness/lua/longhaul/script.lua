-- Loads experiment scripts: a strict environment, our own library whatever lies beside the script,
-- and random numbers that do not change from run to run.
local core = require "longhaul.core"
local experiment = require "longhaul.experiment"

local script = {}

-- Lua 5.4 seeds itself from the clock; a script that shuffles gets the same order every time.
local function fixed_random() math.randomseed(1, 1) end

-- Reading or writing a name that nobody declared is a mistake, reported at its line.
local function environment()
  return setmetatable({}, {
    __index = function(_, name)
      local value = _G[name]
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

-- The folder of the file that runs, and what includes gave.
local folder, included = ".", {}

local function folder_of(path) return path:match("^(.*)/[^/]*$") or "." end

--- Used by lh.include: the value of a file, by its path from the file that includes it, run once.
function script.include(name)
  local from, path = folder, folder .. "/" .. name
  if included[path] == nil then
    folder = folder_of(path)
    included[path] = run_file(path)
    folder = from
  end
  return included[path]
end

--- Runs a Lua file and gives the experiment that it returns; nil where it returns something else, as a file does that
--- others include.
function script.value(path, settings)
  local file = script.find(path)
  require("longhaul").configure(settings)
  fixed_random()
  folder, included = folder_of(file), {}
  local value = run_file(file)
  return experiment.is(value) and value or nil
end

--- Runs the script and gives the experiment that it returns.
function script.load(path, settings)
  local value = script.value(path, settings)
  if not value then error(("%s: a script ends with `return` and its experiment"):format(path), 0) end
  return value
end

return script

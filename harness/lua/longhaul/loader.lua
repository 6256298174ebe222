-- Runs the Lua files of a script: in a strict environment, each that it includes once.
local core = require "longhaul.core"
local spec = require "longhaul.spec"

local loader = {}

-- What the files see: the globals that loader.begin was given, or all.
local globals = _G

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

--- Begins a script: the function that runs its file, which sees `seen` (nil: all globals).
function loader.begin(path, seen)
  globals, folder, waiting, included = seen or _G, folder_of(path), 0, {}
  return function() return run_file(path) end
end

--- The path of a file by its place beside the file that runs.
function loader.beside(name)
  if name:find "^/" or folder == "." then return name end
  return folder .. "/" .. name
end

-- Steps into the folder of a file that is included, and out again when it has ended, be it by an
-- error that somebody catches.
local function step_into(path)
  local from = folder
  folder, included[path], waiting = folder_of(path), under_way, waiting + 1
  return setmetatable({}, { __close = function()
    folder, waiting = from, waiting - 1
    if included[path] == under_way then included[path] = nil end
  end })
end

--- Used by lh.include: the value of a file, by its path from the file that includes it, run once.
function loader.include(name)
  spec.check_text("include", "the path of a Lua file", name)
  local path = folder .. "/" .. name
  if included[path] == under_way or waiting == most_waiting then
    spec.fail(("include: %s includes itself"):format(path))
  end
  if included[path] == nil then
    if not core.exists(path) then spec.fail(("include: there is no file %s"):format(path)) end
    local _ <close> = step_into(path)
    included[path] = run_file(path)
  end
  return included[path]
end

--- Used by lh.include_each: the values of the files of this name in all folders beside the file that
--- includes them, in the order of the folders.
function loader.include_each(name)
  spec.check_text("include_each", "the path of a Lua file", name)
  local values = {}
  for _, inner in ipairs(core.list_folder(folder)) do
    local path = inner .. "/" .. name
    if core.exists(folder .. "/" .. path) then values[#values + 1] = loader.include(path) end
  end
  return values
end

return loader

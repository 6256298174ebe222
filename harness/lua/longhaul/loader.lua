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

-- The folder of the file that runs, and what includes gave, by what all paths of a file share.
local folder, included = ".", {}

local under_way = {} -- in place of a value

local function folder_of(path) return path:match("^(.*)/[^/]*$") or "." end

-- Runs a file in its folder, and steps out again when it has ended, be it by an error that somebody catches.
local function run_included(path, file)
  local from = folder
  folder, included[file] = folder_of(path), under_way
  local _ <close> = setmetatable({}, { __close = function()
    folder = from
    if included[file] == under_way then included[file] = nil end
  end })
  included[file] = { run_file(path) }
end

--- Begins a script: the function that runs its file, which sees `seen` (nil: all globals).
function loader.begin(path, seen)
  globals, folder, included = seen or _G, folder_of(path), {}
  included[core.file_identity(path) or path] = under_way
  return function() return run_file(path) end
end

--- The path of a file by its place beside the file that runs.
function loader.beside(name)
  if name:find "^/" or folder == "." then return name end
  return folder .. "/" .. name
end

--- Used by lh.include: the value of a file, by its path from the file that includes it, run once whatever path it is
--- included by.
function loader.include(name)
  spec.check_text("include", "the path of a Lua file", name)
  local path = folder .. "/" .. name
  local file = core.file_identity(path)
  if not file then spec.fail(("include: there is no file %s"):format(path)) end
  if included[file] == under_way then spec.fail(("include: %s includes itself"):format(path)) end
  if not included[file] then run_included(path, file) end
  return included[file][1]
end

--- Used by lh.include_each: the values of the files of this name in all folders beside the file that
--- includes them, in the order of the folders.
function loader.include_each(name)
  spec.check_text("include_each", "the path of a Lua file", name)
  local values = {}
  for _, inner in ipairs(core.list_folder(folder .. "/")) do
    local path = inner .. "/" .. name
    if core.exists(folder .. "/" .. path) then values[#values + 1] = loader.include(path) end
  end
  return values
end

return loader

-- Scripts of strangers. An experiment script is a program and may do what its user may; with
-- --sandbox it has the language and the library alone: no files but those that it includes, no
-- processes, no modules, no bytecode, no metatables, and bounds on instructions, memory and
-- processor time, also for the functions that it leaves in its experiment and for files of examples
-- that it names. What it gives back is copied: no function of it reaches what the library keeps.
local core = require "longhaul.core"
local longhaul = require "longhaul"

local sandbox = {}

--- The bounds on a call.
sandbox.million_instructions, sandbox.mebibytes, sandbox.seconds = 500, 512, 60

local functions = { "assert", "error", "ipairs", "next", "pairs", "pcall", "print", "rawequal",
  "rawlen", "select", "tonumber",
  "tostring", "type" }
local libraries = { "coroutine", "math", "string", "table", "utf8" }

-- A table of the library for reading: the same functions, in tables that the script does not get
-- hold of.
local function sealed(original)
  local inner = {}
  for key, value in next, original do
    inner[key] = type(value) == "table" and sealed(value) or value
  end
  setmetatable(inner, getmetatable(original)) -- which tells names that are not there
  return setmetatable({}, {
    __index = inner, __len = function() return #inner end, __metatable = false,
    __newindex = function(_, name)
      error(("'%s' of the library cannot be changed"):format(tostring(name)), 2)
    end,
    __pairs = function()
      local key
      return function()
        local value
        key, value = next(inner, key)
        return key, value
      end
    end,
  })
end

-- The one module that there is.
local function only_module()
  local library = sealed(longhaul)
  return function(name)
    if name == "longhaul" then return library end
    error(("the sandbox has the module longhaul, not '%s'"):format(tostring(name)), 2)
  end
end

-- Instructions are not counted in a message handler, which runs before the stack is unwound; here
-- it runs behind it.
local function xpcall_unwound(f, handler, ...)
  local results = table.pack(pcall(f, ...))
  if results[1] then return table.unpack(results, 1, results.n) end
  return false, handler(results[2])
end

--- What a script in the sandbox sees: copies, so that it changes nothing that the library uses.
function sandbox.globals()
  local seen = { require = only_module(), xpcall = xpcall_unwound, _VERSION = _VERSION }
  for _, name in ipairs(functions) do seen[name] = _G[name] end
  for _, name in ipairs(libraries) do
    seen[name] = {}
    for key, value in pairs(_G[name]) do seen[name][key] = value end
  end
  seen.string.dump = nil
  return seen
end

--- f(...) within the bounds.
function sandbox.call(f, ...)
  return core.bounded(sandbox.million_instructions, sandbox.mebibytes, sandbox.seconds, f, ...)
end

--- Puts files of examples that are opened from now on within the bounds or, with false, within those of files
--- that are trusted.
function sandbox.bound_examples(bounded)
  if not bounded then return core.bound_examples() end
  core.bound_examples(sandbox.million_instructions, sandbox.mebibytes, sandbox.seconds)
end

-- A value with copies of all tables that it leads to, and its functions as `wrap` gives them.
local function copied(value, wrap)
  local copies, waiting = {}, {}
  local function copy_of(inner)
    if type(inner) == "function" then return wrap(inner) end
    if type(inner) ~= "table" then return inner end
    if not copies[inner] then
      copies[inner] = setmetatable({}, debug.getmetatable(inner))
      waiting[#waiting + 1] = inner
    end
    return copies[inner]
  end
  local copy = copy_of(value)
  while #waiting > 0 do
    local inner = table.remove(waiting)
    for key, field in next, inner do rawset(copies[inner], copy_of(key), copy_of(field)) end
  end
  return copy
end

local function as_it_is(f) return f end

-- A function of a script: it is shown copies, too.
local function bounded(f)
  return function(...)
    local shown = copied(table.pack(...), as_it_is)
    return sandbox.taken(sandbox.call(f, table.unpack(shown, 1, shown.n)))
  end
end

--- What a script gave, for the library to keep: nothing that the script can still change, and its
--- functions within the bounds.
function sandbox.taken(...)
  local values = copied(table.pack(...), bounded)
  return table.unpack(values, 1, values.n)
end

return sandbox

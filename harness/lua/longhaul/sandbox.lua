-- Scripts of strangers. An experiment script is a program and may do what its user may; with
-- --sandbox it has the language and the library alone: no files but those that it includes, no
-- processes, no modules, no bytecode, no metatables, and bounds on instructions, memory and
-- processor time, also for the functions that it leaves in its experiment.
local core = require "longhaul.core"
local longhaul = require "longhaul"

local sandbox = {}

--- The bounds on a call.
sandbox.million_instructions, sandbox.mebibytes, sandbox.seconds = 500, 512, 60

local functions = { "assert", "error", "ipairs", "next", "pairs", "pcall", "print", "rawequal",
  "rawlen", "select", "tonumber",
  "tostring", "type" }
local libraries = { "coroutine", "math", "string", "table", "utf8" }

-- The one module that there is.
local function require_longhaul(name)
  if name ~= "longhaul" then
    error(("the sandbox has the module longhaul, not '%s'"):format(tostring(name)), 2)
  end
  return longhaul
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
  local seen = { require = require_longhaul, xpcall = xpcall_unwound, _VERSION = _VERSION }
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

local function guarded(f)
  return function(...) return sandbox.call(f, ...) end
end

--- Puts the functions that a value holds, in tables of tables, within the bounds.
function sandbox.guard(value)
  local waiting, seen = { value }, { [value] = true }
  while #waiting > 0 do
    local current = table.remove(waiting)
    for key, inner in next, current do
      if type(inner) == "function" then
        rawset(current, key, guarded(inner))
      elseif type(inner) == "table" and not seen[inner] then
        seen[inner] = true
        waiting[#waiting + 1] = inner
      end
    end
  end
end

return sandbox

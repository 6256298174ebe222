-- An experiment script of a stranger with any bytes, in the sandbox: refused, or an experiment that
-- can be listed.
local core = require "longhaul.core"
local sandbox = require "longhaul.sandbox"
local script = require "longhaul.script"
local refused = dofile "tests/fuzz/refused.lua"

core.setup_options()
sandbox.million_instructions, sandbox.mebibytes = 2, 64

local function ignore() end

return function(bytes, folder)
  local path = folder .. "/script.lua"
  local file = assert(io.open(path, "wb"))
  file:write(bytes)
  file:close()
  _G.print = ignore -- nobody reads it
  refused(script.value, path, { scale = "smoke", sandbox = true })
end

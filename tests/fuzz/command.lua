-- A file that a command reads (by the first byte: which) with any bytes behind: refused by its
-- name, or read.
local refused = dofile "tests/fuzz/refused.lua"
local core = require "longhaul.core"
core.setup_options()
core.setup_sessions()

local function find(group, name)
  for _, entry in ipairs(require("longhaul.commands." .. group)) do
    if entry.name == name then return entry.run end
  end
end

local forward, dilation = find("models", "forward"), find("dilation", "dilation")

local function values_of(input, path, out)
  local values = { model = "lstm", options = "width=2 hidden=2", vocabulary = "16", out = out,
    segment = "4" }
  values[input] = path
  return values
end

-- The file's name and what reads it.
local kinds = {
  [0] = { "tokens.txt", function(path, out) forward(values_of("ids", path, out)) end },
  { "tokens.npy", function(path, out) forward(values_of("ids", path, out)) end },
  { "series.csv", function(path) dilation({}, { path }) end },
  { "bytes", function(path) dilation({ lags = "20" }, { path }) end },
}

local function ignore() end

return function(bytes, folder)
  local kind = kinds[(bytes:byte() or 0) % (#kinds + 1)]
  local path = folder .. "/" .. kind[1]
  local file = assert(io.open(path, "wb"))
  file:write(bytes:sub(2))
  file:close()
  _G.print = ignore -- nobody reads it
  local read, message = refused(kind[2], path, folder .. "/out.npy")
  assert(read or message:find(path, 1, true) or message:find "^forward: ",
    "a refusal does not name its file: " .. tostring(message))
end

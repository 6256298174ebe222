-- Writes a C file that holds Lua sources: lua5.4 scripts/embed.lua OUT.c FILE.lua ...
-- harness/lua/longhaul/init.lua becomes module longhaul, x.lua there longhaul.x, harness/ROOM/x.lua
-- longhaul.ROOM.x, datasets/sources.lua longhaul.sources, and what was made in the folder of the build
-- BUILD/harness/lua/x.lua longhaul.x.

local out_path = arg[1]

local function module_of(path)
  local name = path:match("^harness/lua/longhaul/(.*)%.lua$")
  if name == "init" then return "longhaul" end
  if name then return "longhaul." .. name:gsub("/", ".") end
  name = path:match("^harness/(.*)%.lua$")
  if name then return "longhaul." .. name:gsub("/", ".") end
  name = path:match("^datasets/(.*)%.lua$")
  if name then return "longhaul." .. name end
  name = path:match("/harness/lua/([%w_]+)%.lua$")
  if name then return "longhaul." .. name end
  error("no module name for " .. path)
end

local function bytes_of(text)
  local lines = {}
  for start = 1, #text, 24 do
    local bytes = { text:byte(start, math.min(start + 23, #text)) }
    lines[#lines + 1] = "    " .. table.concat(bytes, ", ") .. ","
  end
  return table.concat(lines, "\n")
end

local parts = { '#include "harness/lua/bind.h"\n' }
local rows = {}
for i = 2, #arg do
  local file <close> = assert(io.open(arg[i], "rb"))
  local text = file:read("a")
  assert(load(text, "@" .. arg[i]))
  parts[#parts + 1] = ("static const unsigned char file_%d[] = {\n%s\n};\n"):format(i,
    bytes_of(text))
  rows[#rows + 1] = ('    {"%s", "%s", file_%d, sizeof file_%d},'):format(module_of(arg[i]), arg[i],
    i, i)
end
parts[#parts + 1] = "const lh_lua_file lh_lua_embedded[] = {\n" .. table.concat(rows, "\n")
  .. "\n    {NULL, NULL, NULL, 0},\n};\n"

-- A disk that is full may be noticed as late as when the file is closed.
local out = assert(io.open(out_path, "w"))
assert(out:write(table.concat(parts, "\n")))
assert(out:close())

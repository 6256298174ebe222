-- Writes what the contract says of each kernel as a Lua module, for `longhaul describe`:
-- lua5.4 scripts/kernels-module.lua OUT.lua HEADER ...
-- A header of kernels/contract lists its kernels as LH_KERNEL(name, dtypes); what one takes is the
-- struct lh_<name>_args, and the comment above that struct is what it promises.

local out_path = arg[1]

-- The lines of a comment without its marks.
local function plain(comment)
  local lines = {}
  for line in (comment .. "\n"):gmatch("([^\n]*)\n") do
    lines[#lines + 1] = line:gsub("^ ?%* ?", "")
  end
  return table.concat(lines, "\n"):match("^%s*(.-)%s*$")
end

-- The comment that ends right above position `at`; "" where there is none. Its end is looked for first: one pattern for
-- both ends would try every pair of them.
local function comment_above(text, at)
  local before = text:sub(1, at - 1):gsub("%s+$", "")
  if before:sub(-2) ~= "*/" then return "" end
  return plain(before:sub(before:match ".*()/%*" + 2, -3))
end

-- What a kernel promises: what stands above its struct; a gradient's, where nothing does, is that of
-- its forward kernel; else what the header is about.
local function promise(text, at, name, known)
  local own = comment_above(text, at)
  if own ~= "" then return own end
  return known[name:gsub("_backward$", "_forward")] or plain(text:match "^/%*(.-)%*/")
end

local function read(path)
  local file <close> = assert(io.open(path))
  local text = file:read("a")
  local family, kernels, known = path:match("([%w_]+)%.h$"), {}, {}
  for workspace, name, dtypes in text:gmatch("\nLH_KERNEL(_?W?)%(([%w_]+), ([^\n]*)%)") do
    local at, members = text:match("\n()typedef struct lh_" .. name .. "_args {\n(.-)\n}")
    if not at then error(("%s: kernel %s has no struct lh_%s_args"):format(path, name, name)) end
    known[name] = promise(text, at, name, known)
    kernels[#kernels + 1] = { name = name, family = family, header = path, says = known[name],
      arguments = members:gsub("\n    ", "\n"):gsub("^    ", ""),
      workspace = workspace ~= "", bf16 = dtypes ~= "LH_REAL" }
  end
  return kernels
end

local lines = { "return {" }
for i = 2, #arg do
  for _, kernel in ipairs(read(arg[i])) do
    lines[#lines + 1] = ("  { name = %q, family = %q, header = %q, says = %q, arguments = %q, "
      .. "workspace = %s, bf16 = %s },"):format(kernel.name, kernel.family, kernel.header,
      kernel.says, kernel.arguments, kernel.workspace, kernel.bf16)
  end
end
lines[#lines + 1] = "}\n"
-- A disk that is full may be noticed as late as when the file is closed.
local out = assert(io.open(out_path, "w"))
assert(out:write(table.concat(lines, "\n")))
assert(out:close())

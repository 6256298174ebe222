-- Who may include whom. Arrows run one way; what is not allowed here is an error.
local tree = dofile "tests/lint/tree.lua"

-- The first matching folder counts. Each entry of `may` is a folder, or one header.
local rules = {
  { "kernels/", may = { "kernels/" } },
  { "harness/engine/", may = { "kernels/", "harness/engine/" } },
  { "models/layers/", may = { "kernels/base.h", "harness/engine/", "models/layers/" } },
  { "models/", may = { "kernels/base.h", "harness/engine/", "models/" } },
  { "datasets/", may = { "kernels/base.h", "kernels/random.h", "harness/engine/", "datasets/" } },
  { "harness/train/", may = { "kernels/base.h", "kernels/random.h", "kernels/device.h",
    "harness/engine/", "harness/train/", "datasets/" } },
  { "harness/run/", may = { "kernels/base.h", "kernels/device.h", "harness/engine/",
    "harness/train/", "harness/run/" } },
  { "harness/", may = { "kernels/base.h", "kernels/device.h", "harness/", "models/",
    "datasets/" } },
  { "tests/", may = { "kernels/", "harness/", "models/", "datasets/", "tests/" } },
}

-- A library is used behind one wall.
local libraries = {
  { "^cblas", "kernels/", "harness/run/rate.c" }, { "^openblas", "kernels/" },
  { "^lua", "harness/lua/", "harness/main.c" }, { "^lauxlib", "harness/lua/", "harness/main.c" },
  { "^sentencepiece", "datasets/" }, { "^zlib", "datasets/" }, { "^mpi", "harness/run/" }, { "^nccl", "harness/run/" },
}

local function rule_of(path)
  for _, rule in ipairs(rules) do
    if path:sub(1, #rule[1]) == rule[1] then return rule end
  end
end

local function allowed(prefixes, name, first)
  for i = first, #prefixes do
    if name:sub(1, #prefixes[i]) == prefixes[i] then return true end
  end
  return false
end

local function check_own(path, number, header)
  local rule = rule_of(path)
  if not header:find("/", 1, true) then
    tree.offence(path, number, 'include "%s" from the root of the tree', header)
  elseif rule and not allowed(rule.may, header, 1) then
    tree.offence(path, number, "%s must not include %s; it may include %s", rule[1], header,
      table.concat(rule.may, ", "))
  end
end

local function check_library(path, number, header)
  for _, library in ipairs(libraries) do
    if header:find(library[1]) and not path:find("^tests/") and not allowed(library, path, 2) then
      tree.offence(path, number, "<%s> is for %s only", header, table.concat(library, ", ", 2))
    end
  end
end

for _, path in ipairs(tree.files("c h inc cc cu cuh")) do
  for number, line in ipairs(tree.lines(path)) do
    local own = line:match('^%s*#%s*include%s+"(.-)"')
    local library = line:match("^%s*#%s*include%s+<(.-)>")
    if own then check_own(path, number, own) end
    if library then check_library(path, number, library) end
  end
end
tree.finish()

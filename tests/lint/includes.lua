-- Who may include whom. Arrows run one way between rooms and between files, where a header and the
-- source of its name are one; what is not allowed here is an error.
local tree = dofile "tests/lint/tree.lua"

-- datasets/<name>/ may include the files that lie in datasets/ itself, and the rooms `over` which
-- it stands.
local function room(name, ...)
  local own = name == "" and "datasets/" or ("datasets/%s/"):format(name)
  local may = { "kernels/base.h", "kernels/random.h", "harness/engine/", "datasets/digest.h",
    "datasets/locate.h", "datasets/unpack.h", name ~= "" and own or nil }
  for _, below in ipairs { ... } do may[#may + 1] = ("datasets/%s/"):format(below) end
  return { own, may = may }
end

-- The first matching folder counts. Each entry of `may` is a folder, or one header.
local rules = {
  { "kernels/", may = { "kernels/" } },
  { "harness/engine/", may = { "kernels/", "harness/engine/" } },
  { "harness/ops/", may = { "kernels/", "harness/engine/", "harness/ops/" } },
  { "models/", may = { "kernels/base.h", "harness/engine/", "harness/ops/", "models/" } },
  -- Rooms of data, each over those before it: what is generated, tokens, and what is read from
  -- files.
  room("generate"), room("tokens"), room("text", "generate", "tokens"), room("series", "generate"),
  room("images", "generate"), room(""),
  { "harness/train/", may = { "kernels/base.h", "kernels/random.h", "kernels/device.h",
    "harness/engine/", "harness/ops/", "harness/train/" } },
  { "harness/infer/", may = { "kernels/base.h", "kernels/random.h", "harness/engine/", "harness/ops/",
    "harness/train/", "harness/infer/" } },
  { "harness/tasks/", may = { "kernels/base.h", "kernels/random.h", "harness/engine/",
    "harness/ops/",
    "harness/train/", "harness/infer/", "harness/tasks/", "datasets/" } },
  { "harness/run/", may = { "kernels/base.h", "kernels/device.h", "harness/engine/",
    "harness/train/", "harness/run/" } },
  { "harness/bench/", may = { "kernels/base.h", "kernels/device.h", "kernels/cost/", "harness/" } },
  { "harness/", may = { "kernels/base.h", "kernels/device.h", "harness/", "models/",
    "datasets/" } },
  { "tests/", may = { "kernels/", "harness/", "models/", "datasets/", "tests/" } },
}

-- What a room must not reach, not even through the headers that it may include.
local hidden = {
  { "models/", "kernels/kernels.h" }, { "models/", "kernels/contract/" },
  { "models/", "harness/engine/record.h" },
}

-- A library is used behind one wall.
local libraries = {
  { "^cblas", "kernels/cpu/blas.h", "kernels/backends.c", "harness/bench/rate.c" }, { "^openblas", "kernels/" },
  { "^oneapi/dnnl", "kernels/product.c" },
  { "^lua", "harness/lua/", "harness/main.c", "harness/tasks/lua_" },
  { "^lauxlib", "harness/lua/", "harness/main.c", "harness/tasks/lua_" },
  { "^sentencepiece", "datasets/" }, { "^zlib", "datasets/" }, { "^mpi", "harness/run/" },
  { "^nccl", "harness/run/" },
}

-- A family's parts are its own: of models/ it sees itself and what families share.
for folder in io.popen("ls -d models/*/ 2>/dev/null"):lines() do
  table.insert(rules, 1, { folder, may = { "kernels/base.h", "harness/engine/", "harness/ops/",
    "models/layers/", folder } })
end

-- Circles of files that are still there: the list may only shrink.
local known_circles = {}
-- Headers whose name is there twice: the list may only shrink.
local known_names = {}

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

-- What a folder keeps to itself; tests may look.
local function check_private(path, number, header)
  local folder = header:match "^(.*/)[^/]*_inside%.h$"
  if folder and path:sub(1, #folder) ~= folder and not path:find "^tests/" then
    tree.offence(path, number, "%s is for the files of %s alone", header, folder)
  end
end

-- graph[module][other]: the line of the module's first file that includes it.
local function check_files(graph)
  for _, path in ipairs(tree.files "c h inc cc cu cuh") do
    local module = path:match "^(.*)%."
    graph[module] = graph[module] or {}
    for number, line in ipairs(tree.lines(path)) do
      local own = line:match '^%s*#%s*include%s+"(.-)"'
      local library = line:match "^%s*#%s*include%s+<(.-)>"
      if own then
        check_own(path, number, own)
        check_private(path, number, own)
        local other = own:match "^(.*)%." or own
        graph[module][other] = graph[module][other] or { path, number }
      end
      if library then check_library(path, number, library) end
    end
  end
  return graph
end

-- Sets of modules each of which leads to all others (Tarjan 1972), as sorted lists.
local function circles_of(graph)
  local number, lowest, stack, waits, circles = {}, {}, {}, {}, {}
  local count = 0
  local function close(module)
    local circle
    repeat
      local top = table.remove(stack)
      waits[top] = false
      circle = circle or {}
      circle[#circle + 1] = top
    until top == module
    table.sort(circle)
    if #circle > 1 then circles[#circles + 1] = circle end
  end
  local function visit(module)
    count = count + 1
    number[module], lowest[module], waits[module] = count, count, true
    stack[#stack + 1] = module
    for _, other in ipairs(tree.keys(graph[module] or {})) do
      if not number[other] then visit(other) end
      if waits[other] then lowest[module] = math.min(lowest[module], lowest[other]) end
    end
    if lowest[module] == number[module] then close(module) end
  end
  for _, module in ipairs(tree.keys(graph)) do
    if not number[module] then visit(module) end
  end
  return circles
end

-- A list of exceptions: report(key, value) for what is not in it. What it has and nobody needs is
-- an offence, too.
local function except(known, found, is_here, report)
  local unused = {}
  for _, key in ipairs(known) do unused[key] = is_here(key) end
  for _, key in ipairs(tree.keys(found)) do
    if unused[key] == nil then report(key, found[key]) end
    unused[key] = nil
  end
  for _, key in ipairs(tree.keys(unused)) do
    if unused[key] then
      tree.offence("tests/lint/includes.lua", 1, "'%s' is gone: take it from the list", key)
    end
  end
end

local function check_circles(graph)
  local found = {}
  for _, circle in ipairs(circles_of(graph)) do found[table.concat(circle, " ")] = circle end
  local function is_here(key) return graph[key:match "^%S+"] ~= nil end
  except(known_circles, found, is_here, function(key, circle)
    for _, other in ipairs(circle) do
      local at = graph[circle[1] ][other]
      if at then tree.offence(at[1], at[2], "a circle of files: %s", key) end
    end
  end)
end

-- Of headers of others, which have their names; they are found by angle brackets.
local function stands_in(path) return path:find "^tests/nccl/" or path:find "^tests/cudasim/include/" end

local function check_names()
  local first, found = {}, {}
  for _, path in ipairs(tree.files "h cuh") do
    local name = stands_in(path) and path or path:match "[^/]+$"
    if first[name] then found[name] = path end
    first[name] = first[name] or path
  end
  local function is_here(name) return first[name] ~= nil end
  except(known_names, found, is_here, function(name, path)
    tree.offence(path, 1, "the name of %s, too: one of them needs another", first[name])
  end)
end

-- The way by which a file comes to a header whose path begins with `prefix`, or nil.
local function way(path, prefix, seen)
  if seen[path] then return nil end
  seen[path] = true
  for _, line in ipairs(tree.lines(path)) do
    local header = line:match '^%s*#%s*include%s+"(.-)"'
    if header and header:sub(1, #prefix) == prefix then return header end
    local rest = header and way(header, prefix, seen)
    if rest then return header .. ", " .. rest end
  end
end

local function check_hidden()
  for _, path in ipairs(tree.files "c h") do
    for _, rule in ipairs(hidden) do
      local found = path:sub(1, #rule[1]) == rule[1] and way(path, rule[2], {})
      if found then tree.offence(path, 1, "comes to what %s must not see: %s", rule[1], found) end
    end
  end
end

check_circles(check_files {})
check_hidden()
check_names()
tree.finish()

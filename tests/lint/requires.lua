-- Which Lua module may require which: arrows run one way between rooms, wherever in a file a module
-- is required, and no module requires itself over others.
local tree = dofile "tests/lint/tree.lua"

-- Room and modules; the first that matches counts. A room may use itself and those above it in this
-- list.
local rooms = {
  { "base", "^longhaul%.core$", "^longhaul%.kernels$", "^longhaul%.sources$", "^longhaul%.run%.quote$",
    "^longhaul%.run%.csv$",
    "^longhaul%.run%.metrics$", "^longhaul%.run%.quantity$" },
  { "run", "^longhaul%.run%." },
  { "bench", "^longhaul%.bench%." },
  { "report", "^longhaul%.report%." },
  { "lua", "^longhaul" },
}

-- A registry requires what lies in its folder by names that it makes: longhaul.report.kinds those
-- of report/charts.
local registries = {
  ["longhaul.report.kinds"] = "^longhaul%.report%.charts%.",
  ["longhaul.main"] = "^longhaul%.commands%.",
  ["longhaul.commands.new"] = "^longhaul%.skeletons%.",
}

local function room_of(module)
  for place, room in ipairs(rooms) do
    for i = 2, #room do
      if module:find(room[i]) then return place end
    end
  end
end

-- As scripts/embed.lua names them.
local function module_of(path)
  local name = path:match "^harness/lua/(longhaul/.*)%.lua$" or path:match "^harness/(.*)%.lua$"
    or path:match "^datasets/(.*)%.lua$"
  name = name:gsub("/init$", ""):gsub("/", ".")
  return name:match "^longhaul" and name or "longhaul." .. name
end

-- What no file here is: the C half, and what the build makes.
local made = { ["longhaul.core"] = true, ["longhaul.kernels"] = true }

-- The modules that a file requires: { module =, line = } each.
local function requires_of(path, module, modules)
  local list = {}
  for number, line in ipairs(tree.lines(path)) do
    local code = line:gsub("%-%-.*$", "")
    for name in code:gmatch 'require%s*%(?%s*"([%w_.]+)"' do
      list[#list + 1] = { module = name, line = number }
    end
    local computed = code:find "require%s*%(%s*[^%s\"]" and not code:find "function require"
    if computed and not registries[module] then
      tree.offence(path, number,
        "a computed name: only a registry requires what lies in its folder (tests/lint/requires.lua)")
    end
    for other in pairs(computed and registries[module] and modules or {}) do
      if other:find(registries[module]) then list[#list + 1] = { module = other, line = number } end
    end
  end
  return list
end

local modules, edges = {}, {}
for _, path in ipairs(tree.files("lua", "harness datasets")) do
  if not path:find "^harness/lua/meta/" then modules[module_of(path)] = path end
end

local names = tree.keys(modules)
for _, module in ipairs(names) do
  local path = modules[module]
  edges[module] = requires_of(path, module, modules)
  for _, edge in ipairs(edges[module]) do
    local from, to = room_of(module), room_of(edge.module)
    if not modules[edge.module] and not made[edge.module] then
      tree.offence(path, edge.line, "there is no module %s", edge.module)
    elseif to > from then
      tree.offence(path, edge.line, "%s (%s) must not require %s (%s)", module, rooms[from][1],
        edge.module, rooms[to][1])
    end
  end
end

-- ---- circles ----

-- Walks from a module along what it requires; `way` are the modules that led here.
local state = {}
local function walk(module, way)
  state[module], way[#way + 1] = "open", module
  for _, edge in ipairs(edges[module] or {}) do
    if state[edge.module] == "open" then
      local first = #way
      while way[first] ~= edge.module do first = first - 1 end
      tree.offence(modules[module], edge.line, "a circle: %s -> %s",
        table.concat(way, " -> ", first), edge.module)
    elseif not state[edge.module] then
      walk(edge.module, way)
    end
  end
  state[module], way[#way] = "done", nil
end

for _, module in ipairs(names) do
  if not state[module] then walk(module, {}) end
end
tree.finish()

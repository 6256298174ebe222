-- The papers' predicates: the list of results/published/predicates.csv, its outcomes over the
-- published tables, and, over changed copies of these, those of the same predicates in Python
-- (tests/oracles/predicates.py).
local t = dofile "tests/test.lua"
local copies = dofile "tests/lua/copies.lua"
local csv = require "longhaul.run.csv"
local evidence = require "longhaul.report.evidence"
local metrics = require "longhaul.run.metrics"
local script = require "longhaul.script"

local bench = script.load("experiments/claims.lua",
  { scale = "paper", results = "results", device = "cpu" })
local claims = {}
for _, claim in ipairs(bench.claims) do claims[claim[1]] = claim end

local list = csv.read "results/published/predicates.csv"

t.test("every published predicate is a claim, and no claim is there twice", function()
  t.equal(#list, 86)
  for _, line in ipairs(list) do
    t.check(claims[line.claim_id], line.claim_id .. " is not in experiments/*/claims.lua")
  end
  t.equal(#bench.claims, 86 + 21)
end)

t.test("the page has words for every function of a claim, and none that no claim has", function()
  local wanted, listed = {}, {}
  for _, claim in ipairs(bench.claims) do
    local paper = claim[1]:match "^(.*)_p%d+$"
    local function add(_, text)
      local name = text:match "^([%w_]+)%("
      if not metrics.is_known(name) then wanted[paper .. " " .. name] = true end
    end
    claim.holds:each_cell(add)
    if claim.asks then claim.asks:each_cell(add) end
  end
  for _, line in ipairs((csv.read "results/published/functions.csv")) do
    listed[line.paper .. " " .. line["function"]] = true
  end
  wanted["rsa WINS"] = true -- a count of pairs of cells, which is none
  for name in pairs(wanted) do t.check(listed[name], name .. " is not in results/published/functions.csv") end
  for name in pairs(listed) do t.check(wanted[name], name .. " is in no claim") end
end)

t.test("all predicates say of the published tables what predicates.csv says", function()
  local printed, failing = evidence.printed(), 0
  for _, line in ipairs(list) do
    local outcome = claims[line.claim_id].holds:judge(printed).outcome
    t.check(outcome == (line.holds_in_the_papers_own_tables == "yes"), line.claim_id)
    failing = failing + (outcome and 0 or 1)
  end
  t.equal(failing, 14)
end)

-- Predicates without a cell.
local constant = {
  brt_p064 = true, reformer_p016 = true, reformer_p029 = true, reformer_p043 = true,
  reformer_p067 = true, rsa_p016 = true,
  rsa_p039 = true,
}

-- Decimals that something is rounded to, and the numbers of models and bins that follow a word.
local digits = { [0] = true, [1] = true, [2] = true, [3] = true }

-- The numbers in a predicate's terms, and those in the texts of its cells.
local function numbers_of(part, found)
  if type(part) == "number" then found[part] = true end
  if type(part) ~= "table" then return found end
  for _, inner in ipairs(part.parts or { part.a or false, part.b }) do numbers_of(inner, found) end
  if part.cell then
    for number in part.text:gmatch "%d+" do found[tonumber(number)] = true end
  end
  return found
end

t.test("every bound of a published predicate stands in its translation", function()
  for _, line in ipairs(list) do
    local found = numbers_of(claims[line.claim_id].holds, {})
    for number in line.predicate:gsub("'[^']*'", ""):gsub("[%a_][%w_]*", ""):gmatch "%d+%.?%d*" do
      local value = tonumber(number)
      t.check(constant[line.claim_id] or found[value] or digits[value],
        ("%s lacks %s"):format(line.claim_id, number))
    end
  end
end)

-- ---- copies ----

local function holds(id, source) return claims[id].holds:judge(source).outcome end

-- Of each copy: what every claim's predicate and weaker form say.
local golden = csv.read "tests/golden/predicates.csv"
local outcomes = {}
for copy = 0, #golden[1].outcomes - 1 do
  local source = copies.source(copies.values(copy))
  outcomes[copy] = { holds = {}, direction = {} }
  for id, claim in pairs(claims) do
    outcomes[copy].holds[id] = claim.holds:judge(source).outcome
    outcomes[copy].direction[id] = claim.direction and claim.direction:judge(source).outcome
  end
end

t.test("over copies with other numbers they say what the same predicates in Python say", function()
  t.equal(#golden, 86)
  t.equal(#outcomes, 239)
  for copy = 0, #outcomes do
    for _, line in ipairs(golden) do
      local wanted = line.outcomes:sub(copy + 1, copy + 1) == "1"
      t.check(outcomes[copy].holds[line.claim_id] == wanted,
        ("%s on copy %d"):format(line.claim_id, copy))
    end
  end
end)

-- Weaker forms that do not follow from the printed ones: a small error against another model's.
local of_its_own = { staircase_p018 = true, staircase_p022 = true, staircase_p023 = true,
  reformer_p040 = true }

-- What a claim's weaker form is weaker than: what its sentence asks, where a paper prints the cells,
-- else the predicate of the list.
local function strict(id, source)
  local asks = claims[id].asks
  local outcome = asks and asks:judge(source).outcome
  if outcome == nil then return holds(id, source) end
  return outcome
end

-- Bounds too far from the printed numbers for a copy to lie between; both forms are made by one
-- function.
local far = { staircase_p032 = true, rsa_p018 = true }

t.test("a weaker form holds where the printed one does, also elsewhere, and not everywhere", function()
  local also, not_everywhere, count = {}, {}, 0
  for copy = 0, 239 do
    local source = copies.source(copies.values(copy))
    for id, claim in pairs(claims) do
      local weaker = claim.direction and claim.direction:judge(source).outcome
      if weaker == false then not_everywhere[id] = true end
      if weaker and not strict(id, source) then also[id] = true end
      t.check(weaker ~= false or of_its_own[id] or not strict(id, source),
        ("%s holds on copy %d, its weaker form does not"):format(id, copy))
    end
  end
  for _, line in ipairs(list) do
    local id = line.claim_id
    if claims[id].direction then
      count = count + 1
      t.check(far[id] or also[id] and not_everywhere[id], id .. ": "
        .. (also[id] and "holds everywhere" or "is no weaker"))
    end
  end
  t.equal(count, 25)
end)

t.test("a cached staircase that is level with Feedback is not far behind it", function()
  local function asked(bits, time)
    local source = evidence.printed()
    function source:mean(cell)
      local is_bits, is_cached = cell.metric == "bits_per_byte", cell.row:find "^cached" ~= nil
      if is_bits then return is_cached and bits or 2 end
      return is_cached and time or 1
    end
    return claims.staircase_p030.asks:judge(source).outcome
  end
  t.equal(asked(2, 0.5), true)
  t.equal(asked(2.09, 0.5), true)
  t.equal(asked(2.11, 0.5), false)
  t.equal(asked(2, 1.5), false)
end)

t.test("the copies and edges bring out both outcomes of every predicate that reads a number", function()
  local seen = {}
  for _, line in ipairs(golden) do
    for outcome in line.outcomes:gmatch "." do seen[line.claim_id .. outcome] = true end
  end
  for _, line in ipairs((csv.read "tests/golden/predicate_edges.csv")) do
    seen[line.claim_id .. "0"], seen[line.claim_id .. "1"] = true, true
  end
  for _, line in ipairs(list) do
    local both = seen[line.claim_id .. "0"] and seen[line.claim_id .. "1"]
    t.check(both or constant[line.claim_id], line.claim_id .. " has one outcome only")
  end
end)

t.test("their outcomes turn where those in Python do, number by number", function()
  local base = {}
  for _, line in ipairs((csv.read "tests/golden/predicate_edges.csv")) do
    base[line.copy] = base[line.copy] or copies.values(tonumber(line.copy))
    local values = setmetatable({}, { __index = base[line.copy] })
    for index, units in line.changes:gmatch "(%d+)=(%d+)" do
      copies.set(values, tonumber(index), tonumber(units))
    end
    for side, wanted in pairs { units = line.holds == "yes", units_beyond = line.holds ~= "yes" } do
      copies.set(values, tonumber(line.cell), tonumber(line[side]))
      t.check(holds(line.claim_id, copies.source(values)) == wanted,
        ("%s, copy %s, cell %s = %s units"):format(line.claim_id, line.copy, line.cell, line[side]))
    end
  end
end)

t.finish()

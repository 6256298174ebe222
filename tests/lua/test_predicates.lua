-- The papers' predicates: the list of results/published/predicates.csv, its outcomes over the published tables, and, over
-- changed copies of these, those of the same predicates in Python (tests/oracles/predicates.py).
local t = dofile "tests/test.lua"
local core = require "longhaul.core"
local csv = require "longhaul.csv"
local evidence = require "longhaul.report.evidence"
local published = require "longhaul.report.published"
local script = require "longhaul.script"

local bench = script.load("experiments/claims.lua", { scale = "paper", results = "results", device = "cpu" })
local claims = {}
for _, claim in ipairs(bench.claims) do claims[claim[1]] = claim end

local list = csv.read "results/published/predicates.csv"

t.test("every published predicate is a claim, and no claim is there twice", function()
  t.equal(#list, 86)
  for _, line in ipairs(list) do
    t.check(claims[line.claim_id], line.claim_id .. " is not in experiments/*/claims.lua")
  end
  t.equal(#bench.claims, 86 + 18)
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
  brt_p064 = true, reformer_p016 = true, reformer_p029 = true, reformer_p043 = true, reformer_p067 = true, rsa_p016 = true,
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
      t.check(constant[line.claim_id] or found[value] or digits[value], ("%s lacks %s"):format(line.claim_id, number))
    end
  end
end)

-- ---- copies, as tests/oracles/predicates.py makes them ----

local shares, reaches = { 1, 2, 4, 8, 16, 32, 64 }, { 1, 2, 4, 8, 20, 60, 200, 1000 }
local mask = 0xFFFFFFFF

local function draw(copy, cell, salt)
  local x = (copy * 0x9E3779B1 + cell * 0x85EBCA77 + salt * 0xC2B2AE3D + 1) & mask
  x = ((x ~ x >> 16) * 0x85EBCA6B) & mask
  x = ((x ~ x >> 13) * 0xC2B2AE35) & mask
  return x ~ x >> 16
end

-- Digits behind the point of a printed number; 1.75e8 has -6.
local function decimals(text)
  local number, exponent = text:match "^([%d.]+)e?(%d*)$"
  return #(number:match "%.(%d*)" or "") - (math.tointeger(exponent) or tonumber(exponent) or 0)
end

-- The tables, and their printed numbers from 0, in the order of the files' names and lines.
local tables, cells = {}, {}

local function read_table(name)
  local records = published.records(name)
  tables[#tables + 1] = name
  for i, record in ipairs(records) do
    local text = record.value
    if text:match "^%d+$" or text:match "^%d+%.%d+$" or text:match "^%d+%.?%d*e%d+$" then
      local group = table.concat({ record.paper, record.table, record.metric }, "\n")
      cells[cells[0] and #cells + 1 or 0] = { table = name, line = i, text = text, group = group }
    end
  end
end

local files = core.list_folder "results/published"
table.sort(files)
for _, file in ipairs(files) do
  if file:match "_table%d%.csv$" then read_table(file:match "^(.*)%.csv$") end
end

local digits_of = {}
for i = 0, #cells do
  local cell = cells[i]
  digits_of[cell.group] = math.max(digits_of[cell.group] or -99, decimals(cell.text))
end

local function scale(cell) return 10.0 ^ math.abs(digits_of[cell.group]) end

local function of_units(cell, units)
  if digits_of[cell.group] >= 0 then return units / scale(cell) end
  return units * scale(cell)
end

local function units_of(cell)
  local value = tonumber(cell.text)
  value = digits_of[cell.group] >= 0 and value * scale(cell) or value / scale(cell)
  return math.tointeger(tonumber(("%.0f"):format(value)))
end

local function value_of(index, copy)
  local cell = cells[index]
  if copy == 0 or draw(copy, index, 0) % shares[copy % #shares + 1] ~= 0 then return tonumber(cell.text) end
  local reach = reaches[copy // #shares % #reaches + 1]
  local moved = units_of(cell) + draw(copy, index, 1) % (2 * reach + 1) - reach
  return of_units(cell, math.max(units_of(cell) > 0 and 1 or 0, moved))
end

-- The records of a table with other values: changed[line] of this table.
local originals = {}
for _, name in ipairs(tables) do originals[name] = published.records(name) end

local function changed_table(name, values)
  local records = {}
  for i, record in ipairs(originals[name]) do
    records[i] = values[i] and setmetatable({ value = values[i] }, { __index = record }) or record
  end
  return published.of(records)
end

-- Values by table and line: all cells of a copy.
local function values_of(copy)
  local values = {}
  for _, name in ipairs(tables) do values[name] = {} end
  for i = 0, #cells do values[cells[i].table][cells[i].line] = value_of(i, copy) end
  return values
end

local function source_of(values)
  return evidence.printed(function(name) return changed_table(name, values[name]) end)
end

local function holds(id, source) return claims[id].holds:judge(source).outcome end

t.test("over copies with other numbers they say what the same predicates in Python say", function()
  local golden = csv.read "tests/golden/predicates.csv"
  t.equal(#golden, 86)
  for copy = 0, #golden[1].outcomes - 1 do
    local source = source_of(values_of(copy))
    for _, line in ipairs(golden) do
      local wanted = line.outcomes:sub(copy + 1, copy + 1) == "1"
      t.check(holds(line.claim_id, source) == wanted, ("%s on copy %d"):format(line.claim_id, copy))
    end
  end
end)

t.test("the copies and edges bring out both outcomes of every predicate that reads a number", function()
  local seen = {}
  for _, line in ipairs((csv.read "tests/golden/predicates.csv")) do
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
    base[line.copy] = base[line.copy] or values_of(tonumber(line.copy))
    local values = setmetatable({}, { __index = base[line.copy] })
    local function set(index, units)
      local cell = cells[index]
      values[cell.table] = table.move(values[cell.table], 1, #originals[cell.table], 1, {})
      values[cell.table][cell.line] = of_units(cell, units)
    end
    for index, units in line.changes:gmatch "(%d+)=(%d+)" do set(tonumber(index), tonumber(units)) end
    for side, wanted in pairs { units = line.holds == "yes", units_beyond = line.holds ~= "yes" } do
      set(tonumber(line.cell), tonumber(line[side]))
      t.check(holds(line.claim_id, source_of(values)) == wanted,
        ("%s, copy %s, cell %s = %s units"):format(line.claim_id, line.copy, line.cell, line[side]))
    end
  end
end)

t.finish()

-- The published tables with other numbers, as tests/oracles/predicates.py makes them:
--
--   local copies = dofile "tests/lua/copies.lua"
--   local source = copies.source(copies.values(7))
local core = require "longhaul.core"
local csv = require "longhaul.run.csv"
local evidence = require "longhaul.report.evidence"
local published = require "longhaul.report.published"

local copies = {}

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

-- The tables of papers with predicates, and their printed numbers from 0, in the order of the files'
-- names and lines.
local tables, cells, papers = {}, {}, {}
for _, predicate in ipairs((csv.read "results/published/predicates.csv")) do
  papers[predicate.paper] = true
end

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
  local paper = file:match "^(.*)_table%d%.csv$"
  if papers[paper] then read_table(file:match "^(.*)%.csv$") end
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
  if copy == 0 or draw(copy, index, 0) % shares[copy % #shares + 1] ~= 0 then
    return tonumber(cell.text)
  end
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

--- Values by table and line: all cells of a copy; 0 is the tables as printed.
function copies.values(copy)
  local values = {}
  for _, name in ipairs(tables) do values[name] = {} end
  for i = 0, #cells do values[cells[i].table][cells[i].line] = value_of(i, copy) end
  return values
end

--- The evidence of such values.
function copies.source(values)
  return evidence.printed(function(name) return changed_table(name, values[name]) end)
end

--- Sets a cell, by its number, to so many units of its last digit; `values` may share tables with
--- others.
function copies.set(values, index, units)
  local cell = cells[index]
  values[cell.table] = table.move(values[cell.table], 1, #originals[cell.table], 1, {})
  values[cell.table][cell.line] = of_units(cell, units)
end

return copies

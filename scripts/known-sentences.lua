-- What conditions of sentences in documents may say (figures-in-docs.lua): the predicates of claims, over columns of
-- the committed tables. Takes the functions of known-figures.lua, which it adds to, and the reader of its tables.
local evidence = require "longhaul.report.evidence"
local lists = require "longhaul.run.lists"
local predicate = require "longhaul.report.predicate"

local known, matching = ...

--- The language of claims: p.less, p.at_most, p.each, p.between, p.greatest and so on.
known.p = predicate

-- ---- columns ----

local function names_in(wanted)
  if type(wanted) ~= "table" then return { wanted } end
  return wanted.but and names_in(wanted.but) or wanted
end

-- A misspelt name would select nothing, and nothing is above or below any bound.
local function check_names(path, where)
  for name, wanted in pairs(where) do
    for _, one in ipairs(names_in(wanted)) do
      if #matching(path, { [name] = one }) == 0 then error(("%s: no %s '%s'"):format(path, name, one), 0) end
    end
  end
end

-- Numbers of two metrics, scales or probes have no mean.
local function check_alike(path, rows)
  for _, name in ipairs { "metric", "scale", "name" } do
    for _, row in ipairs(rows) do
      if row[name] ~= rows[1][name] then error(("%s: choose one %s"):format(path, name), 0) end
    end
  end
end

-- A column: its terms in the order of `labels`, and by label. `make(label)` gives a term or a number.
local function made_of(labels, make)
  local column = { labels = labels, of = {} }
  for i, label in ipairs(labels) do
    column[i] = predicate.named(label, make(label))
    column.of[label] = column[i]
  end
  return column
end

--- A column of a table: a term for each row label, in the order of the table. It is the mean of the numbers that the
--- label has there (of data sets or seeds), or what else `over` makes of them: p.least, p.greatest, seeds(condition).
function known.column(path, where, name, over)
  check_names(path, where)
  local rows, labels, numbers = matching(path, where), lists.set(), {}
  if #rows == 0 then error(path .. ": no row has all these values", 0) end
  check_alike(path, rows)
  for _, row in ipairs(rows) do
    labels:add(row.row)
    numbers[row.row] = numbers[row.row] or {}
    table.insert(numbers[row.row], tonumber(row[name])
      or error(("%s: '%s' has no %s"):format(path, row.row, name), 0))
  end
  return made_of(labels.list, function(label) return (over or predicate.mean)(numbers[label]) end)
end

local function term_of(column, label)
  return column.of[label] or error(("no row '%s' in this column"):format(label), 0)
end

--- Of the rows of a column, what `make` gives for its number and that of another column: their difference or ratio.
function known.joined(column, other, make)
  return made_of(column.labels, function(label) return make(column.of[label], term_of(other, label)) end)
end

-- The terms of some labels, and those of all others.
local function part(column, labels)
  local terms, others, named = {}, {}, lists.set(labels).has
  for i, label in ipairs(labels) do terms[i] = term_of(column, label) end
  for i, label in ipairs(column.labels) do
    if not named[label] then others[#others + 1] = column[i] end
  end
  return terms, others
end

-- ---- orders ----

local function ordered(column, labels, before)
  local terms, others = part(column, labels)
  local parts = {}
  for i = 2, #terms do parts[i - 1] = before(terms[i - 1], terms[i]) end
  for _, other in ipairs(others) do parts[#parts + 1] = before(terms[#terms], other) end
  return predicate.all(parts)
end

--- These rows, in this order, are the lowest of a column.
function known.lowest(column, labels) return ordered(column, labels, predicate.less) end

--- These rows, in this order, are the highest of a column.
function known.highest(column, labels)
  return ordered(column, labels, function(a, b) return predicate.less(b, a) end)
end

--- Which row of a column one is, from the lowest.
function known.place(column, label)
  return 1 + known.number(column, known.below(term_of(column, label)))
end

-- ---- conditions of one number ----

-- A condition gives the predicate that a number meets it or, with `met` false, the opposite one.

function known.below(bound)
  return function(number, met) return met and predicate.less(number, bound) or predicate.at_most(bound, number) end
end

function known.above(bound)
  return function(number, met) return met and predicate.less(bound, number) or predicate.at_most(number, bound) end
end

function known.within(low, high)
  return function(number, met)
    if met then return predicate.between(low, number, high) end
    return predicate.any { predicate.less(number, low), predicate.less(high, number) }
  end
end

--- These rows of a column meet a condition, and no others do.
function known.only(column, labels, condition)
  local terms, others = part(column, labels)
  local parts = {}
  for _, term in ipairs(terms) do parts[#parts + 1] = condition(term, true) end
  for _, other in ipairs(others) do parts[#parts + 1] = condition(other, false) end
  return predicate.all(parts)
end

--- All rows of a column meet a condition.
function known.every(column, condition) return known.only(column, column.labels, condition) end

local printed = evidence.printed()

--- How many rows of a column meet a condition.
function known.number(column, condition)
  local count = 0
  for _, number in ipairs(column) do
    if condition(number, true):judge(printed).outcome then count = count + 1 end
  end
  return count
end

--- For a column of runs: how many of a row's seeds meet a condition.
function known.seeds(condition)
  return function(numbers) return known.number(numbers, condition) end
end

-- ---- the sentence ----

local function said(name, value) return tonumber(name) and name or ("%s (%.6g)"):format(name, value) end

--- Why a condition does not hold, nil where it does: the comparison that it fails by, or what is no number.
function known.refusal(condition)
  if not predicate.is(condition) then error("a condition is a predicate, as p.less(a, b)", 0) end
  local judgement = condition:judge(printed)
  if judgement.verdict == "holds" then return nil end
  local leaf, lack = judgement.closest, judgement.lacking[1]
  if not leaf then return ("%s: %s"):format(lack[1], lack[2]) end
  return ("%s %s %s"):format(said(leaf.names[1], leaf.a), leaf.sign, said(leaf.names[2], leaf.b))
end

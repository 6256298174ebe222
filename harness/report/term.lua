-- Terms of predicates: cells of a paper's tables and what is reckoned from them, as in `B(m, d) -
-- B(n, d)`. A term is an
-- expression, not a number: it is worked out over a source of cells, which knows the published values or the measured
-- ones, of all seeds together or of a single one.
local class = require "longhaul.run.class"

local term = {}

---@class longhaul.term
local Term = {}

local operators = {}
local terms = class.new("longhaul.term", Term, operators)

--- Whether a value is a term.
term.is = terms.is

local function text_of(part)
  if term.is(part) then return part.text end
  return type(part) == "number" and ("%.10g"):format(part) or tostring(part)
end

-- `compute` is called with the numbers of `parts`, which are terms or numbers. What moves in steps is
-- a side of a comparison: within a term nothing would tell how near the next step is (chance.lua).
local function made_of(text, parts, compute)
  for _, part in ipairs(parts) do
    if not term.is(part) and type(part) ~= "number" then
      error(("a term is made of terms and numbers, not of a %s"):format(type(part)), 3)
    end
    if term.is(part) and (part.rounds or part.pairs) then
      error(("'%s' is a side of a comparison, not a part of a term"):format(part.text), 3)
    end
  end
  return terms.make { text = text, parts = parts, compute = compute }
end

--- What a row has of a metric: a table that the source understands, called `text` where verdicts name it.
---@param text string
---@param cell longhaul.cell
---@return longhaul.term
function term.cell(text, cell) return terms.make { text = text, cell = cell } end

--- The number under `value(cell)`; nil where a cell has none.
---@param value fun(cell: table): number?
---@return number?
function Term:at(value)
  if self.cell then return value(self.cell) end
  local numbers = {}
  for i, part in ipairs(self.parts) do
    local number = part
    if term.is(part) then number = part:at(value) end
    if number == nil then return nil end
    numbers[i] = number
  end
  return self.compute(table.unpack(numbers))
end

--- Calls `visit(cell, text)` for every cell of it.
function Term:each_cell(visit)
  if self.cell then return visit(self.cell, self.text) end
  for _, part in ipairs(self.parts) do
    if term.is(part) then part:each_cell(visit) end
  end
end

local function operator(sign, compute)
  return function(a, b) return made_of(("(%s %s %s)"):format(text_of(a), sign, text_of(b)), { a, b }, compute) end
end

operators.__add = operator("+", function(a, b) return a + b end)
operators.__sub = operator("-", function(a, b) return a - b end)
operators.__mul = operator("*", function(a, b) return a * b end)
operators.__div = operator("/", function(a, b) return a / b end)
operators.__pow = operator("^", function(a, b) return a ^ b end)

local function texts_of(parts)
  local texts = {}
  for i, part in ipairs(parts) do texts[i] = text_of(part) end
  return table.concat(texts, ", ")
end

--- The least of several terms.
---@param parts longhaul.term[]
---@return longhaul.term
function term.least(parts) return made_of(("min(%s)"):format(texts_of(parts)), parts, math.min) end

--- The greatest of several terms.
---@param parts longhaul.term[]
---@return longhaul.term
function term.greatest(parts) return made_of(("max(%s)"):format(texts_of(parts)), parts, math.max) end

--- Its absolute value.
---@param part longhaul.term
---@return longhaul.term
function term.abs(part) return made_of(("|%s|"):format(text_of(part)), { part }, math.abs) end

-- To the nearest text of a format: exact ties go to the even digit. `half(value)`: half a unit of its
-- last digit.
local function rounding(text, part, format, half)
  local made = made_of(text, { part }, function(value) return tonumber(format:format(value)) end)
  made.rounds = { part = part, half = half }
  return made
end

--- To so many decimals, as a paper prints a value.
---@param part longhaul.term
---@param decimals integer
---@return longhaul.term
function term.rounded(part, decimals)
  local text = ("round(%s, %d)"):format(text_of(part), decimals)
  return rounding(text, part, ("%%.%df"):format(decimals), function() return 0.5 * 10 ^ -decimals end)
end

--- To so many significant digits.
---@param part longhaul.term
---@param digits integer
---@return longhaul.term
function term.significant(part, digits)
  local text = ("%s to %d digits"):format(text_of(part), digits)
  return rounding(text, part, ("%%.%de"):format(digits - 1), function(value)
    return value == 0 and 0 or 0.5 * 10 ^ (math.floor(math.log(math.abs(value), 10)) - digits + 1)
  end)
end

--- The mean of several terms.
---@param parts longhaul.term[]
---@return longhaul.term
function term.mean(parts)
  return made_of(("mean(%s)"):format(texts_of(parts)), parts, function(...)
    local sum = 0
    for _, number in ipairs { ... } do sum = sum + number end
    return sum / select("#", ...)
  end)
end

--- The same term under a shorter text.
---@param text string
---@param part longhaul.term
---@return longhaul.term
function term.named(text, part) return made_of(text, { part }, function(value) return value end) end

--- In how many of the pairs { a, b } a is below b; with `ties`, or equal to it.
---@param text string
---@param pairs longhaul.term[][]
---@param ties boolean
---@return longhaul.term
function term.wins(text, pairs, ties)
  local parts = {}
  for _, pair in ipairs(pairs) do table.move(pair, 1, 2, #parts + 1, parts) end
  local made = made_of(text, parts, function(...)
    local numbers, count = { ... }, 0
    for i = 1, #numbers, 2 do
      if term.is_win(numbers[i], numbers[i + 1], ties) then count = count + 1 end
    end
    return count
  end)
  made.pairs, made.ties = pairs, ties
  return made
end

--- Whether a pair of numbers is one.
---@param a number
---@param b number
---@param ties boolean
---@return boolean
function term.is_win(a, b, ties) return a < b or (ties and a == b) end

--- The number of a side, a term or a number, under `value(cell)`; nil where a cell has none.
---@param side longhaul.term|number
---@param value fun(cell: table): number?
---@return number?
function term.at(side, value)
  if term.is(side) then return side:at(value) end
  return side
end

term.text = text_of

return term

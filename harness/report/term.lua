-- Terms of predicates: cells of a paper's tables and what is reckoned from them, as in
-- `B(m, d) - B(n, d)`. A term is an expression, not a number: it is worked out over a source of
-- cells, which knows the published values or the measured ones, of all seeds together or of a
-- single one.
local class = require "longhaul.run.class"
local lists = require "longhaul.run.lists"
local script_line = require "longhaul.run.script_line"

local term = {}

---@class longhaul.term
local Term = {}

local operators = {}
local terms = class.new("longhaul.term", Term, operators)

--- Whether a value is a term.
term.is = terms.is

--- What a value is that is neither a term nor a number; nil for these.
function term.refusal(value)
  if term.is(value) then return nil end
  if type(value) ~= "number" then return "a " .. type(value) end
  return value ~= value and "a number that is none (nan)" or nil
end

local function text_of(part)
  if term.is(part) then return part.text end
  return type(part) == "number" and ("%.10g"):format(part) or tostring(part)
end

-- `compute` is called with the numbers of `count` parts, which are terms or numbers. What moves in
-- steps is a side of a comparison: within a term nothing would tell how near the next step is
-- (chance.lua).
local function made_of(text, parts, count, compute)
  for i = 1, count do
    local part = parts[i]
    local other = term.refusal(part)
    if other then script_line.fail(("a term is made of terms and numbers, not of %s"):format(other)) end
    if term.is(part) and (part.rounds or part.pairs) then
      script_line.fail(("'%s' is a side of a comparison, not a part of a term"):format(part.text))
    end
  end
  return terms.make { text = text, parts = parts, compute = compute }
end

-- Of a list: one of nothing would be found out when the claim is judged.
local function made_of_list(name, sign, parts, compute)
  if not lists.is(parts, 1) then script_line.fail(("'%s' takes a list of terms, at least one"):format(name)) end
  local texts = {}
  for i, part in ipairs(parts) do texts[i] = text_of(part) end
  return made_of(("%s(%s)"):format(sign, table.concat(texts, ", ")), parts, #parts, compute)
end

--- What a row has of a metric: a table that the source understands, called `text` where verdicts name it.
---@param text string
---@param cell longhaul.cell
---@return longhaul.term
function term.cell(text, cell) return terms.make { text = text, cell = cell } end

-- The numbers of a term's parts; nil where a cell has none.
local function numbers_of(self, value, means)
  local numbers = {}
  for i, part in ipairs(self.parts) do
    local number = part
    if term.is(part) then number = part:at(value, means) end
    if number == nil then return nil end
    numbers[i] = number
  end
  return numbers
end

--- The number under `value(cell)`; nil where a cell has none. With `means`, another such function, where a
--- term has a corner it is taken on the side of it where that one is: |a| keeps its sign, a least its term.
---@param value fun(cell: table): number?
---@param means? fun(cell: table): number?
---@return number?
function Term:at(value, means)
  if self.cell then return value(self.cell) end
  local numbers = numbers_of(self, value, means)
  if not numbers then return nil end
  if not (means and self.side_of) then return self.compute(table.unpack(numbers)) end
  return self.side_of(numbers_of(self, means, means))(numbers)
end

--- Calls `visit(cell, text)` for every cell of it.
function Term:each_cell(visit)
  if self.cell then return visit(self.cell, self.text) end
  for _, part in ipairs(self.parts) do
    if term.is(part) then part:each_cell(visit) end
  end
end

local function operator(sign, compute)
  return function(a, b) return made_of(("(%s %s %s)"):format(text_of(a), sign, text_of(b)), { a, b }, 2, compute) end
end

operators.__add = operator("+", function(a, b) return a + b end)
operators.__sub = operator("-", function(a, b) return a - b end)
operators.__mul = operator("*", function(a, b) return a * b end)
operators.__div = operator("/", function(a, b) return a / b end)
operators.__pow = operator("^", function(a, b) return a ^ b end)

-- Lua makes of what a comparison gives true or false.
local function no_comparison(call)
  return function(a, b)
    script_line.fail(("a comparison of terms is a predicate: write %s"):format(call:format(text_of(a), text_of(b))))
  end
end

operators.__lt = no_comparison "p.less(%s, %s)"
operators.__le = no_comparison "p.at_most(%s, %s)"

-- A term that is one of its parts, which `choose(...)` gives.
local function chosen_of(name, sign, parts, choose)
  local made = made_of_list(name, sign, parts, choose)
  function made.side_of(numbers)
    local chosen = choose(table.unpack(numbers))
    for i, number in ipairs(numbers) do
      if number == chosen then return function(others) return others[i] end end
    end
    return function(others) return choose(table.unpack(others)) end
  end
  return made
end

--- The least of several terms.
---@param parts longhaul.term[]
---@return longhaul.term
function term.least(parts) return chosen_of("least", "min", parts, math.min) end

--- The greatest of several terms.
---@param parts longhaul.term[]
---@return longhaul.term
function term.greatest(parts) return chosen_of("greatest", "max", parts, math.max) end

--- Its absolute value.
---@param part longhaul.term
---@return longhaul.term
function term.abs(part)
  local made = made_of(("|%s|"):format(text_of(part)), { part }, 1, math.abs)
  function made.side_of(numbers)
    local sign = numbers[1] < 0 and -1 or 1
    return function(others) return sign * others[1] end
  end
  return made
end

local function check_digits(digits, least)
  if not (type(digits) == "number" and math.tointeger(digits) and digits >= least and digits < 100) then
    script_line.fail(("a number has a whole number of digits, not %s"):format(tostring(digits)))
  end
end

-- To the nearest text of a format with so many digits: exact ties go to the even one. `half(value)`:
-- half a unit of the last digit.
local function rounding(text, part, format, half)
  local made = made_of(text, { part }, 1, function(value) return tonumber(format:format(value)) end)
  made.rounds = { part = part, half = half }
  return made
end

--- To so many decimals, as a paper prints a value.
---@param part longhaul.term
---@param decimals integer
---@return longhaul.term
function term.rounded(part, decimals)
  check_digits(decimals, 0)
  local text = ("round(%s, %d)"):format(text_of(part), decimals)
  return rounding(text, part, ("%%.%df"):format(decimals), function() return 0.5 * 10 ^ -decimals end)
end

--- To so many significant digits.
---@param part longhaul.term
---@param digits integer
---@return longhaul.term
function term.significant(part, digits)
  check_digits(digits, 1)
  local text = ("%s to %d digits"):format(text_of(part), digits)
  return rounding(text, part, ("%%.%de"):format(digits - 1), function(value)
    return value == 0 and 0 or 0.5 * 10 ^ (math.floor(math.log(math.abs(value), 10)) - digits + 1)
  end)
end

--- The mean of several terms.
---@param parts longhaul.term[]
---@return longhaul.term
function term.mean(parts)
  return made_of_list("mean", "mean", parts, function(...)
    local sum = 0
    for _, number in ipairs { ... } do sum = sum + number end
    return sum / select("#", ...)
  end)
end

--- The same term under a shorter text.
---@param text string
---@param part longhaul.term
---@return longhaul.term
function term.named(text, part) return made_of(text, { part }, 1, function(value) return value end) end

--- In how many of the pairs { a, b } a is below b; with `ties`, or equal to it.
---@param text string
---@param pairs longhaul.term[][]
---@param ties boolean
---@return longhaul.term
function term.wins(text, pairs, ties)
  local parts = {}
  if not lists.is(pairs, 1) then script_line.fail "'wins' takes a list of pairs { a, b }, at least one" end
  for _, pair in ipairs(pairs) do
    if not lists.is(pair, 2) or #pair > 2 then script_line.fail "'wins': a pair is { a, b }" end
    table.move(pair, 1, 2, #parts + 1, parts)
  end
  local made = made_of(text, parts, #parts, function(...)
    local numbers, count = { ... }, 0
    for i = 1, #numbers, 2 do
      if term.is_win(numbers[i], numbers[i + 1], ties) then count = count + 1 end
    end
    return count
  end)
  made.pairs, made.ties = pairs, ties
  return made
end

-- Whether a pair of numbers is a win.
function term.is_win(a, b, ties) return a < b or (ties and a == b) end

-- The number of a side, a term or a number, as Term:at.
function term.at(side, value, means)
  if term.is(side) then return side:at(value, means) end
  return side
end

term.text = text_of

return term

-- Predicates over terms: comparisons, joined by `all` and `any`. One predicate judges the published
-- tables and what was measured. Judged over measured cells each comparison knows its margin, seed
-- by seed, and whether that decides it.
local class = require "longhaul.run.class"
local chance = require "longhaul.report.chance"
local evidence = require "longhaul.report.evidence"
local lists = require "longhaul.run.lists"
local script_line = require "longhaul.run.script_line"
local statistics = require "longhaul.report.statistics"
local term = require "longhaul.report.term"

local predicate = {
  cell = term.cell, least = term.least, greatest = term.greatest, abs = term.abs,
  rounded = term.rounded,
  significant = term.significant, mean = term.mean, named = term.named, wins = term.wins,
}

---@class longhaul.predicate
local Predicate = {}
local predicates = class.new("longhaul.predicate", Predicate)

--- Whether a value is a predicate.
predicate.is = predicates.is

-- ---- making them ----

local function comparison(sign, a, b, holds, margin)
  local sides = { a, b }
  for i = 1, 2 do
    local side = sides[i]
    local other = term.refusal(side)
    if other then script_line.fail(("a comparison is of terms and numbers, not of %s"):format(other)) end
  end
  return predicates.make { sign = sign, a = a, b = b, holds = holds, margin = margin }
end

local function room(a, b) return b - a end

local printed = evidence.printed()

--- What a paper prints for this cell, in the paper's unit; nil where it prints nothing.
---@param cell longhaul.term
---@return number?
function predicate.printed(cell)
  if not term.is(cell) or not cell.cell then
    script_line.fail(("only of a cell is known what is printed, not of a %s"):format(term.is(cell) and "computed term"
      or type(cell)))
  end
  return printed:mean(cell.cell)
end

--- Whether a paper prints a number for this cell.
---@param cell longhaul.term
---@return boolean
function predicate.is_printed(cell) return predicate.printed(cell) ~= nil end

--- a < b.
---@param a longhaul.term|number
---@param b longhaul.term|number
---@return longhaul.predicate
function predicate.less(a, b)
  return comparison("<", a, b, function(x, y) return x < y end, room)
end

--- a <= b.
---@param a longhaul.term|number
---@param b longhaul.term|number
---@return longhaul.predicate
function predicate.at_most(a, b)
  return comparison("<=", a, b, function(x, y) return x <= y end, room)
end

--- a = b; the margin is how far they are apart, below 0.
---@param a longhaul.term|number
---@param b longhaul.term|number
---@return longhaul.predicate
function predicate.equal(a, b)
  local made = comparison("=", a, b, function(x, y) return x == y end,
    function(x, y) return 0 - math.abs(x - y) end)
  function made.side_of(x, y)
    local sign = x < y and 1 or -1
    return function(u, v) return sign * (u - v) end
  end
  return made
end

local function joined(kind, parts)
  if not lists.is(parts, 1) then script_line.fail(("'%s' takes a list of predicates, at least one"):format(kind)) end
  for _, part in ipairs(parts) do
    if not predicate.is(part) then
      script_line.fail(("'%s' joins predicates, not a %s"):format(kind, type(part)))
    end
  end
  return predicates.make { kind = kind, parts = parts }
end

--- Every part holds.
---@param parts longhaul.predicate[]
---@return longhaul.predicate
function predicate.all(parts) return joined("all", parts) end

--- At least one part holds.
---@param parts longhaul.predicate[]
---@return longhaul.predicate
function predicate.any(parts) return joined("any", parts) end

--- `make(value)` holds for every value of a list.
---@param list any[]
---@param make fun(value: any): longhaul.predicate
---@return longhaul.predicate
function predicate.each(list, make)
  if not lists.is(list, 1) or type(make) ~= "function" then
    script_line.fail "'each' takes a list, at least one, and what makes a predicate of each value"
  end
  local parts = {}
  for i, value in ipairs(list) do parts[i] = make(value) end
  return predicate.all(parts)
end

--- low <= a <= high.
---@param low longhaul.term|number
---@param a longhaul.term
---@param high longhaul.term|number
---@return longhaul.predicate
function predicate.between(low, a, high)
  return predicate.all { predicate.at_most(low, a), predicate.at_most(a, high) }
end

-- `compare(term, the one before it)` holds for all terms but the first.
local function in_order(name, terms, compare)
  local parts = {}
  if not lists.is(terms, 2) then script_line.fail(("'%s' takes a list of terms, at least two"):format(name)) end
  for i = 2, #terms do parts[i - 1] = compare(terms[i], terms[i - 1]) end
  return predicate.all(parts)
end

--- Each term is below the one before it.
---@param terms longhaul.term[]
---@return longhaul.predicate
function predicate.falling(terms) return in_order("falling", terms, predicate.less) end

--- No term is above the one before it.
---@param terms longhaul.term[]
---@return longhaul.predicate
function predicate.not_rising(terms) return in_order("not_rising", terms, predicate.at_most) end

--- Calls `visit(cell, text)` for every cell of it.
function Predicate:each_cell(visit)
  for _, part in ipairs(self.parts or {}) do part:each_cell(visit) end
  for _, side in ipairs { self.a, self.b } do
    if term.is(side) then side:each_cell(visit) end
  end
end

-- ---- one comparison over a source ----

-- Whether it cannot fail: a cell is at most what its metric is at most, an accuracy 100 %.
local function is_bound(self, source)
  local cell = self.sign == "<=" and term.is(self.a) and self.a.cell
  return cell and type(self.b) == "number" and self.b >= source:most(cell)
end

-- The cells of a comparison: their kinds, the values by seed of those that have seeds, and what is
-- lacking.
local function survey(self, source)
  local found = { kinds = {}, by_seed = {}, lacking = {}, cells = {}, seeded = false }
  self:each_cell(function(cell, text)
    found.cells[#found.cells + 1] = cell
    found.kinds[source:kind(cell)] = true
    local seeds = source:seeds(cell)
    if seeds then
      found.by_seed[cell] = seeds
      found.seeded = true
    end
    if source:mean(cell) == nil then
      found.lacking[#found.lacking + 1] = { text, source:lack(cell) }
    end
  end)
  found.seeded = found.seeded and not is_bound(self, source)
  return found
end

-- The medians of step times that cells are made of: their keys, each once.
local function medians_of(source, cells)
  local keys = lists.set()
  for _, cell in ipairs(cells) do
    for _, factor in ipairs(source:quartiles(cell)) do keys:add(factor.key) end
  end
  return keys.list
end

-- How far the margin comes towards 0, or beyond, when every median of step times lies at the worse
-- of its quartiles: two times whose quartiles overlap have a margin within it, and so has a ratio
-- whose baseline may be as much slower.
local function reach_of_quartiles(self, source, cells, value, margin)
  local worst, sign = {}, margin < 0 and -1 or 1
  local function loss(at_quartile)
    local function moved(cell)
      local number = value(cell)
      for _, factor in ipairs(source:quartiles(cell)) do
        number = number * (factor[at_quartile[factor.key]] or 1)
      end
      return number
    end
    return sign * (margin - self.margin(term.at(self.a, moved), term.at(self.b, moved)))
  end
  for _, key in ipairs(medians_of(source, cells)) do
    local most = 0
    for _, quartile in ipairs { "q1", "q3" } do
      local lost = loss { [key] = quartile }
      if lost > most then most, worst[key] = lost, quartile end
    end
  end
  return loss(worst)
end

-- What the step times among cells are worked out with where as many idle rounds have all of them as seeds
-- decide, rounds in place of seeds; nil otherwise: then the quartiles of a round do.
local function over_rounds(source, cells)
  local by_round = {}
  for _, cell in ipairs(cells) do by_round[cell] = source:rounds(cell) end
  if not next(by_round) then return nil end
  local over = chance.over(source, by_round)
  return #over.seeds >= statistics.fewest_seeds and over or nil
end

-- Why means do not decide it; nil where they do.
local function doubt(leaf, level)
  if leaf.reach > 0 and math.abs(leaf.margin) <= leaf.reach then
    return "within the quartiles of the step times"
  end
  if leaf.rounds and leaf.p_value >= level then
    return ("p = %.2g over %d rounds of step times, below %.2g decides"):format(leaf.p_value, leaf.rounds, level)
  end
  if not leaf.seeds then return nil end
  if leaf.seeds < statistics.fewest_seeds then
    return ("%d seed%s, at least %d decide"):format(leaf.seeds, leaf.seeds == 1 and ""
      or "s", statistics.fewest_seeds)
  end
  if leaf.p_value >= level then
    return ("p = %.2g over %d seeds, below %.2g decides"):format(leaf.p_value, leaf.seeds, level)
  end
end

local function word(holds) return holds and "holds" or "fails" end

local function is_number(value) return value == value and math.abs(value) < math.huge end

-- What a comparison says before a level decides it.
local function measure_leaf(self, source)
  local found = survey(self, source)
  local leaf = { kinds = found.kinds, lacking = found.lacking, compared = 1, held = 0,
    text = ("%s %s %s"):format(term.text(self.a), self.sign, term.text(self.b)) }
  local rounds = over_rounds(source, found.cells)
  local over = rounds or chance.over(source, found.seeded and found.by_seed or {})
  local a, b = term.at(self.a, over.value), term.at(self.b, over.value)
  if a == nil or b == nil then return leaf end
  if not is_number(self.margin(a, b)) then
    leaf.lacking = { { leaf.text, "a side is no number, as what is divided by 0" } }
    return leaf
  end
  leaf.a, leaf.b, leaf.sign, leaf.names = a, b, self.sign, { term.text(self.a), term.text(self.b) }
  leaf.outcome, leaf.margin = self.holds(a, b), self.margin(a, b)
  leaf.held = leaf.outcome and 1 or 0
  leaf.has_chance, leaf.closest = rounds ~= nil or found.seeded, leaf
  leaf[rounds and "rounds" or "seeds"] = leaf.has_chance and #over.seeds or nil
  if leaf.has_chance then leaf.error, leaf.p_value = chance.of(self, over, leaf.outcome) end
  leaf.reach = rounds and 0
    or reach_of_quartiles(self, source, found.cells, over.value, leaf.margin)
  leaf.apart = source:apart(found.cells, rounds ~= nil)
  return leaf
end

local function decide_leaf(leaf, levels)
  local held = word(leaf.outcome)
  local level = levels[held] * statistics.share_of_look(leaf.rounds or leaf.seeds or 0, levels.planned)
  leaf.reason = leaf.closest and (doubt(leaf, level) or leaf.apart)
  leaf.verdict = (leaf.reason or not leaf.closest) and "undecided" or held
end

-- ---- joining ----

-- A margin as a share of what is compared, so that bits and milliseconds can stand beside each
-- other.
local function share(leaf)
  local size = math.max(math.abs(leaf.a), math.abs(leaf.b))
  return size > 0 and leaf.margin / size or 0
end

-- The comparison that a joint verdict hangs on: of those with this verdict (else of all) the one
-- with the least margin, or, where one part is enough, with the greatest.
local function closest(parts, verdict, greatest)
  local best, among
  for _, part in ipairs(parts) do
    local leaf, same = part.closest, part.verdict == verdict
    local better = leaf and (not best or same and not among)
    if leaf and not better and same == among and share(leaf) ~= share(best) then
      better = (share(leaf) < share(best)) ~= greatest
    end
    if better then best, among = leaf, same end
  end
  return best
end

-- Three-valued: a decisive part settles it, else an open one leaves it open.
local function settle(parts, field, decisive, open, other)
  local joint = other
  for _, part in ipairs(parts) do
    if part[field] == decisive then return decisive end
    if part[field] == open then joint = open end
  end
  return joint
end

local function gather(joint, part)
  for kind in pairs(part.kinds) do joint.kinds[kind] = true end
  for _, lack in ipairs(part.lacking) do joint.lacking[#joint.lacking + 1] = lack end
  if part.seeds then joint.seeds = math.min(joint.seeds or math.huge, part.seeds) end
  joint.compared, joint.held = joint.compared + part.compared, joint.held + part.held
end

local function measure(self, source)
  if not self.parts then return measure_leaf(self, source) end
  local joint = { parts = {}, all = self.kind == "all", kinds = {}, lacking = {}, compared = 0,
    held = 0 }
  for i, inner in ipairs(self.parts) do
    local part = measure(inner, source)
    joint.parts[i], joint.has_chance = part, joint.has_chance or part.has_chance
    gather(joint, part)
  end
  joint.outcome = settle(joint.parts, "outcome", not joint.all, nil, joint.all)
  if not joint.all then joint.compared, joint.held = 1, joint.outcome and 1 or 0 end
  return joint
end

-- The levels for the parts. Where one part settles it, each of several has its chance to do so
-- wrongly, and they share the level (Bonferroni); where all have to agree, none needs less.
local function levels_of_parts(joint, levels)
  local count, settled = 0, word(not joint.all)
  for _, part in ipairs(joint.parts) do count = count + (part.has_chance and 1 or 0) end
  local made = { holds = levels.holds, fails = levels.fails, planned = levels.planned }
  made[settled] = levels[settled] / math.max(1, count)
  return made
end

local function decide(judgement, levels)
  local parts, all = judgement.parts, judgement.all
  if not parts then return decide_leaf(judgement, levels) end
  local of_parts = levels_of_parts(judgement, levels)
  for _, part in ipairs(parts) do decide(part, of_parts) end
  judgement.verdict = settle(parts, "verdict", word(not all), "undecided", word(all))
  judgement.closest = closest(parts, judgement.verdict, not all)
  judgement.reason = judgement.closest and judgement.closest.reason
end

---@class longhaul.judgement
---@field outcome? boolean of the means over seeds; nil where cells are lacking
---@field verdict "holds"|"fails"|"undecided"
---@field reason? string why it is undecided
---@field closest? table what the verdict hangs on: a, b, sign, margin, error, p_value, seeds or rounds
---@field kinds table<string, boolean> quality, cost, structure
---@field lacking table[] { text, reason } of cells that have no value
---@field seeds? integer the fewest that a comparison of what has seeds had
---@field compared integer
---@field held integer

--- Judges it over a source of cells: an object with mean(cell), seeds(cell) (values by seed, nil
--- for what has none), quartiles(cell) (the medians that a step time is made of: { { key, q1, q3 }
--- ... }, factors; {} for what is none), rounds(cell) (a step time by idle round, nil for what is none),
--- kind(cell), most(cell) (what it is never above), lack(cell) (why it has no value) and apart(cells,
--- by_round) (why they cannot be compared, or nil).
--- `planned` is how many seeds (or rounds of step times) there were to be before anybody looked:
--- statistics.fewest_seeds unless told.
---@param planned? integer
---@return longhaul.judgement
function Predicate:judge(source, planned)
  local judgement = measure(self, source)
  decide(judgement, { holds = statistics.level, fails = statistics.level,
    planned = planned or statistics.fewest_seeds })
  return judgement
end

return predicate

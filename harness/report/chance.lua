-- How likely a comparison over seeds comes out otherwise: what it is worked out with, the standard
-- error of its margin, and the p-value. A side that moves in steps (a rounded number, a count of
-- wins) may look as if no seed mattered; how near the next step is lies in what it is made of.
local statistics = require "longhaul.report.statistics"
local term = require "longhaul.report.term"

local chance = {}

-- The seeds that all cells with seeds share, sorted.
local function shared_seeds(by_seed)
  local count, cells, shared = {}, 0, {}
  for _, values in pairs(by_seed) do
    cells = cells + 1
    for seed in pairs(values) do count[seed] = (count[seed] or 0) + 1 end
  end
  for seed, times in pairs(count) do
    if times == cells then shared[#shared + 1] = seed end
  end
  table.sort(shared)
  return shared
end

-- The mean over seeds; one of them may be left out.
local function mean_over(values, seeds, left_out)
  local sum, count = 0, 0
  for _, seed in ipairs(seeds) do
    if seed ~= left_out then sum, count = sum + values[seed], count + 1 end
  end
  return sum / count
end

---@class longhaul.over_seeds
---@field seeds integer[] that all cells with seeds share
---@field value fun(cell: table): number?
---@field without fun(seed: integer): fun(cell: table): number? `value` over all seeds but one

--- What a comparison is worked out with: of cells with seeds the mean over those that all of them
--- share, so that margin and error are of the same pairs; where they share none, the mean that each
--- has.
---@param by_seed table<table, table<integer, number>> of the cells that have seeds
---@return longhaul.over_seeds
function chance.over(source, by_seed)
  local seeds = shared_seeds(by_seed)
  local function without(left_out)
    return function(cell)
      local mean = source:mean(cell)
      if not mean or not by_seed[cell] or #seeds == 0 then return mean end
      return mean_over(by_seed[cell], seeds, left_out)
    end
  end
  return { seeds = seeds, value = without(nil), without = without }
end

-- A side under `value`, on the side of its corners where the means are: |a - b| by turns of either sign, or now
-- one and now another least of several, would have their scatter cancel, and look as if no seed mattered.
local function at(side, value, over) return term.at(side, value, over.value) end

-- The margin of a comparison as a function of its sides, likewise on the side of its corner where `a` and `b` are.
local function margin_of(comparison, a, b)
  return comparison.side_of and comparison.side_of(a, b) or comparison.margin
end

-- The standard error of what `compute(value)` gives: of the means, since where a term is no sum
-- (|a - b|, the least of several) what single seeds give scatters about another number.
local function error_of(compute, over)
  local left_out = {}
  for i, seed in ipairs(over.seeds) do left_out[i] = compute(over.without(seed)) end
  return statistics.jackknife(left_out) or 0
end

-- Error and p-value of a margin, of which more than 0 is what holds. `met`: 0 does so, too, where
-- the sides are equal in every seed.
local function of_margin(margin, over, met)
  local mean, err = margin(over.value), error_of(margin, over)
  if met and mean == 0 and err == 0 then return 0, 0 end
  return err, statistics.p_value(mean, err, #over.seeds)
end

-- A side before it is rounded, and half a unit of the digit that it is rounded to.
local function before_rounding(side, value, over)
  local rounds = term.is(side) and side.rounds
  if not rounds then return at(side, value, over), 0 end
  local exact = at(rounds.part, value, over)
  return exact, rounds.half(exact)
end

-- The same of both sides of a comparison: their margin, and the greater half.
local function margin_before_rounding(comparison, over)
  local margin = margin_of(comparison, before_rounding(comparison.a, over.value, over),
    (before_rounding(comparison.b, over.value, over)))
  return function(value)
    local a, half_a = before_rounding(comparison.a, value, over)
    local b, half_b = before_rounding(comparison.b, value, over)
    return margin(a, b), math.max(half_a, half_b)
  end
end

-- Of one rounded side: what is equal to two decimals lies within half a hundredth, and so on.
local function of_one_rounded(comparison, over, outcome)
  local exact = margin_before_rounding(comparison, over)
  local function margin(value)
    local room, half = exact(value)
    return room + (comparison.sign == "<" and -half or half)
  end
  local err, p_value = of_margin(margin, over)
  return err, (margin(over.value) > 0) == outcome and p_value or 1
end

-- Of a rounded side: that it stays on the number that it is rounded to.
local function of_place(side, over)
  local place = term.at(side, over.value)
  local sign = before_rounding(side, over.value, over) < place and -1 or 1
  return of_margin(function(value)
    local exact, half = before_rounding(side, value, over)
    return half - sign * (exact - place)
  end, over)
end

-- By how much the difference alone decides how two rounded sides compare, wherever the edges between
-- numbers lie: a <= b are so when rounded, and what is more than a unit apart is unlike.
local function surplus_of(comparison, over, outcome)
  local allows_equality = comparison.sign == "<=" and outcome or comparison.sign == "<" and not outcome
  local exact = margin_before_rounding(comparison, over)
  return function(value)
    local margin, half = exact(value)
    return (outcome and margin or -margin) - (allows_equality and 0 or 2 * half)
  end
end

-- Of two rounded sides: what seeds move both by cancels in the difference, but carries them over an
-- edge. Where the difference does not decide it, each has to stay in its place.
local function of_both_rounded(comparison, over, outcome)
  local surplus = surplus_of(comparison, over, outcome)
  if surplus(over.value) > 0 then return of_margin(surplus, over) end
  local err_a, p_a = of_place(comparison.a, over)
  local err_b, p_b = of_place(comparison.b, over)
  if p_a > p_b then return err_a, p_a end
  return err_b, p_b
end

local function of_rounded(comparison, over, outcome)
  local a, b = comparison.a, comparison.b
  local both = term.is(a) and a.rounds and term.is(b) and b.rounds
  return (both and of_both_rounded or of_one_rounded)(comparison, over, outcome)
end

-- Of each pair: whether it is a win, and how likely it is not so; of one that says nothing a half.
local function judge_pairs(side, over)
  local judged = {}
  for i, pair in ipairs(side.pairs) do
    local function margin(value) return at(pair[2], value, over) - at(pair[1], value, over) end
    local won = term.is_win(term.at(pair[1], over.value), term.at(pair[2], over.value), side.ties)
    local _, p_value = of_margin(margin, over, won)
    judged[i] = { won = won, otherwise = math.min(p_value, 0.5) }
  end
  return judged
end

-- How likely each number of wins is, from 0 on.
local function distribution(judged)
  local likely = { [0] = 1 }
  for i, pair in ipairs(judged) do
    local win = pair.won and 1 - pair.otherwise or pair.otherwise
    likely[i] = 0
    for count = i, 1, -1 do likely[count] = likely[count] * (1 - win) + likely[count - 1] * win end
    likely[0] = likely[0] * (1 - win)
  end
  return likely
end

-- Of a count of wins beside a number: how likely the counts are with which it comes out otherwise.
local function of_wins(comparison, over, outcome)
  local counts_a = term.is(comparison.a) and comparison.a.pairs
  local side = counts_a and comparison.a or comparison.b
  local other = term.at(counts_a and comparison.b or comparison.a, over.value)
  local function holds(count)
    if counts_a then return comparison.holds(count, other) end
    return comparison.holds(other, count)
  end
  local judged, variance, p_value = judge_pairs(side, over), 0, 0
  for _, pair in ipairs(judged) do variance = variance + pair.otherwise * (1 - pair.otherwise) end
  for count, likely in pairs(distribution(judged)) do
    if holds(count) ~= outcome then p_value = p_value + likely end
  end
  return math.sqrt(variance), #over.seeds < statistics.fewest_seeds and 1 or p_value
end

local function has(comparison, field)
  for _, side in ipairs { comparison.a, comparison.b } do
    if term.is(side) and side[field] then return true end
  end
  return false
end

--- The standard error of a comparison's margin, and its p-value.
---@param comparison longhaul.predicate
---@param over longhaul.over_seeds
---@param outcome boolean whether the means have it hold
---@return number err
---@return number p_value
function chance.of(comparison, over, outcome)
  if has(comparison, "pairs") then return of_wins(comparison, over, outcome) end
  if has(comparison, "rounds") then return of_rounded(comparison, over, outcome) end
  local room = margin_of(comparison, term.at(comparison.a, over.value), term.at(comparison.b, over.value))
  local function margin(value) return room(at(comparison.a, value, over), at(comparison.b, value, over)) end
  -- what allows equality is met by sides that are equal in every seed
  return of_margin(margin, over, outcome)
end

return chance

-- Verdicts: what a predicate's comparisons say over seeds, what makes a claim undecided or
-- untested, the file of verdicts and the totals.
local t = dofile "tests/test.lua"
local claims = require "longhaul.report.claims"
local core = require "longhaul.core"
local csv = require "longhaul.run.csv"
local evidence = require "longhaul.report.evidence"
local p = require "longhaul.report.predicate"
local statistics = require "longhaul.report.statistics"
local totals = require "longhaul.report.totals"

-- ---- a source of cells: values by name; a list is one value by seed, a number a cost ----

local function mean_of(list)
  local sum, count = 0, 0
  for _, value in pairs(list) do sum, count = sum + value, count + 1 end
  return sum / count
end

local function source_of(values)
  local source = {}
  function source:mean(cell)
    local value = values[cell.name]
    if type(value) == "table" then return mean_of(value) end
    return value
  end
  function source:seeds(cell)
    return type(values[cell.name]) == "table" and values[cell.name] or nil
  end
  function source:kind(cell) return type(values[cell.name]) == "number" and "cost" or "quality" end
  function source:quartiles(cell)
    local ends = (values.quartiles or {})[cell.name]
    return ends and { { key = cell.name, q1 = ends[1] / values[cell.name],
      q3 = ends[2] / values[cell.name] } } or {}
  end
  function source:rounds() return nil end
  function source:lack() return "not run" end
  function source:most() return 100 end
  function source:doubt() return nil end
  function source:data(cell) return { "text of " .. cell.name } end
  function source:apart(cells) return #cells == 2 and values.apart or nil end
  return source
end

local experiment = { name = "x-table1", runs = "x-table1", rows = {} }
local function cell(name)
  return p.cell(name, { name = name, experiment = experiment, metric = "mse" })
end
local a, b, c, d = cell "a", cell "b", cell "c", cell "d"

local function judge(predicate, values) return predicate:judge(source_of(values)) end

-- ---- comparisons ----

t.test("three seeds decide a comparison whose margin chance would hardly show", function()
  local found = judge(p.less(a, b), { a = { 1.0, 1.1, 1.2 }, b = { 2.0, 2.2, 2.1 } })
  t.equal(found.verdict, "holds")
  t.equal(found.outcome, true)
  t.equal(found.seeds, 3)
  t.near(found.closest.margin, 1, 1e-12)
  -- paired: differences 1.0, 1.1 and 0.9
  t.near(found.closest.error, 0.1 / math.sqrt(3), 1e-12)
  t.equal(judge(p.less(b, a), { a = { 1.0, 1.1, 1.2 }, b = { 2.0, 2.2, 2.1 } }).verdict, "fails")
end)

t.test("p-values are of Student's t: 5 % lie above the quantiles of its tables", function()
  for freedom, quantile in pairs { [2] = 2.920, [3] = 2.353, [4] = 2.132, [9] = 1.833, [30] = 1.697, [120] = 1.658 } do
    t.near(statistics.p_value(quantile, 1, freedom + 1), 0.05, 5e-5)
    t.near(statistics.p_value(-3 * quantile, 3, freedom + 1), 0.05, 5e-5)
  end
  t.near(statistics.p_value(9.925, 1, 3), 0.005, 5e-6)
  t.near(statistics.p_value(0, 1, 7), 0.5, 1e-12)
  t.equal(statistics.p_value(1, 0, 3), 0)
  t.equal(statistics.p_value(9, 1, 2), 1)
end)

t.test("both sides are means over the seeds that they share, as their error is", function()
  -- a is better in every pair, b has two lucky seeds more
  local values = { a = { 2.99, 3.28, 3.49 }, b = { 3.0, 3.3, 3.5, 2.2, 2.1 } }
  local found = judge(p.less(a, b), values)
  t.equal(found.verdict, "holds")
  t.equal(found.seeds, 3)
  t.near(found.closest.a, mean_of(values.a), 1e-12)
  t.near(found.closest.margin, (0.01 + 0.02 + 0.01) / 3, 1e-12)
  t.equal(judge(p.less(b, a), values).verdict, "fails")
  t.equal(judge(p.at_most(p.abs(a - b), 0.1), values).verdict, "holds")
  -- what has no seeds stays, and without a shared seed nothing is decided
  values.c = 1
  t.near(judge(p.less(c, b - a + 1), values).closest.b, 1 + (0.01 + 0.02 + 0.01) / 3, 1e-12)
  local apart = judge(p.less(a, b), { a = { 1, 1, 1 }, b = { [4] = 2, [5] = 2, [6] = 2 }, })
  t.equal(apart.verdict, "undecided")
  t.contains(apart.reason, "0 seeds")
end)

-- Three values about a mean, whose standard error it is one of so many of.
local function about(mean, errors)
  local e = math.sqrt(3) / errors
  return { mean + e, mean, mean - e }
end

t.test("with three seeds 2.8 standard errors do not decide, three do", function()
  local function of(errors) return { a = { 1, 1, 1 }, b = about(2, errors) } end
  t.equal(judge(p.less(a, b), of(2.8)).verdict, "undecided")
  t.equal(judge(p.less(a, b), of(2.8)).outcome, true)
  t.contains(judge(p.less(a, b), of(2.8)).reason, "p = 0.054 over 3 seeds, below 0.05 decides")
  t.equal(judge(p.less(a, b), of(3)).verdict, "holds")
  t.equal(judge(p.less(b, a), of(2.8)).verdict, "undecided")
  t.equal(judge(p.less(b, a), of(3)).verdict, "fails")
end)

t.test("comparisons of which one settles it share the level, those that all have to agree do not", function()
  local values = { a = { 1, 1, 1 }, b = about(2, 3), c = { 5, 5, 5 }, d = { 6, 6, 6 } }
  t.equal(judge(p.all { p.less(a, b), p.less(c, d) }, values).verdict, "holds")
  local fails = judge(p.all { p.less(b, a), p.less(c, d) }, values)
  t.equal(fails.verdict, "undecided")
  t.contains(fails.reason, "below 0.025 decides")
  t.equal(judge(p.any { p.less(a, b), p.less(d, c) }, values).verdict, "undecided")
  t.equal(judge(p.any { p.less(b, a), p.less(d, c) }, values).verdict, "fails")
  -- costs and cells that are not there have no chance to
  values.e, values.f = 3, 4
  t.equal(judge(p.all { p.less(b, a), p.less(cell "e", cell "f") }, values).verdict, "fails")
  t.equal(judge(p.all { p.less(b, a), p.less(c, cell "g") }, values).verdict, "fails")
  -- nor have parts of parts that end with such
  local costs = p.less(cell "e", cell "f")
  t.equal(judge(p.all { p.all { p.less(b, a), costs }, p.less(c, d) }, values).verdict, "undecided")
  t.equal(judge(p.all { p.all { p.less(b, a), costs }, costs }, values).verdict, "fails")
  -- of a share there are shares
  local inner = judge(p.all { p.all { p.less(b, a), p.less(c, d) }, p.less(c, d) }, values)
  t.contains(inner.reason, "below 0.013 decides")
end)

t.test("of equal rows no more than one in twenty is told apart, however many comparisons there are", function()
  math.randomseed(1)
  local function draw()
    local list = {}
    for seed = 1, 3 do
      list[seed] = math.sqrt(-2 * math.log(1 - math.random())) * math.cos(2 * math.pi * math.random())
    end
    return list
  end
  local parts, fails, trials = {}, 0, 2000
  for i = 1, 6 do parts[i] = p.less(cell("x" .. i), cell("y" .. i)) end
  local claim = p.all(parts)
  for _ = 1, trials do
    local values = {}
    for i = 1, 6 do values["x" .. i], values["y" .. i] = draw(), draw() end
    fails = fails + (judge(claim, values).verdict == "fails" and 1 or 0)
  end
  t.check(fails / trials > 0.03 and fails / trials < 0.065, fails / trials)
end)

t.test("that no accuracy is above its end is no matter of chance", function()
  local values = { a = { 100, 99.9, 100 }, b = { 3, 1, 2 }, c = { 1, 1, 1 } }
  t.equal(judge(p.at_most(a, 100), values).verdict, "holds")
  t.equal(judge(p.at_most(a, 99.99), values).verdict, "undecided")
  t.equal(judge(p.less(a, 100), values).verdict, "undecided")
  -- it takes no share of the level
  t.contains(judge(p.all { p.at_most(a, 100), p.less(b, c), p.less(b, c) }, values).reason, "below 0.025")
end)

t.test("a margin that is no sum has its own error, not that of the seeds' margins", function()
  -- differences 0.117, -0.076 and 0.037: each beyond 0.02, their mean 0.026; without one of them
  -- -0.0195, 0.077 or 0.0205, whose sign counts
  local values = { a = { 1.117, 0.924, 1.037 }, b = { 1, 1, 1 } }
  local found = judge(p.at_most(p.abs(a - b), 0.02), values)
  t.equal(found.verdict, "undecided")
  t.near(found.closest.margin, -0.006, 1e-12)
  t.near(found.closest.error, 0.0559851, 1e-6)
  -- as of the difference itself
  t.near(judge(p.less(a, b), values).closest.error, 0.0559851, 1e-6)
end)

t.test("two seeds decide nothing about quality, and costs need none", function()
  local found = judge(p.less(a, b), { a = { 1, 1 }, b = { 2, 2 } })
  t.equal(found.verdict, "undecided")
  t.equal(found.outcome, true)
  t.contains(found.reason, "2 seeds, at least 3")
  t.contains(judge(p.less(a, b), { a = { 1 }, b = { 2, 2 } }).reason, "1 seed,")
  t.equal(judge(p.less(a, b), { a = 1, b = 2 }).verdict, "holds")
  t.equal(judge(p.less(b, a), { a = 1, b = 2 }).verdict, "fails")
end)

t.test("of parts of which one is enough one comparison counts, and it holds where one does", function()
  local values = { a = { 1, 1, 1 }, b = { 2, 2, 2 }, c = { 3, 3, 3 }, d = { 4, 4, 4 } }
  local one = judge(p.any { p.less(b, a), p.less(c, d), p.less(a, d) }, values)
  t.equal(one.compared, 1)
  t.equal(one.held, 1)
  t.equal(judge(p.any { p.less(b, a), p.less(d, c) }, values).held, 0)
  local both = judge(p.all { p.any { p.less(b, a), p.less(c, d) }, p.less(b, a) }, values)
  t.equal(both.compared, 2)
  t.equal(both.held, 1)
end)

t.test("a ratio has its baseline's quartiles too, which cancel between two ratios to one baseline", function()
  local function verdict(predicate, spread_of_base)
    local source = source_of { a = 0.8, b = 0.95 }
    function source.quartiles(_, cell)
      return { { key = cell.name, q1 = 0.99, q3 = 1.01 },
        { key = "base", q1 = 1 / (1 - spread_of_base), q3 = 1 / (1 + spread_of_base) } }
    end
    return predicate:judge(source).verdict
  end
  t.equal(verdict(p.less(b, 1), 0), "holds")
  t.equal(verdict(p.less(b, 1), 0.1), "undecided") -- 0.95 / 0.9 is above 1
  t.equal(verdict(p.less(1, b), 0.1), "undecided")
  t.equal(verdict(p.less(a, 1), 0.1), "holds")
  t.equal(verdict(p.less(a, b), 0.3), "holds")
  t.equal(verdict(p.less(b, a), 0.3), "fails")
end)

t.test("step times whose quartiles overlap decide nothing", function()
  local function of(values, quartiles, predicate)
    values.quartiles = quartiles
    return judge(predicate or p.less(a, b), values)
  end
  local found = of({ a = 1.00, b = 1.04 }, { a = { 0.98, 1.03 }, b = { 1.02, 1.06 } })
  t.equal(found.verdict, "undecided")
  t.equal(found.outcome, true)
  t.equal(found.reason, "within the quartiles of the step times")
  t.equal(of({ a = 1.04, b = 1.00 }, { b = { 0.98, 1.03 }, a = { 1.02, 1.06 } }).verdict,
    "undecided")
  -- the quartiles that point away from the other do not count
  t.equal(of({ a = 1.00, b = 1.04 }, { a = { 0.5, 1.01 }, b = { 1.02, 9 } }).verdict, "holds")
  t.equal(of({ a = 1.04, b = 1.00 }, { a = { 1.02, 9 }, b = { 0.5, 1.01 } }).verdict, "fails")
  -- of several the ones that decide count, once
  local ratio = p.at_most(p.greatest { a, b, c } / p.least { a, b, c }, 1.5)
  local about = { a = { 0.95, 1.05 }, b = { 0.95, 1.05 }, c = { 1.05, 1.15 } }
  t.equal(of({ a = 1.0, b = 1.0, c = 1.1 }, about, ratio).verdict, "holds") -- 1.15 / 0.95
  -- against a number that is printed the time's own quartiles count
  t.equal(of({ a = 1.00 }, { a = { 0.9, 1.03 } }, p.less(a, 1.02)).verdict, "undecided")
  t.equal(of({ a = 1.00 }, { a = { 0.9, 1.01 } }, p.less(a, 1.02)).verdict, "holds")
end)

t.test("values that cannot be compared leave a comparison open", function()
  local found = judge(p.less(a, b), { a = 1, b = 2, apart = "not timed side by side" })
  t.equal(found.verdict, "undecided")
  t.equal(found.outcome, true)
  t.equal(found.reason, "not timed side by side")
end)

t.test("a predicate has as many seeds as the comparison with the fewest", function()
  local values = { a = { 1, 1, 1, 1 }, b = { 2, 2, 2 }, c = { 3, 3, 3, 3 } }
  t.equal(judge(p.all { p.less(a, c), p.less(a, b) }, values).seeds, 3)
  t.equal(judge(p.all { p.less(a, b), p.less(a, c) }, values).seeds, 3)
end)

t.test("equal sides hold at most and leave less open", function()
  local values = { a = { 1, 1, 1 }, b = { 1, 1, 1 } }
  t.equal(judge(p.at_most(a, b), values).verdict, "holds")
  t.equal(judge(p.less(a, b), values).verdict, "undecided") -- as where all have learnt the task
  t.equal(judge(p.equal(a, b), values).verdict, "holds")
  t.equal(judge(p.equal(a, 1.5), values).verdict, "fails")
  t.equal(judge(p.equal(a, 1.5), values).closest.margin, -0.5)
  t.equal(judge(p.equal(1.5, a), values).closest.margin, -0.5)
  t.equal(judge(p.between(1, a, 2), values).verdict, "holds")
  t.equal(judge(p.between(1.1, a, 2), values).verdict, "fails")
  t.equal(judge(p.between(0.1, a, 0.9), values).verdict, "fails")
end)

t.test("rows that fall or do not rise are compared each with the next", function()
  local values = { a = 3, b = 2, c = 2 }
  t.equal(judge(p.falling { a, b }, values).verdict, "holds")
  t.equal(judge(p.falling { a, b, c }, values).verdict, "fails")
  t.equal(judge(p.not_rising { a, b, c }, values).verdict, "holds")
  t.equal(judge(p.not_rising { b, a, c }, values).verdict, "fails")
end)

t.test("terms are reckoned from means, and seed by seed for the error", function()
  local values = { a = { 2, 4, 6 }, b = { 1, 2, 3 } }
  local function value(term) return term:at(function(of) return mean_of(values[of.name]) end) end
  t.equal(value(a - b), 2)
  t.equal(value(a / b), 2)
  t.equal(value(1 + 2 * a), 9)
  t.equal(value(2 ^ b), 4)
  t.equal(value(p.abs(b - a)), 2)
  t.equal(value(p.least { a, b }), 2)
  t.equal(value(p.greatest { a, b, 5 }), 5)
  t.equal(value(p.mean { a, b }), 3)
  t.equal(value(p.rounded(a / 3, 1)), 1.3)
  t.equal(value(p.significant(a * 1234.6, 3)), 4940)
  t.equal(value(p.wins("w", { { a, b }, { b, a }, { a, a } }, false)), 1)
  t.equal(value(p.wins("w", { { a, b }, { b, a }, { a, a } }, true)), 2)
  -- the ratio is 2 for every seed
  t.equal(judge(p.less(1.9, a / b), values).closest.error, 0)
end)

-- ---- joining ----

t.test("one part that fails settles `all`, one that is open leaves it open", function()
  local values = { a = 1, b = 2, c = { 5, 5 } }
  local holds, fails, open = p.less(a, b), p.less(b, a), p.less(c, 9)
  t.equal(judge(p.all { holds, holds }, values).verdict, "holds")
  t.equal(judge(p.all { holds, open }, values).verdict, "undecided")
  t.equal(judge(p.all { open, fails, holds }, values).verdict, "fails")
  t.equal(judge(p.any { fails, holds, open }, values).verdict, "holds")
  t.equal(judge(p.any { fails, open }, values).verdict, "undecided")
  t.equal(judge(p.any { fails, fails }, values).verdict, "fails")
  t.equal(judge(p.all { open, holds }, values).outcome, true)
end)

t.test("a cell without a value is named, and leaves open what no other part settles", function()
  local values = { a = 1, b = 2 }
  local lacks = judge(p.all { p.less(a, b), p.less(a, d) }, values)
  t.equal(lacks.verdict, "undecided")
  t.equal(lacks.outcome, nil)
  t.equal(lacks.lacking[1][1], "d")
  t.equal(judge(p.all { p.less(b, a), p.less(a, d) }, values).verdict, "fails")
  t.equal(judge(p.all { p.less(b, a), p.less(a, d) }, values).outcome, false)
end)

t.test("the comparison that is shown is the one the verdict hangs on", function()
  local values = { a = 100, b = 101, c = 1, d = 2 }
  -- one hundredth of 101 is less than half of 2
  t.equal(judge(p.all { p.less(c, d), p.less(a, b) }, values).closest.names[1], "a")
  t.equal(judge(p.all { p.less(a, b), p.less(d, c), p.less(c, d) }, values).closest.names[1], "d")
  t.equal(judge(p.any { p.less(b, a), p.less(d, c) }, values).closest.names[1], "b")
  local found = judge(p.all { p.less(a, b), p.less(d, c), p.less(c, d) }, values)
  t.equal(("%d of %d"):format(found.held, found.compared), "2 of 3")
end)

t.test("what is no predicate or term is refused where it is made", function()
  t.fails(function() p.less("a", b) end, "not of a string")
  t.fails(function() p.all { p.less(a, b), true } end, "not a boolean")
  t.fails(function() p.least { a, "b" } end, "not of a string")
end)

t.test("what has no term, or half a pair, is refused at the script's line", function()
  -- in parentheses, since a tail call leaves no line
  for _, case in ipairs {
    { function() return (p.all {}) end, "'all' takes a list of predicates, at least one" },
    { function() return (p.any { p.less(a, b), [3] = p.less(a, b) }) end, "'any' takes a list" },
    { function() return (p.each({}, function() end)) end, "'each' takes a list, at least one" },
    { function() return (p.least {}) end, "'least' takes a list of terms, at least one" },
    { function() return (p.greatest {}) end, "'greatest' takes a list" },
    { function() return (p.mean(a, b)) end, "'mean' takes a list" },
    { function() return (p.falling { 1 }) end, "'falling' takes a list of terms, at least two" },
    { function() return (p.not_rising {}) end, "'not_rising' takes a list of terms" },
    { function() return (p.wins("w", {})) end, "'wins' takes a list of pairs" },
    { function() return (p.wins("w", { { 1 } })) end, "'wins': a pair is { a, b }" },
    { function() return (p.wins("w", { { a, b, c } })) end, "'wins': a pair is { a, b }" },
    { function() return (p.rounded(a, 1.5)) end, "a whole number of digits, not 1.5" },
    { function() return (p.significant(a, 0)) end, "a whole number of digits" },
    { function() return (p.less(a, {})) end, "a comparison is of terms and numbers" },
    { function() return (p.less(a)) end, "a comparison is of terms and numbers, not of a nil" },
    { function() return (a - nil) end, "a term is made of terms and numbers, not of a nil" },
    { function() return (p.abs(nil)) end, "not of a nil" },
    { function() return (a + "b") end, "a term is made of terms and numbers" },
    { function() return (a < b) end, "a comparison of terms is a predicate: write p.less(a, b)" },
    { function() return (a <= 3) end, "write p.at_most(a, 3)" },
    { function() return (a > b) end, "write p.less(b, a)" },
  } do
    t.fails(case[1], case[2])
    t.fails(case[1], "test_claims.lua:")
  end
end)

-- ---- claims ----

local small = { scale = "small", device = "cpu", results = "" }

local function verdict(claim, values, settings)
  return claims.judge(claim, settings or small, source_of(values), evidence.printed())
end

local sure = { a = { 1, 1.1, 1.2 }, b = { 2, 2.1, 2.3 } }

t.test("what a sentence asks is judged in place of the published predicate", function()
  local claim = { "x_p001", holds = p.less(a, b), asks = p.all { p.less(a, b), p.less(c, d) },
    expected = "both", scale_changes = "" }
  local record = verdict(claim, { a = 1, b = 2, c = 2, d = 1 })
  t.equal(record.verdict, "fails")
  t.equal(record.measured, "c 2 < d 1: margin -1; 1 of 2 comparisons hold")
  t.equal(record.expected, "both")
  t.equal(record.data, "text of a; text of b; text of c; text of d")
  claim.asks = nil
  t.equal(verdict(claim, { a = 1, b = 2, c = 2, d = 1 }).verdict, "holds")
end)

t.test("a weaker form that holds is `in direction`, and only where the printed one fails", function()
  local claim = { "x_p001", holds = p.less(a, b / 3), direction = p.less(a, b) }
  local found = verdict(claim, sure)
  t.equal(found.verdict, "in direction")
  t.equal(found.strict, "fails")
  t.equal(found.direction, "holds")
  t.equal(verdict({ "x_p001", holds = p.less(b, a), direction = p.less(b, a / 2) }, sure).verdict,
    "fails")
  t.equal(verdict({ "x_p001", holds = p.less(a, b), direction = p.less(a, b) }, sure).verdict,
    "holds")
  local few = verdict(claim, { a = { 1, 1 }, b = { 2, 2 } })
  t.equal(few.verdict, "undecided")
  t.equal(few.strict, "fails")
end)

t.test("what cannot fail is untested, whatever its value", function()
  local fixed = verdict({ "x_p001", holds = p.equal(2 * 2, 4) }, {})
  t.equal(fixed.verdict, "untested")
  t.equal(fixed.kind, "arithmetic")
  local size = { "x_p001", holds = p.less(a, b), of_size = "parameters" }
  t.equal(verdict(size, sure).verdict, "untested")
  t.contains(verdict(size, sure).note, "parameters")
  t.equal(verdict(size, sure, { scale = "paper", device = "cpu" }).verdict, "holds")
  local gate = { "x_p001", holds = p.less(a, b),
    untested = { p.at_most(p.abs(a - 1), 0.01), "no gate has moved" } }
  t.equal(verdict(gate, sure).verdict, "holds")
  t.equal(verdict(gate, { a = { 1, 1, 1 }, b = { 2, 2, 2 } }).verdict, "untested")
  t.equal(verdict({ "x_p001", holds = p.less(a, b), untested = "by definition" }, sure).note,
    "by definition")
end)

t.test("a smoke run decides nothing", function()
  local found = verdict({ "x_p001", holds = p.less(a, b) }, sure,
    { scale = "smoke", device = "cpu" })
  t.equal(found.verdict, "undecided")
  t.equal(found.strict, "holds")
  t.contains(found.note, "smoke")
end)

t.test("a record says what was compared, what is lacking, and of which kind it is", function()
  local found = verdict({ "brt_p071", holds = p.all { p.less(a, b), p.less(a, d) } }, sure)
  t.equal(found.paper, "brt")
  t.equal(found.verdict, "undecided")
  t.contains(found.note, "not run: d")
  t.contains(found.expected, "step_time(rec:fixed:skip)")
  t.contains(found.sentence, "quickest")
  t.equal(found.predicate_source, "paper")
  t.equal(found.experiment, "x-table1")
  t.equal(found.data, "text of a; text of b; text of d")
  local cost = verdict({ "x_p001", holds = p.less(a, b) }, { a = 1, b = 2 })
  t.equal(cost.kind, "cost")
  t.equal(cost.seeds, nil)
  t.equal(cost.predicate_source, "ours")
  t.contains(cost.measured, "a 1 < b 2: margin +1")
  t.equal(cost.margin, 1)
  t.equal(cost.standard_error, nil)
  local margins = verdict({ "x_p001", holds = p.less(b, a) },
    { a = { 1, 1.1, 0.9 }, b = { 2, 2, 2 } })
  t.near(margins.margin, -1, 1e-12)
  t.near(margins.standard_error, 0.1 / math.sqrt(3), 1e-12)
  t.equal(verdict({ "x_p001", holds = p.less(a, b) }, { a = 1, b = { 2, 2, 2 } }).kind,
    "cost, quality")
end)

-- ---- the file and the totals ----

local folder = os.tmpname()
os.remove(folder)

local function check(scale, device, values)
  local bench = { claims = { { "x_p001", holds = p.less(a, b) },
    { "y_p002", holds = p.less(b, a) } } }
  local kept = claims.judge_all
  claims.judge_all = function(of, settings)
    local records = {}
    for i, claim in ipairs(of.claims) do records[i] = verdict(claim, values, settings) end
    return records, true
  end
  local printed = print
  print = function() end
  local paths = claims.check(bench, { scale = scale, device = device, results = folder })
  print, claims.judge_all = printed, kept
  return paths
end

t.test("scales and devices keep their verdicts side by side", function()
  core.make_folder(folder)
  check("small", "cpu", sure)
  check("medium", "cpu", { a = { 1, 1 }, b = { 2, 2 } })
  check("small", "cuda", { a = 2, b = 1 })
  local paths = check("small", "cpu", { a = 2, b = 1 })
  local by_key = {}
  for _, record in ipairs((csv.read(paths[1]))) do
    by_key[table.concat({ record.claim, record.scale, record.device }, " ")] = record.verdict
  end
  t.equal(by_key["x_p001 small cpu"], "fails")
  t.equal(by_key["x_p001 medium cpu"], "undecided")
  t.equal(by_key["x_p001 small cuda"], "fails")
  t.equal(by_key["y_p002 small cuda"], "holds")
  t.equal(#(csv.read(paths[1])), 6)
end)

t.test("the best verdict of a claim is a decided one, of the first scale among equals", function()
  local function record(claim, scale, word, measured, device)
    return { paper = "x", claim = claim, scale = scale, verdict = word, measured = measured or "",
      device = device or "cpu", lacking = "1" }
  end
  local records = {
    record("p1", "small", "fails", "1"), record("p1", "study", "holds", "2"),
    record("p2", "small", "holds", "3"), record("p2", "study", "undecided", "4"),
    record("p3", "small", "undecided", "5"), record("p3", "study", "undecided"),
    record("p4", "small", "undecided", "6"), record("p4", "study", "undecided", "7"),
    record("p5", "medium", "holds", "8"), record("p5", "small", "untested", "9"),
    record("p1", "study", "fails", "10", "cuda"),
    record("p6", "study", "undecided", "11"), record("p6", "small", "untested", "12"),
  }
  local said = {}
  for _, best in ipairs(totals.best(records, { "study", "small" }, "best")) do
    t.equal(best.scale, "best")
    said[#said + 1] = best.measured
  end
  t.equal(table.concat(said, " "), "2 3 5 7 9 10 12")
  t.equal(records[1].scale, "small")
end)

t.test("what stays open with all cells and seeds measured is no worse than what a lesser scale decided", function()
  local function best(lacking, seeds)
    local function record(scale, word, lack)
      return { paper = "x", claim = "p", scale = scale, verdict = word, measured = "1", device = "cpu",
        lacking = lack, seeds = seeds }
    end
    local records = { record("small", "fails", "0"), record("study", "undecided", lacking) }
    return totals.best(records, { "study", "small" }, "best")[1].verdict
  end
  t.equal(best("0", "3"), "undecided")
  t.equal(best("0", ""), "undecided")
  t.equal(best("2", "3"), "fails")
  t.equal(best("0", "2"), "fails")
end)

t.test("totals count by paper, source of the predicates, scale and device", function()
  local function record(paper, word, source, printed, scale, device)
    local strict = (word == "holds" or word == "untested") and "holds" or word == "undecided" and ""
      or "fails"
    return { paper = paper, verdict = word, predicate_source = source, published = printed,
      scale = scale or "small",
      device = device or "cpu", strict = strict }
  end
  local list = totals.of {
    record("x", "holds", "paper", "holds"), record("x", "in direction", "paper", "does not hold"),
    record("x", "fails", "paper", "holds"),
    record("y", "undecided", "paper", "holds"), record("y", "untested", "paper", "holds"),
    record("y", "holds", "ours", ""),
    record("x", "holds", "paper", "holds", "medium"),
    record("x", "fails", "paper", "holds", "small", "cuda"),
  }
  local by_key = {}
  for _, total in ipairs(list) do
    local key = table.concat({ total.paper, total.predicate_source, total.scale }, " ")
    by_key[total.device == "cpu" and key or key .. " " .. total.device] = total
  end
  local x = by_key["x paper small"]
  t.equal(table.concat({ x.claims, x.holds, x.in_direction, x.fails, x.undecided, x.untested,
    x.published_holds }, " "), "3 1 1 1 0 0 2")
  local all = by_key["all paper small"]
  t.equal(table.concat({ all.claims, all.holds, all.in_direction, all.fails, all.undecided,
    all.untested, all.published_holds }, " "),
    "5 1 1 1 1 1 4")
  t.equal(all.strict_holds .. " " .. all.strict_fails, "1 2")
  t.equal(by_key["all ours small"].holds, 1)
  t.equal(by_key["all paper medium"].claims, 1)
  t.contains(totals.markdown(list, "small", "cpu"), "| all | 5 | 1 | 1 | 1 | 1 | 1 | 1 | 2 | 4 |")
  t.check(not totals.markdown(list, "medium", "cpu"):find("| 5 |", 1, true))
  t.equal(by_key["all paper small cuda"].fails, 1)
  t.contains(totals.markdown(list, "small", "cuda"), "| all | 1 | 0 | 0 | 1 |")
  t.check(not totals.markdown(list, "small", "cpu"):find("| all | 1 |", 1, true))
end)

t.test("claims of one's own that two experiments call alike stand side by side, under their names", function()
  local own = folder .. "/own"
  core.make_folder(own)
  local function write(experiment, word, id)
    claims.write(own, { { paper = "", claim = id or "better", experiment = experiment, verdict = word, scale = "small",
      device = "cpu", predicate_source = "ours" } })
  end
  write("one", "holds")
  write("two", "fails")
  write("two", "undecided")
  write("", "untested", "arithmetic")
  local verdicts = {}
  for i, record in ipairs((csv.read(own .. "/claims.csv"))) do
    verdicts[i] = record.experiment .. " " .. record.verdict
  end
  t.equal(table.concat(verdicts, ", "), "one holds,  untested, two undecided")
  local text = totals.text(totals.read(own))
  for _, name in ipairs { "one, ours", "own, ours", "two, ours", "all, ours" } do t.contains(text, "\n" .. name) end
  t.equal(#totals.best((csv.read(own .. "/claims.csv")), { "small" }, "best"), 3)
end)

t.test("the totals of a folder are those of its claims.csv, and lie beside it", function()
  local list = totals.read(folder .. "/claims")
  local written = csv.read(folder .. "/claims/totals.csv")
  t.equal(#written, #list)
  t.equal(written[1].paper, list[1].paper)
  t.equal(#totals.read(folder .. "/nothing"), 0)
end)

t.test("the page has the totals and a colour for each verdict", function()
  local page = core.read_file(require("longhaul.report.report").page(folder))
  t.contains(page, '<th scope="row">all, ours</th><td class="short">2</td>')
  t.contains(page, '<td class="fails">fails</td>')
  t.contains(page, ".in-direction{")
end)

t.test("verdicts that were made by other rules are not kept", function()
  csv.write(folder .. "/claims/claims.csv", { "paper", "claim", "verdict", "scale" },
    { { paper = "x", claim = "x_p001", verdict = "holds", scale = "medium" } })
  check("small", "cpu", sure)
  t.equal(#(csv.read(folder .. "/claims/claims.csv")), 2)
end)

t.finish()

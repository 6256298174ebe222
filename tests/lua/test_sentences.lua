-- Conditions of sentences in documents: which rows of a committed table lead, which alone meet a condition, with how
-- many seeds; what does not hold is refused by the comparison that it fails by.
local t = dofile "tests/test.lua"
local filed = dofile "tests/lua/filed.lua"
local core = require "longhaul.core"

local folder = os.tmpname()
os.remove(folder)
core.make_folder(folder)

local function write(name, columns, lines) filed.write(folder .. "/" .. name, columns, lines) end

write("table.csv", { "row", "dataset", "metric", "mean" }, {
  { "a", "one", "mse", 1 }, { "b", "one", "mse", 2 }, { "c", "one", "mse", 3 },
  { "a", "two", "mse", 5 }, { "b", "two", "mse", 2 }, { "c", "two", "mse", 9 },
  { "a", "one", "bits", 7 }, { "b", "one", "bits", "" } })
write("runs.csv", { "run_id", "row", "seed", "scale", "mse" }, {
  { "a1", "a", 1, "small", 0 }, { "a2", "a", 2, "small", 0 }, { "b1", "b", 1, "small", 0 },
  { "b2", "b", 2, "small", 4 }, { "a3", "a", 1, "study", 9 } })
write("probes.csv", { "run_id", "name", "value" }, { { "a1", "near", 2 }, { "a2", "near", 4 }, { "b1", "near", 1 },
  { "a3", "near", 0 }, { "a1", "far", 0 } })

local known = assert(loadfile "scripts/known-figures.lua")(folder .. "/")
local p, refusal, below, above = known.p, known.refusal, known.below, known.above

local function mse(dataset) return known.column("table.csv", { metric = "mse", dataset = dataset }, "mean") end
local function of_seeds(over) return known.column("runs.csv", { scale = "small" }, "mse", over) end

t.test("which rows are the lowest and the highest of a column, in their order", function()
  t.equal(refusal(known.lowest(mse "one", { "a", "b" })), nil)
  t.equal(refusal(known.lowest(mse "one", { "b" })), "b (2) < a (1)")
  t.equal(refusal(known.lowest(mse "one", { "a", "c" })), "c (3) < b (2)")
  t.equal(refusal(known.lowest(mse "one", { "b", "a" })), "b (2) < a (1)")
  t.equal(refusal(known.highest(mse "one", { "c", "b", "a" })), nil)
  t.equal(refusal(known.highest(mse "one", { "b" })), "c (3) < b (2)")
end)

t.test("a row's number is the mean over its data sets", function()
  t.equal(refusal(known.lowest(mse(nil), { "b", "a", "c" })), nil)
  t.equal(refusal(p.equal(mse(nil).of.a, 3)), nil)
  t.equal(refusal(p.equal(mse { "one", "two" }.of.c, 7)), "c (6) = 7")
  t.equal(refusal(p.equal(mse { but = "one" }.of.c, 9)), nil)
end)

t.test("two columns give one, row by row", function()
  local gain = known.joined(mse "two", mse "one", function(two, one) return two - one end)
  t.equal(refusal(known.only(gain, { "b" }, below(1))), nil)
  t.equal(refusal(known.highest(gain, { "a" })), "c (6) < a (4)")
end)

t.test("a row's place is counted from the lowest", function()
  t.equal(known.place(mse "two", "b"), 1)
  t.equal(known.place(mse "two", "c"), 3)
end)

t.test("a probe has the row, the data set and the scale of its run", function()
  local function probe(where) return known.column("probes.csv", where, "value") end
  t.equal(refusal(known.lowest(probe { name = "near", scale = "small" }, { "b", "a" })), nil)
  t.fails(function() probe { scale = "small" } end, "choose one name")
end)

t.test("only the rows that are named meet a condition", function()
  t.equal(refusal(known.only(mse "two", { "a", "c" }, above(2))), nil)
  t.equal(refusal(known.only(mse "two", { "c" }, above(2))), "a (5) <= 2")
  t.equal(refusal(known.only(mse "two", { "a", "b", "c" }, above(2))), "2 < b (2)")
  t.equal(refusal(known.only(mse "two", {}, below(2))), nil)
  t.equal(refusal(known.only(mse "two", { "b" }, known.within(2, 4))), nil)
  t.equal(refusal(known.only(mse "two", {}, known.within(2, 4))), "b (2) < 2")
end)

t.test("how many rows meet a condition, and how many seeds of a row", function()
  t.equal(known.number(mse "two", above(2)), 2)
  t.equal(refusal(known.only(of_seeds(known.seeds(below(1))), { "a" }, above(1))), nil)
  t.equal(refusal(known.only(of_seeds(p.greatest), { "a", "b" }, below(1))), "b (4) < 1")
end)

t.test("a condition that a misspelt name leaves empty, or that mixes what has no mean, is an error", function()
  t.fails(function() mse "three" end, "table.csv: no dataset 'three'")
  t.fails(function() mse { but = "three" } end, "table.csv: no dataset 'three'")
  t.fails(function() known.column("table.csv", { rows = "a" }, "mean") end, "no column 'rows'")
  t.fails(function() known.column("table.csv", { row = "c", metric = "bits" }, "mean") end,
    "table.csv: no row has all these values")
  t.fails(function() known.column("table.csv", { dataset = "one" }, "mean") end, "table.csv: choose one metric")
  t.fails(function() known.column("runs.csv", {}, "mse") end, "runs.csv: choose one scale")
  t.fails(function() known.column("table.csv", { metric = "bits" }, "mean") end, "table.csv: 'b' has no mean")
  t.fails(function() known.lowest(mse "one", { "d" }) end, "no row 'd' in this column")
  t.equal(refusal(p.less(1, 1 / 0)), "1 < inf: a side is no number, as what is divided by 0")
  t.fails(function() refusal(1 < 2) end, "a condition is a predicate")
end)

os.execute("rm -r '" .. folder .. "'")
t.finish()

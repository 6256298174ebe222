-- The chart of losses: its band over seeds, and axes that are logarithmic.
local t = dofile "tests/test.lua"
local chart = require "longhaul.report.chart"
local core = require "longhaul.core"
local lh = require "longhaul"
local results = require "longhaul.report.results"
local runs = dofile "tests/lua/runs.lua"
local store = require "longhaul.run.store"

local folder = os.tmpname()
os.remove(folder)
core.make_folder(folder)
lh.configure { scale = "small" }
local settings = { results = folder, scale = "small", device = "cpu" }

-- An experiment with one row, whose seeds have these losses by step.
local function bench_of(name, seeds)
  local bench = lh.experiment(name)
  bench:row { "row", model = lh.models.slide { layers = 1, width = 16, heads = 2, window = 16 },
    task = lh.tasks.language_model { lh.data.text { "generate:books" }, segment = 16, batch = 2 },
    train = lh.train { steps = 2 }, dataset = "text", seeds = #seeds }
  for seed, losses in ipairs(seeds) do
    local points = {}
    for i, point in ipairs(losses) do points[i] = { step = point[1], loss_bits = point[2] } end
    local id = runs.put(folder, bench, { label = "row", seed = seed, data = "d" }).run_id
    store.open(folder, name):write_curve(id, points)
  end
  return bench
end

-- A chart: its one curve as text, whether it has a band, and itself.
local function drawn(bench, name)
  for _, made in ipairs(chart.values(bench, settings, results.of(bench, settings))) do
    if made.name == name then
      local texts, has_band = {}, nil
      for i, point in ipairs(made.blocks[1][2][1]) do texts[i] = ("%g %g %g %g"):format(table.unpack(point, 1, 4)) end
      for _, pair in ipairs(made.settings) do has_band = has_band or pair[1] == "band" and pair[2] == 1 end
      return table.concat(texts, ", "), has_band, made
    end
  end
  error("no chart " .. name)
end

t.test("seeds lie in a band from the least to the most, which is said below", function()
  local text, has_band, made = drawn(bench_of("seeds", { { { 1, 8 }, { 2, 5 } }, { { 1, 10 }, { 2, 7 } } }), "loss")
  t.equal(text, "1 9 8 10, 2 6 5 7")
  t.check(has_band)
  t.equal(made.x_title, "step (band: from the least to the most of the seeds)")
end)

t.test("a mean is of all seeds: at the last step of one that patience ended there is none", function()
  local seeds = { { { 10, 8 }, { 20, 6 }, { 25, 5 } }, { { 10, 10 }, { 20, 8 }, { 30, 7 } } }
  t.equal((drawn(bench_of("patience", seeds), "loss")), "10 9 8 10, 20 7 6 8")
  seeds[3] = {} -- of one whose curve is lost nothing is drawn
  t.equal((drawn(bench_of("lost", seeds), "loss")), "10 9 8 10, 20 7 6 8")
end)

t.test("more curves than colours have marks on a few of their points", function()
  local points = {}
  for i = 1, 60 do points[i] = { i, 9 - i / 10 } end
  local bench = bench_of("many", { points })
  local function marks()
    local _, _, made = drawn(bench, "loss")
    local found = {}
    for _, pair in ipairs(made.settings) do found[pair[1]] = pair[2] end
    return ("%d curves, marks %d, every %d"):format(found.series, found.marks, found.mark_every)
  end
  t.equal(marks(), "1 curves, marks 0, every 10")
  local row = bench.rows[1]
  for i = 2, 9 do
    bench:row { "row " .. i, model = row.model, task = row.task, train = row.train, dataset = "text" }
    local id = runs.put(folder, bench, { label = "row " .. i, seed = 1, data = "d" }).run_id
    store.open(folder, "many"):write_curve(id, { { step = 1, loss_bits = 8 }, { step = 2, loss_bits = i } })
  end
  t.equal(marks(), "9 curves, marks 1, every 10")
end)

t.test("one seed has none", function()
  local text, has_band, made = drawn(bench_of("single", { { { 1, 8 }, { 2, 5 } } }), "loss")
  t.equal(text, "1 8 8 8, 2 5 5 5")
  t.check(not has_band)
  t.equal(made.x_title, "step")
end)

t.test("axes are logarithmic where they say so, without what has no place there", function()
  local bench = bench_of("logs", { { { 1, 8 }, { 10, 4 }, { 100, 0 }, { 200, 2 } } })
  bench:plot { "loss", x = { "step", log = true }, y = { "loss_bits", log = true }, name = "both" }
  local text, _, made = drawn(bench, "both")
  t.equal(text, "1 8 8 8, 10 4 4 4, 200 2 2 2")
  t.contains(table.concat(made.after, "\n"), "set logscale x")
  t.contains(table.concat(made.after, "\n"), "set logscale y")
  t.fails(function() bench:plot { "loss", x = { "step", log = true } } end, "needs a name of its own")
  t.fails(function() bench:plot { "loss", y = { log = true }, name = "y" } end, "begins with the name of a column")
end)

os.execute("rm -r '" .. folder .. "'")
t.finish()

-- What charts draw: the numbers of every kind against values worked out by hand from runs written
-- here. gnuplot is not needed for any of it.
local t = dofile "tests/test.lua"
local chart = require "longhaul.report.chart"
local parts = require "longhaul.report.chart_parts"
local core = require "longhaul.core"
local drawn_chart = dofile "tests/lua/drawn.lua"
local gnuplot = require "longhaul.report.gnuplot"
local lh = require "longhaul"
local results = require "longhaul.report.results"
local runs = dofile "tests/lua/runs.lua"
local store = require "longhaul.run.store"

local block, setting = drawn_chart.block, drawn_chart.setting
local folder = os.tmpname()
os.remove(folder)
core.make_folder(folder)
lh.configure { scale = "small" }
local settings = { results = folder, scale = "small", device = "cpu", recorded = true }

local task = lh.tasks.language_model { lh.data.text { "generate:books" }, segment = 16, batch = 2 }
local train = lh.train { steps = 2 }
local model = lh.models.slide { layers = 1, width = 16, heads = 2, window = 16 }

local function put(experiment, row, dataset, seed, values)
  local record = {
    run_id = ("%s-%s-%s-%d"):format(experiment, row, dataset, seed):gsub("%W", "-"), identity = 2,
    configuration = row .. dataset, experiment = experiment, row = row,
    dataset = dataset, seed = seed, scale = "small", device = "cpu", status = "done",
    date = "2026-01-01",
    model_options = model.text, task_options = task.text, train_options = train.text,
  }
  for name, value in pairs(values) do record[name] = value end
  store.open(folder, experiment):put(record)
  return record.run_id
end

-- The charts of an experiment by name.
local function charts_of(experiment)
  local by_name = {}
  for _, made in ipairs(chart.values(experiment, settings, results.of(experiment, settings))) do
    t.equal(made.failure, nil)
    by_name[made.name] = made
  end
  return by_name
end

-- Rows of numbers (or texts) must be these, within 1e-9.
local function same_rows(rows, expected)
  t.equal(#rows, #expected)
  for i, row in ipairs(expected) do
    t.equal(#rows[i], #row)
    for c, value in ipairs(row) do
      if type(value) == "number" then t.near(rows[i][c], value, 1e-9) else t.equal(rows[i][c],
        value) end
    end
  end
end

local function joined(list) return table.concat(list, " ") end

-- Two kinds at three sizes, the sizes out of order; every value twice, so the mean of 1 and 3 is 2
-- and the spread is the root of 2.
local bench = lh.experiment "values"
local means = { ["a 4"] = 2, ["a 1"] = 4, ["a 2"] = 3, ["b 4"] = 1, ["b 1"] = 5, ["b 2"] = 6 }
local costs = { ["a 4"] = 40, ["a 1"] = 10, ["a 2"] = 20, ["b 4"] = 80, ["b 1"] = 15, ["b 2"] = 25 }
for point in lh.grid { { "kind", "a", "b" }, { "size", 4, 1, 2 } } do
  bench:row { point, model = model, task = task, train = train, seeds = 2, dataset = "text" }
  local label = point.kind .. " " .. point.size
  for seed = 1, 2 do
    put("values", label, "text", seed,
      { bits_per_byte = means[label] + 2 * seed - 3, accuracy = means[label] / 10,
      flops_per_token = costs[label] })
  end
end
bench:plot { "lines", x = { "size", log = true }, y = "bits_per_byte", group = "kind",
  band = "seeds", name = "lines" }
bench:plot { "lines", x = "window", y = { "bits_per_byte", log = true }, group = "size",
  name = "by-option" }
bench:plot { "lines", x = "size", y = "bits_per_byte", group = "kind", relative_to = "b",
  name = "ratio" }
bench:plot { "lines", x = "size", y = "bits_per_byte", group = "kind", level = "b", name = "level",
  group_names = { b = "of one size" } }
bench:plot { "lines", x = "size", y = "bits_per_byte", group = "kind", level = "b", name = "level-alone",
  where = { kind = "b" } }
bench:plot { "pareto", x = "flops_per_token", y = "bits_per_byte", group = "kind", name = "min",
  group_names = { b = "second" } }
bench:plot { "pareto", x = { "flops_per_token", log = true }, y = "accuracy", label = "size",
  frontier = false, name = "max" }
bench:plot { "bars", y = "bits_per_byte", name = "bars" }

local root = math.sqrt(2)

t.test("lines: mean over seeds at each size in order, a band of one standard deviation, a curve per group", function()
  local made = charts_of(bench)["lines"]
  local curves = block(made, "data")
  t.equal(#curves, 2)
  same_rows(curves[1], { { 1, 4, 4 - root, 4 + root }, { 2, 3, 3 - root, 3 + root },
    { 4, 2, 2 - root, 2 + root } })
  same_rows(curves[2], { { 1, 5, 5 - root, 5 + root }, { 2, 6, 6 - root, 6 + root },
    { 4, 1, 0, 1 + root } }) -- what is not negative has no bar below 0
  t.equal(joined(setting(made, "names")), "a b")
  t.equal(setting(made, "series"), 2)
  t.equal(setting(made, "marks"), 1)
  t.equal(setting(made, "band"), 1)
  local low, high = made.after[1]:match "^set xrange %[([%d.]+):([%d.]+)%]"
  t.near(tonumber(low), 4 ^ -0.03, 1e-6)
  t.near(tonumber(high), 4 ^ 1.03, 1e-6)
  t.contains(made.after[1], 'set logscale x\nset xtics ("1" 1, "2" 2, "4" 4)')
  t.equal(made.x_title, "size")
  t.equal(made.y_title, "bits/byte")
  t.contains(made.title, "text")
  t.contains(made.title, "scale small")
  t.equal(#made.runs, 12)
end)

t.test("lines over an option of the model; a logarithmic axis leaves room in proportion", function()
  local made = charts_of(bench)["by-option"]
  t.equal(joined(setting(made, "names")), "size 4 size 1 size 2")
  same_rows(block(made, "data")[1],
    { { 16, 2, 2 - root, 2 + root }, { 16, 1, 1, 1 + root } })
  local low, high = made.after[2]:match "set yrange %[([%d.]+):([%d.]+)%]\nset logscale y"
  t.near(tonumber(low), 1 / 6 ^ 0.05, 1e-6)
  t.near(tonumber(high), 6 * 6 ^ 0.05, 1e-6)
end)

t.test("an axis has the option that was run, not what the script has by now", function()
  local old = lh.experiment "old"
  old:row { "row", model = model, task = task, train = train, dataset = "text" }
  put("old", "row", "text", 1, { bits_per_byte = 3,
    model_options = model.text:gsub("window=16", "window=64") })
  old:plot { "lines", x = "window", y = "bits_per_byte", name = "lines" }
  same_rows(block(charts_of(old)["lines"], "data")[1], { { 64, 3, 3, 3 } })
  -- asked of today's script it is stale, as tables say
  local today = { results = folder, scale = "small", device = "cpu" }
  for _, made in ipairs(chart.values(old, today, results.of(old, today))) do
    t.contains(made.source, "not today's (stale)")
  end
end)

t.test("an axis has the option of the runs that are shown, not of later ones with other options", function()
  local function bench_of(window)
    return lh.experiment("latest"):row { "row", task = task, train = train, dataset = "text",
      model = lh.models.slide { layers = 1, width = 16, heads = 2, window = window } }
  end
  local shown = bench_of(16):plot { "lines", x = "window", y = "bits_per_byte", name = "lines" }
  runs.put(folder, shown, { label = "row", bits_per_byte = 3 })
  runs.put(folder, bench_of(64), { label = "row", bits_per_byte = 2, date = "2026-01-02T00:00:00Z" })
  local today = { results = folder, scale = "small", device = "cpu" }
  local made = chart.values(shown, today, results.of(shown, today))[1]
  same_rows(block(made, "data")[1], { { 16, 3, 3, 3 } })
end)

t.test("lines relative to a curve: its ratio point by point, the curve itself left out", function()
  local made = charts_of(bench)["ratio"]
  t.equal(joined(setting(made, "names")), "a")
  same_rows(block(made, "data")[1],
    { { 1, 4 / 5, (4 - root) / 5, (4 + root) / 5 }, { 2, 3 / 6, (3 - root) / 6, (3 + root) / 6 },
    { 4, 2, 2 - root, 2 + root } })
  t.contains(made.title, "relative to b")
  t.equal(made.y_title, "bits/byte relative to b")
end)

t.test("lines with a level: one group from end to end of the others, at its first row's value", function()
  local made = charts_of(bench)
  local curves = block(made["level"], "data")
  t.equal(#curves[1], 3)
  same_rows(curves[2], { { 1, 1, 0, 1 + root }, { 4, 1, 0, 1 + root } })
  t.equal(table.concat(setting(made["level"], "names"), "; "), "a; of one size")
  same_rows(block(made["level-alone"], "data")[1], { { 4, 1, 0, 1 + root } })
end)

t.test("pareto: a point per row with both spreads and its group, the front of what none beats", function()
  local made = charts_of(bench)["min"]
  local points = block(made, "points")[1]
  same_rows(points, {
    { 40, 2, 40, 40, 2 - root, 2 + root, 1 }, { 10, 4, 10, 10, 4 - root, 4 + root, 1 },
    { 20, 3, 20, 20, 3 - root, 3 + root, 1 },
    { 80, 1, 80, 80, 0, 1 + root, 2 }, { 15, 5, 15, 15, 5 - root, 5 + root, 2 },
    { 25, 6, 25, 25, 6 - root, 6 + root, 2 },
  })
  local right = 80 + 0.09 * 70
  same_rows(block(made, "front")[1], { { 10, 4 }, { 20, 3 }, { 40, 2 }, { 80, 1 }, { right, 1 } })
  t.equal(joined(setting(made, "names")), "a second")
  t.equal(setting(made, "groups"), 2)
  t.equal(setting(made, "frontier"), 1)
  t.contains(made.after[1], ("set xrange [%.10g:%.10g]\nset xtics (\"20\" 20, \"40\" 40"):format(
    10 - 0.09 * 70, right))
  t.contains(made.after[2], ("set yrange [0:%.10g]\n"):format(1.09 * (6 + root)))
  t.equal(block(made, "labels")[1][3][3], "a 2")
end)

t.test("pareto upwards where more is better; labels by a factor, a logarithmic axis", function()
  local made = charts_of(bench)["max"]
  same_rows(block(made, "front")[1],
    { { 10, 0.4 }, { 15, 0.5 }, { 25, 0.6 }, { 80 * 8 ^ 0.09, 0.6 } })
  t.equal(setting(made, "frontier"), 0)
  t.equal(block(made, "labels")[1][1][3], "4")
  t.contains(made.after[1], 'set logscale x\nset xtics ("10" 10, "15" 15, "20" 20,')
end)

t.test("a logarithmic axis has no place for 0: such rows are named, bars end at their point", function()
  local states = lh.experiment "states"
  for place, row in ipairs { "without", "small", "large" } do
    states:row { row, model = model, task = task, train = train, dataset = "text" }
    for seed = 1, 2 do
      put("states", row, "text", seed, { state_bytes = (place - 1) * 10,
        bits_per_byte = place == 3 and 2 * seed - 1.9 or 1 })
    end
  end
  for _, kind in ipairs { "pareto", "lines" } do
    states:plot { kind, x = { "state_bytes", log = true }, y = { "bits_per_byte", log = true } }
  end
  states:plot { "lines", x = "window", y = { "state_bytes", log = true }, group = "row", name = "y" }
  local drawn = charts_of(states)
  local made = drawn["pareto"]
  same_rows(block(made, "points")[1],
    { { 10, 1, 10, 10, 1, 1, 1 }, { 20, 1.1, 20, 20, 1.1, 1.1 + root, 1 } })
  t.equal(made.x_title, "carried state, bytes (at 0, not shown: without)")
  t.equal(drawn["lines"].x_title, made.x_title)
  same_rows(block(drawn["lines"], "data")[1], { { 10, 1, 1, 1 }, { 20, 1.1, 1.1, 1.1 + root } })
  t.equal(joined(setting(drawn["y"], "names")), "small large")
  t.equal(drawn["y"].x_title, "window (at 0, not shown: without)")
end)

t.test("data sets together: one chart, each value from its own data set, a curve per row", function()
  local both = lh.experiment "both"
  for place, dataset in ipairs { "narrow", "wide" } do
    for _, row in ipairs { "a", "b" } do
      both:row { row, model = model, task = task, train = train, dataset = dataset }
      put("both", row, dataset, 1, { state_bytes = (row == "a" and 8 or 32) * place,
        bits_per_byte = place })
    end
  end
  for _, kind in ipairs { "lines", "pareto" } do
    both:plot { kind, x = "state_bytes", y = "bits_per_byte", group = "row", together = true }
  end
  both:plot { "lines", x = "state_bytes", y = "bits_per_byte", group = "dataset", together = true,
    name = "by-data" }
  local made = charts_of(both)
  local curves = block(made["lines"], "data")
  same_rows(curves[1], { { 8, 1, 1, 1 }, { 16, 2, 2, 2 } })
  same_rows(curves[2], { { 32, 1, 1, 1 }, { 64, 2, 2, 2 } })
  t.equal(joined(setting(made["lines"], "names")), "a b")
  t.contains(made["lines"].title, "all data")
  curves = block(made["by-data"], "data")
  same_rows(curves[1], { { 8, 1, 1, 1 }, { 32, 1, 1, 1 } })
  same_rows(curves[2], { { 16, 2, 2, 2 }, { 64, 2, 2, 2 } })
  t.equal(joined(setting(made["by-data"], "names")), "narrow wide")
  t.equal(#block(made["pareto"], "points")[1], 4)
end)

t.test("data sets together, relative: each point by the base of its own data set", function()
  local ratios = lh.experiment "ratios"
  for place, dataset in ipairs { "one", "two", "none" } do
    for _, name in ipairs { "base", "half" } do
      local point = lh.grid { { "kind", name }, { "size", 4 } }()
      ratios:row { point, model = model, task = task, train = train, dataset = dataset }
      put("ratios", ratios.rows[#ratios.rows].label, dataset, 1,
        { mse = place < 3 and (name == "base" and 10 or 5) ^ place or 0 })
    end
  end
  ratios:plot { "lines", x = "size", y = "mse", group = "kind", relative_to = "base", together = true }
  same_rows(block(charts_of(ratios)["lines"], "data")[1], { { 4, 0.5, 0.5, 0.5 }, { 4, 0.25, 0.25, 0.25 } })
end)

t.test("bars: a row each with its spread and its text, room for the text", function()
  local made = charts_of(bench)["bars"]
  local bars = block(made, "bars")[1]
  t.equal(#bars, 6)
  same_rows({ bars[1], bars[6] }, {
    { 1, 2, 2 - root, 2 + root, "2.000", 2 + root },
    { 6, 6, 6 - root, 6 + root, "6.000", 6 + root },
  })
  t.equal(joined(setting(made, "labels")), "a 4 a 1 a 2 b 4 b 1 b 2")
  t.contains(made.after[1], ("set xrange [0:%.10g]"):format(1.15 * (6 + root)))
end)

t.test("bars of bytes count in the unit of their axis", function()
  local sizes = lh.experiment "sizes"
  for row, bytes in pairs { small = 64, large = 128 } do
    sizes:row { row, model = model, task = task, train = train, dataset = "text" }
    put("sizes", row, "text", 1, { state_bytes = bytes })
  end
  sizes:plot { "bars", y = "state_bytes", name = "few" }
  local made = charts_of(sizes)["few"]
  t.equal(made.x_title, "carried state, bytes")
  for _, bar in ipairs(block(made, "bars")[1]) do t.equal(bar[5], ("%d"):format(bar[2])) end
end)

t.test("a long name of a row has a margin as wide, and ends with … where that is too wide", function()
  local named = lh.experiment "named"
  local names = { "short", ("memorizing, "):rep(3), ("memorizing, "):rep(9) }
  for _, row in ipairs(names) do
    named:row { row, model = model, task = task, train = train, dataset = "text" }
    put("named", row, "text", 1, { mse = 1 })
  end
  named:plot { "bars", y = "mse" }
  local made, label = charts_of(named)["bars"], require "longhaul.report.label"
  local shown = setting(made, "labels")
  t.equal(shown[2], names[2])
  t.check(#shown[3] < #names[3] and shown[3]:match "…$", shown[3])
  for _, name in ipairs(shown) do
    t.check(setting(made, "left") * 960 > label.width(name) * 14 / 12, name)
  end
end)

t.test("bars of zeros have an axis", function()
  local zeros = lh.experiment "zeros"
  zeros:row { "none", model = model, task = task, train = train, dataset = "text" }
  put("zeros", "none", "text", 1, { error_percent = 0 })
  zeros:plot { "bars", y = "error_percent" }
  t.contains(charts_of(zeros)["bars"].after[1], "set xrange [0:1]")
end)

t.test("what gnuplot is given are these numbers", function()
  local text = gnuplot.program(charts_of(bench)["min"])
  t.contains(text, ("$points << EOD\n40 2 40 40 %.10g %.10g 1\n10 4 10 10"):format(2 - root,
    2 + root))
  t.contains(text, "$front << EOD\n10 4\n20 3\n40 2\n80 1\n86.3 1\nEOD\n")
  t.contains(text, 'array names[2] = ["a", "second"]\n')
  t.contains(text, 'chart_title = "values, text: bits/byte against FLOP/token (scale small)"\n')
  t.contains(text, 'set xrange [3.7:86.3]\nset xtics ("20" 20, "40" 40')
  t.contains(text, 'load "pareto.gp"\n')
end)

-- ---- published values, some of the rows, names ----

t.test("published values are hollow marks at the point of their row", function()
  local ours = lh.experiment "beside"
  local paper = require "longhaul.report.published".table "brt_table1"
  for i, row in ipairs { "XL:512", "XL:2048" } do
    ours:row { row, model = model, task = task, train = train, dataset = "arxiv" }
    put("beside", row, "arxiv", 1, { bits_per_token = 1.2 + 0.2 * i, flops_per_token = 10 * i })
  end
  ours:plot { "bars", y = "bits_per_token", published = "brt_table1" }
  for _, kind in ipairs { "pareto", "lines" } do
    ours:plot { kind, x = "window", y = "bits_per_token", published = "brt_table1" }
  end
  ours:plot { "pareto", x = "flops_per_token", y = "bits_per_token", published = "brt_table1",
    name = "no-x" }
  local made = charts_of(ours)
  local values = {}
  for i, row in ipairs(ours.rows) do values[i] = paper.value(row.label, "bits_per_token", "arxiv") end
  same_rows(block(made["bars"], "published")[1], { { 1, values[1], 1 }, { 2, values[2], 2 } })
  for _, kind in ipairs { "pareto", "lines" } do
    same_rows(block(made[kind], "published")[1], { { 16, values[1], 1 }, { 16, values[2], 1 } })
    t.equal(setting(made[kind], "published"), 2)
    t.equal(made[kind].x_title, "window (hollow: published)")
  end
  -- what the paper prints no cost of has no place over a cost
  t.equal(setting(made["no-x"], "published"), 0)
  t.fails(function()
    ours:plot { "lines", x = "window", y = "mse", relative_to = "a", published = "brt_table1",
      name = "both" }
  end, "not relative to a curve")
  ours:plot { "bars", y = "mse", published = "brt_table9", name = "none" }
  t.fails(function() ours:check() end, "no published values 'brt_table9'")
end)

t.test("a published value that would press the points flat is told, not drawn", function()
  local points, axis = {}, require "longhaul.report.axis"
  for i, row in ipairs { "XL:512", "XL:2048" } do points[i] = { i, 1, row = { label = row, dataset = "arxiv" } } end
  local function found(low, high)
    local axes = { y = axis.over({ low, high }, {}) }
    return parts.published({ published = "brt_table1" }, points, "window", "bits_per_token", axes)
  end
  local marks, beyond = found(2.30, 2.31)
  t.equal(#marks .. " " .. #beyond, "0 2")
  t.equal(#found(1.43, 1.44), 2) -- within a tenth of the axis' end
  t.equal(#found(0.5, 0.8), 0) -- farther than the axis is long, and than that
  t.equal(parts.published_text(marks, beyond), " (2 published values of y, 1.31 to 1.45, lie beyond the axes)")
  t.equal(parts.published_text({ 1 }, { 1.45 }),
    " (hollow: published; 1 published value of y, 1.45, lies beyond the axes)")
end)

t.test("a published value that lies on the axis is drawn, however near each other the points are", function()
  local close = lh.experiment "close"
  for i, row in ipairs { "XL:512", "XL:2048" } do
    close:row { row, model = model, task = task, train = train, dataset = "arxiv" }
    put("close", row, "arxiv", 1, { bits_per_token = 2.5 + 0.01 * i })
  end
  close:plot { "bars", y = "bits_per_token", published = "brt_table1" }
  local made = charts_of(close)["bars"]
  t.equal(setting(made, "published"), 2)
  t.equal(made.x_title, "bits/token (hollow: published)")
end)

t.test("where: only the rows that have these factors", function()
  bench:plot { "lines", x = "size", y = "bits_per_byte", where = { kind = "b" }, name = "b-alone" }
  local curves = block(charts_of(bench)["b-alone"], "data")
  t.equal(#curves, 1)
  same_rows({ curves[1][1] }, { { 1, 5, 5 - root, 5 + root } })
end)

t.test("a data set that no row is of, and a loss that no curve has, are refused with the nearest", function()
  local wrong = lh.experiment "wrong-dataset"
  wrong:row { "row", model = model, task = task, train = train, dataset = "generate:books" }
  wrong:plot { "bars", y = "mse", dataset = "generate:boks" }
  t.fails(function() wrong:check() end,
    "plot: field 'dataset': no row is of 'generate:boks' (did you mean 'generate:books'?)")
  t.fails(function() wrong:plot { "loss", y = "valid_bit", name = "own" } end,
    "field 'y': no column 'valid_bit' in a curve (did you mean 'valid_bits'?)")
end)

-- ---- curves ----

local taught = lh.experiment "taught"
taught:row { "falls", model = model, task = task, train = train, seeds = 2, dataset = "text" }
taught:row { "long", model = model, task = task, train = train, dataset = "text" }
taught:plot { "loss", y = "valid_bits", name = "held-out" }
taught:plot { "loss", x = "flops", name = "by-flops" }
taught:plot { "loss", x = "seconds", name = "by-seconds" }
local open = store.open(folder, "taught")
for seed = 1, 2 do
  local points = {}
  for i = 1, 4 do
    points[i] = { step = i, tokens = 32 * i, loss_bits = 10 - i + (seed == 1 and 1 or -1), valid_bits = i % 2 == 0
      and 8 - i + seed or nil }
  end
  open:write_curve(put("taught", "falls", "text", seed, { bits_per_byte = 1, flops_per_token = 10 }),
    points)
end
local long = {}
for i = 1, 100 do long[i] = { step = i, loss_bits = 100 - i } end
open:write_curve(put("taught", "long", "text", 1, { bits_per_byte = 1 }), long)

t.test("loss: the mean over seeds at each step, smoothed only where there are 50 points or more", function()
  local curves = block(charts_of(taught)["loss"], "data")
  t.equal(#curves, 2)
  same_rows({ { curves[1][1][1], curves[1][1][2] }, { curves[1][4][1], curves[1][4][2] } },
    { { 1, 9 }, { 4, 6 } })
  t.equal(#curves[2], 100)
  t.near(curves[2][1][2], (99 + 98 + 97) / 3, 1e-9) -- two points on either side, where there are
  t.near(curves[2][50][2], 50, 1e-9)
  t.near(curves[2][100][2], 1, 1e-9)
end)

t.test("loss over FLOPs: three passes over the tokens of the steps; without step times none over seconds", function()
  local made = charts_of(taught)["by-flops"]
  local curve = block(made, "data")[1]
  same_rows({ { curve[1][1], curve[1][2] }, { curve[4][1], curve[4][2] } },
    { { 960, 9 }, { 3840, 6 } })
  t.equal(made.x_title, "training FLOPs (band: from the least to the most of the seeds)")
  t.equal(charts_of(taught)["by-seconds"].lacks, "step_time_ms of an idle machine")
  t.contains(select(2, pcall(function() lh.experiment("x"):plot { "loss", x = "hours" } end)),
    "step, seconds or flops, not 'hours'")
  t.contains(select(2, pcall(function() lh.experiment("x"):plot { "loss", x = "flops" } end)),
    "needs a name of its own")
  t.contains(select(2, pcall(function() lh.experiment("x"):plot { "bars", y = "mse" }:plot { "bars", y = "mae" } end)),
    "an earlier plot is called 'bars'")
end)

t.test("loss of a named column: the steps that have it; the axis begins below the least value", function()
  local made = charts_of(taught)["held-out"]
  same_rows({ { table.unpack(block(made, "data")[1][1], 1, 2) },
    { table.unpack(block(made, "data")[1][2], 1, 2) } },
    { { 2, 7.5 }, { 4, 5.5 } })
  t.equal(joined(setting(made, "names")), "falls")
  t.equal(made.y_title, "valid. bits/token")
  t.equal(made.title, "taught, text: valid. bits/token by step (scale small)")
  t.contains(made.after[2], 'set yrange [4.94:8.06]\nset ytics ("5.0" 5, "5.5" 5.5, "6.0" 6')
end)

t.test("loss: the mean of seeds that ended at different steps ends with the first of them", function()
  local uneven = lh.experiment "uneven"
  uneven:row { "row", model = model, task = task, train = train, seeds = 3, dataset = "text" }
  for seed = 1, 3 do
    local points = {}
    for i = 1, seed < 3 and 1 + seed or 0 do points[i] = { step = 10 * i, loss_bits = 3 * seed - i } end
    store.open(folder, "uneven"):write_curve(put("uneven", "row", "text", seed, {}), points)
  end
  local curve = block(charts_of(uneven)["loss"], "data")[1]
  t.equal(#curve, 2)
  same_rows({ { table.unpack(curve[1], 1, 2) }, { table.unpack(curve[2], 1, 2) } },
    { { 10, 3.5 }, { 20, 2.5 } })
end)

-- ---- what was measured at distances ----

local recall = lh.experiment "recall"
recall:row { "reads", model = model, task = task, train = train, seeds = 2, dataset = "facts" }
for seed, value in ipairs { 1, 0.4 } do
  local id = put("recall", "reads", "facts", seed, {})
  store.open(folder, "recall"):write_probes(id, {
    { name = "context_recall_2", value = value }, { name = "context_recall_4", value = 0 },
    { name = "context_changed_2", value = value - 1 },
  })
end
for _, part in ipairs { "recall", "changed" } do
  recall:plot { "profile", part = part, dataset = "facts", band = "seeds", name = part }
end

t.test("profile: a band stays where the metric can be", function()
  local drawn = charts_of(recall)
  local spread = math.sqrt(2) * 0.3
  same_rows(block(drawn.recall, "data")[1], { { 2, 0.7, 0.7 - spread, 1 }, { 4, 0, 0, 0 } })
  same_rows(block(drawn.changed, "data")[1], { { 2, -0.3, -0.3 - spread, -0.3 + spread } })
end)

-- ---- what layers say of themselves ----

local gated = lh.experiment "gated"
local encoded = lh.models.gpt2 { layers = 1, width = 8, heads = 2, context = 16, window = 16,
  rsa = { kinds = { 1, 0, 0, 1, 0, 0 }, dilation = { 3 } } }
for i, dataset in ipairs { "one", "two" } do
  gated:row { "encoded", model = encoded, task = task, train = train, dataset = dataset }
  local id = put("gated", "encoded", dataset, 1, { model_options = encoded.text })
  store.open(folder, "gated"):write_probes(id, i == 1 and {
    { name = "layer_1_rsa_gate", value = 0.1 }, { name = "layer_2_rsa_gate", value = 0.2 },
    { name = "layer_3_rsa_gate", value = 0.3 },
    { name = "layer_1_rsa_head_1_lambda", value = 0.5 },
    { name = "layer_1_rsa_head_2_lambda", value = -0.5 },
  } or { { name = "layer_1_rsa_gate", value = 0.4 }, { name = "layer_2_rsa_gate", value = 0.6 } })
end
gated:plot { "boxes", y = "rsa_gate", name = "boxes" }
gated:plot { "boxes", y = "rsa_gate", dataset = "two", name = "one-set" }
gated:plot { "recurrence", row = "encoded", dataset = "one", layer = 1, name = "lags" }

t.test("boxes: quartiles over layers, a box per data set", function()
  local made = charts_of(gated)["boxes"]
  same_rows(block(made, "boxes")[1],
    { { 1, 0.1, 0.15, 0.2, 0.25, 0.3 }, { 2, 0.4, 0.45, 0.5, 0.55, 0.6 } })
  t.equal(joined(setting(made, "names")), "one two")
  t.contains(made.after[1], 'set yrange [0.075:0.625]\nset ytics ("0.1" 0.1, "0.2" 0.2')
  t.equal(#made.runs, 2)
  made = charts_of(gated)["one-set"]
  same_rows(block(made, "boxes")[1], { { 1, 0.4, 0.45, 0.5, 0.55, 0.6 } })
  t.equal(#made.runs, 1)
  t.equal(made.runs[1].dataset, "two")
end)

t.test("recurrence: powers of a head's decay by lag; a dilated head has every third lag", function()
  local curves = block(charts_of(gated)["lags"], "data")
  t.equal(#curves, 2)
  for _, pair in ipairs { { 1, 0, 0 }, { 1, 1, 0.5 }, { 1, 3, 0.125 }, { 2, 1, 0 }, { 2, 3, -0.5 },
    { 2, 6, 0.25 } } do
    t.equal(curves[pair[1]][pair[2] + 1][1], pair[2])
    t.near(curves[pair[1]][pair[2] + 1][2], pair[3], 1e-12)
  end
end)

-- ---- columns ----

t.test("columns: a row beside a row by data set, and a column split into a part and the rest", function()
  local sized = lh.experiment "sized"
  local sizes = { full = { one = 7, two = 9 }, ["full, bare"] = { one = 5, two = 8 } }
  for name, by_dataset in pairs(sizes) do
    for dataset, size in pairs(by_dataset) do
      put("sized", name, dataset, 1, { parameters = size })
    end
  end
  for _, name in ipairs { "full", "full, bare" } do
    for _, dataset in ipairs { "one", "two" } do
      sized:row { name, model = model, task = task, train = train, dataset = dataset }
    end
  end
  sized:plot { "columns", y = "parameters", rows = { "full", "full, bare" }, name = "pairs" }
  sized:plot { "columns", y = "parameters", rows = { "full" }, without = "%s, bare",
    parts = { "rest", "part" }, x_title = "horizon, hours", name = "split" }
  local made, by_place = charts_of(sized), {}
  local clusters, bars = block(made["pairs"], "clusters")[1], block(made["pairs"], "bars")[1]
  for _, bar in ipairs(bars) do
    by_place[("%s %d"):format(clusters[math.floor(bar[1] + 0.5)][2], bar[4])] = bar[3]
  end
  t.equal(#bars, 4)
  t.equal(by_place["one 1"], 7)
  t.equal(by_place["one 2"], 5)
  t.equal(by_place["two 1"], 9)
  t.equal(by_place["two 2"], 8)
  t.contains(made["pairs"].after[1], "set yrange [0:11.25]")
  t.equal(joined(setting(made["split"], "names")), "rest part")
  t.equal(made["split"].x_title, "horizon, hours")
  local split = {}
  for i, bar in ipairs(block(made["split"], "bars")[1]) do
    split[i] = ("%g of %g"):format(bar[2], bar[3])
  end
  table.sort(split)
  t.equal(joined(split), "5 of 7 8 of 9")
end)

-- ---- what cannot be drawn ----

t.test("a chart whose runs lack what it shows says so, and so does one that fails", function()
  local bare = lh.experiment "bare"
  bare:row { "row", model = model, task = task, train = train, dataset = "text" }
  bare:plot { "lines", x = "no_such_axis", y = "bits_per_byte", name = "axis" }
  bare:plot { "boxes", y = "bits_per_byte", by = function() error "no box" end, name = "boxes" }
  bare:plot { "bars", y = "bits_per_byte" }
  t.equal(#chart.values(bare, settings, results.of(bare, settings)), 0) -- nothing was run yet
  put("bare", "row", "text", 1, { bits_per_byte = 1 })
  local list = chart.values(bare, settings, results.of(bare, settings), true)
  t.equal(#list, 3)
  t.equal(list[1].lacks, "no_such_axis")
  t.contains(list[2].failure, "no box")
  t.equal(#block(list[3], "bars")[1], 1)
end)

os.execute("rm -r '" .. folder .. "'")
t.finish()

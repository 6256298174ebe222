-- Box plots and columns: what is drawn, and where a chart of other experiments' rows gets them.
local t = dofile "tests/test.lua"
local chart = require "longhaul.report.chart"
local boxes = require "longhaul.report.charts.boxes"
local columns = require "longhaul.report.charts.columns"
local core = require "longhaul.core"
local drawn_chart = dofile "tests/lua/drawn.lua"
local gnuplot = require "longhaul.report.gnuplot"
local label = require "longhaul.report.label"
local lh = require "longhaul"
local lists = require "longhaul.run.lists"
local parts = require "longhaul.report.chart_parts"
local report = require "longhaul.report.report"
local results = require "longhaul.report.results"
local runner = require "longhaul.run.runner"
local runs = dofile "tests/lua/runs.lua"
local store = require "longhaul.run.store"

local function items(...)
  local list = {}
  for i, value in ipairs { ... } do list[i] = { value, i } end
  return list
end

t.test("quartiles lie between values, whiskers end at values", function()
  local box = boxes.summary(items(4, 1, 3, 2))
  t.near(box.q1, 1.75, 1e-12)
  t.near(box.median, 2.5, 1e-12)
  t.near(box.q3, 3.25, 1e-12)
  t.equal(box.low, 1)
  t.equal(box.high, 4)
  t.equal(#box.outliers, 0)
  local one = boxes.summary(items(0.5))
  t.equal(one.low, 0.5)
  t.equal(one.median, 0.5)
end)

t.test("the bar of a point along x ends where its metric, and a logarithmic axis, do", function()
  local row = { label = "a", dataset = "text", factors = {} }
  local values = { accuracy = { 0.55, 0.6 }, bits_per_byte = { 1 } }
  local found = { value = function(_, _, name) return table.unpack(values[name]) end }
  local view = { results = found, experiment = { rows = { row } } }
  local points = parts.points_of(view, { x = { "accuracy", log = true }, y = "bits_per_byte" }, "text")
  t.equal(table.concat(points[1], " "), "0.55 1 0.55 1 1 1")
end)

t.test("a whisker never ends inside the box", function()
  -- the upper quartile lies beyond every value but the outlier
  local box = boxes.summary(items(0, 0, 0, 10))
  t.near(box.q3, 2.5, 1e-12)
  t.equal(#box.outliers, 1)
  t.near(box.high, 2.5, 1e-12)
  box = boxes.summary(items(0, 10, 10, 10))
  t.near(box.q1, 7.5, 1e-12)
  t.near(box.low, 7.5, 1e-12)
end)

t.test("what lies beyond 1.5 interquartile ranges is an outlier with the number of its layer", function()
  local box = boxes.summary(items(5, 1, 2, 3, 4, 20, -9))
  t.equal(#box.outliers, 2)
  t.equal(box.outliers[1][1], -9)
  t.equal(box.outliers[1][2], 7)
  t.equal(box.outliers[2][2], 6)
  t.equal(box.low, 1)
  t.equal(box.high, 5)
end)

t.test("columns stand in clusters of rows by data set", function()
  local heights = { ["a X 1"] = 1, ["b X 1"] = 2, ["a X 2"] = 3 }
  local made = columns.layout({ "a", "b" }, { "X 1", "X 2" },
    function(row, dataset) return heights[row .. " " .. dataset] end)
  t.equal(made.shared, "X")
  t.equal(made.clusters[2][2], "2")
  t.equal(#made.bars, 3)
  t.near(made.bars[1][1], 0.8, 1e-12)
  t.near(made.bars[2][1], 1.2, 1e-12)
  t.equal(made.bars[2][4], 2)
  t.equal(made.bars[3][3], 3)
end)

t.test("split columns stand in clusters of data sets by row, and a part may take away", function()
  local made = columns.layout({ "a" }, { "X", "Y" }, function() return 5 end,
    function(_, dataset) return dataset == "X" and 4 or 6 end)
  t.equal(made.shared, "")
  t.equal(made.clusters[1][2], "a")
  t.equal(made.bars[1][2], 4)
  t.equal(made.bars[1][3], 5)
  t.equal(made.bars[2][2], 6)
  t.equal(made.bars[2][3], 5)
  t.equal(made.ticks[2][2], "Y")
end)

-- ---- whole charts ----

local folder = os.tmpname()
os.remove(folder)
core.make_folder(folder)
lh.configure { scale = "smoke" }
local settings = { results = folder, scale = "smoke", device = "cpu", no_timing = true }

local task = lh.tasks.language_model {
  lh.data.text { "generate:books", documents = 20, document_bytes = 512, tokens = "bytes" },
  segment = 16, batch = 2,
  evaluate_batches = 2,
}
local train = lh.train { steps = 2, optimizer = "adam", rate = 1e-3, warmup = 1 }
local encoded = lh.models.gpt2 { layers = 3, width = 8, heads = 2, context = 16, window = 16,
  rsa = { kinds = { 2, 0, 0, 0, 0, 0 } } }

local sources = {}
for i, name in ipairs { "gates-one", "gates-two" } do
  sources[i] = lh.experiment(name)
  sources[i]:row { "encoded", model = encoded, task = task, train = train, dataset = "set" .. i }
  sources[i]:row { "plain", model = lh.models.gpt2 { layers = 1, width = 8, heads = 2, context = 16,
    window = 16 }, task = task,
    train = train, dataset = "set" .. i }
end
local figure = lh.experiment "gates-figure"
figure:plot { "boxes", of = sources, y = "rsa_gate", name = "gates" }
figure:plot { "boxes", of = sources[2], y = "rsa_gate", name = "parts",
  by = function() return "30%" end }

t.test("an experiment that shows others' rows runs them first", function()
  local failed, interrupted = runner.run(figure, settings)
  t.equal(failed, 0)
  t.equal(interrupted, false)
  for _, source in ipairs(sources) do t.equal(#store.at(folder, source.name):rows(), 2) end
end)

t.test("a box has every layer of the models that have gates", function()
  local list = {}
  for i, source in ipairs(sources) do
    list[i] = { rows = source.rows, results = results.of(source, settings),
      store = store.at(folder, source.runs) }
  end
  local made = boxes.gather(list, "rsa_gate", function(row) return row.dataset end)
  t.equal(#made, 2)
  t.equal(made[2].name, "set2")
  t.equal(#made[2].values, 3)
  t.equal(made[2].values[3][2], 3)
  t.near(made[2].values[1][1], 0.5, 0.05) -- mu = 0 and two steps
end)

t.test("charts are drawn of what was measured", function()
  local made = chart.values(figure, settings, results.of(figure, settings))
  t.equal(#made, 2)
  t.equal(made[1].name, "gates")
  t.contains(gnuplot.program(made[1]), '"set1", "set2"')
  local timed = lh.experiment "gates-times"
  for _, name in ipairs { "a", "a, bare" } do
    timed:row { name, model = encoded, task = task, train = train, dataset = "set1" }
    runs.put(folder, timed, { label = name, scale = "smoke" })
    runs.time(folder, timed, { round = "r", scale = "smoke",
      times = { [name] = name == "a" and 7 or 5 } })
  end
  timed:plot { "columns", y = "step_time_ms", rows = { "a" }, without = "%s, bare", name = "split" }
  timed:plot { "columns", y = "step_time_ms", rows = { "a", "a, bare" }, name = "pair" }
  timed:plot { "lines", x = "step_time_ms", y = { "step_time_ms", log = true }, name = "log" }
  made = chart.values(timed, settings, results.of(timed, settings))
  t.equal(#made, 3)
  t.contains(gnuplot.program(made[1]), "1 5 7 1")
  local low, high = gnuplot.program(
    made[3]):match "set yrange %[([%d.]+):([%d.]+)%]\nset logscale y"
  t.check(tonumber(low) > 1 and tonumber(low) < 5 and tonumber(high) > 7 and tonumber(high) < 10,
    "room of less than a decade")
end)

t.test("a chart of all data sets that names one shows it alone; no column without both parts", function()
  local some, made = lh.experiment "some", {}
  for i, name in ipairs { "full", "full, bare" } do
    for k, dataset in ipairs { "one", "two" } do
      some:row { name, model = encoded, task = task, train = train, dataset = dataset }
      local values = { label = name, dataset = dataset, scale = "smoke", parameters = 10 * k - i }
      if i == 1 or k == 1 then runs.put(folder, some, values) end
    end
  end
  some:plot { "columns", y = "parameters", rows = { "full" }, dataset = "two", name = "alone" }
  some:plot { "columns", y = "parameters", rows = { "full" }, without = "%s, bare", name = "split" }
  some:plot { "columns", y = "parameters", rows = { "full" }, without = "%s, bare", dataset = "two",
    name = "no-part" }
  some:plot { "lines", x = "window", y = "parameters", together = true, dataset = "two" }
  for _, each in ipairs(chart.values(some, settings, results.of(some, settings), true)) do
    made[each.name] = each
  end
  t.contains(gnuplot.program(made.alone), "$bars << EOD\n1 19 19 1 19 19\nEOD")
  t.equal(made.alone.title, "some, two: parameters (scale smoke)")
  t.contains(gnuplot.program(made.split), "$bars << EOD\n0.8 8 9 1 9 9\nEOD")
  t.equal(made.split.title, "some, all data: parameters (scale smoke)")
  t.equal(made["no-part"].lacks, "parameters")
  t.contains(gnuplot.program(made.lines), "$data << EOD\n16 19 19 19\nEOD")
  t.equal(made.lines.title, "some, two: parameters by window (scale smoke)")
end)

t.test("columns have whiskers, from the top of the whole where they are split", function()
  local seeds = lh.experiment "column-seeds"
  for i, name in ipairs { "full", "full, bare" } do
    seeds:row { name, model = encoded, task = task, train = train, dataset = "one" }
    for seed = 1, 3 do
      runs.put(folder, seeds, { label = name, seed = seed, scale = "smoke", bits_per_token = 6 - 2 * i + seed })
    end
  end
  seeds:plot { "columns", y = "bits_per_token", rows = { "full", "full, bare" }, name = "side" }
  seeds:plot { "columns", y = "bits_per_token", rows = { "full" }, without = "%s, bare", name = "split" }
  local made = {}
  for _, each in ipairs(chart.values(seeds, settings, results.of(seeds, settings), true)) do
    made[each.name] = each
  end
  t.contains(gnuplot.program(made.side), "$bars << EOD\n0.8 6 6 1 5 7\n1.2 4 4 2 3 5\nEOD")
  t.contains(gnuplot.program(made.split), "$bars << EOD\n1 4 6 1 5 7\nEOD")
  if not gnuplot.is_available() then return t.skip(gnuplot.missing) end
  for _, name in ipairs { "side", "split" } do
    local svg = core.read_file(gnuplot.chart(folder .. "/" .. name, made[name])[1])
    t.check(not svg:find("nan", 1, true), "a whisker without a place")
  end
end)

t.test("a part that takes away is drawn, hatched and named, within the axis", function()
  local harmful = lh.experiment "harmful"
  for i, name in ipairs { "full", "full, bare" } do
    for k, dataset in ipairs { "one", "two" } do
      harmful:row { name, model = encoded, task = task, train = train, dataset = dataset }
      runs.put(folder, harmful, { label = name, dataset = dataset, scale = "smoke", mse = i == 2 and 4 or 3 * k })
    end
  end
  harmful:plot { "columns", y = "mse", rows = { "full" }, without = "%s, bare", parts = { "the rest", "it" },
    name = "both" }
  harmful:plot { "columns", y = "mse", rows = { "full" }, without = "%s, bare", dataset = "two", name = "good" }
  local made = {}
  for _, each in ipairs(chart.values(harmful, settings, results.of(harmful, settings), true)) do
    made[each.name] = each
  end
  t.contains(gnuplot.program(made.both), "$bars << EOD\n0.8 4 3 1 3 3\n1.2 4 6 2 6 6\nEOD")
  t.contains(gnuplot.program(made.both), '"the rest, above the whole"')
  t.check(not gnuplot.program(made.good):find("above the whole", 1, true), "a name of nothing")
  if not gnuplot.is_available() then return t.skip(gnuplot.missing) end
  local path = folder .. "/both"
  local svg = core.read_file(gnuplot.chart(path, made.both)[1])
  t.contains(svg, "the rest, above the whole")
  t.contains(svg, "<pattern")
end)

t.test("gnuplot draws what it is given, as SVG and PNG", function()
  if not gnuplot.is_available() then return t.skip(gnuplot.missing) end
  for _, path in ipairs { "gates-figure/gates", "gates-figure/parts" } do
    os.remove(("%s/%s.svg"):format(folder, path))
  end
  local paths, excuses, failed = report.charts(figure, settings)
  t.equal(#paths, 4)
  t.equal(#excuses + failed, 0)
  t.contains(core.read_file(folder .. "/gates-figure/gates.svg"), "<svg")
  t.contains(core.read_file(folder .. "/gates-figure/gates.svg"), ">set2<")
  t.equal(core.read_file(folder .. "/gates-figure/parts.png"):sub(2, 4), "PNG")
end)

-- A chart of one bar.
local function one_bar(title, label)
  local made = gnuplot.new("bars", title, "", "")
  made.blocks = { { "bars", { { { 1, 2, 2, 2, "2", 2 } } } }, { "published", { { { 1, 2, 1 } } } } }
  made.settings = { { "rows", 1 }, { "labels", { label } }, { "left", 0.1 }, { "published", 0 } }
  made.after = { "set xrange [0:3]" }
  return made
end

t.test("a character that no font here has is a box of the usual size in PNG, and itself elsewhere", function()
  if not gnuplot.is_available() then return t.skip(gnuplot.missing) end
  local function drawn(label)
    local paths = gnuplot.chart(folder .. "/signs", one_bar("Größe ≈ 2", label))
    return core.read_file(paths[2]), core.read_file(paths[1])
  end
  local png, svg = drawn "a \u{10fffd}" -- of no script
  t.check(png == drawn "a \u{25a1}", "another picture")
  t.contains(svg, "a \u{10fffd}")
  drawn "a \u{10fffd}"
  t.contains(core.read_file(folder .. "/signs.gp"), "a \u{10fffd}")
  t.contains(core.read_file(folder .. "/signs.gp"), "Größe ≈ 2")
end)

-- Two processes draw into one folder: what this one has not finished is no leftover to the other.
t.test("a picture that is being drawn is not swept away by another process", function()
  if not gnuplot.is_available() then return t.skip(gnuplot.missing) end
  local program = os.getenv "LONGHAUL_BIN" or core.program_folder() .. "/longhaul"
  local script, before = os.tmpname(), { read_file = core.read_file, write_file = core.write_file }
  core.write_file(script, ("require 'longhaul.core'.sweep_folder %q"):format(folder))
  local function sweep() t.check(os.execute(program .. " lua " .. script), "no sweep") end
  for name, plain in pairs(before) do
    core[name] = function(...)
      local value = plain(...)
      sweep()
      return value
    end
  end
  local made = one_bar("swept \u{10fffd}", "a") -- no font has it: PNG is drawn from another program
  local fine, paths = pcall(gnuplot.chart, folder .. "/swept", made)
  for name, plain in pairs(before) do core[name] = plain end
  os.remove(script)
  t.check(fine, paths)
  for _, path in ipairs(paths) do t.check(core.exists(path), path) end
end)

t.test("a long title, or the line below it, has letters so small that it ends within the canvas", function()
  if not gnuplot.is_available() then return t.skip(gnuplot.missing) end
  local function size_of(letters, is_source)
    local text = ("x"):rep(letters)
    local made = one_bar(is_source and "title" or text, "a")
    made.source = is_source and text or ""
    local svg = core.read_file(gnuplot.chart(folder .. "/title", made)[1])
    local place, size = svg:match('translate%(([%d.]+),[%d.]+%)"[^>]*font%-size="([%d.]+)"[^>]*>%s*<text>'
      .. text)
    t.equal(tonumber(place), 480) -- the middle of the canvas, wherever the plot is
    return tonumber(size)
  end
  t.equal(size_of(76), 15)
  t.equal(size_of(152), 7.5)
  t.equal(size_of(150, true), 12)
  t.equal(size_of(300, true), 6)
end)

-- The SVG of a chart of curves of two points each.
local function curves_svg(count)
  local curves, names = {}, {}
  for i = 1, count do
    curves[i], names[i] = { { 1, i, n = 2 }, { 2, 2 * i, n = 2 } }, ("curve %d."):format(i)
  end
  local made = parts.new("lines", "many", "x", "y")
  parts.add_curves(made, curves, names, { marks = true })
  return core.read_file(gnuplot.chart(folder .. "/many", made)[1])
end

t.test("texts are drawn letter by letter, whatever gnuplot could read in them", function()
  if not gnuplot.is_available() then return t.skip(gnuplot.missing) end
  local text = "a_b^2{c}~"
  local point, none = { 1, 2, 1, 1, 2, 2, 1 }, { { { n = 4 } } }
  local made = parts.new("pareto", text, text, text)
  made.blocks = { { "points", { { point } } }, { "front", { { { 1, 2 }, { 3, 2 } } } },
    { "labels", { { { 1, 2, text, -1 }, { n = 4 } } } }, { "leaders", none }, { "published", none } }
  made.settings = { { "groups", 2 }, { "names", { text, text } }, { "right", 0.9 }, { "frontier", 1 },
    { "published", 0 }, { "front_name_x", 1 }, { "front_name_y", 1 } }
  made.after = { "set xrange [0:3]", "set yrange [0:3]" }
  local svg = core.read_file(gnuplot.chart(folder .. "/letters", made)[1])
  local _, whole = svg:gsub(text:gsub("%p", "%%%0"), "")
  t.equal(whole, 1 + 1 + 2 + 1 + 2) -- both titles of the file, axes, label, legend
end)

t.test("a chart of one row is drawn", function()
  if not gnuplot.is_available() then return t.skip(gnuplot.missing) end
  local alone = lh.experiment "gates-one"
  alone:row { "encoded", model = encoded, task = task, train = train, dataset = "set1" }
  alone:plot { "pareto", x = "flops_per_token", y = "bits_per_token" }
  alone:plot { "bars", y = "bits_per_token" }
  alone:plot { "lines", x = "layers", y = "bits_per_token" }
  local paths, excuses, failed = report.charts(alone, settings)
  t.equal(failed .. table.concat(excuses), "0")
  t.check(#paths >= 6)
end)

t.test("a legend names every curve, and shows its mark", function()
  if not gnuplot.is_available() then return t.skip(gnuplot.missing) end
  for _, count in ipairs { 2, 21, 39 } do
    local svg = curves_svg(count)
    for i = 1, count do t.contains(svg, ("<text>curve %d.</text>"):format(i)) end
    local _, marks = svg:gsub("#gpPt%d+' transform='translate", "")
    t.equal(marks, 3 * count)
  end
end)

t.test("the chart of trials names the rows whose trials are by another score", function()
  local tuned = lh.experiment "gates-tuned"
  for i, by in ipairs { "valid_bits_per_token", "valid_accuracy" } do
    tuned:row { "row " .. i, model = encoded, task = task, train = train, dataset = "set1",
      tune = lh.tune { rate = { 1e-3, 1e-2 }, by = by } }
  end
  for i, trial in ipairs(tuned.trials.rows) do
    runs.put(folder, tuned.trials, { label = trial.label, scale = "smoke", valid_bits_per_token = i,
      status = i == 4 and "failed" or "done" })
  end
  local made = lists.named(chart.values(tuned, settings, results.of(tuned, settings)), "trials")
  t.equal(made.x_title, "rate (circle: chosen; by another score or option, not shown: row 2)")
end)

t.test("columns are as many as there are rows, beyond eight colours hatched", function()
  if not gnuplot.is_available() then return t.skip(gnuplot.missing) end
  local many, names = lh.experiment "gates-many", {}
  for i = 1, 18 do
    names[i] = ("column %d."):format(i)
    many:row { names[i], model = encoded:with { dropout = i / 100 }, task = task, train = train, dataset = "set1" }
    runs.put(folder, many, { label = names[i], scale = "smoke", bits_per_token = i })
  end
  for count, hatchings in pairs { [8] = 0, [9] = 1, [18] = 10 } do
    many:plot { "columns", y = "bits_per_token", rows = { table.unpack(names, 1, count) }, name = "of" .. count }
    local made = lists.named(chart.values(many, settings, results.of(many, settings)), "of" .. count)
    local svg = core.read_file(gnuplot.chart(folder .. "/of" .. count, made)[1])
    for i = 1, count do t.contains(svg, ("<text>column %d.</text>"):format(i)) end
    local _, patterns = svg:gsub("<pattern ", "")
    t.equal(patterns, 2 * hatchings) -- a column, and its sample in the legend
  end
end)

t.test("a chart that gnuplot refuses does not stop the others", function()
  if not gnuplot.is_available() then return t.skip(gnuplot.missing) end
  local made = chart.values(figure, settings, results.of(figure, settings))
  made[1].after = { "plot no_such_thing" }
  chart.draw(made, folder .. "/gates-figure")
  t.contains(made[1].failure, "no_such_thing")
  t.equal(#made[2].paths, 2)
end)

t.test("what encodings add to heads is drawn over the letters that the model reads", function()
  local encodings = require "longhaul.report.encodings"
  local read = lh.experiment "heads"
  read:row {
    "encoded", dataset = "parity", train = train,
    model = lh.models.transformer { layers = 2, width = 8, heads = 2, hidden = 8,
      positions = "none",
      rsa = { kinds = { 1, 0, 0, 1, 0, 0 }, dilation = { 3 } } },
    task = lh.tasks.regular_language { language = "parity", batch = 4, strings = 16,
      evaluate_strings = 4 },
  }
  read:plot { "outputs", row = "encoded", layer = 2, input = "01101001" }
  t.equal(runner.run(read, settings), 0)
  local weights = store.at(folder, "heads"):weights(store.at(folder, "heads"):rows()[1].run_id)
  t.check(core.exists(weights), "the row keeps its weights")
  local heads = encodings.outputs(read.rows[1], weights, "01101001", 2)
  t.equal(#heads, 2)
  t.equal(#heads[2], 8)
  t.equal(heads[1][1], 0)
  t.check(heads[1][2] ~= 0)
  t.equal(heads[2][3], 0)
  t.check(heads[2][4] ~= 0, "three letters back is the first that the dilated head sees")
  local made = chart.values(read, settings, results.of(read, settings))
  t.equal(#made, 1)
  t.contains(gnuplot.program(made[1]), 'set xtics ("0" 1, "1" 2, "1" 3')
  local curves = made[1].blocks[1][2]
  t.equal(#curves, 2)
  for letter = 1, 8 do
    t.equal(curves[2][letter][1], letter)
    t.equal(curves[2][letter][2], heads[2][letter])
  end
end)

t.test("a label of a Pareto chart is no longer than half of it", function()
  local long = lh.experiment "long-labels"
  for i, text in ipairs { "short", ("very long "):rep(20) .. "label" } do
    long:row { text, model = encoded, task = task, train = train, dataset = "set1" }
    runs.put(folder, long, { label = text, scale = "smoke", mse = i, flops_per_token = i })
  end
  long:plot { "pareto", x = "flops_per_token", y = "mse" }
  local program = gnuplot.program(chart.values(long, settings, results.of(long, settings))[1])
  t.contains(program, '"short"')
  t.check(label.width(program:match '"(very long [^"]*…)"') < 835 / 2, "as wide as the plot")
end)

t.test("the name of the Pareto front hides no spread that its end passes", function()
  local passed = lh.experiment "passed"
  for i, row in ipairs { { "best", 10, 1 }, { "costly", 100, 1.2 } } do
    passed:row { row[1], model = encoded, task = task, train = train, dataset = "set1" }
    for seed = 1, 2 do
      runs.put(folder, passed, { label = row[1], seed = seed, scale = "smoke", flops_per_token = row[2],
        mse = row[3] + (i - 1) * (seed - 1.5) })
    end
  end
  passed:plot { "pareto", x = "flops_per_token", y = "mse" }
  local made = chart.values(passed, settings, results.of(passed, settings))[1]
  local name, spread = drawn_chart.setting(made, "front_name_x"), made.axes.x.part(100)
  t.check(made.axes.x.part(name) * 835 + label.width "Pareto front" < spread * 835, "its end is left of the spread")
end)

t.test("an axis is called as its plot says, with its unit, and so is it in the title", function()
  local named = lh.experiment "named"
  named:row { "row", model = encoded, task = task, train = train, dataset = "set1" }
  runs.put(folder, named, { label = "row", scale = "smoke", mse = 1 })
  named:plot { "lines", x = "layers", x_title = "depth of a model, layers", y = "mse" }
  local made = chart.values(named, settings, results.of(named, settings))[1]
  t.equal(made.x_title, "depth of a model, layers")
  t.equal(made.title, "named, set1: MSE by depth of a model (scale smoke)")
end)

t.test("an outlier of a box says which layer it is", function()
  local outlying = lh.experiment "outlying"
  outlying:row { "row", model = encoded, task = task, train = train, dataset = "set1" }
  local probes = {}
  for layer, value in ipairs { 0.1, 0.11, 0.12, 0.9, 0.1 } do
    probes[layer] = { name = ("layer_%d_rsa_gate"):format(layer), value = value }
  end
  local id = runs.put(folder, outlying, { label = "row", scale = "smoke" }).run_id
  store.open(folder, "outlying"):write_probes(id, probes)
  outlying:plot { "boxes", y = "rsa_gate" }
  local made = chart.values(outlying, settings, results.of(outlying, settings))[1]
  t.equal(made.blocks[2][1], "outliers")
  t.equal(table.concat(made.blocks[2][2][1][1], " "), "1 0.9 layer 4")
end)

t.test("fields that do not fit are refused", function()
  t.fails(function() figure:plot { "outputs", row = "a", layer = 1 } end,
    "field 'input' is missing: a string of 0 and 1")
  t.fails(function() figure:plot { "outputs", row = "a", layer = 1, input = "012" } end,
    "a string of 0 and 1")
  t.fails(function() figure:plot { "boxes", of = { "gates-one" }, y = "rsa_gate" } end,
    "an experiment or an array")
  t.fails(function() figure:plot { "columns", y = "rsa_gate" } end, "field 'rows' is missing: their labels")
  for _, without in ipairs { "%d x", "100%", "no REM", "%s, %s", "%s of 100%" } do
    t.fails(function() figure:plot { "columns", y = "rsa_gate", rows = { "a" }, without = without } end,
      "plot: field 'without' has one %s")
  end
  local shown = columns.rows { rows = { "a" }, without = "100%% of %s" }
  t.equal(table.concat(shown, "; "), "a; 100% of a")
  t.fails(function() figure:plot { "boxs", y = "rsa_gate" } end, "did you mean 'boxes'?")
end)

os.execute("rm -r '" .. folder .. "'")
t.finish()

-- Kinds of charts: each is one module under longhaul.report.charts, and nothing else has to know
-- it.
local t = dofile "tests/test.lua"
local chart = require "longhaul.report.chart"
local core = require "longhaul.core"
local gnuplot = require "longhaul.report.gnuplot"
local kinds = require "longhaul.report.kinds"
local lh = require "longhaul"
local parts = require "longhaul.report.chart_parts"
local quote = require "longhaul.run.quote"
local results = require "longhaul.report.results"
local runs = dofile "tests/lua/runs.lua"

local folder = os.tmpname()
os.remove(folder)
core.make_folder(folder)
lh.configure { scale = "small" }
local settings = { results = folder, scale = "small", device = "cpu" }

local model = lh.models.slide { layers = 1, width = 16, heads = 2, window = 16 }
local task = lh.tasks.language_model { lh.data.text "generate:books", segment = 64, batch = 2 }
local train = lh.train { steps = 1 }

local function new_bench(name)
  local bench = lh.experiment(name)
  bench:row { "a", model = model, train = train, task = task, dataset = "text" }
  return bench
end

t.test("every file of charts/ is a kind that says what it shows, which fields it takes, and how it is drawn", function()
  local files = io.popen "ls harness/report/charts"
  for name in files:lines() do
    local kind = kinds.find(name:match "^(.*)%.lua$")
    t.check(kind and #kind.says > 0 and #kind.fields > 0 and type(kind.draw) == "function", name)
    for _, field in ipairs(kinds.fields(kind)) do
      t.check(#field == 3 and #field[3] > 0,
        ("%s: field '%s' has a name, types and a meaning"):format(name, field[1]))
    end
  end
  files:close()
  t.equal(table.concat(kinds.names(), " "),
    "bars boxes columns lines loss outputs pareto profile recurrence trials")
  t.equal(kinds.find "nothing", nil)
  t.equal(#kinds.fields(kinds.find "bars"), 5)
end)

-- A kind that no other file names: a point for each value of `y`.
local dots = { says = "points",
  fields = { { "y", "string", "a metric", needed = true }, { "size", "number", "of a point" } } }

function dots.check(plot)
  return parts.check_metric(plot) or plot.size and plot.size < 0 and "'size' is not negative" or nil
end

function dots.weights(plot) return plot.size and "a" end

function dots.draw(view, plot, dataset)
  local value = view.results:value("a", plot.y, dataset)
  if not value then return nil end
  local made = parts.new("dots", parts.title(view, plot, "dots", dataset), "", plot.y)
  made.blocks = { { "points", { { { 1, value } } } } }
  return made
end

t.test("a kind that was just added is checked, drawn and listed without another line", function()
  package.preload["longhaul.report.charts.dots"] = function() return dots end
  t.contains(table.concat(kinds.names(), " "), "columns dots lines")
  local bench = new_bench "dots"
  runs.put(folder, bench, { label = "a", seed = 1, bits_per_byte = 2.5 })
  bench:plot { "dots", y = "bits_per_byte" }
  t.check(not bench.rows[1].keep_weights, "its weights are not wanted yet")
  bench:plot { "dots", y = "mse", size = 3, name = "errors" }
  t.check(bench.rows[1].keep_weights, "a kind that reads weights has them kept")
  local made = chart.values(bench, settings, results.of(bench, settings), true)
  t.equal(#made, 2)
  t.equal(made[1].name, "dots")
  t.equal(made[1].title, "dots, text: dots (scale small)")
  t.contains(gnuplot.program(made[1]), "$points << EOD\n1 2.5\nEOD")
  t.contains(gnuplot.program(made[1]), 'load "dots.gp"')
  t.equal(made[2].lacks, "mse")
end)

t.test("a plot has the fields of its kind alone", function()
  local bench = new_bench "fields"
  t.fails(function() bench:plot { "bars", y = "mse", frontier = true } end,
    "unknown field 'frontier'")
  t.fails(function() bench:plot { "dots", y = "mse", size = "big" } end,
    "field 'size' must be a number")
  t.fails(function() bench:plot { "dots", y = "mse", size = -1 } end,
    "plot: 'size' is not negative")
  t.fails(function() bench:plot { "dots", y = "msee" } end,
    "field 'y': no metric 'msee' (did you mean 'mse'?)")
  t.fails(function() bench:plot { "dost", y = "mse" } end,
    "unknown kind of chart 'dost' (did you mean 'dots'?)")
  t.fails(function() bench:plot "bars" end, "plot takes a table")
  t.equal(#bench.plots, 0)
end)

t.test("no chart is drawn into another's file", function()
  local bench = new_bench "apart"
  bench:row { "b", model = bench.rows[1].model, task = bench.rows[1].task,
    train = bench.rows[1].train, dataset = "verse" }
  for _, row in ipairs(bench.rows) do
    runs.put(folder, bench, { label = row.label, seed = 1, bits_per_byte = 2.5 })
  end
  bench:plot { "bars", y = "bits_per_byte" }
  bench:plot { "dots", y = "bits_per_byte", name = "bars-text", dataset = "verse" }
  local told = {}
  for i, made in ipairs(chart.values(bench, settings, results.of(bench, settings), true)) do
    told[i] = made.name .. ": " .. (made.failure or "good")
  end
  t.equal(table.concat(told, ", "), "bars-text: good, bars-verse: good, "
    .. "bars-text: its file would be that of an earlier chart: give one a name")
end)

t.test("a kind that does not know its rows stops no other chart", function()
  local bench = new_bench "odd"
  package.preload["longhaul.report.charts.odd"] = function()
    local function fault() error "no rows" end
    return { says = "nothing", fields = { { "y", "string", "a metric", needed = true } }, rows = fault, draw = fault }
  end
  runs.put(folder, bench, { label = "a", seed = 1, bits_per_byte = 2.5 })
  bench:plot { "odd", y = "bits_per_byte" }
  bench:plot { "bars", y = "bits_per_byte" }
  local made = chart.values(bench, settings, results.of(bench, settings), true)
  package.preload["longhaul.report.charts.odd"] = nil
  t.contains(made[1].failure, "no rows")
  t.equal(#made[1].runs, 0)
  t.equal(made[2].failure, nil)
  t.equal(#made[2].runs, 1)
end)

t.test("what `longhaul new chart` writes is a kind that draws", function()
  local program = os.getenv "LONGHAUL_BIN" or core.program_folder() .. "/longhaul"
  if program:sub(1, 1) ~= "/" then program = os.getenv "PWD" .. "/" .. program end
  core.make_folder(folder .. "/harness/report")
  core.write_file(folder .. "/harness/report/kinds.lua", "") -- a clone has it
  local command = ("cd %s && %s new chart sketch >/dev/null"):format(quote.shell(folder),
    quote.shell(program))
  t.check(os.execute(command), command)
  t.check(not os.execute(command .. " 2>/dev/null"), "a file that is there is not written over")
  package.preload["longhaul.report.charts.sketch"] =
    assert(loadfile(folder .. "/harness/report/charts/sketch.lua"))
  local bench = new_bench "sketch"
  runs.put(folder, bench, { label = "a", seed = 1, bits_per_byte = 2.5 })
  bench:plot { "sketch", y = "bits_per_byte" }
  local made = chart.values(bench, settings, results.of(bench, settings), true)
  t.contains(gnuplot.program(made[1]), "$points << EOD\n1 2.5\nEOD")
  made[1].template = folder .. "/" .. "plots/sketch"
  if gnuplot.is_available() then
    chart.draw(made, folder)
    t.equal(made[1].failure, nil)
    t.contains(core.read_file(folder .. "/sketch.svg"), "sketch, text: bits/byte")
  end
end)

t.test("where: an option of the model, the class and the data set are as good", function()
  local swept = lh.experiment "swept"
  for point in lh.grid { { "size", 1, 4 } } do
    swept:row { point, model = model:with { width = 8 * point.size }, task = task, train = train, dataset = "text" }
  end
  local row = swept.rows[2]
  for name, value in pairs { width = 32, size = 4, class = row.model.name, row = row.label, dataset = "text" } do
    t.check(parts.has_all(row, { [name] = value }), name)
  end
  t.check(not parts.has_all(row, { width = 8 }), "another width")
  t.check(not parts.has_all(row, { widht = 32 }), "no such option")
end)

t.test("a group that is a number is named by the number, too", function()
  local swept = lh.experiment "sizes-named"
  for point in lh.grid { { "size", 1, 4 } } do
    swept:row { point, model = model, task = task, train = train, dataset = "text" }
  end
  local plot = { "pareto", x = "mse", y = "mae", group = "size", group_names = { [4] = "large" } }
  t.equal(parts.check_names(plot, swept.rows), nil)
  t.equal(table.concat(parts.told_groups(plot, { "1", "4" }), ", "), "size 1, large")
  plot.group_names = { [5] = "larger" }
  t.contains(parts.check_names(plot, swept.rows), "field 'group_names': no group '5'")
end)

t.test("names that no row has are refused at their line with the nearest", function()
  for field, plot in pairs {
    x = { "lines", x = "sise", y = "mse" },
    group = { "lines", x = "size", y = "mse", group = "kond" },
    label = { "pareto", x = "size", y = "mse", label = "clas" },
    where = { "lines", x = "size", y = "mse", where = { kund = 1 } },
  } do
    local wrong = lh.experiment("wrong-" .. field)
    for point in lh.grid { { "kind", "a", "b" }, { "size", 4, 1 } } do
      wrong:row { point, model = model, task = task, train = train, dataset = "text" }
    end
    wrong:plot(plot)
    local meant = ({ x = "size", group = "kind", label = "class", where = "kind" })[field]
    t.fails(function() wrong:check() end, ("field '%s': no factor or option"):format(field))
    t.fails(function() wrong:check() end, ("did you mean '%s'?"):format(meant))
    t.fails(function() wrong:check() end, "test_kinds.lua:")
  end
end)

t.test("labels that no row has, of the plot's data set, are refused at their line", function()
  for i, wrong in ipairs {
    { { "columns", y = "mse", rows = { "one", "tow" } }, "no row is called 'tow' (did you mean 'two'?)" },
    { { "columns", y = "mse", rows = { "one" }, without = "%s, bare" }, "no row is called 'one, bare'" },
    { { "recurrence", row = "tow", layer = 1 }, "no row is called 'tow' (did you mean 'two'?)" },
    { { "outputs", row = "two", layer = 1, input = "01", dataset = "text" }, "no row is called 'two'" },
    { { "boxes", y = "rsa_gate", row = "ones" }, "no row is called 'ones' (did you mean 'one'?)" },
    { { "lines", x = "width", y = "mse", group = "row", relative_to = "noe" },
      "field 'relative_to': no group 'noe' (did you mean 'one'?)" },
    { { "lines", x = "width", y = "mse", group = "row", level = "noe" }, "field 'level': no group 'noe'" },
    { { "pareto", x = "mse", y = "mae", group = "row", group_names = { noe = "1" } },
      "field 'group_names': no group 'noe' (did you mean 'one'?)" },
    { { "lines", x = "width", y = "mse", where = { row = "tow" } }, "field 'where': no row has row tow" },
    { { "pareto", x = "mse", y = "mae", where = { row = "two", width = 16 }, dataset = "text" },
      "field 'where': no row has row two and width 16" },
  } do
    local bench = lh.experiment("labels" .. i)
    bench:plot(wrong[1])
    bench:check() -- a scale may have no rows
    for dataset, label in pairs { text = "one", verse = "two" } do
      bench:row { label, model = model, task = task, train = train, dataset = dataset }
    end
    t.fails(function() bench:check() end, "plot: " .. wrong[2])
    t.fails(function() bench:check() end, "test_kinds.lua:")
  end
end)

t.test("what can be no label, layer or axis is refused where it stands", function()
  local bench = new_bench "shapes"
  for _, rows in ipairs { {}, { 1 }, { "a", true }, { first = "a" } } do
    t.fails(function() bench:plot { "columns", y = "mse", rows = rows } end, "field 'rows' is a list of labels")
  end
  for _, layer in ipairs { 0, 1.5 } do
    t.fails(function() bench:plot { "recurrence", row = "a", layer = layer } end, "field 'layer' is a whole number")
    t.fails(function() bench:plot { "outputs", row = "a", layer = layer, input = "01" } end, "field 'layer'")
  end
  for _, kind in ipairs { "lines", "pareto" } do
    t.fails(function() bench:plot { kind, x = {}, y = "mse" } end, "field 'x' is missing")
    t.fails(function() bench:plot { kind, x = "width", y = {} } end, "field 'y': no metric")
  end
  t.fails(function() bench:plot { "lines", x = "width", y = "mse", level = "a", relative_to = "b" } end,
    "field 'level' or 'relative_to'")
end)

-- docs/lua.md calls fields needed by the same mark.
t.test("a kind refuses a plot without what it marks as needed, and no other", function()
  for _, name in ipairs(kinds.names()) do
    local lacking
    for _, field in ipairs(kinds.find(name).fields) do lacking = lacking or field.needed and field end
    local function plot() new_bench("bare"):plot { name } end
    if lacking then
      t.fails(plot, ("plot: field '%s' is missing: %s"):format(lacking[1], lacking[3]))
    else
      plot()
    end
  end
end)

os.execute("rm -r '" .. folder .. "'")
t.finish()

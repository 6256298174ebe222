-- Views of several scales and devices in one folder: none replaces another's.
local t = dofile "tests/test.lua"
local core = require "longhaul.core"
local csv = require "longhaul.run.csv"
local gnuplot = require "longhaul.report.gnuplot"
local lh = require "longhaul"
local report = require "longhaul.report.report"
local runs = dofile "tests/lua/runs.lua"
local views = require "longhaul.report.views"

local folder = os.tmpname()
os.remove(folder)
core.make_folder(folder)
lh.configure { scale = "small" }

local corpus = lh.data.text { "generate:books" }
local task = lh.tasks.language_model { corpus, segment = 64, batch = 2 }
local slide = lh.models.slide { layers = 1, width = 16, heads = 2, window = 16 }
local bench = lh.experiment "views"
for _, name in ipairs { "a", "b" } do
  bench:row { name, model = slide, task = task, train = lh.train { steps = 5 }, dataset = "books" }
end
bench:table { columns = { "bits_per_byte" } }
bench:plot { "bars", y = "bits_per_byte" }

local function settings(scale, device)
  return { results = folder, scale = scale, device = device or "cpu" }
end

-- What the tables print, for a test that wants to know.
local function quietly(body, ...)
  local lines, real = {}, print
  print = function(text) lines[#lines + 1] = tostring(text) end
  local good, result = pcall(body, ...)
  print = real
  if not good then error(result, 0) end
  return result, table.concat(lines, "\n")
end

local function measured(name)
  local record = csv.read(("%s/views/%s"):format(folder, name))[1]
  return record.scale, record.device, record.measured
end

for i, at in ipairs { { "smoke", "cpu" }, { "small", "cpu" }, { "small", "cuda" } } do
  for _, label in ipairs { "a", "b" } do
    runs.put(folder, bench, { label = label, scale = at[1], device = at[2], bits_per_byte = i })
  end
end

t.test("the latest view has the plain name, another scale's keeps its own", function()
  quietly(report.tables, bench, settings "smoke")
  t.equal(table.concat({ measured "table.csv" }, " "), "smoke cpu 1")
  quietly(report.tables, bench, settings "small")
  t.equal(table.concat({ measured "table.csv" }, " "), "small cpu 2")
  t.equal(table.concat({ measured "table.smoke.csv" }, " "), "smoke cpu 1")
  for _, format in ipairs { "md", "html", "tex" } do
    t.contains(core.read_file(("%s/views/table.smoke.%s"):format(folder, format)), "1.000")
    t.contains(core.read_file(("%s/views/table.%s"):format(folder, format)), "2.000")
  end
end)

t.test("so does another device's", function()
  quietly(report.tables, bench, settings("small", "cuda"))
  t.equal(table.concat({ measured "table.csv" }, " "), "small cuda 3")
  t.equal(table.concat({ measured "table.small.csv" }, " "), "small cpu 2")
  t.equal(table.concat({ measured "table.smoke.csv" }, " "), "smoke cpu 1")
end)

t.test("a view that is made again is there once", function()
  quietly(report.tables, bench, settings "smoke")
  t.equal(table.concat({ measured "table.csv" }, " "), "smoke cpu 1")
  t.equal(table.concat({ measured "table.small-cuda.csv" }, " "), "small cuda 3")
  t.check(not core.exists(folder .. "/views/table.smoke.csv"), "the older one stayed")
  quietly(report.tables, bench, settings "smoke")
  t.check(core.exists(folder .. "/views/table.small-cuda.csv"), "made twice, another's was lost")
end)

t.test("at a scale without runs nothing is written, and that is said", function()
  local before = core.read_file(folder .. "/views/table.csv")
  local paths, said = quietly(report.tables, bench, settings "paper")
  t.equal(#paths, 0)
  t.contains(said, "no runs of views at scale paper on cpu")
  t.contains(said, "there are runs at smoke on cpu, small on cpu, small on cuda")
  t.equal(core.read_file(folder .. "/views/table.csv"), before)
  t.check(not core.exists(folder .. "/views/table.paper.csv"), "an empty table")
end)

t.test("at a scale without runs no claim is judged, and older verdicts stay", function()
  local claimed, path = lh.experiment "views", folder .. "/claims/claims.csv"
  for _, name in ipairs { "a", "b" } do
    claimed:row { name, model = slide, task = task, train = lh.train { steps = 5 }, dataset = "books" }
  end
  local bits = { experiment = claimed, row = "a", dataset = "books", metric = "bits_per_byte" }
  claimed:claim { "a_first", holds = lh.predicate.less(lh.predicate.cell("bits(a)", bits), 9) }
  local _, said = quietly(report.claims, claimed, settings "paper")
  t.contains(said, "no claim is judged: there are no runs at scale paper on cpu")
  t.check(not core.exists(path), "a verdict over nothing")
  quietly(report.claims, claimed, settings "small")
  t.equal(#csv.read(path), 1)
  t.equal(csv.read(path)[1].scale, "small")
end)

t.test("runs of other rows alone are said to be such", function()
  local renamed = lh.experiment "views"
  renamed:row { "c", model = slide, task = task, train = lh.train { steps = 5 }, dataset = "books" }
  renamed:table { columns = { "bits_per_byte" } }
  local _, said = quietly(report.tables, renamed, settings "small")
  t.contains(said, ("no runs of views at scale small on cpu in %s are of this script's rows: nothing is written; "
    .. "there are runs at smoke on cpu, small on cuda"):format(folder))
end)

t.test("charts of two scales stand side by side", function()
  t.equal(views.owner("small", ""), "small")
  if not gnuplot.is_available() then return t.check(gnuplot.missing ~= "", "no gnuplot here") end
  report.charts(bench, settings "smoke")
  report.charts(bench, settings "small")
  t.contains(core.read_file(folder .. "/views/bars.smoke.gp"), "# scale smoke, device cpu\n")
  t.contains(core.read_file(folder .. "/views/bars.gp"), "# scale small, device cpu\n")
  for _, format in ipairs { "svg", "png" } do
    for _, name in ipairs { "bars.smoke", "bars" } do
      t.check(core.exists(("%s/views/%s.%s"):format(folder, name, format)), name .. " " .. format)
    end
  end
  t.check(core.read_file(folder .. "/views/bars.smoke.svg")
    ~= core.read_file(folder .. "/views/bars.svg"), "the same chart")
end)

t.test("gnuplot draws the chart of another scale beside its program, not over this one's", function()
  if not gnuplot.is_available() then return t.check(gnuplot.missing ~= "", "no gnuplot here") end
  local plain, smoke = folder .. "/views/bars.svg", folder .. "/views/bars.smoke.svg"
  local before = core.read_file(plain)
  os.remove(smoke)
  t.check(os.execute(("gnuplot %s/views/bars.smoke.gp"):format(folder)), "from another folder")
  t.check(core.exists(smoke), "its own file")
  os.remove(smoke)
  t.check(os.execute(("cd %s/views && gnuplot bars.smoke.gp"):format(folder)), "in its folder")
  t.check(core.exists(smoke), "its own file")
  t.equal(core.read_file(plain), before)
end)

t.test("formats that were drawn before are drawn again with those that are wanted", function()
  if not gnuplot.is_available() then return t.check(gnuplot.missing ~= "", "no gnuplot here") end
  local png, svg = folder .. "/views/bars.png", folder .. "/views/bars.svg"
  os.remove(png)
  core.write_file(svg, "of earlier runs")
  t.equal(#report.charts(bench, settings "small", nil, "png"), 2)
  t.contains(core.read_file(svg), "<svg")
  os.remove(svg)
  t.equal(#report.charts(bench, settings "small", nil, "png"), 1)
  t.check(not core.exists(svg), "a format that nobody asked for")
end)

t.test("a chart whose runs are gone goes, and that is said", function()
  if not gnuplot.is_available() then return t.check(gnuplot.missing ~= "", "no gnuplot here") end
  local function drawn(of)
    local again = lh.experiment "views"
    for _, label in ipairs { "a", "b" } do
      again:row { label, model = slide, task = task, train = lh.train { steps = 5 }, dataset = "books" }
    end
    again:plot { "bars", y = of, name = "bars" }
    return report.charts(again, settings "small")
  end
  drawn "bits_per_byte"
  t.check(core.exists(folder .. "/views/bars.svg"))
  local _, excuses = drawn "step_time_ms"
  t.equal(excuses[1],
    "chart 'bars' was not drawn: the runs have no step_time_ms; the chart of earlier ones was removed")
  for _, format in ipairs { "gp", "svg", "png" } do
    t.check(not core.exists(folder .. "/views/bars." .. format), format)
  end
  t.check(core.exists(folder .. "/views/bars.smoke.svg"), "another scale's")
  _, excuses = drawn "step_time_ms"
  t.equal(excuses[1], "chart 'bars' was not drawn: the runs have no step_time_ms")
end)

t.test("what a chart lacks is named: the axis that no run has, the option that gives it", function()
  if not gnuplot.is_available() then return t.check(gnuplot.missing ~= "", "no gnuplot here") end
  local again = lh.experiment "views"
  for _, label in ipairs { "a", "b" } do
    again:row { label, model = slide, task = task, train = lh.train { steps = 5 }, dataset = "books" }
  end
  again:plot { "pareto", x = "step_time_ms", y = "bits_per_byte", name = "front" }
  again:plot { "loss", y = "valid_bits", name = "valid" }
  local _, excuses = report.charts(again, settings "small")
  t.equal(excuses[1], "chart 'front' was not drawn: the runs have no step_time_ms")
  t.equal(excuses[2], "chart 'valid' was not drawn: the runs have no valid_bits along their curves, "
    .. "which train { evaluate_every = N } gives")
end)

os.execute("rm -r '" .. folder .. "'")
t.finish()

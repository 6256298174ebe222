-- What stands beside every shown number: data, scale, seeds, machine, source.
local t = dofile "tests/test.lua"
local chart = require "longhaul.report.chart"
local core = require "longhaul.core"
local csv = require "longhaul.run.csv"
local gnuplot = require "longhaul.report.gnuplot"
local lh = require "longhaul"
local markup = require "longhaul.report.markup"
local page = require "longhaul.report.html"
local provenance = require "longhaul.report.provenance"
local reference = require "longhaul.report.reference"
local results = require "longhaul.report.results"
local runs = dofile "tests/lua/runs.lua"
local script = require "longhaul.script"
local table_files = require "longhaul.report.table_files"
local tables = require "longhaul.report.table"
local terminal = require "longhaul.report.terminal"

local folder = os.tmpname()
os.remove(folder)
core.make_folder(folder)
local settings = { results = folder, scale = "small", device = "cpu" }

local function load(name, plot)
  local path = folder .. "/script.lua"
  core.write_file(path, ([[
    local lh = require "longhaul"
    local bench = lh.experiment "%s"
    local task = lh.tasks.language_model { lh.data.text { "generate:books", documents = 2 }, segment = 16, batch = 2 }
    local train = lh.train { steps = 2 }
    for _, width in ipairs { 8, 16 } do
      bench:row { "w" .. width, model = lh.models.slide { layers = 1, width = width, heads = 2, window = 8 },
        task = task, train = train, dataset = "pg19" }
    end
    bench:table { columns = { "bits_per_byte", "step_time_ms" }, title = "A title of one's own" }
    bench:plot { %s }
    return bench]]):format(name, plot or '"bars", y = "bits_per_byte", title = "My PG-19 chart"'))
  return script.load(path, { scale = "small" })
end

local origin = {
  data = "embedded generator (books)", machine = "Test processor", threads = 2,
  code_version = "0123456789ab", dirty = "no",
  date = "2026-11-20T10:00:00Z",
}

local function put(bench, values)
  local made = {}
  for key, value in pairs(origin) do made[key] = value end
  for key, value in pairs(values) do made[key] = value end
  return runs.put(folder, bench, made)
end

local bench = load "shown"
put(bench, { label = "w8", seed = 1, bits_per_byte = 2 })
put(bench, { label = "w8", seed = 2, bits_per_byte = 2.1, date = "2026-11-22T10:00:00Z" })
put(bench, { label = "w16", seed = 1, bits_per_byte = 1.9 })

local sentence = "Data: embedded generator (books). Measured on Test processor, 2 threads, code 0123456789ab, "
  .. "2026-11-20 to 2026-11-22."

t.test("a sentence names data, machine, source and days", function()
  t.equal(provenance.sentence(provenance.runs_of(results.of(bench, settings))), sentence)
  t.equal(provenance.sentence {}, nil)
end)

t.test("a commit is clean only where its build says so", function()
  t.check(provenance.is_clean { dirty = "no", code_version = "0123" })
  t.check(not provenance.is_clean { dirty = "yes", code_version = "0123" })
  t.check(not provenance.is_clean { dirty = "unknown", code_version = "unknown" })
  t.check(provenance.is_clean { dirty = "", code_version = "0123" }, "rows of before")
  t.check(not provenance.is_clean { dirty = "", code_version = "0123-dirty" })
  t.check(not provenance.is_clean { code_version = "unknown" })
  t.check(not provenance.is_clean {}, "a row that says nothing")
  local base = { seed = "1", data = "d", machine = "m", threads = "1", date = "2026-01-01" }
  local function with(dirty)
    return setmetatable({ dirty = dirty, code_version = "c" }, { __index = base })
  end
  t.contains(provenance.sentence { with "yes" }, "code c (all of changed or unknown source)")
  t.contains(provenance.sentence { with "yes", with "no", with "yes" },
    "code c (2 of 3 runs of changed or unknown source)")
  t.contains(provenance.sentence { with "no" }, "Measured on m, 1 thread, code c, 2026-01-01.")
end)

t.test("what a script is for is the first sentence of its comment, whatever the next begins with", function()
  for script, says in pairs {
    ["-- Table 5: what (Rae et al. 2019)\n-- compresses. \"Most-used\" is not there.\nlocal lh"] =
      "Table 5: what (Rae et al. 2019) compresses",
    ["-- One of Kaplan et al. `gpu` alone. More.\n\n-- Apart."] = "One of Kaplan et al. `gpu` alone",
    ["-- All at 0.5 of it."] = "All at 0.5 of it", ["local lh"] = "",
  } do t.equal(reference.first_sentence(script), says) end
end)

t.test("a table in a document calls generated what the generator made alone", function()
  local own = folder .. "/known"
  core.make_folder(own)
  local function run(dataset, data) return { row = "r", dataset = dataset, data = data } end
  csv.write(own .. "/runs.csv", { "row", "dataset", "data" },
    { run("logs", "logs of a generator, 3 files"), run("books", "embedded generator (books)") })
  local function cell(dataset)
    return { row = "r", dataset = dataset, metric = "mse", measured = 1, mean = 1, published = "" }
  end
  csv.write(own .. "/table.csv", { "row", "dataset", "metric", "measured", "mean", "published" },
    { cell "logs", cell "books" })
  local known = assert(loadfile "scripts/known-figures.lua")(folder .. "/")
  t.contains(known.cells("known/table.csv", "mse", "%.1f", 1), "|  | logs | books, generated |")
end)

t.test("an overview calls no run of changed source current", function()
  local of = lh.experiment "overview"
  of:row { "w8", model = lh.models.slide { layers = 1, width = 8, heads = 2, window = 8 }, dataset = "pg19",
    task = lh.tasks.language_model { lh.data.text { "generate:books", documents = 2 }, segment = 16, batch = 2 },
    train = lh.train { steps = 2 } }
  for dirty, says in pairs { no = "| current |", yes = "not of a commit |", unknown = "not of a commit |" } do
    local own = folder .. "/overview-" .. dirty
    core.make_folder(own)
    runs.put(own, of, { label = "w8", seed = 1, code_version = "0123456789ab", dirty = dirty })
    t.contains(reference.markdown(own), says)
  end
end)

t.test("machine and threads of step times stand there where others trained", function()
  local group = { configuration = "c", done = { { machine = "m", threads = "1", data = "d", code_version = "c",
    dirty = "no", date = "2026-01-01", seed = "1" } } }
  local function line(threads, machine, busy, ranks, kernels)
    local time = threads and { threads = threads, machine = machine, ranks = ranks, kernels = kernels } or nil
    local times = { latest = function(_, configuration)
      if busy then return nil, "was timed on a busy machine only", time end
      return configuration == "c" and time or nil
    end }
    return provenance.line(provenance.runs_of { order = { group }, times = times,
      shows_busy = busy == "shown" }, "small")
  end
  t.contains(line("2"), "m, 1 thread (step times: 2 threads)")
  t.contains(line("2", "m"), "m, 1 thread (step times: 2 threads)")
  t.contains(line("1", "other"), "m, 1 thread (step times: other, 1 thread)")
  t.contains(line("2", "other", "shown"), "m, 1 thread (step times: other, 2 threads)")
  group.done[1].ranks = "1"
  t.contains(line("1", "m", nil, "2"), "m, 1 thread (step times: 1 thread, 2 ranks)")
  t.check(not line("1", "m", nil, "1"):find("rank", 1, true))
  group.done[1].ranks = "2"
  t.contains(line("1", "m", nil, "1"), "m, 1 thread, 2 ranks (step times: 1 thread, 1 rank)")
  group.done[1].ranks, group.done[1].kernels = nil, "cpu-a"
  t.contains(line("1", "m", nil, nil, "cpu-b"), "m, 1 thread (step times: cpu-b, 1 thread)")
  t.contains(line("2", "m", nil, nil, "cpu-a"), "m, 1 thread (step times: cpu-a, 2 threads)")
  t.contains(line("1", "other", nil, nil, "cpu-a"), "m, 1 thread (step times: other, cpu-a, 1 thread)")
  for _, same in ipairs { line("1", "m", nil, nil, "cpu-a"), line("1"), line("1", "m"), line(false),
    line("2", "other", "hidden") } do
    t.check(not same:find("step times", 1, true), same)
  end
end)

t.test("a sentence names ranks where there were several", function()
  local run = { data = "d", machine = "m", threads = "1", ranks = "1", date = "2026-01-01", code_version = "c" }
  local shared = setmetatable({ ranks = "4" }, { __index = run })
  t.contains(provenance.sentence { run }, "on m, 1 thread, code c")
  t.contains(provenance.sentence { shared }, "on m, 1 thread, 4 ranks, code c")
  t.contains(provenance.sentence { run, shared }, "on m, 1 thread, 1; 4 ranks, code c")
end)

t.test("a sentence names every machine of step times, whichever run is the first", function()
  local run = { data = "d", machine = "m", threads = "1", date = "2026-01-01", code_version = "c" }
  local elsewhere = setmetatable({ timed_on = "other, 2 threads" }, { __index = run })
  t.contains(provenance.sentence { run, elsewhere }, "m, 1 thread (step times: other, 2 threads)")
end)

t.test("every form of a table has it, and scale and seeds", function()
  local made = tables.build(bench, bench.tables[1], results.of(bench, settings))
  for name, text in pairs {
    terminal = terminal.format(made):gsub("\n", " "), markdown = markup.markdown(made),
    html = markup.html(made),
    latex = markup.latex(made),
  } do
    t.check((text:gsub("\\", "")):find(sentence, 1, true), name .. " lacks its data: " .. text)
    t.check(text:find("Scale small, 1 to 2 seeds (fewer: w16)", 1, true), name .. " lacks scale and seeds")
  end
end)

t.test("the heading of a table's column says where the embedded generator made its data", function()
  local made = tables.build(bench, bench.tables[1], results.of(bench, settings))
  for name, text in pairs {
    terminal = terminal.format(made), markdown = markup.markdown(made), html = markup.html(made),
    latex = markup.latex(made),
  } do
    t.check(text:find("pg19 (generated), bits/byte", 1, true), name .. ": " .. text)
    t.equal(select(2, text:gsub("%(generated%)", "")), 1, name)
  end
  for _, path in ipairs(table_files.write(made, folder)) do
    if path:find "%.csv$" then made = tables.read(path) end
  end
  t.contains(markup.markdown(made), "pg19 (generated), bits/byte")
end)

t.test("beside values of a corpus it is said of each value", function()
  local mixed = load("mixed")
  put(mixed, { label = "w8", bits_per_byte = 2, data = "pg19 (33 documents in pg19/)" })
  put(mixed, { label = "w16", bits_per_byte = 1.5 })
  local text = markup.markdown(tables.build(mixed, mixed.tables[1], results.of(mixed, settings)))
  t.contains(text, " pg19, bits/byte ")
  t.contains(text, "1.500 (generated)")
  t.check(not text:find("2.000 (generated)", 1, true), text)
end)

t.test("a row without a value does not say what its data are", function()
  local lone = load "lone"
  local function text() return markup.markdown(tables.build(lone, lone.tables[1], results.of(lone, settings))) end
  put(lone, { label = "w8", bits_per_byte = 2 })
  t.contains(text(), "pg19 (generated), bits/byte")
  put(lone, { label = "w8", bits_per_byte = 2, data = "pg19 (33 documents in pg19/)" })
  put(lone, { label = "w16", status = "failed" })
  t.check(not text():find("(generated)", 1, true), text())
end)

t.test("a chart of one's own title keeps data and scale, and no data are another's", function()
  local made = chart.values(bench, settings, results.of(bench, settings), true)[1]
  t.equal(made.title, "My PG-19 chart (generated books, as pg19; scale small)")
  t.equal(made.source, "embedded generator (books) · scale small · 1 to 2 seeds (fewer: w16) · "
    .. "Test processor, 2 threads")
  t.contains(gnuplot.program(made), 'chart_source = "embedded generator (books) ')
  local plain = load("shown", '"bars", y = "bits_per_byte"')
  made = chart.values(plain, settings, results.of(plain, settings), true)[1]
  t.equal(made.title, "shown, generated books, as pg19: bits/byte (scale small)")
end)

t.test("a chart of times says where they were taken, and where not in one round", function()
  local timed = load("timed", '"pareto", x = "step_time_ms", y = "bits_per_byte" }\n'
    .. 'bench:plot { "bars", y = "bits_per_byte" }\n'
    .. 'bench:plot { "bars", y = "relative_step_time", name = "relative" }\n'
    .. 'bench:plot { "pareto", x = "step_time_ms", y = "bits_per_byte", dataset = "pg19", name = "own"')
  for label, bits in pairs { w8 = 2, w16 = 1.9 } do put(timed, { label = label, bits_per_byte = bits }) end
  local function sources()
    local list = {}
    for i, made in ipairs(chart.values(timed, settings, results.of(timed, settings), true)) do
      list[i] = made.source:match "1 seed · (.*)"
    end
    return table.concat(list, "; ")
  end
  local here, there = "Test processor, 2 threads", "Test processor, 2 threads (step times: test, 2 threads)"
  runs.time(folder, timed, { round = "r1", times = { w8 = 1, w16 = 2 } })
  t.equal(sources(), ("%s; %s; %s; %s"):format(there, here, there, there))
  runs.time(folder, timed, { round = "r2", times = { w8 = 1.1 }, date = "2026-01-02T00:00:00Z" })
  local apart = there .. " · times of several rounds"
  t.equal(sources(), ("%s; %s; %s; %s"):format(apart, here, there, apart))
end)

t.test("a chart of some rows is of their runs alone", function()
  local path = folder .. "/where.lua"
  core.write_file(path, [[
    local lh = require "longhaul"
    local bench = lh.experiment "where"
    for point in lh.grid { { "width", 8, 16 } } do
      bench:row { point, model = lh.models.slide { layers = 1, width = point.width, heads = 2, window = 8 },
        task = lh.tasks.language_model { lh.data.text { "generate:books" }, segment = 16, batch = 2 },
        train = lh.train { steps = 2 }, dataset = "text" }
    end
    return bench:plot { "lines", x = "width", y = "bits_per_byte", where = { width = 8 } }]])
  local some = script.load(path, { scale = "small" })
  put(some, { label = some.rows[1].label, bits_per_byte = 2, machine = "one" })
  put(some, { label = some.rows[2].label, bits_per_byte = 2, machine = "two" })
  local made = chart.values(some, settings, results.of(some, settings), true)[1]
  t.equal(#made.runs, 1)
  t.check(not made.source:find("two", 1, true), made.source)
end)

t.test("data that were there have their own name", function()
  local real = load("real")
  put(real, { label = "w8", bits_per_byte = 2, data = "pg19 (33 documents in pg19/)" })
  local made = chart.values(real, settings, results.of(real, settings), true)[1]
  t.equal(made.title, "My PG-19 chart (pg19; scale small)")
  t.contains(made.source, "pg19 (33 documents in pg19/) · ")
  t.equal(provenance.dataset({ { data = "embedded generator (books)" } }, "books"),
    "generated books")
  t.equal(provenance.dataset({ { data = "ETTh1 (embedded generator)" } }, "ETTh1"),
    "generated ETTh1")
end)

t.test("the page over all results has it for each experiment", function()
  local text = core.read_file(page.write(folder))
  t.contains(text, "3 runs done, 0 failed or diverged. Scale small, 1 to 2 seeds (fewer: w16). " .. sentence)
end)

os.execute("rm -rf '" .. folder .. "'")
t.finish()

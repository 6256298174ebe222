-- What tables, charts and the page say beside numbers: rounds, seeds, stale runs, ties, and options that
-- were changed on the command line.
local t = dofile "tests/test.lua"
local best_mark = require "longhaul.report.best"
local chart = require "longhaul.report.chart"
local core = require "longhaul.core"
local html = require "longhaul.report.html"
local lh = require "longhaul"
local results = require "longhaul.report.results"
local runs = dofile "tests/lua/runs.lua"
local summary = require "longhaul.report.summary"
local table_files = require "longhaul.report.table_files"
local tables = require "longhaul.report.table"

local folder = os.tmpname()
os.remove(folder)
core.make_folder(folder)
lh.configure { scale = "small" }

local settings = { results = folder, scale = "small", device = "cpu" }
local task = lh.tasks.language_model { lh.data.text { "generate:books" }, segment = 64, batch = 2 }
local train = lh.train { steps = 5 }
local slide = lh.models.slide { layers = 1, width = 16, heads = 2, window = 16 }

local function bench_of(name, labels)
  local bench = lh.experiment(name)
  for _, label in ipairs(labels) do
    bench:row { label, model = slide, task = task, train = train, dataset = "books" }
  end
  return bench
end

-- Whether an experiment's Pareto chart has a front.
local function front_of(bench)
  local drawn
  for _, made in ipairs(chart.values(bench, settings, results.of(bench, settings))) do
    t.equal(made.failure, nil)
    for _, pair in ipairs(made.name == "pareto" and made.settings or {}) do
      if pair[1] == "frontier" then drawn = pair[2] end
    end
  end
  return drawn == 1
end

-- Whether the chart of quality against step time has a front; `rounds` as runs.time takes them.
local function has_front(name, rounds)
  local two = bench_of(name, { "base", "x" })
  for _, label in ipairs { "base", "x" } do runs.put(folder, two, { label = label, bits_per_byte = 2 }) end
  for _, round in ipairs(rounds) do runs.time(folder, two, round) end
  two:plot { "pareto", x = "step_time_ms", y = "bits_per_byte" }
  return front_of(two)
end

t.test("where all times are of a busy machine there is no front, nor one of several rounds", function()
  local times = { base = 10, x = 20 }
  t.check(has_front("idle", { { round = "a", times = times } }))
  t.check(not has_front("crowded", { { round = "a", times = times, busy = "yes", load = 1 } }))
  t.check(not has_front("in-two", { { round = "a", times = times },
    { round = "b", times = { base = 10 }, date = "2026-01-02T00:00:00Z" } }))
end)

t.test("a stale row that was timed in an older round takes neither front nor best from today's", function()
  local bench = bench_of("old-round", { "base", "x", "old" })
  for _, label in ipairs { "base", "x" } do runs.put(folder, bench, { label = label, bits_per_byte = 2 }) end
  runs.time(folder, bench, { round = "new", date = "2026-01-02T00:00:00Z", times = { base = 10, x = 20 } })
  local before = lh.experiment "old-round"
  before:row { "old", task = task, train = train, dataset = "books",
    model = lh.models.slide { layers = 1, width = 8, heads = 2, window = 16 } }
  for seed = 1, 2 do runs.put(folder, before, { label = "old", seed = seed, bits_per_byte = 2 }) end
  runs.time(folder, before, { round = "older", times = { old = 5 } })
  bench:table { columns = { "step_time_ms", "bits_per_byte" } }
  bench:plot { "pareto", x = "step_time_ms", y = "bits_per_byte" }
  local made = tables.build(bench, bench.tables[1], results.of(bench, settings))
  t.equal(made.rows[3].cells[1].status, "stale")
  t.check(made.rows[1].cells[1].best, "the least time of today's")
  t.check(made.rows[1].cells[2].best, "a mean of as many seeds as another of today's")
  t.check(front_of(bench), "the front of today's")
end)

t.test("the value of a chosen seed has no ties, and is read back with its mean", function()
  local bench = bench_of("chosen", { "a", "b" })
  for seed, values in ipairs { { 2, 2.1 }, { 3, 3.1 }, { 4, 3.9 } } do
    runs.put(folder, bench, { label = "a", seed = seed, bits_per_byte = values[1], valid_bits_per_byte = -seed,
      accuracy = seed / 10 }) -- whose validation was not kept
    runs.put(folder, bench, { label = "b", seed = seed, bits_per_byte = values[2], valid_bits_per_byte = seed })
  end
  bench:table { columns = { "bits_per_byte", "accuracy" }, select = "best_valid" }
  local made = tables.build(bench, bench.tables[1], results.of(bench, settings))
  local read = tables.read(table_files.write(made, folder .. "/chosen")[1])
  for _, each in ipairs { made, read } do
    local first, second = each.rows[1].cells, each.rows[2].cells
    t.equal(select(2, tables.texts(each.columns[1], first[1])), "4.000 (3.000 ±1.000)")
    t.equal(select(2, tables.texts(each.columns[2], first[2])), "0.200 ±0.100")
    t.check(second[1].best and not first[1].best and first[1].tie == nil, "two seeds are compared by all")
  end
end)

-- A row for each label, with so many seeds.
local function seeded(name, seeds)
  local labels = {}
  for label in pairs(seeds) do labels[#labels + 1] = label end
  table.sort(labels)
  local bench = bench_of(name, labels)
  for _, label in ipairs(labels) do
    for seed = 1, seeds[label] do
      runs.put(folder, bench, { label = label, seed = seed, bits_per_byte = 2 + seed / 10, data = "d" })
    end
  end
  bench:table { columns = { "bits_per_byte" } }
  return bench
end

t.test("where rows have different numbers of seeds, tables, charts and the page say so", function()
  local bench = seeded("uneven", { lstm = 1, rnn = 2, slide = 3, wide = 3 })
  bench:plot { "bars", y = "bits_per_byte" }
  local said = "1 to 3 seeds (fewer: lstm, rnn)"
  local found = results.of(bench, settings)
  local made = tables.build(bench, bench.tables[1], found)
  t.contains(tables.notes(made)[1], "Scale small, " .. said .. ", mean ± standard deviation; "
    .. "the best mean of a column is marked * (never one of fewer seeds), and ≈ what is not told from it by paired t")
  local read = tables.read(table_files.write(made, folder .. "/uneven")[1])
  t.equal(tables.notes(read)[1], tables.notes(made)[1])
  t.contains(chart.values(bench, settings, found, true)[1].source, "scale small · " .. said .. " · ")
  local page = core.read_file(html.write(folder))
  t.contains(page, "9 runs done, 0 failed or diverged. Scale small, " .. said .. ". ")
  t.contains(page, "<td>1 to 3</td>")
end)

-- Where these first stand on the page of a folder; fails where one does not.
local function places(page, texts)
  local list = {}
  for i, text in ipairs(texts) do
    list[i] = page:find(text, 1, true)
    t.check(list[i], text)
  end
  return list
end

t.test("the page begins with what was run where nothing was compared", function()
  local own, compared = folder .. "/own", folder .. "/compared"
  local bench, other = bench_of("mine", { "a" }), bench_of("compare-language", { "a" })
  for place, at in pairs { [own] = bench, [compared] = other } do
    core.make_folder(place)
    runs.put(place, at, { label = "a", seed = 1, bits_per_byte = 2, data = "d" })
  end
  other:table { columns = { "bits_per_byte" } }
  table_files.write(tables.build(other, other.tables[1],
    results.of(other, { results = compared, scale = "small", device = "cpu" })), compared .. "/compare-language")
  local first, mine, later = table.unpack(places(core.read_file(html.write(own)),
    { '<h2 id="runs">', '<h2 id="mine">', '<h2 id="comparison">' }))
  t.check(first < mine and mine < later)
  later, first = table.unpack(places(core.read_file(html.write(compared)),
    { '<h2 id="comparison">', '<h2 id="runs">' }))
  t.check(later < first)
end)

t.test("as many seeds everywhere are one number, and few of many rows are named", function()
  local even = seeded("even", { a = 2, b = 2 })
  t.contains(tables.notes(tables.build(even, even.tables[1], results.of(even, settings)))[1],
    "Scale small, 2 seeds, mean ± standard deviation; the best mean, ties not told apart, of a column is marked *.")
  local counts = {}
  for i, seeds in ipairs { 1, 3, 2, 1, 1 } do
    counts[i] = { label = ("abcde"):sub(i, i), column = 1, seeds = seeds }
  end
  t.equal(summary.of_seeds(counts), "1 to 3 seeds (fewer: a, c and 2 more)")
  t.equal(summary.seeds {}, "0 seeds")
  -- a seed on two data sets, at two scales, of two experiments or on two devices is one
  local function run(row, seed, more)
    return lh.merged({ experiment = "e", row = row, dataset = "d", scale = "small", device = "cpu", seed = seed },
      more or {})
  end
  t.equal(summary.seeds { run("a", 1), run("a", 2), run("a", 1, { dataset = "f" }), run("b", 1), run("b", 2) },
    "1 to 2 seeds")
  t.equal(summary.seeds { run("a", 1), run("a", 2), run("a", 1, { dataset = "f" }), run("b", 1, { dataset = "f" }),
    run("b", 2, { dataset = "f" }) }, "1 to 2 seeds (fewer: a)")
  for _, place in ipairs { { experiment = "f" }, { dataset = "f" }, { scale = "study" }, { device = "cuda" } } do
    t.equal(summary.seeds { run("a", 1), run("a", 2, place) }, "1 seed")
  end
  t.equal(summary.seeds { run("a", 1), run("a", 1) }, "1 seed")
end)

t.test("stale rows are marked, named and never the best", function()
  local bench = bench_of("old", { "a", "b", "c", "d", "new" })
  for i, label in ipairs { "a", "b", "c", "d", "new" } do
    runs.put(folder, bench, { label = label, bits_per_byte = i, data = "d",
      configuration = label ~= "new" and "of other options" .. label or nil })
  end
  bench:table { columns = { "bits_per_byte" } }
  bench:plot { "bars", y = "bits_per_byte" }
  local found = results.of(bench, settings)
  local made = tables.build(bench, bench.tables[1], found)
  local read = tables.read(table_files.write(made, folder .. "/old")[1])
  for _, shown in ipairs { made, read } do
    t.equal(select(2, tables.texts(shown.columns[1], shown.rows[1].cells[1])), "1.000 (stale)")
    t.check(not shown.rows[1].cells[1].best and shown.rows[5].cells[1].best)
    t.contains(table.concat(tables.notes(shown), "\n"), "Some rows are stale, and never the best: "
      .. "a, b, c and 1 more: run with other options than the script now has.")
  end
  t.contains(chart.values(bench, settings, found, true)[1].source,
    "with runs that are not today's (stale): a, b and 2 more")
end)

-- What a run has of the metric by what became of its seed: none if that is "unscored", a loss that counts for
-- nothing if it is "diverged".
local function loss_of(seed)
  if seed == "unscored" then return nil end
  return seed == "diverged" and 9 or seed
end

-- The rows that are the best of the first column, and the front of their chart; `seeds`: for each row what
-- became of its seeds, a loss, "diverged" or "unscored" (finished without the metric); `constant`: a row that
-- learns nothing.
local function best_of(name, seeds, constant)
  local labels = {}
  for label in pairs(seeds) do labels[#labels + 1] = label end
  table.sort(labels)
  local bench = bench_of(name, labels)
  for i, label in ipairs(labels) do
    bench.rows[i].seeds = 3
    for seed, loss in ipairs(seeds[label]) do
      runs.put(folder, bench, { label = label, seed = seed, data = "d", bits_per_byte = loss_of(loss),
        flops_per_token = i, parameters = label == constant and 0 or 100,
        status = loss == "diverged" and "diverged" or "done" })
    end
  end
  bench:table { columns = { "bits_per_byte", "flops_per_token" } }
  bench:plot { "pareto", x = "flops_per_token", y = "bits_per_byte" }
  local found = results.of(bench, settings)
  local made, best, front = tables.build(bench, bench.tables[1], found), {}, nil
  local read = tables.read(table_files.write(made, folder .. "/" .. name)[1])
  for i, row in ipairs(made.rows) do
    best[#best + 1] = row.cells[1].best and row.label or nil
    t.equal(read.rows[i].cells[1].best, row.cells[1].best)
  end
  t.check(made.rows[1].cells[2].best, "what seeds share does not depend on them")
  for _, drawn in ipairs(chart.values(bench, settings, found)) do
    for _, block in ipairs(drawn.name == "pareto" and drawn.blocks or {}) do
      front = block[1] == "front" and block[2][1] or front
    end
  end
  return table.concat(best, " "), front[1][2]
end

t.test("what learns nothing is told from the best or a tie of it, as others are", function()
  local function mark(constant)
    local cells = { {}, {} }
    best_mark.mark({ { cell = cells[1], value = 1, by_seed = { 0.9, 1, 1.1 } },
      { cell = cells[2], value = constant, by_seed = {}, constant = constant } }, "min", 3)
    return cells
  end
  t.check(mark(5)[2].tie == false, "far from it")
  t.check(mark(1.05)[2].tie, "within what seeds differ")
  local cells = mark(0.2)
  t.check(cells[2].best and cells[1].tie == false, "and the other way round")
end)

t.test("a mean that lacks seeds is not the best where others have them, nor on a front", function()
  local count = 0
  local function check(best, loss, seeds, constant)
    count = count + 1
    local found, front = best_of("lacking-" .. count, seeds, constant)
    t.equal(found, best)
    t.near(front, loss, 1e-12)
  end
  local whole = { 3, 3, 3 }
  check("whole", 3, { lucky = { 1, "diverged", "diverged" }, whole = whole })
  check("whole", 3.5, { begun = { 1, 1 }, whole = { 3, 3.5, 4 } })
  check("whole", 3, { unscored = { 1, 1, "unscored" }, whole = whole })
  check("constant", 1, { constant = { 1 }, whole = whole }, "constant")
  check("one", 1, { one = { 1 }, two = { 2 } }) -- all have been run as often
end)

t.test("what is not told from the best of a column is marked as in the comparison, in every format", function()
  local bench = bench_of("noise", { "best", "close", "far" })
  local losses = { best = { 2.0, 2.1, 2.2 }, close = { 2.2, 2.0, 2.3 }, far = { 3.0, 3.11, 3.2 } }
  for label, own in pairs(losses) do
    for seed, loss in ipairs(own) do
      runs.put(folder, bench, { label = label, seed = seed, data = "d", bits_per_byte = loss, flops_per_token = 1 })
    end
  end
  bench:table { columns = { "bits_per_byte", "flops_per_token" } }
  local made = tables.build(bench, bench.tables[1], results.of(bench, settings))
  local files = table_files.write(made, folder .. "/noise")
  for _, shown in ipairs { made, (tables.read(files[1])) } do
    local marks = {}
    for i, row in ipairs(shown.rows) do
      local cell = row.cells[1]
      marks[i] = cell.best and "best" or cell.tie and "tie" or "apart"
      t.check(row.cells[2].best and not row.cells[2].tie, "what seeds share is equal, not a tie")
    end
    t.equal(table.concat(marks, " "), "best tie apart")
    t.contains(tables.notes(shown)[1], "and ≈ what is not told from it by paired t tests")
  end
  t.contains(core.read_file(files[2]), "| close | ≈ 2.167 ±")
  t.contains(core.read_file(files[3]), ">≈ 2.167 ±")
  t.contains(core.read_file(files[4]), "$\\approx$ 2.167")
end)

t.test("the page says how rows were tuned, as the table does", function()
  local bench = seeded("chosen", { a = 1, b = 1 })
  local tune = { by = "valid_bits_per_byte", choices = 3, rounds = 1, seeds = 1 }
  bench.rows[1].tuned, bench.rows[1].tune = { text = "rate=0.3", edges = { "rate" } }, tune
  bench.rows[1].is_agreed = true -- it has no trials to look at
  local made = tables.build(bench, bench.tables[1], results.of(bench, settings))
  t.contains(made.tuned, "rate=0.3")
  local read = tables.read(table_files.write(made, folder .. "/chosen")[1])
  t.equal(table.concat(tables.notes(read), "\n"):match "Chosen by[^\n]+", made.tuned)
  bench.rows[1].tuned, bench.rows[1].tune = nil, nil
  made = tables.build(bench, bench.tables[1], results.of(bench, settings))
  t.equal(tables.read(table_files.write(made, folder .. "/chosen")[1]).tuned, nil)
end)

t.test("a column that no row has a value of is named, on the page as well", function()
  local bench = seeded("lacking", { a = 1 })
  bench.tables[1].columns = { "bits_per_byte", "mse" }
  local made = tables.build(bench, bench.tables[1], results.of(bench, settings))
  local read = tables.read(table_files.write(made, folder .. "/lacking")[1])
  for _, shown in ipairs { made, read } do
    t.contains(table.concat(tables.notes(shown), "\n"), "No row has a value of: MSE.")
  end
end)

os.execute("rm -r '" .. folder .. "'")
t.finish()

-- From runs.csv to the cells of a table: which runs are a row's, what a mean is of, what is best,
-- and what stands in the cell where there is no number. The numbers were worked out by hand.
local t = dofile "tests/test.lua"
local core = require "longhaul.core"
local evidence = require "longhaul.report.evidence"
local files = require "longhaul.report.table_files"
local lh = require "longhaul"
local predicate = require "longhaul.report.predicate"
local results = require "longhaul.report.results"
local runs = dofile "tests/lua/runs.lua"
local store = require "longhaul.run.store"
local tables = require "longhaul.report.table"

local folder = os.tmpname()
os.remove(folder)
core.make_folder(folder)
lh.configure { scale = "small" }

local task = lh.tasks.language_model { lh.data.text { "generate:books" }, segment = 64, batch = 2 }
local train = lh.train { steps = 5 }
local slide = lh.models.slide { layers = 1, width = 16, heads = 2, window = 16 }

local function bench_of(name, labels, columns, more)
  local bench = lh.experiment(name)
  for _, label in ipairs(labels) do
    bench:row { label, model = slide, task = task, train = train, dataset = "books", seeds = 3 }
  end
  return bench:table(lh.merged({ columns = columns }, more or {}))
end

local function settings(scale, device)
  return { results = folder, scale = scale or "small", device = device or "cpu" }
end

local function cells_of(bench, at)
  local by_name, made = {}, tables.build(bench, bench.tables[1],
    results.of(bench, at or settings()))
  for _, record in ipairs(tables.records(made)) do
    by_name[record.row .. " " .. record.metric] = record
  end
  return by_name, table.concat(tables.notes(made), "\n"), made
end

t.test("the last of runs of which some do not say when they were made, or none does", function()
  local a, b, c = { date = "2026-01-01" }, { date = "2026-01-02" }, {}
  t.equal(results.latest_of { a, b, c }, b)
  t.equal(results.latest_of { c, a }, a)
  t.equal(results.latest_of { {}, c }, c)
end)

t.test("scales and devices stay apart", function()
  local bench = bench_of("apart", { "a" }, { "bits_per_byte" })
  for i, at in ipairs { { "small", "cpu" }, { "smoke", "cpu" }, { "small", "cuda" } } do
    runs.put(folder, bench, { label = "a", scale = at[1], device = at[2], bits_per_byte = i })
    runs.put(folder, bench, { label = "a", seed = 2, scale = at[1], device = at[2],
      bits_per_byte = i + 0.5 })
  end
  t.equal(cells_of(bench)["a bits_per_byte"].measured, 1.25)
  t.equal(cells_of(bench, settings "smoke")["a bits_per_byte"].measured, 2.25)
  t.equal(cells_of(bench, settings("small", "cuda"))["a bits_per_byte"].measured, 3.25)
  t.equal(cells_of(bench, settings("small", "cuda"))["a bits_per_byte"].device, "cuda")
  t.equal(#results.of(bench, settings "paper").order, 0)
  for _, scale in ipairs { "small", "smoke" } do
    t.equal(results.open(folder, "apart", scale, "cpu"):value("a", "bits_per_byte", "books"),
      scale == "small" and 1.25 or 2.25)
  end
end)

t.test("rows whose task has no name are of one data set, whose spread is shown and read back", function()
  local bench = lh.experiment "nameless"
  local recall = lh.tasks.recall { pairs = 2, batch = 2 }
  bench:row { "a", model = slide, task = recall, train = train, seeds = 2 }
  bench:table { columns = { "accuracy", "parameters" }, select = "best_valid" }
  for seed, value in ipairs { 60, 80 } do
    runs.put(folder, bench, { label = "a", dataset = "", seed = seed, accuracy = value, parameters = 100,
      valid_accuracy = 50 + seed })
  end
  local cells, notes, made = cells_of(bench)
  t.near(cells["a accuracy"].spread, math.sqrt(200), 1e-9)
  t.equal(cells["a accuracy"].measured, 80)
  t.contains(notes, "standard deviation")
  t.equal(tables.heading(made.columns[1]):find ",", nil)
  files.write(made, folder .. "/nameless")
  local read = tables.read(folder .. "/nameless/table.csv")
  t.equal(read.columns[1].dataset, "")
  t.equal(read.columns[2].dataset, nil)
  t.near(read.rows[1].cells[1].spread, math.sqrt(200), 1e-9)
  local cell = predicate.cell("a", { experiment = bench, row = "a", metric = "accuracy" })
  bench:claim { "nameless_p001", holds = predicate.less(50, cell) }
  t.equal(cell.cell.dataset, "")
  t.near(evidence.measured(settings()):mean(cell.cell), 70, 1e-9)
end)

t.test("what a model is made of is told of runs that diverged, too", function()
  local bench = bench_of("made", { "a" }, { "bits_per_byte", "parameters", "flops_per_token", "wall_time_s" })
  for seed = 1, 2 do
    runs.put(folder, bench, { label = "a", seed = seed, status = "diverged", bits_per_byte = 99, parameters = 100,
      flops_per_token = 7, wall_time_s = 3, error = "diverged: it did" })
  end
  local cells, _, made = cells_of(bench)
  local shown = {}
  for c, column in ipairs(made.columns) do
    shown[c] = select(2, tables.texts(column, made.rows[1].cells[c]))
  end
  t.equal(table.concat(shown, "; "), "diverged; 100; 7; diverged")
  t.equal(cells["a parameters"].status, "diverged")
end)

t.test("what a model is made of is never averaged over data sets, a cost is and says so", function()
  local bench = lh.experiment "sizes"
  for _, dataset in ipairs { "books", "code" } do
    bench:row { "a", model = slide, task = task, train = train, dataset = dataset, seeds = 1 }
  end
  bench:table { columns = { "parameters", "state_bytes", "wall_time_s" } }
  for i, dataset in ipairs { "books", "code" } do
    runs.put(folder, bench, { label = "a", dataset = dataset, parameters = 100 * i, state_bytes = 64,
      wall_time_s = i })
  end
  runs.put(folder, bench, { label = "a", seed = 2, dataset = "books", parameters = 100, state_bytes = 64,
    wall_time_s = 1 })
  local made = tables.build(bench, bench.tables[1], results.of(bench, settings()))
  t.equal(made.rows[1].cells[4].seeds, 1) -- the fewest of a data set
  local shown = {}
  for c, column in ipairs(made.columns) do
    shown[c] = ("%s %s %g"):format(column.metric, column.dataset or "", made.rows[1].cells[c].measured)
  end
  t.equal(table.concat(shown, "; "), "parameters books 100; parameters code 200; state_bytes  64; "
    .. "wall_time_s  1.5")
  t.contains(table.concat(tables.notes(made), "\n"), "A cost is the mean over the data sets.")
  t.equal(results.of(bench, settings()):value("a", "parameters"), nil)
end)

t.test("runs of other data, options or versions are never pooled", function()
  local bench = bench_of("pooled", { "a", "b" }, { "bits_per_byte" })
  runs.put(folder, bench, { label = "a", seed = 1, bits_per_byte = 2 })
  runs.put(folder, bench, { label = "a", seed = 2, bits_per_byte = 4 })
  runs.put(folder, bench, { label = "a", seed = 3, status = "failed" })
  for seed = 1, 3 do
    runs.put(folder, bench, { label = "a", seed = seed, run_id = "o" .. seed,
      configuration = "other", bits_per_byte = 9,
      date = "2026-09-09" })
  end
  local cells, notes = cells_of(bench)
  t.equal(cells["a bits_per_byte"].measured, 3)
  t.near(cells["a bits_per_byte"].spread, math.sqrt(2), 1e-12)
  t.equal(cells["a bits_per_byte"].seeds, 2)
  t.contains(notes, "3 runs of other data or options were left out.")
end)

t.test("where no run is current the latest configuration stands alone, and the cell says why", function()
  local bench = bench_of("old", { "a", "b", "c" }, { "bits_per_byte" })
  for i, values in ipairs { { 7, "second", "2026-01-03" }, { 9, "second", "2026-01-02" },
    { 5, "first", "2026-01-01" } } do
    runs.put(folder, bench, { label = "a", seed = i, run_id = "a" .. i, configuration = values[2],
      date = values[3],
      bits_per_byte = values[1] })
  end
  runs.put(folder, bench, { label = "b", configuration = "v1", identity = 1, bits_per_byte = 4 })
  runs.put(folder, bench, { label = "c", configuration = "v0", version = 99, bits_per_byte = 4 })
  local cells, notes, made = cells_of(bench)
  for _, row in ipairs(made.rows) do t.check(not row.cells[1].best, "a stale cell is the best") end
  t.equal(cells["a bits_per_byte"].measured, 8)
  t.equal(cells["a bits_per_byte"].status, "stale")
  t.equal(cells["a bits_per_byte"].note, "run with other options than the script now has")
  t.equal(cells["b bits_per_byte"].note, "an older longhaul recorded it")
  t.contains(cells["c bits_per_byte"].note, "the model's version is")
  t.contains(notes, "Some rows are stale, and never the best: a: run with other options than the script now has; b: an "
    .. "older longhaul recorded it")
  t.contains(notes, "1 run of other data or options was left out.")
end)

t.test("a stale cell names the options that changed, with both values", function()
  local bench = bench_of("changed", { "a", "b", "c", "d", "e", "f" }, { "bits_per_byte" })
  local rows = {}
  for _, row in ipairs(bench.rows) do rows[row.label] = row end
  local function put(label, values)
    local record = { label = label, configuration = "old", bits_per_byte = 4 }
    for name, value in pairs(values) do record[name] = value end
    runs.put(folder, bench, record)
  end
  local function train(changes) return rows.a.train:with(changes).text end
  put("a", { train_options = train { rate = 0.3 } })
  put("b", { train_options = train { rate = 0.3 }, task_options = rows.b.task:with({ segment = 32 }).text })
  put("c", { train_options = train { rate = 0.3, clip = 1, momentum = 0.5, log_every = 7 } })
  put("d", { class = "lstm", model_options = "width=3" })
  -- of a build that had fewer options, one of which this one lacks
  put("e", { train_options = "steps=9 forgotten=1" })
  put("f", { train_options = train { rate = rows.a.train:option "rate" + 1e-13 } })
  local cells, notes = cells_of(bench)
  local function said(label) return cells[label .. " bits_per_byte"].note end
  local stale = "run with other options than the script now has: "
  local rate = "train.rate was 0.3 and is " .. ("%.10g"):format(rows.a.train:option "rate")
  t.equal(said "a", stale .. rate)
  t.contains(notes, stale .. rate)
  t.equal(said "b", stale .. "task.segment was 32 and is " .. rows.b.task:spelled "segment" .. ", " .. rate)
  t.contains(said "c", rate)
  t.contains(said "c", ", 1 more")
  t.equal(said "d", stale .. "model was lstm and is " .. rows.d.model.name)
  local old, now = said("f"):match "train.rate was (%S+) and is (%S+)$"
  t.check(old ~= now, "the values look alike")
  t.equal(said "e", stale .. "train.steps was 9 and is 5, train.forgotten was 1 and is ''")
end)

t.test("what diverged or failed is no result: not in a mean, not the best, named in its cell", function()
  local bench = bench_of("ill", { "good", "part", "diverged", "failed" }, { "bits_per_byte" })
  for seed = 1, 3 do runs.put(folder, bench, { label = "good", seed = seed, bits_per_byte = 3 }) end
  runs.put(folder, bench, { label = "part", seed = 1, bits_per_byte = 4 })
  runs.put(folder, bench, { label = "part", seed = 2, bits_per_byte = 6 })
  runs.put(folder, bench, { label = "part", seed = 3, bits_per_byte = 0.1, status = "diverged",
    error = "diverged: of late" })
  runs.put(folder, bench, { label = "diverged", bits_per_byte = 0.1, status = "diverged",
    error = "diverged: loss 1e9" })
  runs.put(folder, bench, { label = "failed", bits_per_byte = 0.1, status = "failed",
    error = "x.lua:3:\nno" })
  local cells, notes, made = cells_of(bench)
  t.equal(cells["part bits_per_byte"].measured, 5)
  t.equal(cells["part bits_per_byte"].status, "partial")
  t.contains(cells["part bits_per_byte"].note, "seed 3 diverged: of late")
  for label, note in pairs { diverged = "seed 1 diverged: loss 1e9",
    failed = "seed 1 x.lua:3: no" } do
    local cell = cells[label .. " bits_per_byte"]
    t.equal(cell.measured, nil)
    t.equal(cell.status, label)
    t.equal(cell.note, note)
    t.contains(notes, label .. ": " .. note)
  end
  for i, best in ipairs { true, false, false, false } do
    t.equal(made.rows[i].cells[1].best, best)
  end
  t.equal(select(2, tables.texts(made.columns[1], made.rows[3].cells[1])), "diverged")
end)

t.test("what went wrong with several seeds alike is said once", function()
  local bench = bench_of("alike", { "failed" }, { "bits_per_byte" })
  for seed, why in ipairs { "x.lua:3: no", "of late", "x.lua:3: no", "" } do
    runs.put(folder, bench, { label = "failed", seed = seed, status = seed == 2 and "diverged" or "failed",
      error = why })
  end
  t.equal(cells_of(bench)["failed bits_per_byte"].status, "failed")
  t.equal(cells_of(bench)["failed bits_per_byte"].note, "seeds 1, 3 x.lua:3: no; seed 2 of late; seed 4 failed")
end)

t.test("where a seed's score is infinite there is no mean of the others, and the cell says why", function()
  local bench = bench_of("infinite", { "burst", "even" }, { "word_perplexity", "bits_per_byte" })
  for seed = 1, 3 do
    runs.put(folder, bench, { label = "burst", seed = seed, bits_per_byte = 2,
      word_perplexity = seed == 2 and math.huge or 10 })
    runs.put(folder, bench, { label = "even", seed = seed, bits_per_byte = 3, word_perplexity = 20 })
  end
  local cells, notes, made = cells_of(bench)
  local said = "has an infinite value of seed 2"
  t.equal(cells["burst word_perplexity"].measured, nil)
  t.equal(cells["burst word_perplexity"].note, said)
  t.equal(cells["burst bits_per_byte"].measured, 2)
  t.contains(notes, ('Column "%s" is empty where a row %s.'):format("word perplexity", said))
  t.check(not made.rows[1].cells[1].best and made.rows[2].cells[1].best)
  local read = tables.read(files.write(made, folder .. "/infinite")[1])
  t.contains(table.concat(tables.notes(read), "\n"), said)
  local found = results.of(bench, settings())
  t.equal(next((found:values("burst", "word_perplexity", "books"))), nil)
  t.equal(found:difference("word_perplexity", "burst", "even", "books"), nil)
  local function cell(label)
    return predicate.cell(label, { experiment = bench, row = label, metric = "word_perplexity", dataset = "books" })
  end
  local judged = predicate.less(cell "burst", cell "even"):judge(evidence.measured(settings()))
  t.equal(judged.verdict, "undecided")
  t.equal(judged.lacking[1][2], said)
end)

t.test("the best of a column is its better end", function()
  local bench = bench_of("better", { "low", "high", "middle" },
    { "accuracy", "bits_per_byte", "tokens_per_second" })
  for label, value in pairs { low = 0.25, high = 0.75, middle = 0.5 } do
    runs.put(folder, bench, { label = label, accuracy = value, bits_per_byte = value })
  end
  runs.time(folder, bench, { round = "r", times = { low = 9, high = 3, middle = 6 } })
  local _, _, made = cells_of(bench)
  local best = {}
  for _, row in ipairs(made.rows) do
    for c, cell in ipairs(row.cells) do
      if cell.best then
        best[made.columns[c].metric] = (best[made.columns[c].metric] or "") .. row.label
      end
    end
  end
  t.equal(best.accuracy, "high")
  t.equal(best.bits_per_byte, "low")
  t.equal(best.tokens_per_second, "high")
end)

-- Rows on data sets, { a = { "books" }, ... }, each run once.
local function bench_over(name, labels, datasets, columns)
  local bench = lh.experiment(name)
  for _, label in ipairs(labels) do
    for _, dataset in ipairs(datasets[label]) do
      bench:row { label, model = slide, task = task, train = train, dataset = dataset }
      runs.put(folder, bench, { label = label, dataset = dataset, bits_per_byte = 2,
        flops_per_token = label == "part" and 1 or 2 })
    end
  end
  return bench:table { columns = columns }
end

t.test("a cost over fewer data sets than others have is never the best, and says so", function()
  local bench = bench_over("fewer", { "part", "whole" }, { part = { "books" },
    whole = { "books", "code" } }, { "step_time_ms", "flops_per_token" })
  runs.time(folder, bench, { round = "r1", dataset = "books", times = { part = 10, whole = 8 } })
  runs.time(folder, bench, { round = "r2", dataset = "code", times = { whole = 40 } })
  local cells, notes, made = cells_of(bench)
  t.equal(cells["part step_time_ms"].measured, 10)
  t.equal(cells["part step_time_ms"].status, "fewer data sets")
  t.equal(cells["part step_time_ms"].note, "not on code")
  t.equal(cells["whole step_time_ms"].measured, 24)
  t.contains(notes, "Some rows lack data sets that others have (part), and are never the best: "
    .. "part: not on code.")
  files.write(made, folder)
  for _, one in ipairs { made, tables.read(folder .. "/table.csv") } do
    t.equal(select(2, tables.texts(one.columns[1], one.rows[1].cells[1])), "10.0 (part)")
    t.check(not one.rows[1].cells[1].best and one.rows[2].cells[1].best, "the slower one is the best")
  end
  -- what the model is made of does not depend on it
  t.equal(cells["part flops_per_token"].status, "done")
  t.check(made.rows[1].cells[2].best, "fewer FLOPs are the best")
end)

t.test("a cost has the status of the data set where something is amiss", function()
  local bench = bench_over("amiss", { "a" }, { a = { "books", "code", "latex" } }, { "flops_per_token" })
  runs.put(folder, bench, { label = "a", dataset = "code", status = "failed", error = "no" })
  t.equal(cells_of(bench)["a flops_per_token"].status, "failed")
end)

t.test("seeds that the command asks for are those that a row is to have", function()
  local bench = bench_of("asked", { "a" }, { "bits_per_byte" })
  for seed = 1, 2 do runs.put(folder, bench, { label = "a", seed = seed, bits_per_byte = 2 }) end
  t.equal(cells_of(bench)["a bits_per_byte"].status, "partial")
  t.equal(cells_of(bench, lh.merged(settings(), { seeds = 2 }))["a bits_per_byte"].status, "done")
end)

t.test("a mark of a busy machine is of all data sets, not of the first that says why", function()
  local all = { "books", "code", "latex" }
  local bench = bench_over("busy", { "a", "b" }, { a = all, b = all }, { "step_time_ms" })
  runs.time(folder, bench, { round = "r1", dataset = "code", times = { a = 5, b = 4 }, busy = "yes",
    load = 1.5 })
  runs.time(folder, bench, { round = "r2", dataset = "latex", times = { a = 5, b = 4 } })
  local cells, notes, made = cells_of(bench)
  t.equal(cells["b step_time_ms"].status, "busy")
  t.equal(select(2, tables.texts(made.columns[1], made.rows[2].cells[1])), "4.0~")
  t.check(not made.rows[2].cells[1].best, "a busy time is the best")
  t.contains(notes, "is of fewer data sets where a row was not timed (books).")
  t.contains(notes, "is marked ~ where a row was timed on a busy machine only (others used 1.5 processors) (code).")
end)

t.test("a busy cell of fewer data sets than others have shows both", function()
  local bench = bench_over("busy-part", { "part", "whole" }, { part = { "books", "latex" },
    whole = { "books", "code", "latex" } }, { "step_time_ms" })
  runs.time(folder, bench, { round = "r1", dataset = "books", times = { part = 10, whole = 8 }, busy = "yes",
    load = 1.5 })
  for _, dataset in ipairs { "code", "latex" } do
    runs.time(folder, bench, { round = dataset, dataset = dataset, times = { whole = 40 } })
  end
  local cells, _, made = cells_of(bench)
  t.equal(cells["part step_time_ms"].status, "busy, fewer data sets")
  files.write(made, folder)
  for _, one in ipairs { made, tables.read(folder .. "/table.csv") } do
    local notes = table.concat(tables.notes(one), "\n")
    t.equal(select(2, tables.texts(one.columns[1], one.rows[1].cells[1])), "10.0~ (part)")
    t.contains(notes, "Some rows lack data sets that others have (part), and are never the best: "
      .. "part: not on latex, code.")
    t.contains(notes, "is marked ~ where a row was timed on a busy machine only (others used 1.5 processors) (books)")
    t.check(not one.rows[1].cells[1].best, "a busy time of some data sets is the best")
  end
end)

t.test("a table may say which end of a column is better", function()
  local bench = bench_of("turned", { "low", "high" }, { "accuracy" },
    { best = { accuracy = "min" } })
  runs.put(folder, bench, { label = "low", accuracy = 0.25 })
  runs.put(folder, bench, { label = "high", accuracy = 0.75 })
  local _, _, made = cells_of(bench)
  t.check(made.rows[1].cells[1].best and not made.rows[2].cells[1].best, "the other end")
end)

t.test("a difference is of paired seeds, with its standard error", function()
  local bench = bench_of("paired", { "a", "b" }, { "bits_per_byte" })
  runs.put(folder, bench, { label = "b", seed = 9 }) -- without a value
  for seed, values in ipairs { { 3, 1 }, { 6, 2 }, { 9, 3 } } do
    runs.put(folder, bench, { label = "a", seed = seed, bits_per_byte = values[1] })
    runs.put(folder, bench, { label = "b", seed = seed, bits_per_byte = values[2] })
  end
  local mean, err, count = results.of(bench, settings()):difference("bits_per_byte", "a", "b",
    "books")
  t.equal(mean, 4) -- 2, 4 and 6: deviation 2
  t.near(err, 2 / math.sqrt(3), 1e-12)
  t.equal(count, 3)
end)

t.test("the footer compares with the paper where something was compared", function()
  local compares = "The paper's models are larger"
  local beside = bench_of("beside", { "Slide:13L" }, { "bits_per_byte" },
    { published = "brt_table1" })
  beside.rows[1].dataset = "pg19_bytes"
  runs.put(folder, beside, { label = "Slide:13L", bits_per_byte = 2 })
  t.contains(select(2, cells_of(beside)), compares)
  local other = bench_of("not-beside", { "own" }, { "bits_per_byte" }, { published = "brt_table1" })
  runs.put(folder, other, { label = "own", bits_per_byte = 2 })
  t.check(not select(2, cells_of(other)):find(compares, 1, true), "nothing was compared")
end)

t.test("numbers that the script knows are those that it says now, of all seeds", function()
  local function bench_saying(number)
    return lh.experiment("said"):row { "a", model = slide, task = task, train = train,
      dataset = "books", values = { kaplan_flops_per_token = number } }
      :table { columns = { "kaplan_flops_per_token" } }
  end
  local function value(bench, more)
    return results.of(bench, lh.merged(settings(), more or {})):value("a",
      "kaplan_flops_per_token", "books")
  end
  runs.put(folder, bench_saying(1000), { label = "a", kaplan_flops_per_token = 1000 })
  t.equal(value(bench_saying(1000)), 1000)
  local now = bench_saying(2000)
  t.equal(value(now), 2000)
  runs.put(folder, now, { label = "a", seed = 2, kaplan_flops_per_token = 2000,
    date = "2026-01-02T00:00:00Z" })
  t.equal(value(now), 2000)
  t.equal(cells_of(now)["a kaplan_flops_per_token"].measured, 2000)
  -- without the script's rows, what the latest run says
  t.equal(value(now, { recorded = true }), 2000)
  t.equal(value(bench_saying(nil)), nil)
  local stale = lh.experiment "said-before":row { "a", model = slide, task = task, train = train, dataset = "books",
    values = { kaplan_flops_per_token = 2000 } }
  runs.put(folder, stale, { label = "a", configuration = "old", kaplan_flops_per_token = 1000 })
  t.equal(value(stale), 1000)
end)

t.test("tokens to a loss are those to the loss that the row names now", function()
  local function bench_reaching(reach)
    return lh.experiment("reached"):row { "a", model = slide, task = task, train = train,
      dataset = "books", reach = reach }
  end
  local function tokens(reach, more)
    return results.of(bench_reaching(reach), lh.merged(settings(), more or {})):value("a",
      "tokens_to_reach", "books")
  end
  for seed = 1, 2 do
    local run = runs.put(folder, bench_reaching { loss_bits = 5 }, { label = "a", seed = seed,
      reach = "loss_bits 5.0", tokens_to_reach = 77 })
    store.open(folder, "reached"):write_curve(run.run_id, {
      { step = 1, tokens = 100 * seed, loss_bits = 5 },
      { step = 2, tokens = 300 * seed, loss_bits = 3 } })
  end
  t.equal(tokens { loss_bits = 5.0 }, 77) -- as it was recorded
  t.equal(tokens { loss_bits = 4.0 }, 450)
  t.equal(tokens { loss_bits = 2.0 }, nil)
  t.equal(tokens(nil), nil)
  t.equal(tokens({ loss_bits = 4.0 }, { recorded = true }), 77)
  -- two experiments may share runs and name another loss each
  local other = lh.experiment("reaching-more", { runs = "reached" }):row { "a", model = slide,
    task = task, train = train, dataset = "books", reach = { loss_bits = 3.5 } }
  t.equal(results.of(other, settings()):value("a", "tokens_to_reach", "books"), 450)
end)

t.test("each source of a chart is asked for the rounds of its own rows", function()
  local sources = {}
  for i, name in ipairs { "source-one", "source-two" } do
    local bench = bench_of(name, { "own " .. i, "same" }, { "bits_per_byte" })
    for _, row in ipairs(bench.rows) do runs.put(folder, bench, { label = row.label, bits_per_byte = 1 }) end
    runs.time(folder, bench, { round = "both", times = { ["own " .. i] = 1, same = 1 } })
    sources[i] = { rows = bench.rows, bench = bench }
  end
  local function apart(...)
    local cells = {}
    for _, source in ipairs(sources) do
      source.results = results.of(source.bench, settings())
      for _, row in ipairs(source.rows) do cells[#cells + 1] = { row = row, results = source.results } end
    end
    return sources[1].results:apart({ ... }, cells)
  end
  t.equal(apart "step_time_ms", false)
  runs.time(folder, sources[2].bench, { round = "later", times = { ["own 2"] = 1, same = 1 },
    date = "2026-01-02T00:00:00Z" })
  t.equal(apart "step_time_ms", true)
  t.equal(apart("bits_per_byte", "step_time_ms"), true)
  t.equal(apart("bits_per_byte", "relative_step_time"), false)
end)

t.test("a row that was trained twice with one seed counts once", function()
  local bench = bench_of("twice", { "a" }, { "bits_per_byte" })
  runs.put(folder, bench, { label = "a", seed = 3, run_id = "from source 2", bits_per_byte = 2,
    date = "2026-01-01" })
  runs.put(folder, bench, { label = "a", seed = 3, run_id = "from source 3", bits_per_byte = 5,
    date = "2026-01-02" })
  t.equal(cells_of(bench)["a bits_per_byte"].measured, 5)
  t.equal(cells_of(bench)["a bits_per_byte"].seeds, 1)
end)

t.test("a failed attempt at a seed that came to its end from another source run counts for nothing", function()
  local bench = bench_of("attempts", { "a", "b" }, { "bits_per_byte" })
  for seed = 1, 3 do
    runs.put(folder, bench, { label = "a", seed = seed, bits_per_byte = seed })
    runs.put(folder, bench, { label = "b", seed = seed, bits_per_byte = 9 })
  end
  runs.put(folder, bench, { label = "a", seed = 1, run_id = "attempt", status = "failed", error = "out of memory",
    date = "2026-01-02T00:00:00Z" })
  local cells = cells_of(bench)
  t.equal(cells["a bits_per_byte"].status, "done")
  t.equal(cells["a bits_per_byte"].note, nil)
  t.equal(cells["a bits_per_byte"].seeds, 3)
  local cell = { experiment = bench, row = "a", dataset = "books", metric = "bits_per_byte" }
  t.equal(evidence.measured(settings()):apart { cell }, nil)
  runs.put(folder, bench, { label = "a", seed = 2, run_id = "later", status = "diverged", error = "it diverged",
    date = "2026-01-02T00:00:00Z" })
  t.equal(#results.of(bench, settings()):group("a", "books").done, 2)
  t.contains(evidence.measured(settings()):apart { cell }, "seed 2 it diverged")
end)

t.test("a store that others write to is read again, and one that nobody writes to is not", function()
  local bench = bench_of("shared", { "a" }, { "bits_per_byte" })
  runs.put(folder, bench, { label = "a", bits_per_byte = 1 })
  local reader = store.at(folder, "shared")
  local id = runs.identity(bench, "a").run_id
  t.equal(reader:find(id).bits_per_byte, "1")
  t.equal(reader:rows(), reader:rows())
  runs.put(folder, bench, { label = "a", bits_per_byte = 2 })
  t.equal(reader:find(id).bits_per_byte, "2")
  t.equal(reader:find "nobody", nil)
end)

t.test("finding runs does not take longer with more of them", function()
  local rows, many = {}, 20000
  for i = 1, many do
    rows[i] = { run_id = "r" .. i, seed = 1, identity = 2, configuration = "c", row = "x", status = "done" }
  end
  local filled = store.open(folder, "many")
  filled:update(function(list) table.move(rows, 1, many, 1, list) end)
  local reads, csv_rows = 0, core.csv_rows
  core.csv_rows = function(...)
    reads = reads + 1
    return csv_rows(...)
  end
  for i = 1, many do t.check(filled:find("r" .. i), "not found") end
  core.csv_rows = csv_rows
  t.equal(reads, 1)
end)

os.execute("rm -r '" .. folder .. "'")
t.finish()

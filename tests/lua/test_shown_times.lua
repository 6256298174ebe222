-- Which round a number of step times comes from, what says so, and that none reaches another run.
local t = dofile "tests/test.lua"
local chart = require "longhaul.report.chart"
local core = require "longhaul.core"
local evidence = require "longhaul.report.evidence"
local lh = require "longhaul"
local predicate = require "longhaul.report.predicate"
local results = require "longhaul.report.results"
local runs = dofile "tests/lua/runs.lua"
local step_times = require "longhaul.run.step_times"
local store = require "longhaul.run.store"
local table_files = require "longhaul.report.table_files"
local tables = require "longhaul.report.table"
local timed = dofile "tests/lua/timed.lua"

local folder = os.tmpname()
os.remove(folder)
core.make_folder(folder)

local settings = { results = folder, scale = "small", device = "cpu" }

local function cells_of(bench)
  local by_name, made = {}, tables.build(bench, bench.tables[1], results.of(bench, settings))
  for _, record in ipairs(tables.records(made)) do
    by_name[record.row .. " " .. record.metric] = record
  end
  return by_name, table.concat(tables.notes(made), "\n")
end

-- ---- which round counts ----

local bench = timed.bench("rounds", { "base", "fast", "slow", "alone", "rushed", "never" })
for _, row in ipairs(bench.rows) do
  runs.put(folder, bench, { label = row.label, bits_per_byte = 1 })
end
runs.put(folder, bench, { label = "fast", seed = 2, bits_per_byte = 1 })
-- a run of the same label with other options, which has a time of its own
runs.put(folder, bench, { label = "fast", run_id = "wide", configuration = "of a wider model",
  step_time_ms = 128,
  peak_memory_bytes = 43800000 })
for _, round in ipairs {
  { round = "r1", date = "2026-01-01", times = { base = 10, fast = 8 } },
  { round = "r2", date = "2026-01-02", times = { base = 20, slow = 50 } },
  { round = "r3", date = "2026-01-03", times = { base = 40, fast = 10 }, busy = "yes", load = 1.5 },
  { round = "r4", date = "2026-01-04", times = { alone = 30 } },
  { round = "r5", date = "2026-01-05", times = { base = 50, rushed = 60 }, busy = "yes",
    load = 0.75 },
} do
  runs.time(folder, bench, round)
end

t.test("a relative time comes from one idle round that has both rows", function()
  local cells = cells_of(bench)
  t.near(cells["fast relative_step_time"].measured, 0.8, 1e-12) -- 8 / 10, not 8 / 20 or 10 / 40
  t.near(cells["slow relative_step_time"].measured, 2.5, 1e-12) -- 50 / 20
  t.near(cells["base relative_step_time"].measured, 1, 1e-12)
end)

t.test("a table's relative times are to its own baseline, whatever that of the first is", function()
  local turned = timed.bench("rounds-turned", { "base", "fast" })
  turned:table { columns = { "relative_step_time" }, baseline = "fast", name = "turned" }
  for _, row in ipairs(turned.rows) do runs.put(folder, turned, { label = row.label, bits_per_byte = 1 }) end
  runs.time(folder, turned, { round = "r1", times = { base = 10, fast = 8 } })
  local made = tables.build(turned, turned.tables[2], results.of(turned, settings))
  t.near(made.rows[1].cells[1].measured, 1.25, 1e-12)
end)

t.test("of chosen rows a relative time is still to the baseline", function()
  local chosen = results.of(bench, settings):selected { "fast" }
  t.equal(chosen:group("base", "books"), nil)
  local made = tables.build(bench, bench.tables[1], chosen)
  t.equal(#made.rows, 1)
  t.equal(made.rows[1].label, "fast")
  t.near(chosen:value("fast", "relative_step_time", "books"), 0.8, 1e-12)
  t.equal(#results.of(bench, settings):relative_to("base"):selected({ "fast" }):quartiles("fast", "relative_step_time",
    "books"), 2)
end)

t.test("the quartiles of the round that counts go with a time, a rate and a ratio, the baseline's "
  .. "with the ratio", function()
  local found = results.open(folder, "rounds", "small", "cpu", bench.rows):relative_to "base"
  local function near(metric, ...)
    for _, dataset in ipairs { "books", false } do
      local list = found:quartiles("fast", metric, dataset or nil)
      t.equal(#list, select("#", ...))
      for i, expected in ipairs { ... } do
        t.equal(list[i].label, expected[1])
        t.near(list[i].q1, expected[2], 1e-9)
        t.near(list[i].q3, expected[3], 1e-9)
      end
    end
  end
  near("step_time_ms", { "fast", 0.9, 1.2 })
  near("relative_step_time", { "fast", 0.9, 1.2 }, { "base", 1 / 0.9, 1 / 1.2 })
  near("tokens_per_second", { "fast", 1 / 0.9, 1 / 1.2 })
  near("bits_per_byte")
end)

t.test("two ratios to a baseline that was timed in two rounds are not decided within its quartiles", function()
  local apart, p = timed.bench("rounds-apart", { "base", "low", "high" }), predicate
  for _, row in ipairs(apart.rows) do runs.put(folder, apart, { label = row.label, bits_per_byte = 1 }) end
  local function cell(label, dataset)
    return p.cell(label, { experiment = apart, row = label, metric = "relative_step_time", dataset = dataset })
  end
  local function verdict(dataset)
    return p.less(cell("low", dataset), cell("high", dataset)):judge(evidence.measured(settings)).verdict
  end
  runs.time(folder, apart, { round = "a1", times = { base = 100, low = 100 } })
  runs.time(folder, apart, { round = "a2", times = { base = 80, high = 120 } })
  t.equal(verdict "books", "undecided") -- 1.2 / 0.9 is not below 1.35 / 1.2
  t.equal(verdict(), "undecided")
  runs.time(folder, apart, { round = "a3", date = "2026-01-02", times = { base = 100, low = 100, high = 150 } })
  t.equal(verdict "books", "holds") -- of one round the baseline cancels: 1.2 is below 1.35
  t.equal(verdict(), "holds")
end)

t.test("three idle rounds decide what the quartiles of one leave open, row beside row in each", function()
  local again, p = timed.bench("rounds-again", { "base", "low", "high" }), predicate
  for _, row in ipairs(again.rows) do runs.put(folder, again, { label = row.label, bits_per_byte = 1 }) end
  local function judged(metric, dataset)
    local function cell(label)
      return p.cell(label, { experiment = again, row = label, metric = metric, dataset = dataset })
    end
    return p.less(cell("low"), cell("high")):judge(evidence.measured(settings))
  end
  local function time(round, low, high, busy)
    runs.time(folder, again, { round = round, date = "2026-01-0" .. round, busy = busy,
      times = { base = 100, low = low, high = high } })
  end
  time(1, 100, 103)
  time(2, 80, 82.2)
  time(3, 100, 300, "yes")
  -- another processor of the same name
  runs.time(folder, again, { round = "wide", date = "2026-01-01", kernels = "wide",
    times = { base = 100, low = 300, high = 100 } })
  for _, metric in ipairs { "step_time_ms", "relative_step_time" } do
    t.equal(judged(metric, "books").reason, "within the quartiles of the step times")
  end
  time(4, 120, 122.8)
  for _, metric in ipairs { "step_time_ms", "relative_step_time" } do
    for _, dataset in ipairs { "books", false } do
      local found = judged(metric, dataset or nil)
      t.equal(found.reason, nil)
      t.equal(found.verdict, "holds")
      t.equal(found.seeds, nil)
      t.equal(found.closest.rounds, 3)
      -- the mean of 3, 2.2 and 2.8, and its error
      t.near(found.closest.margin, metric == "step_time_ms" and 8 / 3 or 0.08 / 3, 1e-9)
      t.near(found.closest.error, metric == "step_time_ms" and 0.2403700851 or 0.002403700851, 1e-9)
    end
  end
  time(5, 90, 80)
  time(6, 500, nil) -- alone: beside no other
  t.equal(judged("step_time_ms", "books").reason, "p = 0.44 over 4 rounds of step times, below 0.025 decides")
end)

t.test("a round that lacks a metric, as an mfu above 1, is none of its rounds", function()
  local lacking = timed.bench("rounds-lacking", { "base", "high" })
  for _, row in ipairs(lacking.rows) do runs.put(folder, lacking, { label = row.label, bits_per_byte = 1 }) end
  local function time(round, base, high)
    local records = {}
    for label, mfu in pairs { base = base, high = high } do
      records[#records + 1] = { round = round, configuration = runs.identity(lacking, label).configuration,
        step_time_ms = 10, mfu = mfu, busy = "no", machine = "test", date = "2026-01-0" .. round }
    end
    store.open(folder, lacking.runs):add_timings(records)
  end
  time(1, "", 0.5)
  for round, high in ipairs { 0.5, 0.51, 0.52 } do time(round + 1, 0.4, high) end
  local found = predicate.less(
    predicate.cell("base", { experiment = lacking, row = "base", metric = "mfu", dataset = "books" }),
    predicate.cell("high", { experiment = lacking, row = "high", metric = "mfu", dataset = "books" }))
    :judge(evidence.measured(settings))
  t.equal(found.closest.rounds, 3)
  t.equal(found.verdict, "holds")
end)

t.test("a time is that of the latest idle round", function()
  local cells = cells_of(bench)
  t.near(cells["base step_time_ms"].measured, 20, 1e-12)
  t.near(cells["fast step_time_ms"].measured, 8, 1e-12)
  t.near(cells["fast tokens_per_second"].measured, 16000, 1e-9) -- 128 tokens in 8 ms
end)

t.test("where there is no such round the cell is empty and says why", function()
  local cells, notes = cells_of(bench)
  local expected = { alone = "was not timed beside the baseline 'base'", never = "was not timed" }
  for label, note in pairs(expected) do
    local cell = cells[label .. " relative_step_time"]
    t.equal(cell.measured, nil)
    t.equal(cell.status, "missing")
    t.equal(cell.note, note)
    t.contains(notes, ('Column "relative step time" is empty where a row %s.'):format(note))
  end
  t.near(cells["alone step_time_ms"].measured, 30, 1e-12)
end)

t.test("a baseline of any label is named, a percent sign in it is none of gsub's", function()
  local percent = timed.bench("percent", { "50% of %1", "alone" })
  for _, row in ipairs(percent.rows) do runs.put(folder, percent, { label = row.label, bits_per_byte = 1 }) end
  runs.time(folder, percent, { round = "r1", times = { alone = 30 } })
  t.equal(cells_of(percent)["alone relative_step_time"].note, "was not timed beside the baseline '50% of %1'")
end)

t.test("a time of a busy machine is shown where there is no other, marked, and judges nothing", function()
  local cells, notes = cells_of(bench)
  local cell, note = cells["rushed relative_step_time"],
    "was timed on a busy machine only (others used 0.8 processors)"
  t.near(cell.measured, 1.2, 1e-12) -- 60 / 50
  t.near(cells["rushed step_time_ms"].measured, 60, 1e-12)
  t.equal(cell.status, "busy")
  t.equal(cell.note, note)
  t.contains(notes, ('Column "relative step time" is marked ~ where a row %s.'):format(note))
  local judged = results.open(folder, "rounds", "small", "cpu", bench.rows):relative_to "base"
  t.equal(judged:value("rushed", "relative_step_time", "books"), nil)
  t.equal(judged:value("rushed", "step_time_ms", "books"), nil)
end)

t.test("charts mark it, too", function()
  bench:plot { "pareto", x = "step_time_ms", y = "bits_per_byte" }
  bench:plot { "bars", y = "step_time_ms" }
  bench:plot { "bars", y = "bits_per_byte", name = "quality" }
  local shown = {}
  for _, made in ipairs(chart.values(bench, settings, results.of(bench, settings))) do
    for _, block in ipairs(made.blocks) do
      local texts = {}
      for i, row in ipairs(block[1] == "labels" and block[2][1] or {}) do texts[i] = row[3] end
      for i, row in ipairs(block[1] == "bars" and block[2][1] or {}) do texts[i] = row[5] end
      if #texts > 0 then
        table.sort(texts)
        shown[made.name] = table.concat(texts, " ")
      end
    end
    t.equal(made.source:find("busy machine (~)", 1, true) ~= nil, made.name ~= "quality", made.name)
  end
  t.equal(shown.pareto, "alone base fast rushed~ slow")
  t.contains(shown.bars, "60.0~")
  t.check(not shown.quality:find "~")
end)

t.test("a time of a busy machine is never the best", function()
  local hasty = timed.bench("hasty", { "base", "x" })
  for _, label in ipairs { "base", "x" } do runs.put(folder, hasty, { label = label }) end
  runs.time(folder, hasty, { round = "a", date = "2026-01-01", times = { base = 10 } })
  runs.time(folder, hasty, { round = "b", date = "2026-01-02", times = { base = 10, x = 5 },
    busy = "yes", load = 1 })
  local made = tables.build(hasty, hasty.tables[1], results.of(hasty, settings))
  for _, row in ipairs(made.rows) do
    for c, column in ipairs(made.columns) do
      if column.metric == "step_time_ms" then t.equal(row.cells[c].best, row.label == "base") end
    end
  end
end)

t.test("a time of a busy machine is marked where seeds are missing, too", function()
  local partial = timed.bench("partial", { "base", "x", "untimed" })
  for _, row in ipairs(partial.rows) do
    row.seeds = 2
    runs.put(folder, partial, { label = row.label, seed = 1 })
    runs.put(folder, partial, { label = row.label, seed = 2, status = "failed", error = "no" })
  end
  runs.time(folder, partial, { round = "a", date = "2026-01-02", times = { base = 10, x = 5 },
    busy = "yes", load = 1 })
  local made = tables.build(partial, partial.tables[1], results.of(partial, settings))
  for c, column in ipairs(made.columns) do
    if column.metric == "step_time_ms" then
      local _, here = tables.texts(column, made.rows[2].cells[c])
      t.equal(here, "5.0~")
      t.equal(made.rows[2].cells[c].best, false)
    end
  end
  t.contains(table.concat(tables.notes(made), " "), '"step time, ms" is marked ~')
  local cells = cells_of(partial)
  t.contains(cells["x step_time_ms"].note, "was timed on a busy machine only")
  t.equal(cells["untimed step_time_ms"].note, "was not timed")
end)

t.test("times of several rounds stand in no contest, and the table says so", function()
  local function table_of(round)
    local folder_of, two = folder .. "/" .. round, timed.bench("two", { "base", "fast" })
    core.make_folder(folder_of)
    for _, row in ipairs(two.rows) do
      runs.put(folder_of, two, { label = row.label, bits_per_byte = 1 })
    end
    runs.time(folder_of, two, { round = "r1", date = "2026-01-01",
      times = { base = 10, fast = 20 } })
    runs.time(folder_of, two, { round = round, date = "2026-01-02",
      times = { base = 1, fast = round == "r1" and 2 or nil } })
    local made = tables.build(two, two.tables[1],
      results.of(two, { results = folder_of, scale = "small", device = "cpu" }))
    local read = tables.read(table_files.write(made, folder_of)[1])
    for r, row in ipairs(made.rows) do
      for c, cell in ipairs(row.cells) do
        t.equal(read.rows[r].cells[c].best, cell.best, "the page marks what the table marks")
      end
    end
    t.equal(table.concat(tables.notes(read), "\n"):match "Column[^\n]+",
      table.concat(tables.notes(made), "\n"):match "Column[^\n]+")
    return made, table.concat(tables.notes(made), "\n")
  end
  local made, notes = table_of "r2"
  t.contains(notes, 'Column "step time, ms" is of several rounds: only the relative step time compares rows.')
  t.check(not notes:find('"relative step time"', 1, true), notes)
  t.equal(made.columns[2].metric, "step_time_ms")
  t.check(not made.rows[1].cells[2].best and not made.rows[2].cells[2].best,
    "no best of two rounds")
  t.near(made.rows[2].cells[1].measured, 2, 1e-12) -- the round that has both
  made, notes = table_of "r1"
  t.check(not notes:find("several rounds", 1, true), notes)
  t.check(made.rows[1].cells[2].best, "the best of a round")
end)

t.test("the page says of a table what the table says: no reason that is none", function()
  local few = lh.experiment "timing-few"
  for _, label in ipairs { "first", "second" } do
    timed.row(few, label, { seeds = 2, dataset = "text" })
    runs.put(folder, few, { label = label, seed = 1, bits_per_byte = 2 })
  end
  few:table { columns = { "bits_per_byte", "step_time_ms" } }
  local made = tables.build(few, few.tables[1], results.of(few, settings))
  local written = tables.notes(made)
  local lacking = "Some rows lack seeds (status partial in the CSV file), and no mean of fewer than others have is the "
    .. "best."
  t.contains(table.concat(written, "\n"), lacking)
  local read = table.concat(tables.notes(tables.read(table_files.write(made, folder)[1])), "\n")
  t.contains(read, lacking)
  t.contains(read, 'Column "step time, ms" is empty where a row was not timed.')
end)

t.test("a row whose baseline was never run says so", function()
  local orphan = timed.bench("orphan", { "base", "x" })
  runs.put(folder, orphan, { label = "x" })
  runs.time(folder, orphan, { round = "r", times = { x = 3 } })
  t.equal(cells_of(orphan)["x relative_step_time"].note, "has no baseline, 'base' was not run")
end)

t.test("of two rounds with both rows the later one counts, whatever their order in the file", function()
  local twice = timed.bench("twice", { "base", "x" })
  for _, label in ipairs { "base", "x" } do runs.put(folder, twice, { label = label }) end
  runs.time(folder, twice, { round = "late", date = "2026-02-02", times = { base = 10, x = 30 } })
  runs.time(folder, twice, { round = "early", date = "2026-02-01", times = { base = 10, x = 20 } })
  t.near(cells_of(twice)["x relative_step_time"].measured, 3, 1e-12)
end)

t.test("runs.csv shows the rounds of each run's own configuration", function()
  local results = store.at(folder, "rounds")
  local function id(label) return runs.identity(bench, label).configuration end
  step_times.project(results, { [id "fast"] = id "base", [id "alone"] = id "base" })
  local shown = {}
  for _, row in ipairs(results:rows()) do
    shown[row.run_id == "wide" and "wide" or row.row .. row.seed] = row
  end
  for _, seed in ipairs { "fast1", "fast2" } do
    t.equal(shown[seed].step_time_ms, "8")
    t.near(tonumber(shown[seed].step_time_q1_ms), 7.2, 1e-12)
    t.near(tonumber(shown[seed].step_time_q3_ms), 9.6, 1e-12)
    t.near(tonumber(shown[seed].relative_step_time), 0.8, 1e-12)
  end
  t.equal(shown.alone1.relative_step_time, "")
  t.equal(shown.rushed1.step_time_ms, "")
  t.equal(shown.wide.step_time_ms, "128")
  t.equal(shown.wide.peak_memory_bytes, "43800000")
  local before = core.file_stamp(results.file)
  step_times.project(results, {})
  t.equal(core.file_stamp(results.file), before)
end)

os.execute("rm -r '" .. folder .. "'")
t.finish()

-- Step times: how they are measured, what is kept of a round, which round a number comes from, and
-- that none reaches another run. The steps themselves are played by sessions whose times are known;
-- one test times real ones.
local t = dofile "tests/test.lua"
local chart = require "longhaul.report.chart"
local core = require "longhaul.core"
local csv = require "longhaul.run.csv"
local evidence = require "longhaul.report.evidence"
local identity = require "longhaul.run.identity"
local lh = require "longhaul"
local others = require "longhaul.run.others"
local predicate = require "longhaul.report.predicate"
local ranks = require "longhaul.run.ranks"
local results = require "longhaul.report.results"
local runner = require "longhaul.run.runner"
local runs = dofile "tests/lua/runs.lua"
local step_times = require "longhaul.run.step_times"
local store = require "longhaul.run.store"
local table_files = require "longhaul.report.table_files"
local tables = require "longhaul.report.table"
local timing = require "longhaul.run.timing"

local folder = os.tmpname()
os.remove(folder)
core.make_folder(folder)
lh.configure { scale = "small" }

local task = lh.tasks.language_model { lh.data.text { "generate:books" }, segment = 64, batch = 2 }
local train = lh.train { steps = 5 }
local slide = lh.models.slide { layers = 1, width = 16, heads = 2, window = 16 }

-- An experiment with these rows on one dataset; its table is relative to the first.
local function bench_of(name, labels)
  local bench = lh.experiment(name)
  for _, label in ipairs(labels) do
    bench:row { label, model = slide, task = task, train = train, dataset = "books" }
  end
  bench:table { columns = { "relative_step_time", "step_time_ms", "tokens_per_second",
    "bits_per_byte" }, baseline = labels[1] }
  return bench
end

local settings = { results = folder, scale = "small", device = "cpu" }

local function cells_of(bench)
  local by_name, made = {}, tables.build(bench, bench.tables[1], results.of(bench, settings))
  for _, record in ipairs(tables.records(made)) do
    by_name[record.row .. " " .. record.metric] = record
  end
  return by_name, table.concat(tables.notes(made), "\n")
end

-- ---- which round counts ----

local bench = bench_of("rounds", { "base", "fast", "slow", "alone", "rushed", "never" })
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
  local apart, p = bench_of("rounds-apart", { "base", "low", "high" }), predicate
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
  local again, p = bench_of("rounds-again", { "base", "low", "high" }), predicate
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
  t.equal(judged("step_time_ms", "books").reason, "p = 0.44 over 4 rounds of step times, below 0.05 decides")
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
  local hasty = bench_of("hasty", { "base", "x" })
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
  local partial = bench_of("partial", { "base", "x" })
  for _, row in ipairs(partial.rows) do
    row.seeds = 2
    runs.put(folder, partial, { label = row.label, seed = 1 })
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
end)

t.test("times of several rounds stand in no contest, and the table says so", function()
  local function table_of(round)
    local folder_of, two = folder .. "/" .. round, bench_of("two", { "base", "fast" })
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
    few:row { label, model = slide, task = task, train = train, seeds = 2, dataset = "text" }
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
  local orphan = bench_of("orphan", { "base", "x" })
  runs.put(folder, orphan, { label = "x" })
  runs.time(folder, orphan, { round = "r", times = { x = 3 } })
  t.equal(cells_of(orphan)["x relative_step_time"].note, "has no baseline, 'base' was not run")
end)

t.test("of two rounds with both rows the later one counts, whatever their order in the file", function()
  local twice = bench_of("twice", { "base", "x" })
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

-- ---- measuring ----

-- Sessions that take as long as their row's name says, "x 12" 12 ms, on a machine with this load.
local played = { parts = {}, load = 0, machine = 0, own = 0 }

local function play()
  core.time_steps = function(sessions)
    local times, part = {}, {}
    for i, session in ipairs(sessions) do
      times[i] = { median_ms = session.ms, q1_ms = session.ms - 1, q3_ms = session.ms + 2,
        tokens_per_step = 96,
        peak_memory_bytes = 1000 * session.ms }
      part[i] = session.label
    end
    played.parts[#played.parts + 1] = table.concat(part, ", ")
    core.sleep(10)
    return times
  end
  core.clock = function() return played.own end
  -- of two processors; this process uses one
  core.sleep = function(seconds)
    played.own = played.own + seconds
    played.machine = played.machine + seconds * (1 + played.load)
  end
  core.cpu_time = function() return played.machine, played.own, 2 end
end

local machine = lh.merged(core.machine(),
  { cpu = "test", threads = 2, version = "v1" })

local function measure_settings(bench, more)
  local bases = {}
  for _, label in ipairs(bench:baselines()) do
    for _, row in ipairs(bench.rows) do
      if row.label == label then bases[#bases + 1] = { row = row } end
    end
  end
  return lh.merged({
    scale = "small", machine = machine, bases = bases, rounds = 1, open = function(run)
      return { label = run.row.label, ms = tonumber(run.row.label:match "%d+"),
        close = function() end,
        inference_memory = function() return 7 end, matrix_rate = function() return 1e9 end,
        info = function() return { flops_per_token = 50 } end }
    end,
  }, more or {})
end

-- The runs of the rows that a filter takes, as the runner gives them to timing.
local function runs_of(bench, device, wanted)
  local list = {}
  for _, row in ipairs(bench.rows) do
    if not wanted or wanted(row) then
      local run = { experiment = bench.runs, row = row, seed = 1, scale = "small", device = device
        or "cpu" }
      run.identity = identity.of(run)
      list[#list + 1] = run
    end
  end
  return list
end

local function measure(bench, more, device, wanted)
  local list = runs_of(bench, device, wanted)
  local own = measure_settings(bench, more)
  for _, base in ipairs(own.bases) do
    base.experiment, base.seed, base.scale, base.device = bench.runs, 1, "small", device or "cpu"
    base.identity = identity.of(base)
  end
  played.parts = {}
  timing.measure(list, store.open(folder, bench.runs), own)
  return played.parts
end

local real = { time_steps = core.time_steps, clock = core.clock, sleep = core.sleep,
  cpu_time = core.cpu_time,
  device_name = core.device_name, device_memory = core.device_memory }

-- With played sessions; what is measured goes into a log of its own.
local function playing(body)
  return function()
    play()
    local stderr = io.stderr
    local said = {}
    io.stderr = setmetatable({},
      { __index = { write = function(_, ...) said[#said + 1] = table.concat { ... } end } })
    played.load = 0
    function core.device_name() return "a GPU" end
    function core.device_memory() return 2 ^ 40 end
    local good, message = pcall(body, said)
    for name, value in pairs(real) do core[name] = value end
    io.stderr = stderr
    if not good then error(message, 0) end
  end
end

local function prepared(name, labels, memory)
  local made = bench_of(name, labels)
  for _, row in ipairs(made.rows) do
    runs.put(folder, made, { label = row.label, peak_memory_bytes = memory })
  end
  return made
end

local function rounds(name) return (csv.read(("%s/%s/timings.csv"):format(folder, name))) end

t.test("rows are timed side by side in one round with all that a reader asks for",
  playing(function()
  local made = prepared("side", { "base 10", "x 12", "y 4" })
  t.equal(table.concat(measure(made), "; "), "base 10, x 12, y 4")
  local list = rounds "side"
  t.equal(#list, 3)
  for _, record in ipairs(list) do
    t.equal(record.round, list[1].round)
    t.equal(table.concat({ record.machine, record.threads, record.ranks, record.precision,
      record.warmup, record.steps,
      record.busy, record.device, record.scale, record.dataset, record.code_version }, " "),
        "test 2 1 f32 2 9 no cpu small books v1")
  end
  local x = list[2]
  t.equal(x.configuration, runs.identity(made, "x 12").configuration)
  t.equal(table.concat({ x.row, x.step_time_ms, x.step_time_q1_ms, x.step_time_q3_ms,
    x.peak_memory_bytes,
    x.inference_memory_bytes, x.tokens_per_step }, " "), "x 12 12 11 14 12000 7 96")
  t.near(tonumber(x.tokens_per_second), 8000, 1e-9) -- 96 tokens in 12 ms
  -- three passes of 50 FLOP over 8000 tokens a second, of 1e9
  t.near(tonumber(x.mfu), 0.0012, 1e-12)
  t.near(tonumber(store.at(folder, "side"):rows()[3].relative_step_time), 0.4, 1e-12)
  t.equal(#measure(made), 0)
end))

t.test("as many rounds are timed as are asked for, those that are there counted", playing(function()
  local made = prepared("many", { "a 1", "b 2" })
  t.equal(#measure(made), 1)
  t.equal(#measure(made, { rounds = 3 }), 2)
  t.equal(#measure(made, { rounds = 3 }), 0)
  t.equal(#measure(made, { rounds = 2, force = true }), 2)
  t.equal(#rounds "many", 10)
  local other = prepared("many-idle", { "a 1", "b 2" })
  played.load = 0.75
  t.equal(#measure(other), 1)
  played.load = 0
  t.equal(#measure(other, { rounds = 2 }), 2) -- a round of a busy machine is none of the two
  t.equal(#measure(other, { rounds = 2 }), 0)
end))

t.test("what does not fit into memory is timed in parts, the baseline in each", playing(function()
  local made = prepared("parts", { "x 1", "base 2", "y 3", "z 4" }, 100)
  made.tables[1].baseline = "base 2"
  core.device_memory = function() return 500 end
  t.equal(table.concat(measure(made), "; "), "base 2, x 1; base 2, y 3; base 2, z 4")
  local seen = {}
  for _, record in ipairs(rounds "parts") do
    seen[record.round] = (seen[record.round] or "") .. record.row .. ","
  end
  local count = 0
  for _, rows in pairs(seen) do
    t.check(rows:find("^base 2,"), rows)
    count = count + 1
  end
  t.equal(count, 3)
end))

t.test("ranks of a machine share its memory, and have a GPU each", playing(function()
  local made, near = prepared("shared", { "base 2", "x 1", "y 3" }, 100), ranks.near
  function ranks.near() return 2 end
  core.device_memory = function(device) return device == "cpu" and 1000 or 700 end
  local parts = table.concat(measure(made), "; ")
  for _, label in ipairs { "base 2", "x 1", "y 3" } do
    runs.put(folder, made, { label = label, device = "cuda", peak_memory_bytes = 100 })
  end
  local on_gpu = table.concat(measure(made, nil, "cuda"), "; ")
  ranks.near = near
  t.equal(parts, "base 2, x 1; base 2, y 3")
  t.equal(on_gpu, "base 2, x 1, y 3")
end))

t.test("every table's baseline is in the round, one that --only leaves out as well",
  playing(function()
  local made = prepared("both", { "a 1", "b 2", "c 3" })
  made:table { columns = { "relative_step_time" }, baseline = "c 3", name = "second" }
  t.equal(table.concat(measure(made, nil, "cpu", function(row) return row.label == "b 2" end),
    "; "), "a 1, c 3, b 2")
end))

t.test("another device's, machine's or number of threads' time does not stand for this one's",
  playing(function()
  local made = prepared("devices", { "a 1", "b 2" })
  for _, label in ipairs { "a 1", "b 2" } do
    runs.put(folder, made, { label = label, device = "cuda" })
  end
  t.equal(#measure(made, nil, "cuda"), 1)
  t.equal(rounds("devices")[1].machine, machine.cpu .. " with a GPU")
  t.equal(#measure(made, nil, "cuda"), 0)
  t.equal(#measure(made, nil, "cpu"), 1)
  t.equal(#measure(made, nil, "cpu"), 0)
  t.equal(#measure(made, { machine = lh.merged(machine, { threads = 1 }) }), 1)
  t.equal(#measure(made, { machine = lh.merged(machine, { cpu = "another" }) }), 1)
  t.equal(#measure(made, { force = true }), 1)
end))

t.test("a row that is new is timed with the others", playing(function()
  local made = prepared("grows", { "a 1", "b 2" })
  measure(made)
  made:row { "c 3", model = slide, task = task, train = train, dataset = "books" }
  t.equal(#measure(made), 0) -- it was not run
  runs.put(folder, made, { label = "c 3" })
  t.equal(table.concat(measure(made), "; "), "a 1, b 2, c 3")
end))

t.test("a round on a busy machine is marked, and measured again when the machine is idle",
  playing(function(said)
  local made = prepared("busy", { "a 1", "b 2" })
  played.load = 0.75
  t.equal(#measure(made), 1)
  t.contains(table.concat(said), "others used 0.8 processors meanwhile: marked as busy")
  t.equal(rounds("busy")[1].busy, "yes")
  t.near(tonumber(rounds("busy")[1].load), 0.75, 1e-9)
  t.equal(store.at(folder, "busy"):rows()[1].step_time_ms, "")
  t.equal(store.at(folder, "busy"):rows()[1].peak_memory_bytes, "1000")
  t.equal(#measure(made), 0) -- still busy
  t.contains(table.concat(said), "left for a run when it is idle")
  played.load = 0
  t.equal(#measure(made), 1)
  t.equal(#rounds "busy", 4)
  t.equal(rounds("busy")[3].busy, "no")
  t.equal(store.at(folder, "busy"):rows()[1].step_time_ms, "1")
  t.equal(#measure(made), 0)
end))

t.test("others that come while products are measured make a round busy", playing(function()
  local made = prepared("burst", { "a 1", "b 2" })
  local open = measure_settings(made).open
  measure(made, { open = function(run)
    local session = open(run)
    function session.matrix_rate()
      played.load = 1.5
      core.sleep(10)
      played.load = 0
      return 1e9
    end
    return session
  end })
  t.equal(rounds("burst")[1].busy, "yes")
end))

t.test("busy is when others use more than a tenth of the processors", function()
  t.check(not others.are_busy(0.9, 5, 2) and others.are_busy(1.1, 5, 2),
    "two processors for five seconds")
  t.check(not others.are_busy(7.5, 5, 16) and others.are_busy(8.5, 5, 16), "sixteen")
  t.check(not others.are_busy(0.04, 0.01, 2), "less than the system's clock can tell")
end)

-- ---- the real thing ----

t.test("this process's own work is not that of others", function()
  local machine_before, own_before, processors = core.cpu_time()
  if not machine_before then return t.check(processors == nil, "the system does not say") end
  t.check(processors >= 1 and own_before > 0, "a reading")
  local own_after, steps = own_before, 0
  while own_after - own_before < 0.3 and steps < 1e6 do
    steps = steps + 1
    own_after = select(2, core.cpu_time())
  end
  t.check(own_after - own_before >= 0.3, "work that was not counted")
  t.check(core.cpu_time() - machine_before >= own_after - own_before - 0.1, "more than the machine")
end)

t.test("a real run is timed beside its baseline, its numbers those of the round", function()
  local made = bench_of("real", { "base", "x" })
  local said = io.stderr
  io.stderr = setmetatable({}, { __index = { write = function() end } })
  local own = { results = folder, scale = "smoke", device = "cpu" }
  local good, failed = pcall(runner.run, made, own)
  io.stderr = said
  t.check(good, tostring(failed))
  local list, by_row = rounds "real", {}
  for _, record in ipairs(list) do by_row[record.row] = record end
  t.equal(#list, 2)
  t.equal(list[1].round, list[2].round)
  for _, row in ipairs(store.at(folder, "real"):rows()) do
    local record = by_row[row.row]
    t.equal(row.configuration, record.configuration)
    t.equal(row.peak_memory_bytes, record.peak_memory_bytes)
    t.check(tonumber(record.step_time_q1_ms) <= tonumber(record.step_time_ms), "quartiles")
    t.near(tonumber(record.tokens_per_second), 128000 / tonumber(record.step_time_ms),
      1e-6 * 128000)
    if record.busy ~= "yes" then
      t.equal(row.step_time_ms, record.step_time_ms)
      t.near(tonumber(row.relative_step_time),
        tonumber(record.step_time_ms) / tonumber(by_row.base.step_time_ms), 1e-12)
    end
  end
end)

os.execute("rm -r '" .. folder .. "'")
t.finish()

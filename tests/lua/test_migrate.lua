-- Results of an older longhaul: refused with one sentence until they are migrated, then readable,
-- with what was certain.
local t = dofile "tests/test.lua"
local core = require "longhaul.core"
local csv = require "longhaul.run.csv"
local lh = require "longhaul"
local merge = require "longhaul.run.merge"
local migrate = require "longhaul.run.migrate"
local results = require "longhaul.report.results"
local step_times = require "longhaul.run.step_times"
local store = require "longhaul.run.store"
local tables = require "longhaul.report.table"

local folder = os.tmpname()
os.remove(folder)
core.make_folder(folder .. "/old")
core.make_folder(folder .. "/claims")
lh.configure { scale = "small" }

local columns = { "run_id", "experiment", "row", "model", "task", "data", "seed", "scale", "device",
  "status", "bits_per_byte",
  "step_time_ms", "step_time_q1_ms", "step_time_q3_ms", "relative_step_time", "tokens_per_second",
  "peak_memory_bytes",
  "machine", "dataset", "class", "version", "date", "model_options", "task_options",
    "train_options", "window", "error" }

-- A run as version 1 wrote it: 4096 tokens a step, quartiles a tenth away.
local function old_run(id, label, seed, ms, base, more)
  return lh.merged({ run_id = id, experiment = "old", row = label, model = label,
    task = "language_model", data = "books",
    seed = seed, scale = "small", device = "cpu", status = "done", bits_per_byte = seed,
    step_time_ms = ms,
    step_time_q1_ms = ms and 0.9 * ms, step_time_q3_ms = ms and 1.1 * ms, relative_step_time = base
      and ms / base,
    tokens_per_second = ms and 4096 / (ms / 1000), peak_memory_bytes = 1000, machine = "M",
    dataset = "books", class = "slide",
    version = 1, date = "2026-01-0" .. seed, model_options = "width=16", window = 32 }, more or {})
end

local old = {
  -- one round: base 10 ms, a 8 ms; both seeds of a have its time
  old_run("b1", "base", 1, 10, 10), old_run("a1", "a", 1, 8, 10), old_run("a2", "a", 2, 8, 10),
  -- the narrow run received the wide one's time
  old_run("n1", "width", 1, 128, 10, { model_options = "width=16" }),
  old_run("w1", "width", 1, 128, 10, { model_options = "width=256" }),
  -- generated, then real data
  old_run("g1", "data", 1, 5, 10, { data = "books (embedded generator)" }),
  old_run("r1", "data", 2, 5, 10),
  -- timed beside a baseline whose time was overwritten since
  old_run("l1", "lonely", 1, 6, 12),
  -- no baseline; and not timed
  old_run("f1", "free", 1, 7), old_run("u1", "untimed", 1),
  old_run("x1", "failed", 1, nil, nil, { status = "failed" }),
}
local path = folder .. "/old"
csv.write(path .. "/runs.csv", columns, old)
local original = core.read_file(path .. "/runs.csv")

t.test("an old folder is refused by name, with the command that mends it", function()
  local sentence = ("%s has runs of an older longhaul, whose step times and data cannot be told "
    .. "apart: `longhaul results "
    .. "migrate %s` keeps what is certain"):format(path, path)
  t.fails(function() store.at(folder, "old"):rows() end, sentence)
  t.fails(function() store.at(folder, "old"):find "a1" end, sentence)
  t.fails(function() store.at(folder, "old"):put { run_id = "new", identity = 2 } end, sentence)
  t.equal(core.read_file(path .. "/runs.csv"), original)
end)

local said

t.test("migrating says what was kept and what was not", function()
  said = migrate.folder(folder)
  t.equal(#said, 1)
  t.equal(said[1], path .. ": 11 runs are of identity 1, 4 step times moved; 4 runs lost theirs, since runs of several "
    .. "configurations share a label; 1 lost the relative one, since the time of the baseline beside them is gone")
  t.equal(core.read_file(path .. "/runs.csv.v1"), original)
end)

local function by_id()
  local list = {}
  for _, row in ipairs(store.at(folder, "old"):rows()) do list[row.run_id] = row end
  return list
end

t.test("every run stays, as one of identity 1, with a configuration that its seeds share", function()
  local rows = by_id()
  t.equal(#store.at(folder, "old"):rows(), 11)
  for id, row in pairs(rows) do
    t.equal(row.identity, "1")
    t.equal(#row.configuration, 16)
    t.equal(row.window, "32")
    t.check(id == row.run_id, "renamed")
  end
  t.equal(rows.a1.configuration, rows.a2.configuration)
  t.check(rows.n1.configuration ~= rows.w1.configuration, "narrow and wide are one")
  t.check(rows.g1.configuration ~= rows.r1.configuration, "generated and real data are one")
  t.equal(rows.a2.bits_per_byte, "2")
end)

t.test("times that are somebody's for certain are rounds now, the others are gone", function()
  local rows, times = by_id(), {}
  for _, record in ipairs((csv.read(path .. "/timings.csv"))) do
    t.check(not times[record.configuration], "one record for each configuration")
    times[record.configuration] = record
  end
  local a, base = times[rows.a1.configuration], times[rows.b1.configuration]
  t.equal(a.round, base.round)
  t.equal(a.step_time_ms, "8")
  t.equal(a.tokens_per_step, "4096")
  t.equal(a.load .. a.busy .. a.threads, "")
  t.check(times[rows.l1.configuration].round ~= a.round
    and times[rows.f1.configuration].round ~= a.round, "other rounds")
  for _, id in ipairs { "n1", "w1", "g1", "r1" } do
    t.equal(times[rows[id].configuration], nil)
    t.equal(rows[id].step_time_ms .. rows[id].relative_step_time .. rows[id].peak_memory_bytes, "")
  end
  t.equal(rows.a1.relative_step_time, "0.80000000000000004")
  t.equal(rows.l1.step_time_ms .. rows.l1.relative_step_time, "6")
  t.equal(rows.u1.peak_memory_bytes, "1000")
end)

t.test("migrating again changes nothing", function()
  local runs, times = core.read_file(path .. "/runs.csv"), core.read_file(path .. "/timings.csv")
  t.equal(migrate.folder(path)[1], path .. ": up to date")
  t.equal(core.read_file(path .. "/runs.csv"), runs)
  t.equal(core.read_file(path .. "/timings.csv"), times)
  t.equal(core.read_file(path .. "/runs.csv.v1"), original)
end)

t.test("a migration that was cut off before its end is made again", function()
  local runs, times = core.read_file(path .. "/runs.csv"), core.read_file(path .. "/timings.csv")
  core.write_file(path .. "/runs.csv", original)
  migrate.folder(path)
  t.equal(core.read_file(path .. "/runs.csv"), runs)
  t.equal(core.read_file(path .. "/timings.csv"), times)
end)

t.test("tables show them as stale, with relative times of their own rounds", function()
  local bench = lh.experiment "old"
  local task = lh.tasks.language_model { lh.data.text { "generate:books" }, segment = 64,
    batch = 2 }
  for _, label in ipairs { "base", "a", "width", "lonely", "free" } do
    bench:row { label, model = lh.models.slide { layers = 1, width = 16, heads = 2 }, task = task,
      dataset = "books",
      train = lh.train { steps = 5 } }
  end
  bench:table { columns = { "relative_step_time", "bits_per_byte" }, baseline = "base" }
  local found = results.of(bench, { results = folder, scale = "small", device = "cpu" })
  local by_name = {}
  for _, record in ipairs(tables.records(tables.build(bench, bench.tables[1], found))) do
    by_name[record.row .. " " .. record.metric] = record
    if record.measured then t.equal(record.status, "stale") end
  end
  t.near(by_name["a relative_step_time"].measured, 0.8, 1e-12)
  t.near(by_name["a bits_per_byte"].measured, 1.5, 1e-12)
  t.equal(by_name["lonely relative_step_time"].measured, nil)
  t.equal(by_name["free relative_step_time"].measured, nil)
  t.equal(by_name["width relative_step_time"].measured, nil)
  t.equal(by_name["a bits_per_byte"].note, "an older longhaul recorded it")
end)

t.test("runs that an older longhaul adds later leave today's times, and what the first migration kept", function()
  local moved = csv.read(path .. "/timings.csv")
  table.insert(moved, 1, { round = "today", configuration = "c", step_time_ms = 3, identity = 2 })
  csv.write(path .. "/timings.csv", store.timing_columns, moved)
  local rows, known = csv.read(path .. "/runs.csv")
  rows[#rows + 1] = old_run("later", "free", 3, 7)
  csv.write(path .. "/runs.csv", known, rows)
  t.contains(migrate.folder(path)[1], "1 runs are of identity 1")
  local now = csv.read(path .. "/timings.csv")
  t.equal(#now, #moved + 1)
  for i, record in ipairs(moved) do
    t.equal(now[i].round .. now[i].step_time_ms, record.round .. record.step_time_ms)
  end
  t.equal(now[#now].row .. now[#now].step_time_ms, "free7")
  t.equal(core.read_file(path .. "/runs.csv.v1"), original)
end)

t.test("rounds of two machines stay apart where their folders are merged", function()
  local at = { laptop = { 10, 8 }, cluster = { 40, 10 } }
  for name, ms in pairs(at) do
    core.make_folder(folder .. "/" .. name)
    csv.write(folder .. "/" .. name .. "/runs.csv", columns, { old_run("b", "base", 1, ms[1], ms[1]),
      old_run(name, name, 1, ms[2], ms[1]) })
    migrate.folder(folder .. "/" .. name)
  end
  merge.folders({ folder .. "/cluster" }, folder .. "/laptop")
  local made = store.at(folder, "laptop")
  local base = made:find("b").configuration
  for name, ms in pairs(at) do
    local _, _, ratio = step_times.of(made):ratio(made:find(name).configuration, base)
    t.equal(ratio, ms[2] / ms[1])
  end
end)

t.test("rows of a label at several places are several rows, timed in a round each", function()
  local places, rows = { {}, { dataset = "wiki" }, { scale = "medium" }, { device = "cuda" } }, {}
  for i, place in ipairs(places) do
    rows[#rows + 1] = old_run("b" .. i, "base", 1, 10, 10, place)
    rows[#rows + 1] = old_run("a" .. i, "a", 1, 8, 10, place)
  end
  core.make_folder(folder .. "/apart")
  csv.write(folder .. "/apart/runs.csv", columns, rows)
  t.equal(migrate.folder(folder .. "/apart")[1],
    folder .. "/apart: 8 runs are of identity 1, 8 step times moved")
  local rounds = csv.groups(csv.read(folder .. "/apart/timings.csv"), { "round" })
  t.equal(#rounds, #places)
  for _, records in ipairs(rounds) do t.equal(records[1].row .. records[2].row, "basea") end
end)

t.test("a folder without results is named", function()
  t.fails(function() migrate.folder(folder .. "/claims") end, folder
    .. "/claims: no runs.csv there, nor in a folder below")
end)

os.execute("rm -r '" .. folder .. "'")
t.finish()

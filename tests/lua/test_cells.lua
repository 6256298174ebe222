-- From runs.csv to the cells of a claim: which row a cell is of, and by what it is decided.
local t = dofile "tests/test.lua"
local claims = require "longhaul.report.claims"
local core = require "longhaul.core"
local lh = require "longhaul"
local runs = dofile "tests/lua/runs.lua"
local tuning = require "longhaul.run.tuning"

local folder = os.tmpname()
os.remove(folder)
core.make_folder(folder)
lh.configure { scale = "small" }
local settings = { results = folder, scale = "small", device = "cpu" }
local p = lh.predicate

local task = lh.tasks.language_model { lh.data.text { "generate:books" }, segment = 64, batch = 2 }
local train = lh.train { steps = 5 }

local function slide(window)
  return lh.models.slide { layers = 1, width = 16, heads = 2, window = window }
end

-- An experiment of rows { label, more fields }, each with a window of its own.
local function bench_of(name, rows)
  local bench = lh.experiment(name)
  for i, row in ipairs(rows) do
    bench:row(lh.merged({ row[1], model = slide(8 * i), task = task, train = train,
      dataset = "books" }, row[2] or {}))
  end
  return bench
end

local function cell(bench, row, metric, dataset)
  return p.cell(row, { experiment = bench, row = row, metric = metric, dataset = dataset })
end

local function judge(bench, predicate)
  bench.claims = {}
  return claims.judge_all(bench:claim { "x_p001", holds = predicate }, settings)[1]
end

t.test("training time and tokens to a loss are each seed's own, and one seed decides nothing", function()
  local bench = bench_of("seeded", { { "a" }, { "b" } })
  local function put(seed, times)
    runs.put(folder, bench, { label = "a", seed = seed, wall_time_s = 10 + seed / 100,
      parameters = 10 })
    runs.put(folder, bench, { label = "b", seed = seed, wall_time_s = times, parameters = 11 })
  end
  local function verdict(metric)
    return judge(bench, p.less(cell(bench, "a", metric, "books"), cell(bench, "b", metric, "books")))
  end
  put(1, 10.5)
  t.equal(verdict("wall_time_s").verdict, "undecided")
  t.equal(verdict("wall_time_s").strict, "holds")
  t.contains(verdict("wall_time_s").note, "1 seed, at least 3 decide")
  t.equal(verdict("parameters").verdict, "holds")
  put(2, 10.6)
  put(3, 10.7)
  t.equal(verdict("wall_time_s").verdict, "holds")
  t.equal(verdict("wall_time_s").seeds, 3)
  runs.put(folder, bench, { label = "b", seed = 4, wall_time_s = 1, status = "diverged",
    error = "diverged: loss 1e9" })
  t.contains(verdict("wall_time_s").note, "seed 4 diverged")
end)

t.test("another experiment's tuned rows are those that their trials chose", function()
  local tuned = lh.tune { rate = { 1e-3, 3e-3 }, by = "valid_bits_per_token" }
  local function bench()
    return bench_of("chosen", { { "a", { tune = tuned } }, { "b" } })
  end
  local made = bench()
  for i, trial in ipairs(made.trials.rows) do
    runs.put(folder, made.trials, { label = trial.label, valid_bits_per_token = 3 - i })
  end
  -- one run of the options that the script began with, one of those that were chosen
  runs.put(folder, made, { label = "a", flops_per_token = 9 })
  runs.put(folder, made, { label = "b", flops_per_token = 5 })
  tuning.settle(made, settings)
  runs.put(folder, made, { label = "a", flops_per_token = 1, date = "2026-01-02T00:00:00Z" })
  local other, judged = lh.experiment "judges", bench()
  other:claim { "x_p001", holds = p.less(cell(judged, "a", "flops_per_token", "books"),
    cell(judged, "b", "flops_per_token", "books")) }
  t.equal(claims.judge_all(other, settings)[1].verdict, "holds")
end)

t.test("costs over all data sets are compared where both have the same ones", function()
  local bench = bench_of("costs", { { "a" }, { "b" }, { "b", { dataset = "code" } }, { "c" } })
  local function put(label, dataset, bytes)
    runs.put(folder, bench, { label = label, dataset = dataset, peak_memory_bytes = bytes,
      flops_per_token = bytes })
  end
  local function verdict(a, b, metric)
    return judge(bench, p.less(cell(bench, a, metric or "peak_memory_bytes"),
      cell(bench, b, metric or "peak_memory_bytes")))
  end
  put("a", "books", 10)
  put("b", "books", 8)
  put("b", "code", 40)
  put("c", "books", 12)
  t.equal(verdict("a", "c").verdict, "holds")
  t.equal(verdict("a", "b").verdict, "undecided")
  t.equal(verdict("a", "b").strict, "holds")
  t.contains(verdict("a", "b").note, "not measured on the same data sets")
  t.equal(verdict("a", "c", "flops_per_token").verdict, "holds")
end)

t.test("step times over all data sets are compared where each was timed side by side", function()
  local bench = bench_of("times", { { "a" }, { "b" }, { "a", { dataset = "code" } },
    { "b", { dataset = "code" } } })
  for _, row in ipairs(bench.rows) do
    runs.put(folder, bench, { label = row.label, dataset = row.dataset })
  end
  local function time(round, dataset, times)
    runs.time(folder, bench, { round = round, dataset = dataset, times = times,
      date = "2026-01-01T00:00:0" .. round })
  end
  local function verdict()
    return judge(bench, p.less(cell(bench, "a", "step_time_ms"), cell(bench, "b", "step_time_ms")))
  end
  time(1, "books", { a = 10, b = 30 })
  time(2, "code", { a = 10, b = 30 })
  t.equal(verdict().verdict, "holds")
  time(3, "code", { b = 30 })
  t.equal(verdict().note, "not timed side by side")
end)

t.test("a row is who is called so, before those whose slug it is", function()
  local bench = bench_of("names", { { "slide wide" }, { "slide" }, { "other", { slug = "mine" } } })
  for label, bits in pairs { ["slide wide"] = 9, slide = 2, other = 5 } do
    for seed = 1, 3 do
      runs.put(folder, bench, { label = label, seed = seed, bits_per_token = bits })
    end
  end
  local function holds(row, bound)
    return judge(bench, p.less(cell(bench, row, "bits_per_token", "books"), bound)).verdict
  end
  t.equal(holds("slide", 3), "holds")
  t.equal(holds("mine", 6), "holds")
  t.equal(holds("mine", 4), "fails")
  bench:check()
end)

t.test("a slug that several rows have is told at the claim's line", function()
  local bench = bench_of("slugs", { { "narrow" }, { "wide" }, { "other", { dataset = "code" } } })
  local function check(dataset, metric)
    bench.claims = {}
    bench:claim { "x_p001", holds = p.less(cell(bench, "slide", metric, dataset), 3) }
    bench:check()
  end
  t.fails(function() check("books", "bits_per_token") end,
    "cell 'slide': row 'slide' is the slug of 'narrow' and of 'wide': name one")
  t.fails(function() check(nil, "peak_memory_bytes") end, "test_cells.lua:")
  check("code", "bits_per_token")
end)

t.test("what a row has on the second data set alone is counted and told", function()
  local bench = bench_of("second", { { "one" }, { "two", { dataset = "latex" } } })
  bench:table { columns = { "bits_per_byte", "step_time_ms" } }
  runs.put(folder, bench, { label = "one", seed = 1, dataset = "books", bits_per_byte = 2 })
  for seed = 1, 2 do
    runs.put(folder, bench, { label = "two", seed = seed, dataset = "latex", bits_per_byte = 2 })
  end
  runs.time(folder, bench, { round = "r", times = { one = 10 } })
  runs.time(folder, bench, { round = "s", times = { two = 20 }, busy = 2, load = 2 })
  local results = require("longhaul.report.results").of(bench, settings)
  local tables = require "longhaul.report.table"
  local seeds
  for _, record in ipairs(tables.records(tables.build(bench, bench.tables[1], results))) do
    if record.row == "two" and record.metric == "step_time_ms" then seeds = record.seeds end
  end
  t.equal(seeds, 2)
  local note = judge(bench, p.less(cell(bench, "one", "step_time_ms"), cell(bench, "two", "step_time_ms"))).note
  t.contains(note, "others used")
  t.check(not note:find("not run", 1, true), note)
end)

os.execute("rm -r '" .. folder .. "'")
t.finish()

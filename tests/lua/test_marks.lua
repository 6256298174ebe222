-- What tables, charts and the page say beside numbers: rounds, seeds, stale runs, ties, and options that
-- were changed on the command line.
local t = dofile "tests/test.lua"
local chart = require "longhaul.report.chart"
local core = require "longhaul.core"
local lh = require "longhaul"
local results = require "longhaul.report.results"
local runs = dofile "tests/lua/runs.lua"

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

-- Whether the chart of quality against step time has a front; `rounds` as runs.time takes them.
local function has_front(name, rounds)
  local two = bench_of(name, { "base", "x" })
  for _, label in ipairs { "base", "x" } do runs.put(folder, two, { label = label, bits_per_byte = 2 }) end
  for _, round in ipairs(rounds) do runs.time(folder, two, round) end
  two:plot { "pareto", x = "step_time_ms", y = "bits_per_byte" }
  local drawn
  for _, made in ipairs(chart.values(two, settings, results.of(two, settings))) do
    t.equal(made.failure, nil)
    for _, pair in ipairs(made.name == "pareto" and made.settings or {}) do
      if pair[1] == "frontier" then drawn = pair[2] end
    end
  end
  return drawn == 1
end

t.test("where all times are of a busy machine there is no front, nor one of several rounds", function()
  local times = { base = 10, x = 20 }
  t.check(has_front("idle", { { round = "a", times = times } }))
  t.check(not has_front("crowded", { { round = "a", times = times, busy = "yes", load = 1 } }))
  t.check(not has_front("in-two", { { round = "a", times = times },
    { round = "b", times = { base = 10 }, date = "2026-01-02T00:00:00Z" } }))
end)

os.execute("rm -r '" .. folder .. "'")
t.finish()

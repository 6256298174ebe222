-- Runs that are found, sorted and grouped.
local t = dofile "tests/test.lua"
local lh = require "longhaul"
local query = require "longhaul.report.query"
local runs = dofile "tests/lua/runs.lua"

local folder = os.tmpname()
os.remove(folder)
lh.configure { scale = "small" }

local bench = lh.experiment "query"
local task = lh.tasks.language_model { lh.data.text { "generate:books" }, segment = 16, batch = 2 }
for i, label in ipairs { "low", "high" } do
  bench:row { label, model = lh.models.slide { layers = i, width = 8, heads = 2, window = 8 }, task = task,
    train = lh.train { steps = 2 }, dataset = "books" }
end

for seed = 1, 3 do
  runs.put(folder, bench, { label = "low", seed = seed, perplexity = 1 + seed })
  runs.put(folder, bench, { label = "high", seed = seed, perplexity = seed == 2 and math.huge or 10 })
end

runs.time(folder, bench, { round = "1", times = { low = 10, high = 20 } })

local stores = query.stores(folder)

-- The runs that meet conditions.
local function found(text)
  local conditions = assert(query.read { text })
  return query.select(stores, conditions, {})
end

t.test("an infinite value is a number, greater than all others", function()
  t.equal(#found "perplexity>3", 4)
  t.equal(#found "perplexity<inf", 5)
  t.equal(#found "perplexity=inf row=high", 1)
  local sorted = found "status=done"
  query.sort(sorted, "perplexity", true)
  t.equal(sorted[1].perplexity, "inf")
  query.sort(sorted, "perplexity", false)
  t.equal(sorted[6].perplexity, "inf")
end)

t.test("what a run lacks is last either way, and equal ones keep their order", function()
  local function sorted(falling)
    local list, names = { { row = "a" }, { row = "b", x = "2" }, { row = "c", x = "2" }, { row = "d", x = "10" } }, {}
    query.sort(list, "x", falling)
    for i, run in ipairs(list) do names[i] = run.row end
    return table.concat(names)
  end
  t.equal(sorted(false), "bcda")
  t.equal(sorted(true), "dbca")
end)

t.test("groups count what seeds share once for each configuration", function()
  local measured = { "step_time_ms", "perplexity", "parameters" }
  local all, store_of = query.select(stores, {}, measured)
  local group = query.grouped(all, { "dataset" }, measured, store_of)[1]
  t.equal(group.step_time_ms_count, "2")
  t.equal(tonumber(group.step_time_ms), 15)
  t.equal(group.perplexity_count, "6")
  t.equal(group.runs, "6")
  -- a diverged run is in no mean; what seeds share was measured once in each store
  local place = os.tmpname()
  os.remove(place)
  runs.put(place, bench, { label = "low", seed = 1, perplexity = 4 })
  runs.put(place, bench, { label = "low", seed = 2, perplexity = 1000, status = "diverged" })
  runs.time(place, bench, { round = "1", times = { low = 30 } })
  local both = { stores[1], query.stores(place)[1] }
  all, store_of = query.select(both, { { name = "row", operator = "=", value = "low" } }, measured)
  group = query.grouped(all, { "dataset" }, measured, store_of)[1]
  t.equal(group.perplexity_count, "4")
  t.equal(tonumber(group.perplexity), (2 + 3 + 4 + 4) / 4)
  t.equal(group.step_time_ms_count, "2")
  t.equal(tonumber(group.step_time_ms), 20)
  os.execute("rm -r '" .. place .. "'")
end)

t.test("dates are compared as far as they are given", function()
  runs.put(folder, bench, { label = "low", seed = 1, perplexity = 2, date = "2026-11-26T23:59:59Z" })
  runs.put(folder, bench, { label = "low", seed = 2, perplexity = 2, date = "2026-11-27T00:00:00Z" })
  runs.put(folder, bench, { label = "low", seed = 3, perplexity = 2, date = "2026-11-28T10:00:00Z" })
  t.equal(#found "row=low date>=2026-11-27", 2)
  t.equal(#found "row=low date>2026-11-27", 1)
  t.equal(#found "row=low date<=2026-11-27", 2)
  t.equal(#found "row=low date<2026-11-27T00:00", 1)
  t.equal(#found "row=low date~2026-11-28", 1)
  t.equal(#found "perplexity>2026-11-27", 0)
  t.equal(select(2, query.read { "date<yesterday" }),
    "date< takes a number or a date such as 2026-11-30, not 'yesterday'")
end)

t.test("since a day is a condition on the date", function()
  local since = query.since "2026-11-27"
  t.equal(since.name .. since.operator .. since.value, "date>=2026-11-27")
  t.equal(query.since("today").value, os.date "!%Y-%m-%d")
  for _, text in ipairs { "27.11.", "2026-13-45", "2026-02-29", "2026-11-27th", "2026-11-27 10:00" } do
    t.contains(select(2, query.since(text)), ("'%s' is no date"):format(text))
    t.check(not query.read { ("date<'%s'"):format(text) }, text)
  end
  for _, text in ipairs { "2028-02-29", "2026-11-27T", "2026-11-27T10:0", "2026-11-27T10:00:00Z" } do
    t.equal(query.since(text).value, text)
  end
end)

t.test("what a run and its row are called is text, even if it is digits", function()
  local digits = lh.experiment "digits"
  for i, label in ipairs { "64", "-5" } do
    digits:row { label, model = lh.models.slide { layers = i, width = 8, heads = 2, window = 8 }, task = task,
      train = lh.train { steps = 2 }, dataset = "1e3" }
  end
  local place = os.tmpname()
  os.remove(place)
  runs.put(place, digits, { label = "64", configuration = "22769541439e1926", run_id = "22769541439e1926-1",
    code_version = "3073034973e6", perplexity = 1.5, threads = 2 })
  runs.put(place, digits, { label = "-5", configuration = "1", code_version = "12", perplexity = math.huge })
  local own = query.stores(place)
  local function labels(text)
    local names = {}
    for i, run in ipairs(query.select(own, assert(query.read { text }), {})) do names[i] = run.row end
    return table.concat(names, " ")
  end
  t.equal(labels "configuration=22769541439e1926", "64")
  t.equal(labels "configuration=inf", "")
  t.equal(labels "code_version=3073034973000000", "")
  t.equal(labels "code_version=3073034973e6", "64")
  t.equal(labels "row=64.0", "")
  t.equal(labels "dataset!=1000 perplexity=1.50 threads=2.0 model.layers=1.0", "64")
  local all = query.select(own, {}, {})
  t.equal(query.format("json", all, { "row", "dataset", "configuration", "code_version", "seed", "perplexity",
    "model.layers" }), [[
[
  { "row": "64", "dataset": "1e3", "configuration": "22769541439e1926", "code_version": "3073034973e6", "seed": 1, ]]
    .. [["perplexity": 1.5, "model.layers": 1 },
  { "row": "-5", "dataset": "1e3", "configuration": "1", "code_version": "12", "seed": 1, ]]
    .. [["perplexity": "inf", "model.layers": 2 }
]
]])
  os.execute("rm -r '" .. place .. "'")
end)

t.test("a factor reads as it was written, all its digits are for files", function()
  local list = { { share = "0.10000000000000001", run_id = "1234567890123e45", seed = "3" } }
  local columns = { "share", "run_id", "seed" }
  t.contains(query.format("text", list, columns), "\n0.1    1234567890123e45  3\n")
  t.contains(query.format("markdown", list, columns), "| 0.1 | 1234567890123e45 | 3 |")
  t.contains(query.format("csv", list, columns), "0.10000000000000001,1234567890123e45,3")
end)

t.test("a factor is a number in JSON where JSON has it", function()
  local cells = { "1e3", "1e999", "1.e5", "0x10", "007", "-0.5E-2", "" }
  local list = {}
  for i, text in ipairs(cells) do list[i] = { window = text } end
  local said = {}
  for cell in query.format("json", list, { "window" }):gmatch '"window": (%S+)' do said[#said + 1] = cell end
  t.equal(table.concat(said, " "), '1e3 "1e999" "1.e5" "0x10" "007" -0.5E-2 null')
end)

os.execute("rm -r '" .. folder .. "'")
t.finish()

-- Two runs side by side: what is compared over seeds, and what of the two runs alone.
local t = dofile "tests/test.lua"
local core = require "longhaul.core"
local lh = require "longhaul"
local query = require "longhaul.report.query"
local run_comparison = require "longhaul.report.run_comparison"
local runs = dofile "tests/lua/runs.lua"
local statistics = require "longhaul.report.statistics"
local store = require "longhaul.run.store"

local folder = os.tmpname()
os.remove(folder)
core.make_folder(folder)
lh.configure { scale = "small" }

local bench = lh.experiment "pairs"
local task = lh.tasks.language_model { lh.data.text { "generate:books" }, segment = 16, batch = 2 }
for point in lh.grid { { "window", 8, 16 } } do
  bench:row { point, model = lh.models.slide { layers = 1, width = 8, heads = 2, window = point.window },
    task = task, train = lh.train { steps = 2 }, dataset = "books" }
end

-- Of two seeds each: the second row is slower by 10 and 20 s, and by 2 ms in every run.
for seed = 1, 2 do
  for i, row in ipairs(bench.rows) do
    runs.put(folder, bench, {
      label = row.label, seed = seed, bits_per_token = i + seed, wall_time_s = 100 + (i - 1) * 10 * seed,
      tokens_to_reach = (i == 1 or seed == 1) and 1000 * i or nil,
    })
  end
end

runs.time(folder, bench, { round = "1", times = { [bench.rows[1].label] = 2, [bench.rows[2].label] = 4 } })

-- The line of a metric in the comparison of the first seeds.
local function line_of(name)
  local from = store.at(folder, bench.runs)
  local function find(label)
    local id = runs.identity(bench, label, 1).run_id
    return run_comparison.find({ from }, id)
  end
  local text = run_comparison.text(find(bench.rows[1].label), find(bench.rows[2].label))
  return text:match("\n%s+(" .. name .. "[^\n]*)") or ""
end

t.test("what each seed has of its own is paired, a cost as a quality", function()
  t.contains(line_of "bits_per_token", "+1.000 ± 0.000 (standard error) over 2 seeds, too few to tell")
  t.contains(line_of "wall_time_s", "+15s ± 5s (standard error) over 2 seeds")
end)

t.test("what all seeds share is of the two runs", function()
  local shared = line_of "step_time_ms"
  t.contains(shared, "+2.0")
  t.check(not shared:find("seed", 1, true), shared)
end)

-- With a third seed, a fourth that diverged; and with values of the two rows' own, as those of other data.
local function text_of(own)
  local place = os.tmpname()
  os.remove(place)
  for seed = 1, 4 do
    for i, row in ipairs(bench.rows) do
      local values = { label = row.label, seed = seed, bits_per_token = seed + i * (1 + seed / 10),
        status = seed == 4 and i == 1 and "diverged" or nil,
        training_tokens_per_second = 5000 }
      for name, value in pairs(own and own[i] or {}) do values[name] = value end
      local record = runs.put(place, bench, values)
      core.write_file(("%s/%s/curves/%s.csv"):format(place, bench.runs, record.run_id), "step,loss_bits\n1,2.5\n")
    end
  end
  runs.time(place, bench, { round = "1", times = { [bench.rows[1].label] = 10, [bench.rows[2].label] = 20 },
    busy = "yes", load = 3 })
  local from = store.at(place, bench.runs)
  local text = run_comparison.text(run_comparison.find({ from }, bench.rows[1].label),
    run_comparison.find({ from }, "row=" .. bench.rows[2].label,
      { { name = "scale", operator = "=", value = "small" } }))
  os.execute("rm -r '" .. place .. "'")
  return text
end

t.test("means are of the seeds that are paired, with the chance that equal rows look so", function()
  local line = text_of():match "bits_per_token[^\n]*"
  t.check(line:find("3.200 +4.400 +%+1.200 ± 0.058 %(standard error%) over 3 seeds, p 0.0023"), line)
end)

t.test("scores of other data have no difference, costs have one", function()
  local text = text_of { { data_digest = "1" }, { data_digest = "2" } }
  t.check(text:find "bits_per_token +3.200 +4.400 +other data\n", text)
  t.check(text:find "step_time_ms +10.0~ +20.0~ +%+10.0\n", text)
  t.check(text:find "step 1 +2.5000 +2.5000 +other data\n", text)
  t.check(text_of():find "step 1 +2.5000 +2.5000 +%+0.0000\n", text_of())
  local tasks = text_of { { data_digest = "1" }, { data_digest = "1", task = "recall" } }
  t.check(tasks:find "bits_per_token +3.200 +4.400 +other data\n", "two tasks on the same data")
end)

t.test("an infinite seed is no difference and is not left out of a mean", function()
  local text = text_of { {}, { perplexity = math.huge } }
  t.check(text:find "perplexity +inf *\n", text)
  text = text_of { { perplexity = 2 }, { perplexity = math.huge } }
  t.check(text:find "perplexity +2.00 +inf +seed 1 is infinite\n", text)
end)

t.test("a p-value below what rounding leaves is told as such, and is none below 0", function()
  t.equal(statistics.p_text(0.0123), "p 0.012")
  for power = 40, 60 do t.check(statistics.p_value(10 ^ (power / 20), 1, 11) >= 0, "10^" .. power / 20) end
  local text = text_of { { bits_per_token = 1 }, { bits_per_token = 2 } }
  t.check(text:find "bits_per_token +1.000 +2.000 +%+1.000 ± 0.000 %(standard error%) over 3 seeds, p < 1e%-15\n", text)
end)

t.test("without a digest data are what runs call them", function()
  local novels, generator = { data = "33 novels", data_digest = "" }, { data = "generator", data_digest = "" }
  t.check(text_of { novels, generator }:find "bits_per_token +3.200 +4.400 +other data\n", "two texts")
  t.check(text_of { novels, { data = "generator" } }:find "bits_per_token +3.200 +4.400 +other data\n", "one digest")
  t.check(text_of { { data = "33 novels" }, novels }:find "bits_per_token +3.200 +4.400 +%+1.200", "the first one's")
  t.check(text_of { novels, novels }:find "bits_per_token +3.200 +4.400 +%+1.200", "one text")
end)

t.test("throughput is that of a round, not of training", function()
  t.check(text_of():find "\n +tokens_per_second +12.8K~ +6.4K~", text_of())
end)

t.test("of two labels the runs are of the least seed that is done in both", function()
  local place = os.tmpname()
  os.remove(place)
  local first, second = bench.rows[1].label, bench.rows[2].label
  for _, values in ipairs { { first, 1, "failed" }, { first, 3 }, { first, 2 }, { second, 1 }, { second, 3 },
    { second, 2 } } do
    runs.put(place, bench, { label = values[1], seed = values[2], status = values[3] })
  end
  local from = store.at(place, bench.runs)
  local function find(label) return run_comparison.find({ from }, label) end
  local text = run_comparison.text(find(first), find(second))
  t.contains(text, runs.identity(bench, first, 2).run_id)
  t.contains(text, runs.identity(bench, second, 2).run_id)
  t.check(not text:find("failed", 1, true), text)
  os.execute("rm -r '" .. place .. "'")
end)

t.test("conditions on a round of times tell runs apart", function()
  local from = store.at(folder, bench.runs)
  local found = run_comparison.find({ from }, "step_time_ms>3", { { name = "busy", operator = "=", value = "no" } })
  t.equal(found.run.row, bench.rows[2].label)
end)

t.test("what tells a label of two data sets apart is said as it is to be typed", function()
  local place, made = os.tmpname(), lh.experiment "places"
  os.remove(place)
  for i, dataset in ipairs { "it's books", "latex" } do
    made:row { "Slide", model = bench.rows[1].model, task = task, train = lh.train { steps = i }, dataset = dataset }
    runs.put(place, made, { label = "Slide", dataset = dataset })
  end
  local from = store.at(place, "places")
  t.fails(function() run_comparison.find({ from }, "Slide") end,
    [[--where, as in --where 'dataset="it'\''s books"', tells apart:]])
  t.equal(run_comparison.find({ from }, "Slide", query.read { [[dataset="it's books"]] }).run.dataset, "it's books")
  os.execute("rm -r '" .. place .. "'")
end)

t.test("a text that may be several names them", function()
  local from = store.at(folder, bench.runs)
  t.fails(function() run_comparison.find({ from }, "class=slide") end,
    "'class=slide' may be one of 2, which --where, as in --where 'row=8', tells apart:")
  t.fails(function() run_comparison.find({ from }, "nothing") end, "no run or row 'nothing'")
  t.fails(function() run_comparison.find({ from }, bench.rows[1].label .. "x") end,
    ("'%sx' (did you mean '%s'"):format(bench.rows[1].label, bench.rows[1].label))
end)

t.test("of two runs of one seed the latest counts, wherever it stands", function()
  local place = os.tmpname()
  os.remove(place)
  local first, second = bench.rows[1].label, bench.rows[2].label
  runs.put(place, bench, { label = first, run_id = "late", bits_per_token = 3, date = "2026-01-02T00:00:00Z" })
  runs.put(place, bench, { label = first, bits_per_token = 2 })
  runs.put(place, bench, { label = second, bits_per_token = 5 })
  local from = store.at(place, bench.runs)
  local function find(label) return run_comparison.find({ from }, label) end
  t.equal(find(first).run.run_id, "late")
  t.check(run_comparison.text(find(first), find(second)):find "bits_per_token +3.000 +5.000 +%+2.000", "the earlier")
  os.execute("rm -r '" .. place .. "'")
end)

t.test("a row goes before a run whose id begins as the row is called, and before a condition", function()
  local place = os.tmpname()
  os.remove(place)
  local second = bench.rows[2].label
  runs.put(place, bench, { label = second, row = "class=slide", run_id = "32ffffffffffffff", seed = 2 })
  runs.put(place, bench, { label = bench.rows[1].label, row = "32", run_id = "aaaaaaaaaaaaaaaa" })
  local from = store.at(place, bench.runs)
  local function id_of(text, where) return run_comparison.find({ from }, text, where).run.run_id end
  t.equal(id_of "32", "aaaaaaaaaaaaaaaa")
  t.equal(id_of "32f", "32ffffffffffffff")
  t.equal(id_of "class=slide", "32ffffffffffffff")
  t.fails(function() id_of("32", { { name = "seed", operator = "=", value = "2" } }) end, "no run or row '32'")
  os.execute("rm -r '" .. place .. "'")
end)

t.test("a loss that one seed never reached has no mean over those that did", function()
  local reached = line_of "tokens_to_reach"
  t.contains(reached, "+1K")
  t.check(not reached:find("seed", 1, true), reached)
end)

os.execute("rm -r '" .. folder .. "'")
t.finish()

-- Two runs side by side: what is compared over seeds, and what of the two runs alone.
local t = dofile "tests/test.lua"
local core = require "longhaul.core"
local lh = require "longhaul"
local run_comparison = require "longhaul.report.run_comparison"
local runs = dofile "tests/lua/runs.lua"
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
      step_time_ms = 2 * i, tokens_to_reach = (i == 1 or seed == 1) and 1000 * i or nil,
    })
  end
end

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
  t.contains(line_of "bits_per_token", "+1.000 ± 0.000 (standard error) over 2 seeds")
  t.contains(line_of "wall_time_s", "+15s ± 5s (standard error) over 2 seeds")
end)

t.test("what all seeds share is of the two runs", function()
  local shared = line_of "step_time_ms"
  t.contains(shared, "+2.0")
  t.check(not shared:find("seed", 1, true), shared)
end)

t.test("a loss that one seed never reached has no mean over those that did", function()
  local reached = line_of "tokens_to_reach"
  t.contains(reached, "+1K")
  t.check(not reached:find("seed", 1, true), reached)
end)

os.execute("rm -r '" .. folder .. "'")
t.finish()

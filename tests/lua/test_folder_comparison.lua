-- Two folders of results side by side: which rows meet, what is told from chance, and what costs what.
local t = dofile "tests/test.lua"
local core = require "longhaul.core"
local lh = require "longhaul"
local folder_comparison = require "longhaul.report.folder_comparison"
local runs = dofile "tests/lua/runs.lua"

local folder = os.tmpname()
os.remove(folder)
lh.configure { scale = "small" }

local task = lh.tasks.language_model { lh.data.text { "generate:books" }, segment = 16, batch = 2 }

-- An experiment with the rows of these labels, which train at a rate.
local function script(labels, rate)
  local bench = lh.experiment "pairs"
  for i, label in ipairs(labels) do
    bench:row { label, model = lh.models.slide { layers = i, width = 8, heads = 2, window = 8 }, task = task,
      train = lh.train { steps = 2, rate = rate }, dataset = "books" }
  end
  return bench
end

local before, after = script({ "same", "better", "gone", "broken" }, 0.01), script({ "same", "better" }, 0.01)
local changed = script({ "same", "better", "?", "broken" }, 0.03)
local a, b = folder .. "/a", folder .. "/b"

for seed = 1, 3 do
  for _, label in ipairs { "same", "better", "gone", "broken" } do
    runs.put(a, before, { label = label, seed = seed, bits_per_token = 2 + seed / 10, machine = "old",
      code_version = "c0ffee" })
  end
  runs.put(b, after, { label = "same", seed = seed, bits_per_token = 2 + seed / 10, machine = "new" })
  runs.put(b, after, { label = "better", seed = seed, bits_per_token = 1.9 + seed / 10 + seed / 1000 })
  runs.put(b, changed, { label = "broken", seed = seed, bits_per_token = seed < 3 and 2 or nil,
    status = seed < 3 and "done" or "diverged" })
end
runs.time(a, before, { round = "1", times = { same = 10, better = 10 } })
runs.time(b, after, { round = "1", times = { same = 20, better = 5 }, busy = "yes", load = 3 })

local text = folder_comparison.text(a, b)

local function line_of(label) return text:match("\n(" .. label .. "[^\n]*)") or "" end

t.test("rows meet by their labels, and the same scores are counted", function()
  t.contains(text, "pairs, small: 3 rows in both, 1 of 3 with scores of a common seed have the same; "
    .. "1 only in A (gone/books)")
  t.check(not text:find("only in B", 1, true), text)
  t.contains(line_of "same/books", "same (3)")
end)

t.test("a difference is that of the seeds of both, and is told from chance or not", function()
  t.contains(line_of "better/books", "-0.098 ± 0.001 (3) *")
  t.contains(line_of "better/books", "2.200")
  local broken = line_of "broken/books"
  t.contains(broken, "-0.150 ± 0.050 (2)")
  t.check(not broken:find("(2) *", 1, true), broken)
end)

t.test("what differs of a row beside its scores is said", function()
  t.contains(line_of "broken/books", "train.rate 0.01 -> 0.03; seed 3 diverged in B")
  t.check(not line_of("better/books"):find("->", 1, true), text)
end)

t.test("step times are ratios, those of a busy machine marked", function()
  t.check(line_of("same/books"):find "10%.0 +20%.0~ +2%.000", text)
  t.check(line_of("geometric mean"):find "1%.000", text)
end)

t.test("it says which code and which machine the folders are of", function()
  t.contains(text, "A  " .. a .. ": code c0ffee; old")
  t.contains(text, "; new")
end)

t.test("of many codes it says how many it leaves out", function()
  local many = folder .. "/many"
  for seed = 1, 10 do
    runs.put(many, before, { label = "same", seed = seed, bits_per_token = 2, code_version = "c" .. seed })
  end
  t.contains(folder_comparison.text(many, b), "code c1, c2, c3, c4, c5, c6, c7, c8 and 2 more;")
end)

t.test("the metrics are those that are asked for", function()
  local asked = folder_comparison.text(a, b, { "step_time_ms" })
  t.contains(asked, "step_time_ms: A")
  t.check(not asked:find("bits_per_token", 1, true), asked)
end)

-- What is said of two folders that have these runs, each of the row "same" unless it says otherwise.
local function compared(of_a, of_b, ...)
  local place = os.tmpname()
  os.remove(place)
  for name, list in pairs { a = of_a, b = of_b } do
    for _, own in ipairs(list) do
      local values = { label = "same", bits_per_token = 2 }
      for key, value in pairs(own) do values[key] = value end
      values.script = nil
      runs.put(place .. "/" .. name, own.script or before, values)
    end
  end
  local good, said = pcall(folder_comparison.text, place .. "/a", place .. "/b", ...)
  os.execute("rm -r '" .. place .. "'")
  return said, good
end

t.test("without a digest data are what runs call them", function()
  local said = compared({ { data = "33 novels", data_digest = "" } }, { { data = "generator", data_digest = "" } })
  t.check(said:find "\nrow +bits_per_token: A +B +B less A +what differs\n", said)
  t.check(said:find "\nsame/books +2.000 +2.000 +data 33 novels %-> generator\n", said)
end)

t.test("of several configurations that which finished last is compared, wherever it stands", function()
  local said = compared({ { seed = 1 }, { seed = 2 } }, { { seed = 1, bits_per_token = 2.5 },
    { script = changed, bits_per_token = 9, date = "2026-01-02T00:00:00Z" },
    { seed = 2, bits_per_token = 2.5, date = "2026-01-03T00:00:00Z" } })
  t.contains(said, "+0.500 ± 0.000 (2)")
  t.contains(said, "1 other configuration of B left out")
  t.check(not said:find("train.rate", 1, true), said)
end)

t.test("a row meets that of its device, of any where each side has one", function()
  local cpu, cuda = { device = "cpu" }, { device = "cuda", bits_per_token = 3 }
  local said = compared({ cpu, cuda }, { cpu })
  t.contains(said, "1 rows in both, 1 of 1 with scores of a common seed have the same; "
    .. "1 only in A (same/books on cuda)")
  t.contains(compared({ cpu, cuda }, { cuda }), "1 rows in both, 1 of 1 with scores of a common seed have the same; "
    .. "1 only in A (same/books)")
  t.contains(compared({ cpu }, { cuda }), "device cpu -> cuda\n")
end)

t.test("the same are scores of every split, and only where there are any", function()
  local function trial(value) return { bits_per_token = "", valid_bits_per_token = value } end
  local said = compared({ trial(2.5) }, { trial(2.75) })
  t.contains(said, "0 of 1 with scores of a common seed have the same")
  t.contains(compared({ trial(2.5) }, { trial(2.5) }), "1 of 1 with scores of a common seed have the same")
  t.contains(compared({ trial "" }, { trial "" }), "0 of 0 with scores of a common seed have the same")
  t.contains(compared({ { best_accuracy = 0.5 } }, { { best_accuracy = 0.25 } }), "0 of 1 with scores")
end)

t.test("an infinite seed is no difference and is not left out of a mean", function()
  local of_a, of_b = {}, {}
  for seed = 1, 3 do
    of_a[seed] = { seed = seed, perplexity = 2 }
    of_b[seed] = { seed = seed, perplexity = seed == 2 and math.huge or 2 }
  end
  local said = compared(of_a, of_b, { "perplexity" })
  t.check(said:find "\nsame/books +2.00 +inf +seed 2 is infinite", said)
end)

t.test("what failed is said: of a row, and of a seed", function()
  local failed = { status = "failed", bits_per_token = "" }
  t.contains(compared({ {} }, { failed }), "0 rows in both, 0 of 0 with scores of a common seed have the same; "
    .. "1 failed in B (same/books)")
  t.contains(compared({ failed }, { { label = "gone" } }), "; 1 failed in A (same/books); 1 only in B (gone/books)")
  local said = compared({ {}, { seed = 2 } }, { {}, { seed = 2, status = "failed", bits_per_token = "" } })
  t.contains(said, "1 of 1 with scores of a common seed have the same")
  t.check(said:find "same %(1%).* seed 2 failed in B\n", said)
end)

t.test("of two runs of one seed the latest that came to its end is compared, wherever it stands", function()
  local late = { run_id = "late", bits_per_token = 3, date = "2026-01-02T00:00:00Z" }
  local failed = { run_id = "attempt", status = "failed", bits_per_token = "", date = "2026-01-03T00:00:00Z" }
  local said = compared({ { bits_per_token = 3 } }, { late, {}, failed })
  t.contains(said, "1 of 1 with scores of a common seed have the same")
  t.contains(said, "same (1)")
end)

t.test("rows without a difference do not hide one that is told from chance", function()
  local of_a, of_b = {}, {}
  for seed = 1, 3 do
    -- p is 0.04; of two rows with a test one would have to be below 0.025
    table.insert(of_a, { seed = seed })
    table.insert(of_b, { seed = seed, bits_per_token = 2.5 + 0.18 * (seed - 2) })
    table.insert(of_a, { label = "gone", seed = seed })
    table.insert(of_b, { label = "gone", seed = seed, data_digest = "1" })
  end
  local said = compared(of_a, of_b)
  t.contains(said, "+0.500 ± 0.104 (3) *")
  t.contains(said, "2 rows in both")
end)

t.test("conditions leave out runs before rows meet", function()
  local of_a, of_b = { {}, { seed = 2 }, { label = "gone" } }, { {}, { seed = 2, bits_per_token = 3 } }
  local said = compared(of_a, of_b, nil, { { name = "seed", operator = "<", value = "2" },
    { name = "row", operator = "!=", value = "gone" } })
  t.contains(said, "1 rows in both, 1 of 1 with scores of a common seed have the same\n")
  t.contains(said, "same (1)")
  t.fails(function() folder_comparison.text(a, b, nil, { { name = "sede", operator = "=", value = "1" } }) end,
    "no run has a column or option 'sede'")
end)

t.test("without a quality costs are shown", function()
  local of_a, of_b = { bits_per_token = "", peak_memory_bytes = 2 ^ 20 }, { bits_per_token = "",
    peak_memory_bytes = 2 ^ 21 }
  t.check(compared({ of_a }, { of_b }):find "\nsame/books +1%.0 +2%.0 +2%.000", "memory")
end)

t.test("a row that lies in two folders of one side is refused", function()
  local both = folder .. "/both"
  runs.put(both .. "/one", before, { label = "same", bits_per_token = 2 })
  runs.put(both .. "/other", before, { label = "same", bits_per_token = 3 })
  t.fails(function() folder_comparison.text(a, both) end,
    ("row 'same' of pairs, small lies in %s/one/pairs and in %s/other/pairs: compare one of them"):format(both, both))
end)

t.test("a folder without runs is named", function()
  core.make_folder(folder .. "/none")
  t.fails(function() folder_comparison.text(a, folder .. "/none") end, folder .. "/none: no runs.csv there")
end)

os.execute("rm -r '" .. folder .. "'")
t.finish()

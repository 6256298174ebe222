-- Rates that are hardly meant are noted before the run, at the line of the script.
local t = dofile "tests/test.lua"
local core = require "longhaul.core"
local lh = require "longhaul"
local rates = require "longhaul.run.rates"

lh.configure { scale = "smoke" }

-- The notes on rows that train so, two runs each.
local function notes(...)
  local bench, runs = lh.experiment "rates", {}
  local task = lh.tasks.language_model { lh.data.text { "generate:books", documents = 4 }, segment = 32, batch = 2 }
  local model = lh.models.slide { layers = 1, width = 8, heads = 2, window = 16 }
  for i, options in ipairs { ... } do
    bench:row { "row " .. i, model = model, task = task, train = lh.train(options) }
    bench.rows[i].line = "a.lua:3"
    for seed = 1, 2 do runs[#runs + 1] = { row = bench.rows[i], seed = seed } end
  end
  return rates.notes(runs), bench.rows
end

t.test("a warm-up that outlasts the training is told, once for all rows of a line", function()
  local list = notes({ steps = 40 }, { steps = 40 }, { steps = 40, warmup = 40 }, { steps = 0 })
  t.equal(#list, 1)
  t.contains(list[1], 'a.lua:3: row "row 1" (generate:books) and 1 more: warmup=1000 is longer than its 40 steps')
end)

t.test("so is Adafactor's rate with another optimizer", function()
  local list, rows = notes({ steps = 40, warmup = 4, optimizer = "adam" },
    { steps = 40, warmup = 4, optimizer = "adam", rate = 1e-3 }, { steps = 40, warmup = 4 })
  t.equal(#list, 1)
  t.contains(list[1], 'row "row 1" (generate:books): rate=1, the default, is Adafactor\'s, and large for adam')
  rows[1].untuned = "its trials have not all ended"
  t.equal(#rates.notes { { row = rows[1], seed = 1 } }, 0)
end)

t.test("and a rate that the default schedule makes small for Adam", function()
  local list = notes({ steps = 4000, optimizer = "adam", rate = 1e-3 },
    { steps = 4000, optimizer = "adam", rate = 1e-3, schedule = "cosine" },
    { steps = 4000, optimizer = "adamw", rate = 0.044 }, { steps = 4000, rate = 1e-3 },
    { steps = 4000, optimizer = "adam", rate = 5e-5, schedule = "constant" },
    { steps = 0, optimizer = "adam", rate = 1e-3 })
  t.equal(#list, 1)
  t.contains(list[1], 'row "row 1" (generate:books): rate=0.001 comes to 3.2e-05 at most, as schedule=rsqrt')
end)

t.test("an option of a schedule or an optimizer that was not chosen is told", function()
  local list = notes({ steps = 40, warmup = 4, final_rate = 0.1 },
    { steps = 40, warmup = 4, final_rate = 0.1, schedule = "cosine" },
    { steps = 40, warmup = 4, step_every = 10, schedule = "cosine" },
    { steps = 40, warmup = 4, optimizer = "adamw", rate = 1e-2, beta2 = 0.98 },
    { steps = 40, warmup = 4, beta2 = 0.98 })
  t.equal(#list, 2)
  t.contains(list[1], 'row "row 1" (generate:books): final_rate=0.1 says nothing with the default, '
    .. "schedule=rsqrt; it is of linear and cosine")
  t.contains(list[2], 'row "row 5" (generate:books): beta2=0.98 says nothing with the default, optimizer=adafactor')
end)

t.test("run and dry-run say so, and the defaults are listed", function()
  local program, path = os.getenv "LONGHAUL_BIN", os.tmpname()
  core.write_file(path, [[local lh = require "longhaul"
    return lh.experiment "short":row { "row", model = lh.models.slide { layers = 1, width = 8, heads = 2, window = 16 },
      task = lh.tasks.language_model { lh.data.text { "generate:books", documents = 4, document_bytes = 2000 },
        segment = 32, batch = 2 }, train = lh.train { steps = 2 } }]])
  local function said(words)
    local pipe <close> = io.popen(("%s %s 2>&1"):format(program, words))
    return (pipe:read "a":gsub("%s+", " "))
  end
  for _, command in ipairs { "dry-run", "run --no-timing" } do
    local text = said(("%s %s --scale smoke --results %s.d"):format(command, path, path))
    t.contains(text, "note: ")
    t.contains(text, "warmup=1000 is longer than its 2 steps")
  end
  t.contains(said "describe training", "steps of linear warm-up from 0 (default 1000: integer, 0 to")
  os.execute(("rm -rf %s %s.d"):format(path, path))
end)

t.finish()

-- Models of equal size: every architecture meets the same budgets within 3 %, by the same count that
-- runs record, with as many heads as before and shapes that keep their proportions.
local t = dofile "tests/test.lua"
local core = require "longhaul.core"
local csv = require "longhaul.run.csv"
local identity = require "longhaul.run.identity"
local lh = require "longhaul"
local others = require "longhaul.run.others"
local script = require "longhaul.script"
local step_match = require "longhaul.run.step_match"

local text = lh.tasks.language_model { lh.data.text { "books", documents = 4, document_bytes = 4096 },
  segment = 64, batch = 2 }
local series = lh.tasks.forecasting { lh.data.series { "generate:seasonal" }, seq_len = 96, label_len = 48,
  pred_len = 24 }

local function cost(model, task, what)
  local info = identity.task_info(task)
  return core.describe(model.options, info, info.length)[what]
end

-- What a model needs beside its size.
local more = {
  reformer = { positions = { 8, 8 }, position_widths = { 256, 256 }, width = 512 },
}

local function task_of(class) return class.tokens and text or series end

local function has(class, name)
  for _, option in ipairs(class.options) do
    if option.name == name then return true end
  end
end

for _, class in ipairs(core.models()) do
  local base = lh.models[class.name](lh.merged(more[class.name] or {},
    has(class, "heads") and { heads = 2 } or {}))
  local good = pcall(cost, base, task_of(class), "total")
  if good and has(class, "width") then
    for _, budget in ipairs { 3e5, 1e6, 1e7 } do
      t.test(("%s of %g parameters"):format(class.name, budget), function()
        local model = lh.match { base, task = task_of(class), parameters = budget }
        local found = cost(model, task_of(class), "total")
        t.check(math.abs(found / budget - 1) <= 0.03, ("%d parameters"):format(found))
        t.equal(model:option "heads", base:option "heads")
        t.equal(lh.match({ base, task = task_of(class), parameters = budget }).text, model.text)
      end)
    end
    t.test(class.name .. " by FLOPs", function()
      local model = lh.match { base, task = task_of(class), flops_per_token = 2e6 }
      t.check(math.abs(cost(model, task_of(class), "flops_per_token") / 2e6 - 1) <= 0.03, "flops")
    end)
  end
end

t.test("proportions", function()
  local base = lh.models.brt { layers = 4, width = 256, heads = 4, hidden = 512, window = 16 }
  local model = lh.match { base, task = text, parameters = 2e5 }
  t.equal(model:option "layers", 4)
  t.equal(model:option "window", 16)
  local share = model:option "hidden" / model:option "width"
  t.check(share >= 1.9 and share < 3, ("hidden is %g widths"):format(share))
end)

t.test("where no width meets a budget the depth changes", function()
  local base = lh.models.mamba2 { layers = 4, width = 16, state = 8, head_width = 8 }
  local model = lh.match { base, task = text, parameters = 4500 }
  t.equal(model:option "layers", 6)
  t.check(math.abs(cost(model, text, "total") / 4500 - 1) <= 0.03, "4500 parameters")
end)

t.test("where no size meets a budget the message says which budget one does", function()
  local base = lh.models.lstm { layers = 1, width = 8 }
  local function matched(budget) return lh.match { base, task = text, parameters = budget } end
  local _, refusal = pcall(matched, 1800)
  local nearest = tonumber(tostring(refusal):match "say parameters = ([%d.e+]+)")
  t.check(nearest ~= nil, tostring(refusal))
  t.equal(cost(matched(nearest), text, "total"), nearest)
end)

t.test("a budget that is said in place of one is met by the models before, too", function()
  local bases = { lh.models.slide { layers = 1, width = 8, heads = 2, window = 8 },
    lh.models.lstm { layers = 1, width = 8 } }
  local function all_matched(budget)
    for _, base in ipairs(bases) do lh.match { base, task = text, parameters = budget } end
  end
  local misses = 0
  for budget = 1500, 4500, 100 do
    local good, refusal = pcall(all_matched, budget)
    local said = not good and tonumber(tostring(refusal):match "say parameters = ([%d.e+]+), which the model before")
    if said then
      misses = misses + 1
      all_matched(said)
    end
  end
  t.check(misses > 0, "no budget was missed")
end)

t.test("models of a script that was read before say nothing of what is met here", function()
  local path = os.tmpname()
  local _ <close> = setmetatable({}, { __close = function() os.remove(path) end })
  local slide = "lh.models.slide { layers = 1, width = 8, heads = 2, window = 8 }"
  local lstm = "lh.models.lstm { layers = 1, width = 8 }"
  local function refusal_of(models, budget)
    core.write_file(path, ([[
      local lh = require "longhaul"
      local task = lh.tasks.language_model { lh.data.text { "books", documents = 4, document_bytes = 4096 },
        segment = 64, batch = 2 }
      for _, model in ipairs { %s } do lh.match { model, task = task, parameters = %d } end]]):format(models, budget))
    local _, refusal = pcall(script.value, path, { scale = "smoke" })
    return tostring(refusal)
  end
  local budget = 1500
  while budget < 4500 and not refusal_of(slide .. ", " .. lstm, budget):find "which the model before" do
    budget = budget + 100
  end
  t.check(budget < 4500, "no budget was missed")
  t.check(refusal_of(lstm, budget):find "say parameters = %d+$", "a model of another script is named")
end)

t.test("the model that has the budget already stays as it is", function()
  local base = lh.models.slide { layers = 3, width = 64, heads = 4, window = 16 }
  local model = lh.match { base, task = text, parameters = cost(base, text, "total") }
  t.equal(model:option "width", 64)
  t.equal(model:option "layers", 3)
end)

t.test("by the time of a step: found once, kept by machine, and near what is asked", function()
  local folder = os.tmpname()
  os.remove(folder)
  function core.cache_folder() return folder end
  local base = lh.models.slide { layers = 2, width = 32, heads = 2, window = 16 }
  local kept, tried = step_match.cost, 0
  -- a machine whose steps take as long as the width is, and a little of chance
  function step_match.cost(model)
    tried = tried + 1
    return model:option "width" * (1 + 0.01 * (tried % 3))
  end
  local options = { base, task = text, step_time_ms = 200 }
  local model = lh.match(options)
  t.check(math.abs(model:option "width" / 200 - 1) < 0.12, ("width %d"):format(model:option "width"))
  local before = tried
  t.equal(lh.match(options).text, model.text)
  t.equal(tried, before)
  t.check(lh.match({ base, task = text, step_time_ms = 400 }).text ~= model.text, "another budget")
  t.check(tried > before, "which is looked for")
  t.equal(#csv.read(folder .. "/matches.csv"), 2)
  -- a processor of the same name with other instructions, or on other threads
  local machine = core.machine
  for _, own in ipairs { { kernels = "cpu-other" }, { threads = 99 } } do
    before, core.machine = tried, function() return setmetatable(own, { __index = machine() }) end
    lh.match(options)
    core.machine = machine
    t.check(tried > before, "another machine")
  end
  lh.match(lh.merged(options, { train = lh.train { steps = 1 } }))
  t.equal(#csv.read(folder .. "/matches.csv"), 5)
  step_match.cost = kept
  os.execute("rm -r '" .. folder .. "'")
end)

t.test("a size for another device is another, and one of a busy machine says so", function()
  local folder = os.tmpname()
  os.remove(folder)
  local kept = { cost = step_match.cost, name = core.device_name, watch = others.watch, stderr = io.stderr }
  local cache, said, load = core.cache_folder, {}, 0
  function core.cache_folder() return folder end
  function core.device_name() return "a GPU" end
  function step_match.cost(model) return model:option "width" * (step_match.device == "cpu" and 1 or 0.5) end
  function others.watch(work) return work(), { load = load, busy = load > 0 and "yes" or "no" } end
  io.stderr = setmetatable({}, { __index = { write = function(_, ...) said[#said + 1] = table.concat { ... } end } })
  local slide = lh.models.slide { layers = 2, width = 32, heads = 2, window = 16 }
  local options = { slide, task = text, step_time_ms = 200 }
  local on_cpu = lh.match(options):option "width"
  step_match.device, load = "cuda", 1.5
  local on_gpu = lh.match(options):option "width"
  step_match.device, load = "cpu", 0
  local again = lh.match(options):option "width"
  -- a device that is not here now
  function core.device_name() error("no GPU is here", 0) end
  step_match.device = "cuda:1"
  local without = lh.match(options):option "width"
  local _, why = pcall(lh.match, { slide, task = text, step_time_ms = 300 })
  step_match.device = "cpu"
  io.stderr, step_match.cost, core.device_name, others.watch = kept.stderr, kept.cost, kept.name, kept.watch
  core.cache_folder = cache
  t.near(on_gpu, 2 * on_cpu, 0.1 * on_cpu)
  t.equal(again, on_cpu)
  t.equal(without, on_gpu)
  t.contains(why, "takes 300 ms a step is found on a machine that has the device: no GPU is here")
  local records = csv.read(folder .. "/matches.csv")
  t.equal(#records, 2)
  t.equal(records[1].machine, core.machine().cpu)
  t.equal(records[1].busy_load, "")
  t.equal(records[2].machine, core.machine().cpu .. " with a GPU")
  t.equal(records[2].busy_load, "1.5")
  t.contains(table.concat(said), "others used 1.5 processors meanwhile")
  os.execute("rm -r '" .. folder .. "'")
end)

t.test("what a step takes is measured", function()
  local one = lh.models.slide { layers = 1, width = 16, heads = 2, window = 16 }
  local many = one:with { layers = 8, width = 128 }
  local train = lh.train { steps = 10 }
  t.check(3 * step_match.cost(one, text, train) < step_match.cost(many, text, train), "wider takes longer")
end)

local function refused(options, words)
  t.test("refused: " .. words, function() t.fails(function() lh.match(options) end, words) end)
end
local slide = lh.models.slide { layers = 2, heads = 2, window = 8 }
refused({ slide, task = text }, "a budget is needed")
refused({ slide, task = text, parameters = -3e4 }, "field 'parameters' must be a number above 0, not -30000")
refused({ slide, task = text, parameters = 1e6, flops_per_token = 1e6 }, "one budget at a time")
refused({ slide, task = text, parameters = 10 }, "slide")
refused({ slide, task = text, parameters = 1e300 }, "with width = 65536")
refused({ slide, task = text, parameters = 1e6, step_time_ms = 9 }, "one budget at a time")
refused({ slide, task = text, parameter = 10 }, "did you mean 'parameters'")
refused({ slide, parameters = 10 }, "field 'task' is missing")
refused({ lh.models.dlinear {}, task = series, parameters = 1e4 }, "dlinear has no option 'width'")
refused({ text, task = text, parameters = 10 }, "takes a model")
local elsewhere = lh.tasks.language_model { lh.data.text { "files-elsewhere" }, segment = 32, batch = 2 }
for _, words in ipairs { "depends on its task's data", "no data 'files-elsewhere'",
  "`longhaul report --results FOLDER` has" } do
  refused({ slide, task = elsewhere, parameters = 1e4 }, words)
end

t.finish()

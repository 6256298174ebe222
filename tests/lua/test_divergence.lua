-- Runs that diverged or failed, and the memory of runs that were stopped.
local t = dofile "tests/test.lua"
local core = require "longhaul.core"
local divergence = require "longhaul.run.divergence"
local identity = require "longhaul.run.identity"
local plan = require "longhaul.run.plan"
local runner = require "longhaul.run.runner"
local script = require "longhaul.script"
local store = require "longhaul.run.store"

local folder = os.tmpname()
os.remove(folder)
core.make_folder(folder)

-- ---- the rule ----

local tokens = { step = 1, valid = { bits_per_token = 8 }, test = { bits_per_token = 8 },
  vocabulary = 256 }
local numbers = { step = 1, valid = { mse = 1, zero_mse = 2 }, test = { mse = 1, zero_mse = 2 },
  vocabulary = 0 }

-- What the rule says of a good run with some of it replaced.
local function reason(result, changes)
  local made = {}
  for name, value in pairs(result) do made[name] = value end
  for name, value in pairs(changes) do made[name] = value end
  return divergence.reason(made)
end

t.test("a loss up to a bit above a guess is none", function()
  t.equal(divergence.reason(tokens), nil)
  t.equal(reason(tokens, { valid = { bits_per_token = 9 } }), nil)
  t.contains(reason(tokens, { valid = { bits_per_token = 9.01 } }),
    "validation loss 9.01 bits/token, above 9")
  t.equal(reason(tokens, { test = { bits_per_token = 90 } }), nil)
  t.contains(reason(tokens, { test = { bits_per_token = math.huge } }), "test loss is not finite")
  t.contains(reason(tokens, { valid = { bits_per_token = math.huge } }), "validation loss inf")
end)

t.test("of a constant series every model is infinitely worse than zero", function()
  t.equal(reason(numbers, { valid = { mse = 0.03, zero_mse = 0 } }), nil)
  t.contains(reason(numbers, { valid = { mse = math.huge, zero_mse = 0 } }), "validation loss inf")
  t.contains(reason(numbers, { valid = { mse = 0.03, zero_mse = 0.002 } }), "10 times that of predicting zero")
end)

t.test("first weights may be above a guess", function()
  local above = { valid = { bits_per_token = 9.01 }, first_weights = true }
  t.equal(reason(tokens, above), nil)
  above.first_weights = false
  t.contains(reason(tokens, above), "validation loss 9.01 bits/token, above 9")
  t.contains(reason(tokens, { valid = { bits_per_token = math.huge }, first_weights = true }),
    "validation loss inf")
  t.contains(reason(tokens, { last = { loss_bits = 1, gradient_norm = math.huge }, first_weights = true }),
    "gradient norm is not finite")
end)

t.test("weights are the first ones until a step had a rate", function()
  local function has(...) return divergence.has_first_weights { ... } end
  local first, second = { step = "1", rate = "0" }, { step = "2", rate = "0.001" }
  t.equal(has(first), true)
  t.equal(has(first, second), false)
  t.equal(has(second), false)
  t.equal(has { step = "1", rate = "0.001" }, false)
  t.equal(has { step = "20", rate = "0" }, false) -- a schedule that ended at 0
  t.equal(has(), false)
end)

t.test("an MSE up to ten times that of zero is none", function()
  t.equal(divergence.reason(numbers), nil)
  t.equal(reason(numbers, { valid = { mse = 20, zero_mse = 2 } }), nil)
  t.contains(reason(numbers, { valid = { mse = 20.1, zero_mse = 2 } }),
    "validation loss 20.1 MSE, above 20")
  t.equal(reason(numbers, { test = { mse = 99, zero_mse = 2 } }), nil)
  t.contains(reason(numbers, { test = { mse = math.huge, zero_mse = 2 } }),
    "test loss is not finite")
  t.contains(reason(numbers, { valid = { mse = math.huge, zero_mse = 2 } }), "validation loss inf")
  -- each split has its own zero
  t.contains(reason(numbers, { valid = { mse = 30, zero_mse = 2 },
    test = { mse = 1, zero_mse = 20 } }), "above 20")
end)

t.test("what is no number is within no bound", function()
  t.contains(reason(tokens, { valid = { bits_per_token = 0 / 0 } }), "validation loss")
  t.contains(reason(numbers, { valid = { mse = 0 / 0, zero_mse = 2 } }), "validation loss")
  t.contains(reason(tokens, { last = { loss_bits = 1, gradient_norm = 0 / 0 } }),
    "gradient norm is not finite")
end)

t.test("the last point of the curve counts where the last weights do", function()
  t.equal(reason(tokens, { last = { loss_bits = 8.9, gradient_norm = 3 } }), nil)
  t.contains(reason(tokens, { last = { loss_bits = 9.1, gradient_norm = 3 } }), "training loss 9.1")
  t.contains(reason(tokens, { last = { loss_bits = 1, gradient_norm = math.huge } }),
    "gradient norm is not finite")
  t.contains(reason(numbers, { last = { mse = 21 } }), "training loss 21 MSE")
end)

t.test("a run that takes no step has not diverged", function()
  t.equal(reason(tokens, { step = 0, valid = { bits_per_token = 99 } }), nil)
  t.equal(reason(numbers, { step = 0, valid = { mse = 99, zero_mse = 2 } }), nil)
end)

t.test("a run that learns slowly from bad first weights has not diverged", function()
  local function falls(valid, ...)
    local curve = {}
    for i, loss in ipairs { ... } do curve[i] = { loss_bits = loss } end
    return divergence.falls(curve, { bits_per_token = valid })
  end
  t.equal(falls(12, "30", "20", "12"), true)
  t.equal(falls(31, "30", "20", "12"), false)
  t.equal(falls(12, "12", "20", "13"), false)
  t.equal(falls(12, "30", "29.5", "30.1"), false)
  t.equal(falls(20, "30", "8", "9"), true)
  t.equal(falls(20, "30", "8", "9.1"), false) -- it fell, and rose again
  t.equal(falls(20, "30"), false)
  t.equal(falls(20, "inf", "20"), true)
  local mse = { { mse = "90" }, { mse = "", gradient_norm = "1" }, { mse = "50" } }
  t.equal(divergence.falls(mse, { mse = 60 }), true)
  mse[2].mse = "24"
  t.equal(divergence.falls(mse, { mse = 60 }), false)
  local above = { valid = { bits_per_token = 12 }, falls = true, last = { loss_bits = 12, gradient_norm = 1 } }
  t.equal(reason(tokens, above), nil)
  above.last.gradient_norm = math.huge
  t.contains(reason(tokens, above), "gradient norm is not finite")
  t.contains(reason(tokens, { valid = { bits_per_token = math.huge }, falls = true }), "validation loss inf")
end)

-- ---- runs ----

local bench_text = [[
  local lh = require "longhaul"
  local bench = lh.experiment "%s"
  local books = lh.data.text { "generate:books", documents = 4, document_bytes = 2000, limit_eval_bytes = 2000 }
  local series = lh.data.series { "generate:seasonal", series_rows = 300, channels = 2 }
  local words = lh.tasks.language_model { books, segment = 32, batch = 2 }
  local windows = lh.tasks.forecasting { series, seq_len = 12, label_len = 6, pred_len = 4, batch = 4 }
  local slide = lh.models.slide { layers = 1, width = 8, heads = 2, window = 16 }
  local informer = lh.models.informer { layers = 1, width = 8, heads = 2 }
  bench:row { "row", %s }
  return bench
]]

-- Runs a script of one row and gives the store, the row, how many runs failed and what was said.
local function run(name, row, settings)
  local path = folder .. "/script.lua"
  core.write_file(path, bench_text:format(name, row))
  local all = { results = folder, scale = "smoke", device = "cpu", no_timing = true }
  for key, value in pairs(settings or {}) do all[key] = value end
  local failed = runner.run(script.load(path, { scale = "smoke" }), all)
  local results = store.at(folder, name)
  return results, results:rows()[1], failed
end

local language = [[model = slide, task = words,
  train = lh.train { steps = %d, rate = %s, optimizer = "sgd", schedule = "constant", warmup = 0, log_every = 1, %s }]]
local forecast = [[model = informer, task = windows,
  train = lh.train { steps = %d, rate = %s, optimizer = "sgd", schedule = "constant", warmup = 0, log_every = 1, %s }]]

t.test("a run whose loss is far worse than a guess has diverged and keeps its numbers", function()
  local _, row, failed = run("words", language:format(2, "1e4", "clip = 1"))
  t.equal(failed, 0)
  t.equal(row.status, "diverged")
  t.check(tonumber(row.bits_per_token) > 10 and tonumber(row.valid_bits_per_token) > 10)
  t.contains(row.error, "diverged: ")
end)

t.test("so has a forecast", function()
  local _, row = run("windows", forecast:format(3, "100", "clip = 1"))
  t.equal(row.status, "diverged")
  t.check(tonumber(row.mse) > 10)
end)

t.test("a tame run has not", function()
  local _, row = run("tame", language:format(4, "0.1", "clip = 1"))
  t.equal(row.status, "done")
  t.equal(row.error, "")
  row = select(2, run("calm", forecast:format(4, "0.01", "clip = 1")))
  t.equal(row.status, "done")
end)

t.test("a diverged run is finished: it runs again only when forced", function()
  local results, row = run("words", language:format(2, "1e4", "clip = 1"))
  local before = row.date .. row.wall_time_s
  results:update(function(rows) rows[1].date = "marked" end)
  row = select(2, run("words", language:format(2, "1e4", "clip = 1")))
  t.equal(row.date, "marked")
  row = select(2, run("words", language:format(2, "1e4", "clip = 1"), { force = true }))
  t.check(row.date ~= "marked" and before ~= "")
  t.equal(#results:rows(), 1)
end)

-- Writes a weight file with one tensor of the model, whose numbers leave no room for sums; gives
-- its path.
local function broken_weights(model, sizes)
  local path = folder .. "/" .. model .. ".safetensors"
  local parameter = core.describe(core.options("model", model, "layers=1 width=8 heads=2"), sizes,
    sizes.length)
    .parameters[1]
  local shape = parameter.shape:gsub("x", ","):gsub("[^%d,]", "")
  local header = ('{"%s":{"dtype":"F32","shape":[%s],"data_offsets":[0,%d]}}'):format(
    parameter.name, shape,
    4 * parameter.count)
  local file <close> = assert(io.open(path, "wb"))
  file:write(("<I8"):pack(#header), header, (("<f"):pack(3e38)):rep(parameter.count))
  return path
end

t.test("an evaluation that gives no number is a failure that says so", function()
  local words = core.task_info(
    core.options("task", "language_model", "name=generate:books documents=2"))
  local windows = core.task_info(core.options("task", "forecasting",
    "name=generate:seasonal series_rows=300 channels=2 seq_len=12 label_len=6 pred_len=4 batch=4"))
  for name, made in pairs {
    nan_words = { language, broken_weights("slide", words), "bits_per_token" },
    nan_windows = { forecast, broken_weights("informer", windows), "mse" },
  } do
    local row = made[1]:format(0, "0.1", "")
      .. (", weights = { %q, partly = true }"):format(made[2])
    local _, found, failed = run(name, row)
    t.equal(failed, 1)
    t.equal(found.status, "failed")
    t.contains(found.error, made[3] .. " of the validation split is not a number after step 0")
  end
end)

-- Its training was complete: nothing but the checkpoint of the last step tells the peak.
t.test("a run that was killed in its final evaluation has the peak of its training", function()
  local row = language:format(3, "0.1", "clip = 1")
  local _, whole = run("unharmed", row)
  local path = folder .. "/script.lua"
  core.write_file(path, bench_text:format("killed", row))
  local dead = ("%s lua tests/lua/kill_evaluation.lua %s %s 2>/dev/null"):format(
    os.getenv "LONGHAUL_BIN", path, folder)
  local _, how, number = os.execute(dead)
  t.equal(how == "signal" and number or number - 128, 9)
  local results = store.open(folder, "killed")
  t.equal(#results:rows(), 0)
  local bench = script.load(path, { scale = "smoke" })
  local plan = plan.of(bench, { results = folder, scale = "smoke", device = "cpu" })[1]
  t.check(core.exists(results:checkpoint(identity.of(plan).run_id)))
  local _, resumed = run("killed", row)
  t.equal(resumed.status, "done")
  for _, name in ipairs { "step", "bits_per_token", "peak_memory_bytes",
    "inference_memory_bytes" } do
    t.equal(resumed[name], whole[name])
  end
end)

-- A session that was left without an evaluation.
t.test("a run that is resumed has the peak of its training", function()
  local _, whole = run("whole", language:format(3, "0.1", "clip = 1"))
  local path = folder .. "/script.lua"
  core.write_file(path, bench_text:format("cut", language:format(3, "0.1", "clip = 1")))
  local bench = script.load(path, { scale = "smoke" })
  local results = store.open(folder, "cut")
  local plan = plan.of(bench, { results = folder, scale = "smoke", device = "cpu" })[1]
  local row, id = plan.row, identity.of(plan).run_id
  results:write_curve(id, {})
  do
    local session <close> = core.session {
      model = row.model.options, task = row.task.options, train = row.train.options,
      seed = plan.seed, device = "cpu",
    }
    t.check(session:train(results:checkpoint(id)))
    t.check(core.exists(results:checkpoint(id)))
  end
  local _, resumed = run("cut", language:format(3, "0.1", "clip = 1"))
  t.equal(resumed.status, "done")
  t.equal(resumed.bits_per_token, whole.bits_per_token)
  t.equal(resumed.peak_memory_bytes, whole.peak_memory_bytes)
end)

os.execute("rm -rf '" .. folder .. "'")
t.finish()

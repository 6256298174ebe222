-- Runs that start from other runs' weights, and early stopping.
local t = dofile "tests/test.lua"
local core = require "longhaul.core"
local csv = require "longhaul.run.csv"
local forecast = require "longhaul.run.forecast"
local identity = require "longhaul.run.identity"
local jobs = require "longhaul.run.jobs"
local outlook = require "longhaul.run.outlook"
local plan = require "longhaul.run.plan"
local progress = require "longhaul.run.progress"
local runner = require "longhaul.run.runner"
local script = require "longhaul.script"
local store = require "longhaul.run.store"
local training = require "longhaul.run.training"

local folder = os.tmpname()
os.remove(folder)
core.make_folder(folder)

local settings = { results = folder, scale = "smoke", device = "cpu", no_timing = true }

local function load(text)
  local path = folder .. "/script.lua"
  core.write_file(path, [[
    local lh = require "longhaul"
    local bench = lh.experiment "chain"
    local size = { layers = 1, width = 8, heads = 2, context = 16, window = 16 }
    local task = lh.tasks.language_model {
      lh.data.text { "generate:books", documents = 20, document_bytes = 512, tokens = "bytes" },
      segment = 16, batch = 2, evaluate_batches = 3,
    }
    local none = lh.train { steps = 0, optimizer = "adam" }
  ]] .. text .. " return bench")
  return script.load(path, { scale = "smoke" })
end

-- Loads and runs a script; gives its rows by label.
local function run(text)
  t.equal(runner.run(load(text), settings), 0)
  local rows = {}
  for _, row in ipairs(store.at(folder, "chain"):rows()) do rows[row.row] = row end
  return rows
end

local base = [[
  bench:row { "base", model = lh.models.gpt2(size), task = task,
    train = lh.train { steps = 6, optimizer = "adam", rate = 1e-2, warmup = 1 } }
]]

t.test("a row of no steps is the row that it comes from, at another setting", function()
  local rows = run(base .. [[
    size.window, size.overlap = 8, 0
    bench:row { "same", model = lh.models.gpt2(size), task = task, train = none, from = "base" }
    size.window = 16
    bench:row { "again", model = lh.models.gpt2(size), task = task, train = none, from = "base" }]])
  t.equal(rows.again.bits_per_token, rows.base.bits_per_token)
  t.check(rows.same.bits_per_token ~= rows.base.bits_per_token)
end)

t.test("a larger model keeps what the weights lack", function()
  local rows = run(base .. [[
    size.summary_hidden, size.insertion = 4, 1
    bench:row { "more", model = lh.models.gpt2_recurrent(size), task = task, train = none, from = "base" }]])
  -- a segment is one window, and what the window before it says is small at first
  t.near(tonumber(rows.more.bits_per_token), tonumber(rows.base.bits_per_token), 0.2)
end)

t.test("a source that lost its weights runs again, by itself", function()
  local results = store.at(folder, "chain")
  core.remove_file(results:weights(results:rows()[1].run_id))
  local text = base .. [[
    bench:row { "late", model = lh.models.gpt2(size), task = task, train = none, from = "base" }]]
  local states = {}
  for _, planned in ipairs((outlook.known(load(text), settings))) do
    states[planned.row.label] = planned.state
  end
  t.equal(states.base, "weights gone")
  t.equal(states.late, "new")
  local rows = run(text)
  t.equal(rows.late.bits_per_token, rows.base.bits_per_token)
end)

t.test("a run that was killed between its row and its checkpoint's removal is done", function()
  run(base)
  local planned = outlook.known(load(base), settings)[1]
  local results = store.at(folder, "chain")
  core.write_file(results:checkpoint(planned.id), "left")
  t.equal(outlook.known(load(base), settings)[1].state, "done")
  run(base)
  t.check(not core.exists(results:checkpoint(planned.id)), "the next command removes it")
end)

t.test("a finished run is run again where it would start from another one", function()
  local text = [[
    bench:row { "source", model = lh.models.gpt2(size), task = task, seeds = 2,
      train = lh.train { steps = 1, optimizer = "adam" } }
    bench:row { "after", model = lh.models.gpt2(size), task = task, train = none, seeds = 2,
      from = "source" }]]
  local function count()
    local all = 0
    for _, row in ipairs(store.at(folder, "chain"):rows()) do
      if row.row == "after" then all = all + 1 end
    end
    return all
  end
  run(text)
  run(text)
  t.equal(count(), 2)
  run((text:gsub("seeds = 2", "seeds = 1", 1)))
  t.equal(count(), 3) -- seed 2 has lost its source
end)

t.test("a forced run that cannot begin leaves the finished one as it is", function()
  local rows = run(base)
  local kept, open = rows.base, plan.session
  function plan.session() error("no memory", 0) end
  local forced = setmetatable({ force = true }, { __index = settings })
  local failed = runner.run(load(base), forced)
  plan.session = open
  t.equal(failed, 1)
  local results = store.at(folder, "chain")
  t.equal(results:find(kept.run_id).status, "done")
  t.equal(results:find(kept.run_id).date, kept.date)
end)

t.test("a forced run begins anew, also after one that was interrupted, which goes on without force", function()
  local results, train, found = store.at(folder, "chain"), training.run, nil
  local forced = setmetatable({ force = true }, { __index = settings })
  local text = base:gsub('"base"', '"stopped"')
  local function stopped(run, ...)
    found = core.exists(results:checkpoint(run.id)) and core.read_file(results:checkpoint(run.id)) or "none"
    core.write_file(results:checkpoint(run.id), ...)
    return "interrupted"
  end
  local function begin(how, left)
    function training.run(run) return stopped(run, left) end
    runner.run(load(text), how)
    training.run = train
    return found
  end
  t.equal(begin(settings, "of a plain run"), "none")
  t.equal(begin(settings, "of a plain run"), "of a plain run")
  t.equal(begin(forced, "of a forced run"), "none")
  t.equal(begin(settings, "of a forced run"), "of a forced run")
  t.equal(begin(forced, "of another forced run"), "none")
  progress.is_worker = true -- of that command, and started again
  t.equal(begin(forced, "of another forced run"), "of another forced run")
  progress.is_worker = false
  run(text) -- to its end
  t.equal(begin(forced, "of another forced run"), "none")
  local open = plan.session
  function plan.session() error("no memory", 0) end
  t.equal(runner.run(load(text), forced), 1)
  plan.session = open
  t.equal(begin(forced, ""), "none") -- what failed is over
end)

t.test("runs that are forced side by side do not go on from what an earlier command forced", function()
  local results, side_by_side, ids = store.at(folder, "chain"), jobs.run, {}
  local forced = setmetatable({ force = true, jobs = 2 }, { __index = settings })
  function jobs.run(sweep)
    for i, entry in ipairs(sweep.waiting) do
      ids[i] = entry.run.id
      t.check(not core.exists(results:forced(ids[i])))
      results:begin_forced(ids[i], true)
    end
    return {}, true
  end
  local text = base:gsub('"base"', '"beside"') .. base:gsub('"base"', '"besides"')
  runner.run(load(text), forced)
  t.check(core.exists(results:forced(ids[1])))
  runner.run(load(text), forced)
  jobs.run = side_by_side
  t.equal(#ids, 2)
end)

t.test("what is left is told by a finished run on the same GPU", function()
  local bench = load(base:gsub('"base"', '"on a GPU"'))
  local on_gpu, results = setmetatable({ device = "cuda" }, { __index = settings }), store.at(folder, "chain")
  local name, new, train = core.device_name, forecast.new, training.run
  local known
  function core.device_name() return "a GPU" end
  function forecast.new(total, left, seconds, later)
    known = seconds[left[1].identity.configuration]
    return new(total, left, seconds, later)
  end
  function training.run() return "done" end
  local planned = plan.of(bench, on_gpu)[1]
  plan.identify(planned.shared)
  local kernels = core.machine().kernels
  local function finished_on(machine)
    results:put { run_id = "of another seed", configuration = planned.identity.configuration, identity = 1, row = "a",
      dataset = "b", seed = 2, scale = "smoke", device = "cuda", status = "done", machine = machine, kernels = kernels,
      wall_time_s = 12 }
    known = nil
    t.equal(runner.run(bench, on_gpu), 0)
    return known
  end
  local cpu = core.machine().cpu
  t.equal(finished_on(cpu .. " with a GPU"), 12)
  t.equal(finished_on(cpu), nil)
  kernels = "cpu-other"
  t.equal(finished_on(cpu .. " with a GPU"), nil)
  core.device_name, forecast.new, training.run = name, new, train
  results:forget "of another seed"
end)

-- Learns for most of its steps; the last ones, far too long, undo that. What comes before them is calm, so that any
-- order of rounding has its best evaluation there.
local undone = [[
  local undone = { steps = 40, optimizer = "adam", rate = 1e-2, warmup = 0, schedule = "step", step_every = 36,
    step_factor = 1e4, evaluate_every = 1, log_every = 1 }
]]

t.test("seeds that a command gives have a source of their own each", function()
  local text = base .. [[
    bench:row { "middle", model = lh.models.gpt2(size), task = task, train = none, from = "base" }
    bench:row { "end", model = lh.models.gpt2(size), task = task, train = none, from = "middle" }]]
  local three = { results = folder, scale = "smoke", device = "cpu", no_timing = true, seeds = 3 }
  t.equal(runner.run(load(text), three), 0)
  local by_row = { base = {}, middle = {}, ["end"] = {} }
  for _, row in ipairs(store.at(folder, "chain"):rows()) do
    if by_row[row.row] then by_row[row.row][row.seed] = row.bits_per_token end
  end
  for seed = 1, 3 do
    local number = by_row.base[tostring(seed)]
    t.check(number and number ~= by_row.base[tostring(seed % 3 + 1)], "seed " .. seed)
    t.equal(by_row.middle[tostring(seed)], number)
    t.equal(by_row["end"][tostring(seed)], number)
  end
end)

t.test("seeds that a command gives leave a source of another experiment its own", function()
  local bench = load(base .. [[
    local own = bench
    bench = lh.experiment "after"
    bench:row { "end", model = lh.models.gpt2(size), task = task, train = none, from = { own, "base" } }]])
  local of_seed = {}
  for i, planned in ipairs(plan.of(bench, { results = folder, scale = "smoke", device = "cpu", seeds = 3 })) do
    of_seed[i] = identity.source_of(planned).seed
  end
  t.equal(table.concat(of_seed, " "), "1 1 1")
end)

t.test("early stopping ends with the weights that validated best", function()
  local rows = run(undone .. [[
    undone.keep_best = true
    bench:row { "best", model = lh.models.gpt2(size), task = task, train = lh.train(undone) }]])
  local best, last = math.huge, nil
  for _, point in ipairs(csv.read(store.at(folder, "chain"):curve(rows.best.run_id))) do
    last = tonumber(point.valid_bits)
    best = math.min(best, last)
  end
  t.check(best < last, "the last steps undid what it learned")
  t.near(tonumber(rows.best.valid_bits_per_token), best, 1e-6)
end)

t.test("and by accuracy with those that had the highest", function()
  local rows = run(undone .. [[
    undone.keep_best = "accuracy"
    bench:row { "right", model = lh.models.gpt2(size), task = task, train = lh.train(undone) }]])
  local best, last = -math.huge, nil
  for _, point in ipairs(csv.read(store.at(folder, "chain"):curve(rows.right.run_id))) do
    last = tonumber(point.valid_accuracy)
    best = math.max(best, last)
  end
  t.check(best > last, "the last steps undid what it learned")
  t.near(1 - tonumber(rows.right.valid_error_percent) / 100, best, 1e-6)
end)

t.test("the best test accuracy of all evaluations stands beside the last one", function()
  local rows = run(undone .. [[
    undone.evaluate_test = true
    bench:row { "watched", model = lh.models.gpt2(size), task = task, train = lh.train(undone) }]])
  local best, last = -math.huge, nil
  for _, point in ipairs(csv.read(store.at(folder, "chain"):curve(rows.watched.run_id))) do
    last = tonumber(point.test_accuracy)
    best = math.max(best, last)
  end
  t.check(best > last, "the last steps undid what it learned")
  t.near(tonumber(rows.watched.best_accuracy), best, 1e-12)
  t.near(tonumber(rows.watched.accuracy), last, 1e-12)
  t.check(tonumber(rows.watched.best_accuracy_bin0) == nil, "a task without bins has none")
end)

t.test("patience ends training before its last step, and the row says at which", function()
  local rows = run(undone .. [[
    undone.keep_best, undone.patience, undone.step_every = true, 4, 20
    bench:row { "short", model = lh.models.gpt2(size), task = task, train = lh.train(undone) }]])
  local points, best, best_step = csv.read(store.at(folder, "chain"):curve(rows.short.run_id)),
    math.huge, nil
  for _, point in ipairs(points) do
    if tonumber(point.valid_bits) < best then
      best, best_step = tonumber(point.valid_bits), tonumber(point.step)
    end
  end
  t.equal(tonumber(rows.short.step), best_step + 4)
  t.equal(tonumber(points[#points].step), best_step + 4)
  t.check(best_step + 4 < 40, "it ended early")
  t.near(tonumber(rows.short.valid_bits_per_token), best, 1e-6)
end)

t.test("sample texts continue whole passages", function()
  local rows = run(base .. [[
    bench:sample { row = "base", tokens = "bytes", count = 3, context = 12, length = 5 }]])
  local path = folder .. "/script.lua"
  local bench = script.load(path, { scale = "smoke" })
  local real, segment = core.generator, nil
  core.generator = function(spec)
    segment = spec.segment
    return real(spec)
  end
  local paths = require("longhaul.report.report").samples(bench,
    { results = folder, scale = "smoke", device = "cpu" })
  core.generator = real
  t.equal(#paths, 2)
  t.equal(segment, 16, "that of the training")
  local records = csv.read(paths[1])
  t.equal(#records, 3)
  for _, record in ipairs(records) do
    t.equal(record.row .. " of " .. record.dataset, "base of generate:books")
    t.equal(#record.context, 12)
    t.check(#record.continuation <= 5)
    t.check(not record.context:find "%z", "what follows the end of a document is no passage")
  end
  t.equal(rows.base.status, "done")
  t.equal(records[1].changed, nil)
  local changed = setmetatable({ changed = "train.rate=0.3" }, { __index = bench })
  local writes_bytes = { feed = function() end, next = function() return 0xff + 3 end }
  core.generator = function() return setmetatable(writes_bytes, { __close = function() end }) end
  paths = require("longhaul.report.report").samples(changed, { results = folder, scale = "smoke", device = "cpu" })
  core.generator = real
  t.equal(csv.read(paths[1])[1].changed, "train.rate=0.3")
  t.equal(csv.read(paths[1])[1].continuation, ("\u{FFFD}"):rep(5))
  t.contains(core.read_file(paths[2]), "Options changed on the command line: train.rate=0.3.")
end)

t.test("a split that has fewer passages than asked for gives those", function()
  local session <close> = core.session {
    model = core.options("model", "gpt2", "layers=1 width=8 heads=2 context=16 window=16"),
    task = core.options("task", "language_model",
      "name=generate:books documents=20 document_bytes=512 segment=16 batch=2 evaluate_batches=1"),
    train = core.options("train", "train", "steps=1"), seed = 1, device = "cpu",
  }
  t.equal(#session:passages("valid", 1000, 4), 2)
end)

t.test("samples that could not be written are refused before any training", function()
  for asked, message in pairs {
    ['tokens = "words:train:100:generate:books", context = 12'] =
      "words:train:100:generate:books has a vocabulary of 100, the row's model one of 260",
    ['tokens = "bytes", context = 17'] = "sample: a context of 17 tokens, but segments hold 16" } do
    local bench = load(([[
      bench:row { "unsampled", model = lh.models.gpt2(size), task = task, train = none }
      bench:sample { row = "unsampled", count = 3, length = 5, %s }]]):format(asked))
    local run = plan.of(bench, settings)[1]
    t.check(not plan.identify(run.shared))
    t.contains(plan.refusal_of(run), message)
    t.equal(runner.run(bench, settings), 1)
  end
end)

t.test("a sample's tokens that are trained are so on the row's own corpus", function()
  local bench = load [[
    local words = lh.tasks.language_model { lh.data.text { "generate:books", tokens = "words:train:60", documents = 20,
      document_bytes = 512 }, segment = 16, batch = 2 }
    bench:row { "worded", model = lh.models.gpt2(size), task = words, train = none }
    bench:sample { row = "worded", tokens = "words:train:60", count = 2, context = 12, length = 5 }]]
  t.equal(runner.run(bench, settings), 0)
  local report, real, print_of_lua, said = require "longhaul.report.report", core.generator, print, {}
  t.equal(#csv.read(report.samples(bench, settings)[1]), 2)
  core.generator = function() error("no generator", 0) end
  print = function(line) said[#said + 1] = line end
  t.fails(function() report.all(bench, settings) end, "no generator")
  core.generator, print = real, print_of_lua
  t.contains(table.concat(said, "\n"), "runs.csv") -- what else is made is told before
end)

t.test("rows of one line that are refused for one reason are told together", function()
  local bench = load [[
    local nowhere = lh.tasks.language_model { lh.data.text { "files:nowhere" }, segment = 16, batch = 2 }
    for width = 8, 24, 8 do
      size.width = width
      bench:row { "width " .. width, model = lh.models.gpt2(size), task = nowhere, train = none, seeds = 2 }
    end
    bench:row { "odd", model = lh.models.gpt2(size), task = nowhere, train = none }]]
  local runs = plan.of(bench, settings)
  for _, run in ipairs(runs) do plan.identify(run.shared) end
  local texts = plan.refusals(runs)
  t.equal(#texts, 2)
  t.contains(texts[1], 'row "width 8" (files:nowhere) and 2 more: task language_model: no data')
  t.equal(texts[2], plan.refusal_of(runs[4]))
end)

t.test("a split with nothing to predict is refused before any training", function()
  local bench = load [[
    bench:row { "unread", model = lh.models.gpt2(size), train = lh.train { steps = 6, warmup = 1 },
      task = lh.tasks.language_model { segment = 16, batch = 2,
        lh.data.text { "generate:books", documents = 20, document_bytes = 512, valid_tokens = 1 } } }]]
  local message = "evaluate: the valid split has nothing to predict"
  t.contains(outlook.known(bench, settings)[1].refusal, message)
  t.equal(runner.run(bench, settings), 1)
  for _, row in ipairs(store.at(folder, "chain"):rows()) do
    if row.row == "unread" then
      t.contains(row.error, message)
      t.check(not core.exists(store.at(folder, "chain"):curve(row.run_id)), "it was trained")
    end
  end
end)

t.test("a run's row has the FLOPs and the gates that one works out by hand", function()
  local rows = run [[
    bench:row { "lstm", model = lh.models.lstm { layers = 1, width = 4, hidden = 8 }, task = task, train = none }
    bench:row { "gated", task = task, train = none, model = lh.models.xl {
      layers = 3, width = 8, heads = 2, window = 16, rsa = { kinds = { 2, 0, 0, 0, 0, 0 }, gate = 1 } } }]]
  -- four gates of eight cells over four inputs and eight states, and a head over 260 symbols:
  -- products and sums
  t.equal(tonumber(rows.lstm.flops_per_token), 2 * (4 * 8 * (4 + 8) + 8 * 260))
  t.equal(rows.lstm.rsa_gate, "")
  t.near(tonumber(rows.gated.rsa_gate), 1 / (1 + math.exp(-1)), 1e-6)
end)

t.test("the command line's seeds come before a row's, a row's before the script's", function()
  local function seeds_of(more)
    local path = folder .. "/seeds.lua"
    core.write_file(path, [[
      local lh = require "longhaul"
      local bench = lh.experiment("seeds"):seeds(3)
      local size = { layers = 1, width = 8, heads = 2, context = 16, window = 16 }
      local task = lh.tasks.language_model { lh.data.text { "generate:books" }, segment = 16, batch = 2 }
      bench:row { "own", model = lh.models.gpt2(size), task = task, train = lh.train { steps = 1 }, seeds = 2 }
      bench:row { "other", model = lh.models.gpt2(size), task = task, train = lh.train { steps = 1 } }
      return bench]])
    local list = {}
    for i, each in ipairs(plan.of(script.load(path, { scale = "smoke" }),
      { scale = "smoke", device = "cpu", seeds = more })) do
      list[i] = each.row.label .. " " .. each.seed
    end
    return table.concat(list, ", ")
  end
  t.equal(seeds_of(nil), "own 1, other 1, own 2, other 2, other 3")
  t.equal(seeds_of(1), "own 1, other 1")
  t.equal(seeds_of(3), "own 1, other 1, own 2, other 2, own 3, other 3")
end)

t.test("the row of a run says its own seed, and each seed has its own numbers", function()
  run((base:gsub('{ "base"', '{ "twice", seeds = 2')))
  local by_seed = {}
  for _, row in ipairs(store.at(folder, "chain"):rows()) do
    if row.row == "twice" then by_seed[row.seed] = row.bits_per_token end
  end
  t.check(by_seed["1"] and by_seed["2"] and by_seed["1"] ~= by_seed["2"], "two seeds")
end)

t.test("a run goes on from its checkpoint, and its curve from there", function()
  local text = [[
    bench:row { "torn", model = lh.models.gpt2(size), task = task,
      train = lh.train { steps = 6, optimizer = "adam", warmup = 1, checkpoint_every = 3, log_every = 1 } }]]
  local whole = run(text).torn
  local results = store.at(folder, "chain")
  local bench = script.load(folder .. "/script.lua", { scale = "smoke" })
  local row = bench.rows[1]
  do
    local session <close> = core.session {
      model = row.model.options, task = row.task.options, train = row.train.options, seed = 1,
      device = "cpu",
    }
    t.fails(function()
      session:train(results:checkpoint(whole.run_id),
        function(p) if p.step == 4 then error "stopped" end end)
    end, "stopped")
  end
  t.check(core.exists(results:checkpoint(whole.run_id)), "the checkpoint before is left")
  results:write_curve(whole.run_id, { { step = 3, loss_bits = 99 }, { step = 5, loss_bits = 99 } })
  results:update(function(rows)
    for i = #rows, 1, -1 do
      if rows[i].row == "torn" then table.remove(rows, i) end
    end
  end)
  local again = run(text).torn
  t.equal(again.bits_per_token, whole.bits_per_token)
  local points = results:read_curve(whole.run_id, 6)
  t.equal(points[1].loss_bits, "99") -- what was there up to the checkpoint stays
  for i = 2, 4 do
    t.equal(tonumber(points[i].step), i + 2) -- the point that was not kept is told again
    t.check(points[i].loss_bits ~= "99", "what was after it is trained anew")
  end
  t.equal(#points, 4)
  t.check(not core.exists(results:checkpoint(whole.run_id)),
    "the checkpoint of a run that is done is gone")
end)

t.test("data that change while a sweep runs stop its next run", function()
  local path, changes = folder .. "/task.lua", folder .. "/changes.lua"
  local made = "return { sizes = function() return { vocabulary = 9, length = 4 } end, example = function()"
    .. " return { %d, 1, 2, 3 }, { 1, 2, 3, 4 } end }"
  core.write_file(path, made:format(1))
  core.write_file(changes, [[
    local lh = require "longhaul"
    local bench = lh.experiment "changes"
    bench:row { "a", model = lh.models.rnn { width = 4 },
      task = lh.tasks.scripted_tokens { "task.lua", batch = 2, evaluate_examples = 2 },
      train = lh.train { steps = 2, optimizer = "adam", warmup = 1 } }
    return bench]])
  local bench, settings = script.load(changes, { scale = "smoke" }),
    { results = folder, scale = "smoke", device = "cpu", no_timing = true }
  identity.task_info(bench.rows[1].task)
  core.write_file(path, made:format(2))
  t.equal(runner.run(bench, settings), 1)
  t.contains(store.at(folder, "changes"):rows()[1].error, "the data have changed since")
end)

t.test("a run that is refused once its session is made closes it", function()
  local open, any_rank = plan.session, core.any_rank
  local function closed_after(part, refused_elsewhere)
    local closed, one = 0, {}
    function plan.session(run)
      if refused_elsewhere then core.any_rank = function() return true end end
      function one.info() return { digest = run.identity.data_digest } end
      function one.check_split() end
      function one.close() closed = closed + 1 end
      one[part] = function() error("refused", 0) end
      return one
    end
    t.equal(runner.run(load((base:gsub('"base"', '"refused"'):gsub("1e%-2", "3e-2"))), settings), 1)
    plan.session, core.any_rank = open, any_rank
    return closed
  end
  t.equal(closed_after "info", 1)
  t.equal(closed_after "check_split", 1)
  t.equal(closed_after("nothing", true), 1)
end)

t.test("what two experiments share is run once, and behind what its rows start from", function()
  local path = folder .. "/shared.lua"
  core.write_file(path, [[
    local lh = require "longhaul"
    local function bench(name, fields)
      local made = lh.experiment(name)
      fields[1], fields.model = name, lh.models.rnn { width = 4 }
      local corpus = fields.corpus or { "generate:books", documents = 6, document_bytes = 500 }
      fields.task = lh.tasks.language_model { lh.data.text(corpus), segment = 8, batch = 2 }
      fields.train, fields.corpus = lh.train { steps = 1, warmup = 0 }, nil
      return made:row(fields)
    end
    local function shows(made, ...) return made:plot { "boxes", y = "rsa_gate", of = { ... } } end
    local lost = bench("lost", { corpus = "files:nowhere" })
    local base = bench("base", {})
    local one = shows(bench("one", { from = { base, "base" } }), lost)
    local two = shows(bench("two", {}), lost, base)
    return shows(lh.experiment "both", one, two)]])
  local both = script.load(path, { scale = "smoke" })
  local names = {}
  for i, each in ipairs(plan.all(both)) do names[i] = each.name end
  t.equal(table.concat(names, " "), "base lost one two both")
  t.equal(plan.needs(plan.all(both)[3])[1].name, "base")
  t.equal(#plan.needs(both), 0)
  t.equal(runner.run(both, settings), 1)
end)

t.test("a run whose curve or best weights are gone does not end with what is left", function()
  local text = [[
    bench:row { "gone", model = lh.models.gpt2(size), task = task, train = lh.train { steps = 25, optimizer = "adam",
      warmup = 1, log_every = 1, evaluate_every = 10, checkpoint_every = 10, keep_best = true } }]]
  local Store = getmetatable(store.at(folder, "chain")).__index
  local extend = Store.extend_curve
  function Store.extend_curve(...)
    local add, file = extend(...)
    return function(point)
      if point.step > 21 then error("the disk is full", 0) end
      add(point)
    end, file
  end
  t.equal(runner.run(load(text), settings), 1)
  Store.extend_curve = extend
  local function row()
    for _, run in ipairs(store.at(folder, "chain"):rows()) do
      if run.row == "gone" then return run end
    end
  end
  local made = store.at(folder, "chain")
  for name, what in pairs { curve = "curve", best_weights = "best weights" } do
    local path = made[name](made, row().run_id)
    local kept = core.read_file(path)
    core.remove_file(path)
    t.equal(runner.run(load(text), settings), 1)
    t.contains(row().error, ("%s is gone, the %s of this run so far: put it back, or begin anew"):format(path, what))
    core.write_file(path, kept)
  end
  t.equal(runner.run(load(text), settings), 0)
  t.equal(row().status, "done")
end)

t.test("a source must be there", function()
  t.fails(function() run [[
    bench:row { "x", model = lh.models.gpt2(size), task = task, train = none, from = "y" }]]
  end, "no earlier row is called 'y'")
end)

t.finish()

-- The registry of metrics: that nothing is scored, stored or shown that it does not know, and what
-- follows from a line.
local t = dofile "tests/test.lua"
local core = require "longhaul.core"
local csv = require "longhaul.run.csv"
local lh = require "longhaul"
local metrics = require "longhaul.run.metrics"
local others = require "longhaul.run.others"
local results = require "longhaul.report.results"
local runner = require "longhaul.run.runner"
local runs = dofile "tests/lua/runs.lua"
local store = require "longhaul.run.store"
local tables = require "longhaul.report.table"
local timing = require "longhaul.run.timing"

local folder = os.tmpname()
os.remove(folder)
core.make_folder(folder)
lh.configure { scale = "smoke" }
local settings = { results = folder, scale = "smoke", device = "cpu", no_timing = true }

local function set_of(list)
  local set = {}
  for _, name in ipairs(list) do
    t.check(not set[name], name .. " is there twice")
    set[name] = true
  end
  return set
end

-- ---- every task at its smallest ----

local recurrent = lh.models.lstm { layers = 1, width = 4, hidden = 8 }
local two_sided = { layers = 1, width = 8, heads = 2, hidden = 12, dropout = 0 }
local books = lh.data.text { "generate:books", documents = 8, document_bytes = 400,
  tokens = "bytes" }
local tracked = { segment = 8, batch = 2, episodes = 4, evaluate_episodes = 3 }
local scripted = folder .. "/scripted.lua"
core.write_file(scripted, "return { sizes = function(p) return { length = 4, "
  .. "[p.vectors and 'inputs' or 'vocabulary'] = 3, outputs = p.vectors and 1 or nil } end, "
  .. "parameters = { vectors = false }, example = function(p) local x = math.random(0, 2) "
  .. "if p.vectors then return { { x, 1, 0 } }, { { x } } end return { x }, { x } end }")
local examples = {
  scripted_tokens = { recurrent, lh.tasks.scripted_tokens { scripted, evaluate_examples = 4 } },
  scripted_vectors = { lh.models.rnn { layers = 1, hidden = 2 }, lh.tasks.scripted_vectors {
    scripted, evaluate_examples = 4, parameters = { vectors = true } } },
  language_model = { recurrent,
    lh.tasks.language_model { books, segment = 16, batch = 2, evaluate_batches = 3 } },
  random_walk = { recurrent, lh.tasks.random_walk(lh.merged(tracked, { steps = 12 })) },
  algorithm = { recurrent, lh.tasks.algorithm(lh.merged(tracked, { statements = 6 })) },
  duplication = { recurrent, lh.tasks.duplication { batch = 2, word = 3, alphabet = 5,
    evaluate_sequences = 4 } },
  recall = { recurrent, lh.tasks.recall { batch = 2, vocabulary = 8, pairs = 2, lengths = 8,
    evaluate_sequences = 4 } },
  imagenet64 = { recurrent, lh.tasks.imagenet64 { batch = 2, side = 8, images = 6,
    evaluate_images = 4 } },
  regular_language = { recurrent,
    lh.tasks.regular_language { batch = 4, longest = 6, strings = 8, evaluate_strings = 5 } },
  simulated_network = { lh.models.rnn { layers = 1, hidden = 2 },
    lh.tasks.simulated_network { segments = 3, length = 8 } },
  forecasting = { lh.models.informer { layers = 1, width = 8, heads = 2, dropout = 0 },
    lh.tasks.forecasting {
    lh.data.series { "generate:seasonal", series_rows = 400 }, seq_len = 12, label_len = 6,
    pred_len = 6, batch = 4,
    evaluate_windows = 8 } },
  translation = { lh.models.t5(two_sided), lh.tasks.translation {
    pairs = 20, evaluate_pairs = 4, tokens = "bytes", batch_tokens = 256, longer = 4 } },
  defect = { lh.models.t5(two_sided),
    lh.tasks.defect { functions = 8, evaluate_functions = 4, source_length = 24, batch = 2 } },
}

-- What the evaluations of a task give on the splits.
local function score(example)
  local session <close> = core.session {
    model = example[1].options, task = example[2].options, train = lh.train({ steps = 1 }).options,
    seed = 1, device = "cpu",
  }
  return session:evaluate "test", session:evaluate "valid"
end

t.test("counts are printed in full, and what is in no column is not told as one", function()
  t.equal(metrics.spell(2009970), "2009970")
  t.equal(metrics.spell(1.23456789), "1.23457")
  t.equal(metrics.spell(math.huge), "inf")
  local docs = core.read_file "docs/lua.md"
  for _, line in ipairs(metrics.lines()) do
    t.equal(docs:find(("\n| `%s` |"):format(line[1]), 1, true) ~= nil, metrics.is_column(line))
  end
end)

local scored_on_valid = {}

t.test("whatever a task's evaluations give is in the registry, on its split", function()
  local known = { test = set_of(metrics.scored "test"), valid = set_of(metrics.scored "valid") }
  local seen, untold = {}, { predicted_tokens = true, predicted_values = true, zero_mse = true }
  for _, task in ipairs(core.tasks()) do
    t.check(examples[task.name], "no example of task " .. task.name)
    local test, valid = score(examples[task.name])
    for split, values in pairs { test = test, valid = valid } do
      metrics.check_scored(values)
      for name, value in pairs(values) do
        t.check(known[split][name] or untold[name],
          ("%s gives %s on %s: in no column"):format(task.name, name, split))
        t.equal(type(value), "number")
        seen[name] = true
        scored_on_valid[name] = scored_on_valid[name] or split == "valid"
      end
    end
  end
  for _, name in ipairs(metrics.scored "test") do
    t.check(seen[name], name .. " is scored by no task")
  end
  for _, name in ipairs(metrics.scored "valid") do
    t.check(scored_on_valid[name] or name:find "^accuracy_", name .. " is scored by no task on the validation split")
  end
end)

t.test("what a task gives is never said to be none of it", function()
  for _, task in ipairs(core.tasks()) do
    local test, valid = score(examples[task.name])
    for split, values in pairs { test = test, valid = valid } do
      for name in pairs(values) do
        t.equal(metrics.never(task.name, metrics.column(split, name)), nil)
      end
    end
    t.equal(metrics.never(task.name, "bits_per_byte") == nil, test.bits_per_byte ~= nil)
    t.equal(metrics.never(task.name, "word_perplexity") == nil, test.word_perplexity ~= nil)
  end
  t.contains(metrics.never("forecasting", "valid_bits_per_token"), "predicts vectors, and 'valid_bits_per_token' is of")
  t.contains(metrics.never("language_model", "valid_accuracy_bin0"), "names no group 'bin0'")
end)

t.test("a number that the registry does not know is an error that says where to add it", function()
  t.equal(metrics.check_scored({ mse = 1 }).mse, 1)
  t.fails(function() metrics.check_scored { mse = 1, msse = 2 } end,
    "'msse', which harness/run/metrics.lua does not know")
  t.fails(function() metrics.fill_record({}, "test", { accuracy_bin7 = 1 }) end, "accuracy_bin7")
  t.fails(function() metrics.fill_point({}, { valid = { nonsense = 1 }, test = {} }) end,
    "nonsense")
end)

t.test("a task's groups are metrics", function()
  for _, task in ipairs(core.tasks()) do
    for _, group in ipairs(task.groups) do
      for _, name in ipairs { "accuracy_" .. group, "best_accuracy_" .. group, "valid_accuracy_"
        .. group } do
        t.check(metrics.is_known(name), name)
        t.equal(metrics.better(name), "max")
      end
    end
  end
  t.equal(metrics.title "best_accuracy_bin1", "accuracy, bin 1, best evaluation")
  t.check(not metrics.is_known "accuracy_bin2" and not metrics.is_known "mse_bin0",
    "groups that no task names")
end)

-- ---- columns ----

-- The columns of runs.csv that say which run it is and where it was measured.
local described = set_of { "run_id", "experiment", "row", "model", "task", "data", "seed", "scale",
  "device", "status",
  "step", "code_version", "machine", "blas", "precision", "ranks", "dataset", "class", "version",
  "date", "model_options",
  "task_options", "train_options", "error", "configuration", "identity", "data_digest",
  "starts_from", "dirty", "compiler",
  "kernels", "cores", "threads", "load" }

t.test("every number of runs.csv is in the registry, and every line of it in runs.csv", function()
  local columns = set_of(store.columns)
  for name in pairs(columns) do
    t.check(described[name] or metrics.is_known(name), name .. " is no metric")
  end
  for name in pairs(described) do t.check(not metrics.is_known(name), name .. " is a metric") end
  for _, column in ipairs(metrics.all()) do
    t.check(columns[column.name] or column.metric.from == "script", column.name .. " has no column")
  end
  t.check(not columns.kaplan_flops_per_token, "a script's own number is a column where it gives it")
end)

t.test("a line says what its readers need", function()
  local kinds = { quality = true, cost = true, structure = true }
  local pools = { mean = true, every = true, same = true, max = true }
  for _, column in ipairs(metrics.all()) do
    local name, line = column.name, column.metric
    t.check(kinds[line.kind], name .. ": kind")
    t.check(pools[line.pooled], name .. ": pooled")
    t.check(line.better == nil or line.better == "min" or line.better == "max", name .. ": better")
    t.check(line.digits or line.format, name .. ": neither digits nor format")
    t.check(#line.says > 0 and #column.title > 0, name .. ": title and what it is")
    t.check(not column.title:find "_", name .. ": a title is for readers")
    t.check(line.kind == "cost" or line.pooled ~= "max",
      name .. ": the worst of seeds is for costs")
    t.check(metrics.text(name, 1234.5) ~= "", name .. ": text")
    t.equal(metrics.text(name, 0 / 0), "")
  end
  t.equal(metrics.text("peak_memory_bytes", 3 * 2 ^ 20) .. metrics.difference("state_bytes", -16), "3.0-0.02")
  -- what is not 0 does not read as if it were, in the unit of its column; a spread has the decimals of its value
  t.equal(metrics.text("relative_step_time", 0.0035) .. " " .. metrics.text("mse", 1.7e-5), "0.004 2e-05")
  t.equal(metrics.text("state_bytes", 16), "0.02")
  t.equal(metrics.spread("mse", 1.7e-5), "0.000")
  t.equal(metrics.title "valid_bits_per_token", "valid. bits/token")
  t.equal(metrics.better "tokens_per_second", "max")
  t.equal(metrics.better "best_accuracy", "max")
  t.equal(metrics.better "parameters", nil)
  t.equal(metrics.kind "flops_per_token", "structure")
  for name, own in pairs { valid_accuracy_bin0 = true, rsa_gate = true, wall_time_s = true,
    tokens_to_reach = true, step_time_ms = false, relative_step_time = false,
    peak_memory_bytes = false, parameters = false, held_bytes = false } do
    t.check(metrics.is_by_seed(name) == own, name .. ": whether each seed has its own")
  end
  t.check(metrics.is_shared "step_time_ms" and not metrics.is_shared "kaplan_flops_per_token",
    "shared columns")
end)

t.test("every metric can stand in a table and on a chart", function()
  local row = { model = recurrent, task = examples.language_model[2],
    train = lh.train { steps = 1 }, dataset = "d" }
  local bench = lh.experiment "shown"
  local said = {}
  for _, name in ipairs(metrics.columns_from "script") do said[name] = 7 end
  bench:row(lh.merged(row, { "a", values = said, reach = { valid_bits = 1 } }))
  local record = { label = "a", scale = "smoke", reach = "valid_bits 1" }
  for _, name in ipairs(metrics.names()) do
    record[name] = 7
    bench:plot { "bars", y = name, name = "bars-" .. name }
    bench:plot { "pareto", x = "step_time_ms", y = name, name = "pareto-" .. name }
  end
  bench:table { columns = metrics.names(), baseline = "a" }
  local time = { round = "r", configuration = runs.put(folder, bench, record).configuration,
    date = "2026-01-01", busy = "no" }
  for _, name in ipairs(metrics.names()) do time[name] = metrics.is_known(name) and 7 or nil end
  store.open(folder, "shown"):add_timings { time }
  local made = tables.build(bench, bench.tables[1], results.of(bench, settings))
  t.equal(#made.columns, #metrics.names())
  for c, column in ipairs(made.columns) do
    local wanted = column.metric == "relative_step_time" and 1 or 7 -- its own baseline
    t.equal(made.rows[1].cells[c].measured, wanted)
    t.equal(select(2, tables.texts(column, made.rows[1].cells[c])), metrics.text(column.metric, wanted))
    t.equal(column.dataset == nil, metrics.is_shared(column.metric))
  end
end)

t.test("a session says what the registry takes from the model", function()
  local example, record = examples.language_model, {}
  local session <close> = core.session {
    model = example[1].options, task = example[2].options, train = lh.train({ steps = 1 }).options,
    seed = 1, device = "cpu",
  }
  metrics.fill_from(record, "model", session:info())
  for _, column in ipairs(metrics.all()) do
    t.equal(math.type(record[column.name]) ~= nil, column.metric.from == "model")
  end
end)

t.test("a curve has the losses that the registry names", function()
  local columns = set_of(metrics.curve_columns())
  for _, name in ipairs { "step", "tokens", "time_s", "loss_bits", "mse", "rate", "gradient_norm",
    "valid_bits", "valid_mse",
    "valid_accuracy" } do
    t.check(columns[name], name)
    columns[name] = nil
  end
  t.equal(next(columns), nil)
  t.equal(metrics.curve_title "valid_bits", "valid. bits/token")
  t.equal(metrics.curve_title "loss_bits", "bits/token")
  t.equal(metrics.curve_title "gradient_norm", "gradient norm")
  t.equal(metrics.curve_title "layer_2_rsa_gate", "gate of the REMs, layer 2")
  local point = {}
  metrics.fill_point(point, { loss_bits = 3, valid = { bits_per_token = 2, accuracy = 0.5 },
    test = { accuracy = 0.25 } })
  t.equal(point.loss_bits, 3)
  t.equal(point.valid_bits, 2)
  t.equal(point.valid_accuracy, 0.5)
  t.equal(point.test_accuracy, 0.25)
  t.equal(point.mse, nil)
  local best = metrics.best_of_curve { { test_accuracy = "0.25" }, { test_accuracy = "0.75" },
    { test_accuracy = "0.5" } }
  t.equal(best.accuracy, 0.75)
end)

-- ---- over seeds ----

-- Runs of one row with these values of columns, a seed each; gives their results.
local function seeds_of(name, list)
  for seed, values in ipairs(list) do
    store.open(folder, name):put(
      lh.merged({ run_id = name .. seed, experiment = name, row = "r", dataset = "d", seed = seed,
      identity = 2, configuration = name, scale = "smoke", device = "cpu", status = "done",
      date = "2026-01-01", model_options = "", task_options = "",
      train_options = "" }, values))
  end
  return results.open(folder, name, "smoke", "cpu")
end

t.test("best_valid takes the better end of each metric", function()
  local seen = seeds_of("best", {
    { bits_per_byte = 2, valid_bits_per_byte = 1.5, accuracy = 0.25,
      valid_accuracy = 0.5 },
    { bits_per_byte = 3, valid_bits_per_byte = 1.25, accuracy = 0.5,
      valid_accuracy = 0.75 },
    { bits_per_byte = 1, valid_bits_per_byte = 1.75, accuracy = 0.75,
      valid_accuracy = 0.625 },
  })
  t.equal(seen:best("r", "bits_per_byte", "d"), 3)
  t.equal(seen:best("r", "accuracy", "d"), 0.5)
  t.equal(seen:best("r", "mse", "d"), nil)
  t.equal(seen:best("r", "step_time_ms", "d"), nil)
end)

t.test("best_valid passes over a seed whose validation is infinite, and takes none for a mean", function()
  local seen = seeds_of("best-infinite", {
    { perplexity = 2, valid_perplexity = math.huge }, { perplexity = 8, valid_perplexity = 9 },
    { perplexity = 6, valid_perplexity = 7 },
  })
  t.equal(seen:best("r", "perplexity", "d"), 6)
  t.equal(seen:value("r", "valid_perplexity", "d"), nil)
  local test_split = seeds_of("best-finite", {
    { perplexity = math.huge, valid_perplexity = 9 }, { perplexity = 6, valid_perplexity = 7 },
  })
  t.equal(test_split:best("r", "perplexity", "d"), 6)
end)

t.test("a table by best_valid refuses a quality that validation lacks, at its line", function()
  local bench = lh.experiment "chosen"
  t.fails(function() bench:table { columns = { "bits_per_byte", "rsa_gate" },
    select = "best_valid" } end,
    "cannot choose a seed for 'rsa_gate', which is not scored on the validation split")
  t.fails(function() bench:table { columns = { "bleu" }, select = "best_valid" } end,
    "cannot choose a seed for 'bleu'")
  bench:table { columns = { "bits_per_byte", "accuracy", "best_accuracy", "step_time_ms",
    "parameters" },
    select = "best_valid" }
  for _, column in ipairs(metrics.all()) do
    local twin = metrics.twin(column.name)
    t.equal(twin ~= nil, column.split ~= nil and not column.name:find "bleu")
    if twin then t.equal(metrics.better(twin), metrics.better(column.name)) end
  end
  t.equal(metrics.twin "best_accuracy_bin0", "valid_accuracy_bin0")
  t.equal(metrics.twin "valid_perplexity", "valid_perplexity")
end)

t.test("seeds are pooled as the registry says", function()
  local seen = seeds_of("pooled", {
    { parameters = 10, peak_memory_bytes = 5, mse = 1 },
    { parameters = 10, peak_memory_bytes = 9, mse = 2 },
    { parameters = 10, peak_memory_bytes = 7, mse = 6 },
  })
  local value, spread, count = seen:value("r", "mse", "d")
  t.equal(value, 3)
  t.near(spread, math.sqrt(7), 1e-12)
  t.equal(count, 3)
  value, spread, count = seen:value("r", "peak_memory_bytes", "d")
  t.check(value == 9 and spread == nil and count == 3, "the most of all seeds")
  value, spread, count = seen:value("r", "parameters", "d")
  t.check(value == 10 and spread == nil and count == 3, "what all seeds share has no spread")
  seen = seeds_of("apart", { { parameters = 10 }, { parameters = 11 } })
  t.fails(function() seen:value("r", "parameters", "d") end,
    "different parameters, 10 and 11, which all seeds share")
end)

-- ---- early stopping ----

t.test("training can keep the best by whatever validation scores", function()
  local names = {}
  for _, option in ipairs(core.train_options()) do
    if option.name == "keep_best" then names = set_of(option.choices) end
  end
  t.check(names["true"] and names["false"], "by loss, and not at all")
  local valid = set_of(metrics.scored "valid")
  for name in pairs(names) do
    t.check(name == "true" or name == "false" or valid[name], name .. " is not scored")
  end
  for name, scored in pairs(scored_on_valid) do
    t.check(not scored or not metrics.twin(name) or names[name], name .. " can decide nothing")
  end
end)

t.test("and keeps the end that the registry calls better", function()
  local function run(by, task)
    local name = ("kept-%s-%s"):format(by, task and task.text:match "tokens=(%a+)" or "")
    local bench = lh.experiment(name)
    bench:row { "r", dataset = "books", task = task or examples.language_model[2], model = recurrent,
      train = lh.train {
      steps = 30, optimizer = "adam", rate = 1e-2, warmup = 0, schedule = "step", step_every = 27,
      step_factor = 1e4, evaluate_every = 1, log_every = 1, keep_best = by } } -- the last steps undo the others
    local failed = runner.run(bench, settings)
    local row = store.at(folder, name):rows()[1]
    local points = failed == 0 and csv.read(store.at(folder, name):curve(row.run_id)) or {}
    local least, highest, last = math.huge, -math.huge, points[#points]
    for _, point in ipairs(points) do
      least = math.min(least, tonumber(point.valid_bits))
      highest = math.max(highest, tonumber(point.valid_accuracy))
    end
    return row, least, highest, last
  end
  local row, _, highest, last = run "error_percent"
  t.check(tonumber(last.valid_accuracy) < highest, "the last step is not the best")
  t.near(tonumber(row.valid_error_percent), 100 * (1 - highest), 1e-9)
  local least
  row, least, _, last = run "word_perplexity"
  t.check(tonumber(last.valid_bits) > least, "the last step is not the best")
  t.near(math.log(tonumber(row.valid_perplexity), 2), least, 1e-9)
  row, _, highest = run "accuracy"
  t.near(tonumber(row.valid_accuracy), highest, 1e-12)
  local words = lh.tasks.language_model {
    lh.data.text { "generate:books", documents = 20, document_bytes = 2000, tokens = "words:train:50" },
    segment = 32, batch = 2,
  }
  local refused = run("word_perplexity", words)
  t.contains(refused.error, "keep_best: 'valid_word_perplexity' is over the words of the text, but its tokens do")
  t.equal(refused.step, "", "nothing is trained")
  t.fails(function() run "mae" end,
    "row: keep_best: task language_model predicts tokens, and 'valid_mae' is of vectors")
end)

-- ---- model FLOPs utilisation ----

t.test("utilisation is the model's FLOPs over those that products could have", function()
  -- 3 * 2000 FLOP * 50 tokens in 0.01 s are 30 MFLOP/s, a quarter of 120
  t.near(timing.utilisation(2000, { tokens_per_step = 50, median_ms = 10, matrix_rate = 120e6 }),
    0.25, 1e-15)
  t.equal(timing.utilisation(2000, { tokens_per_step = 50, median_ms = 10, matrix_rate = 29e6 }), nil)
end)

t.test("a machine is busy when others use more of it than its clock can err", function()
  t.check(not others.are_busy(0, 10, 2) and not others.are_busy(1.9, 10, 2), "idle")
  t.check(others.are_busy(2.1, 10, 2) and others.are_busy(20, 10, 2), "busy")
  t.check(not others.are_busy(0.03, 0.01, 2) and others.are_busy(0.05, 0.01, 2),
    "two ticks a processor")
end)

t.test("a round has the utilisation of each row beside its step time", function()
  local bench = lh.experiment "timed"
  for _, row in ipairs { { "narrow", 4 }, { "wide", 16 } } do
    bench:row { row[1], model = recurrent:with { width = row[2] },
      task = examples.language_model[2], dataset = "books",
      train = lh.train { steps = 2 } }
  end
  t.equal(runner.run(bench, lh.merged(settings, { no_timing = false })), 0)
  local records, rate = csv.read(store.at(folder, "timed").path .. "/timings.csv"), nil
  t.equal(#records, 2)
  for _, record in ipairs(records) do
    local inputs = record.row == "wide" and 16 or 4
    -- four gates of eight cells read inputs and cells; then the head over 260 bytes and marks
    local forward = 2 * (inputs * 32 + 8 * 32 + 8 * 260)
    local seconds = tonumber(record.step_time_ms) / 1000
    t.equal(tonumber(record.tokens_per_step), 2 * 16)
    t.near(tonumber(record.tokens_per_second) * seconds, 2 * 16, 1e-9)
    t.check(tonumber(record.step_time_q1_ms) <= 1000 * seconds
      and 1000 * seconds <= tonumber(record.step_time_q3_ms)
      and tonumber(record.step_time_q1_ms) < tonumber(record.step_time_q3_ms),
        "quartiles on their sides")
    t.near(tonumber(record.mfu) * tonumber(record.matrix_rate) * seconds / (3 * forward * 2 * 16),
      1, 1e-12)
    t.check(tonumber(record.matrix_rate) > 1e7 and tonumber(record.mfu) > 0, "numbers of a machine")
    rate = rate or record.matrix_rate
    t.equal(record.matrix_rate, rate)
  end
end)

-- ---- tokens to a loss ----

t.test("the first point that is as good gives the tokens", function()
  local reach = require "longhaul.run.reach"
  local points = {
    { tokens = "100", loss_bits = "5", valid_bits = "" },
    { tokens = "200", loss_bits = "3.5", valid_bits = "4" },
    { tokens = "300", loss_bits = "4", valid_bits = "", valid_accuracy = "0.25" },
    { tokens = "400", loss_bits = "3", valid_bits = "3", valid_accuracy = "0.75" },
    { tokens = "500", loss_bits = "2" },
  }
  local function tokens(given) return reach.tokens(points, reach.read(given)) end
  t.equal(tokens { loss_bits = 5.5 }, 100)
  t.equal(tokens { loss_bits = 3.5 }, 200)
  t.equal(tokens { loss_bits = 3.25 }, 400)
  t.equal(tokens { loss_bits = 1.9 }, nil)
  t.equal(tokens { valid_bits = 3.9 }, 400)
  t.equal(tokens { valid_accuracy = 0.5 }, 400)
  t.equal(tokens { valid_accuracy = 0.8 }, nil)
  t.equal(tokens { valid_mse = 1 }, nil)
  t.equal(reach.tokens({ { step = "1", loss_bits = "1" } }, { "loss_bits", 2 }), nil)
  t.equal(reach.text(reach.read { valid_bits = 2.5 }), "valid_bits 2.5")
end)

t.test("a row names one loss of the curves", function()
  local row = { "r", model = recurrent, task = examples.language_model[2],
    train = lh.train { steps = 1 } }
  local function fails(given, text)
    t.fails(function() lh.experiment("reaching"):row(lh.merged(row, { reach = given })) end, text)
  end
  fails({ valid_bit = 2 }, "no loss 'valid_bit' in a curve (did you mean 'valid_bits'?)")
  fails({ rate = 2 }, "no loss 'rate'")
  fails({ valid_bits = 2, loss_bits = 2 }, "names one loss")
  fails({}, "names one loss")
  fails({ valid_bits = "2" }, "valid_bits must be a number")
  fails(2, "must be a table")
end)

t.test("a mean over seeds needs every seed that ran", function()
  local seen = seeds_of("reached", { { tokens_to_reach = 100 }, { tokens_to_reach = 300 } })
  t.equal(seen:value("r", "tokens_to_reach", "d"), 200)
  seen = seeds_of("missed", { { tokens_to_reach = 100 }, {} })
  t.equal(seen:value("r", "tokens_to_reach", "d"), nil)
end)

t.test("a run's tokens are those of its curve, and another loss needs no other run", function()
  local function run(given)
    local bench = lh.experiment "books"
    bench:row { "r", model = recurrent, task = examples.language_model[2], dataset = "books",
      reach = given,
      train = lh.train { steps = 24, optimizer = "adam", rate = 0.05, warmup = 0,
        schedule = "constant", log_every = 3,
        evaluate_every = 6 } }
    t.equal(runner.run(bench, settings), 0)
    return store.at(folder, "books"):rows()
  end
  local first = run()[1]
  t.equal(first.tokens_to_reach, "")
  local points = csv.read(store.at(folder, "books"):curve(first.run_id))
  local at, wanted = nil, tonumber(points[#points].valid_bits) + 0.1
  for i = #points, 1, -1 do
    local value = tonumber(points[i].valid_bits)
    if value and value <= wanted then at = i end
  end
  t.check(at > 2, "the first evaluation is not yet as good")
  local rows = run { valid_bits = wanted }
  t.equal(#rows, 1)
  t.equal(rows[1].date, first.date)
  t.equal(rows[1].reach, ("valid_bits %s"):format(wanted))
  t.equal(tonumber(rows[1].tokens_to_reach), tonumber(points[at].step) * 2 * 16)
  t.equal(run({ loss_bits = 0.001 })[1].tokens_to_reach, "")
  rows = run()
  t.check(rows[1].tokens_to_reach == "" and (rows[1].reach or "") == "",
    "a row that names none has none")
end)

-- ---- a run ----

t.test("a run's row has what was scored on both splits", function()
  local bench = lh.experiment "strings"
  bench:row { "r", model = recurrent, task = examples.regular_language[2], dataset = "parity",
    train = lh.train { steps = 4, optimizer = "adam", rate = 1e-2, warmup = 0,
      schedule = "constant", evaluate_every = 2,
      log_every = 2, evaluate_test = true } }
  t.equal(runner.run(bench, settings), 0)
  local row = store.at(folder, "strings"):rows()[1]
  for _, name in ipairs { "accuracy", "accuracy_bin0", "accuracy_bin1", "best_accuracy",
    "best_accuracy_bin0",
    "best_accuracy_bin1", "valid_accuracy", "mse", "valid_mse", "mae", "valid_mae",
      "error_percent" } do
    t.check(tonumber(row[name]), name)
  end
  t.equal(tonumber(row.state_bytes), 2 * 8 * 4) -- h and c of eight cells
  t.equal(row.valid_accuracy_bin0, "")
  t.equal(row.bits_per_token, "")
  local points = csv.read(store.at(folder, "strings"):curve(row.run_id))
  t.equal(#points, 2)
  for _, name in ipairs { "mse", "valid_mse", "valid_accuracy", "test_accuracy",
    "test_accuracy_bin0", "test_accuracy_bin1" } do
    t.check(tonumber(points[2][name]), name)
  end
  t.equal(tonumber(points[1].tokens), 2 * 4 * 6) -- steps, rows, letters
  t.equal(tonumber(points[2].tokens), 4 * 4 * 6)
  t.equal(tonumber(points[2].test_accuracy_bin1), tonumber(row.accuracy_bin1))
end)

t.test("what a row says of its model is counted by hand", function()
  local row = store.at(folder, "timed"):rows()[1]
  t.equal(row.row, "narrow")
  -- embedding; inputs, cells and biases of four gates of eight cells; head
  t.equal(tonumber(row.parameters), 260 * 4 + 4 * 32 + 8 * 32 + 32 + 8 * 260 + 260)
  t.equal(tonumber(row.flops_per_token), 2 * (4 * 32 + 8 * 32 + 8 * 260))
  t.equal(tonumber(row.state_bytes), 2 * 8 * 4)
end)

t.test("the gate of a row is the mean of its layers'", function()
  local bench = lh.experiment "gated"
  bench:row { "r", dataset = "books", task = examples.language_model[2],
    train = lh.train { steps = 6, optimizer = "sgd",
    momentum = 0, rate = 1, warmup = 0, schedule = "constant" },
      model = lh.models.slide { layers = 3, width = 16, heads = 4,
    window = 16, dropout = 0, rsa = { kinds = { 2, 1, 1, 0, 0, 0 } } } }
  t.equal(runner.run(bench, settings), 0)
  local row, gates = store.at(folder, "gated"):rows()[1], {}
  for name, value in pairs(store.at(folder, "gated"):read_probes(row.run_id)) do
    if name:find "_rsa_gate$" then gates[#gates + 1] = value end
  end
  t.equal(#gates, 3)
  t.check(gates[1] ~= gates[2], "gates differ")
  t.near(tonumber(row.rsa_gate), (gates[1] + gates[2] + gates[3]) / 3, 1e-12)
end)

t.test("an amount has three digits and the unit that they need", function()
  local texts = { [0] = "0", [0.05] = "0.05", [999] = "999", [999.4] = "999", [999.5] = "1K", [1000] = "1K",
    [12345] = "12.3K", [999400] = "999K", [999700] = "1M", [999.7e9] = "1T", [1.5e15] = "1.5P", [2e18] = "2E" }
  for number, text in pairs(texts) do t.equal(metrics.text("parameters", number), text) end
end)

os.execute("rm -r '" .. folder .. "'")
t.finish()

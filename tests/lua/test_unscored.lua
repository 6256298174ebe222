-- What a task never scores, or no row asks for, is refused before anything is trained, wherever a script asks for it.
local t = dofile "tests/test.lua"
local scripted = dofile "tests/lua/scripted.lua"
local choice = require "longhaul.run.choice"
local metrics = require "longhaul.run.metrics"

local scratch, run, start = scripted.path, scripted.load, scripted.start

t.test("what the task of no row scores is refused before any of it is trained", function()
  local function two(view, of_second)
    return run(start .. ([[
      bench:row { "a", model = model, task = task, train = train }
      bench:row { "b", model = %s, task = %s, train = train }
      bench:%s
      return bench]]):format(of_second and "lh.models.dlinear {}" or "model", of_second or "task", view))
  end
  local task = ':6: row "a" (generate:books) and 1 more: task language_model '
  local scores = "; it scores bits_per_token, bits_per_byte, perplexity, word_perplexity, accuracy, error_percent"
  for column, why in pairs {
    mse = "predicts tokens, and 'mse' is of vectors", valid_mae = "predicts tokens, and 'valid_mae' is of vectors",
    bleu = "scores no 'bleu'", accuracy_bin1 = "names no group 'bin1', which 'accuracy_bin1' is of" } do
    for view, what in pairs {
      ["table { columns = { 'bits_per_byte', '%s' } }"] = "table: column '%s'",
      ["plot { 'lines', x = 'window', y = '%s' }"] = "plot: axis y: '%s'",
      ["plot { 'pareto', x = { '%s', log = true }, y = 'bits_per_byte' }"] = "plot: axis x: '%s'" } do
      local function load() two(view:format(column)) end
      t.fails(load, (scratch .. ":8: " .. what .. " would stay empty: "):format(column))
      t.fails(load, task .. why .. scores)
    end
  end
  local series = "lh.tasks.forecasting { lh.data.series { 'generate:seasonal' }, seq_len = 8, label_len = 4, "
    .. "pred_len = 4 }"
  t.equal(#two("table { columns = { 'mse', 'accuracy' } }", series).tables, 1) -- one row each
end)

-- Of two rows, each of a task without text, a script that asks for something; its line is the eighth.
local function load(task, asks, row)
  return run(([[
local lh = require "longhaul"
local p = lh.predicate
local bench = lh.experiment "test"
local task, train = %s, lh.train { steps = 2, evaluate_every = 1 }
local model = task.name == "forecasting" and lh.models.dlinear {} or lh.models.lstm { hidden = 8, width = 8 }
for point in lh.grid { { "n", 1, 2 } } do
bench:row(lh.merged({ point, dataset = "d", model = model, task = task, train = train }, { %s })) end
%s
return bench]]):format(task, row or "", asks))
end

local strings = "lh.tasks.recall { pairs = 2, vocabulary = 8, lengths = 8 }"
local images = "lh.tasks.imagenet64 { side = 8 }"
local series = "lh.tasks.forecasting { lh.data.series { 'generate:seasonal' }, seq_len = 8, label_len = 4, "
  .. "pred_len = 4 }"

-- What a row says for its test split to be read during training.
local watched = "train = train:with { evaluate_test = true }"

t.test("a score over a text is refused where tasks predict none", function()
  for asks, what in pairs {
    ["bench:table { columns = { 'bits_per_token', '%s' } }"] = "table: column '%s'",
    ["bench:plot { 'bars', y = '%s' }"] = "plot: axis y: '%s'",
    ["bench:plot { 'bars', y = '%s', dataset = 'd' }"] = "plot: axis y: '%s'",
    ["bench:fit { group = 'n', over = { 'n' }, of = { m = '%s' } }"] = "fit: field 'of': '%s'",
    ["bench:fit { group = 'n', over = { 'n' }, of = { m = function(value) return 2 ^ value '%s' end } }"]
      = "fit: field 'of': '%s'" } do
    local function asked(task, name) load(task, asks:format(name)) end
    local refused = scratch .. ":8: " .. what .. " would stay empty: " .. scratch .. ':7: row "1" (d) and 1 more: '
    t.fails(function() asked(strings, "bits_per_byte") end, (refused .. "task recall predicts no bytes of a text, "
      .. "which 'bits_per_byte' is over; it scores bits_per_token, perplexity, "):format "bits_per_byte")
    t.fails(function() asked(strings, "word_perplexity") end, "predicts no words of a text")
    t.fails(function() asked(images, "word_perplexity") end, "imagenet64 predicts no words of a text")
    asked(images, "bits_per_byte")
  end
end)

t.test("so is a claim on it, of the row that its cell means", function()
  local function claim(task, metric)
    load(task, ("bench:claim { 'x_p1', says = 's', holds = p.less(p.cell('A', { experiment = bench, row = '2', "
      .. "dataset = 'd', metric = '%s' }), 9) }"):format(metric))
  end
  t.fails(function() claim(strings, "bits_per_byte") end, scratch .. ":8: claim: cell 'A': 'bits_per_byte' would stay "
    .. "empty: " .. scratch .. ':7: row "2" (d): task recall predicts no bytes of a text')
  t.fails(function() claim(strings, "mse") end, "task recall predicts tokens, and 'mse' is of vectors")
  claim(images, "bits_per_byte")
end)

t.test("a curve's column is refused as a chart's axis and as what is to be reached", function()
  for task, columns in pairs {
    [strings] = { "mse", "valid_mse", "test_accuracy_bin0" }, [series] = { "loss_bits", "valid_bits" } } do
    for _, column in ipairs(columns) do
      t.fails(function() load(task, ("bench:plot { 'loss', y = '%s', name = 'own' }"):format(column)) end,
        (":8: plot: axis y: '%s' would stay empty: "):format(column))
    end
  end
  load(strings, "bench:plot { 'loss', y = 'test_accuracy', x = 'seconds', name = 'own' }", watched)
  t.fails(function() load(strings, "", "reach = { valid_mse = 2 }") end,
    scratch .. ":7: row: field 'reach': task recall predicts tokens, and 'valid_mse' is of vectors")
  t.equal(#load(strings, "", "reach = { valid_bits = 2 }").rows, 2)
end)

t.test("what no row asks for is refused as well, and not where one of them does", function()
  for column, case in pairs {
    tokens_to_reach = { "it has no field 'reach', which 'tokens_to_reach' is made by",
      "reach = point.n == 2 and { valid_bits = 2 } or nil" },
    context_tokens = { "it has no field 'context', which 'context_tokens' is made by",
      "context = point.n == 2 and { length = 8, passages = 2 } or nil" },
    held_bytes = { "its field 'values' has no 'held_bytes'", "values = point.n == 2 and { held_bytes = 8 } or nil" },
    best_accuracy = { "it is trained without evaluate_test = true, which 'best_accuracy' is of",
      "train = train:with { evaluate_test = point.n == 2 }" },
  } do
    local asks = ("bench:table { columns = { 'accuracy', '%s' } }"):format(column)
    t.fails(function() load(strings, asks) end, scratch .. (":8: table: column '%s' would stay empty: "):format(column)
      .. scratch .. ':7: row "1" (d) and 1 more: ' .. case[1])
    t.equal(#load(strings, asks, case[2]).tables, 1)
  end
end)

t.test("nothing is chosen by it", function()
  local tuned = "tune = lh.tune { rate = { 1, 2 }, by = '%s' }"
  t.fails(function() load(strings, "", tuned:format "valid_bits_per_byte") end, scratch
    .. ":7: row: tune: task recall predicts no bytes of a text, which 'valid_bits_per_byte' is over")
  t.equal(#load(images, "", tuned:format "valid_bits_per_byte").rows, 2)
  t.fails(function() load(strings, "", "train = train:with { keep_best = 'bits_per_byte' }") end,
    scratch .. ":7: row: keep_best: task recall predicts no bytes of a text")
end)

t.test("a plug-in's task that tells no size is found out by its validation split", function()
  local function chosen(bytes)
    local sizes = { bytes = bytes, words = bytes }
    choice.check_column("tune", "language_model", "valid_bits_per_byte", function() return sizes end)
  end
  chosen(1)
  t.fails(function() chosen(0) end,
    "tune: 'valid_bits_per_byte' is over the bytes of a text, and this task predicts none")
  t.equal(metrics.never("language_model", "valid_bits_per_byte"), nil)
end)

os.remove(scratch)
t.finish()

-- What scripts may say, and how mistakes are reported: at their line, with the nearest name.
local t = dofile "tests/test.lua"
local core = require "longhaul.core"
local scripted = dofile "tests/lua/scripted.lua"
local lh = require "longhaul"
local parts = require "longhaul.report.chart_parts"
local script = require "longhaul.script"

local scratch, run, start = scripted.path, scripted.load, scripted.start

t.test("a good script gives its rows", function()
  local bench = run(start .. [[
    bench:row { "a", model = model, task = task, train = train }
    bench:row { "b", model = model:with { window = 32 }, task = task, train = train, dataset = "x" }
    return bench]])
  t.equal(#bench.rows, 2)
  t.equal(bench.rows[1].dataset, "generate:books")
  t.equal(bench.rows[2].dataset, "x")
  t.equal(bench.rows[2].model:option "window", 32)
  t.equal(bench.rows[1].model:option "window", 16)
  t.contains(bench.rows[2].line, scratch .. ":7")
end)

t.test("a label on several data sets is told by its data set", function()
  local function load(text)
    return run(start .. [[
      local function add(label, dataset, from)
        bench:row { label, model = model, task = task, train = train, dataset = dataset, from = from }
      end
      add("a", "books") add("a", "code") add("b", "books")
      local sample = { tokens = "bytes", count = 1, context = 8, length = 4 }
      local function draw(row, dataset) bench:sample(lh.merged(sample, { row = row, dataset = dataset })) end
    ]] .. text .. " return bench")
  end
  local function sampled(text) return load(text).samples[1].row.dataset end
  t.equal(sampled "draw('b')", "books")
  t.equal(sampled "draw('a', 'code')", "code")
  t.equal(sampled "add('c', 'code') draw('c') add('c', 'books')", "code")
  t.fails(function() load "draw('a')" end,
    "sample: row 'a' is on several data sets: books, code; say which, as in row = \"a\", dataset = \"books\"")
  t.fails(function() load "draw('b', 'code')" end, "sample: row 'b' is not on data set 'code'")
  t.fails(function() load "draw('a', 'coed')" end, "(did you mean 'code'?)")
  local function begun_with(text)
    local rows = load(text).rows
    return rows[#rows].from.row.dataset
  end
  t.equal(begun_with "add('c', 'lists', 'b')", "books")
  t.equal(begun_with "add('c', 'code', 'a')", "code")
  t.equal(begun_with "add('c', 'lists', { bench, 'a', dataset = 'code' })", "code")
  t.equal(begun_with "add('c', 'books', { bench, 'a', dataset = 'code' })", "code")
  t.fails(function() load "add('c', 'lists', 'a')" end,
    "field 'from': row 'a' is on several data sets: books, code; say which, as in "
      .. "{ bench, \"a\", dataset = \"books\" }")
  t.fails(function() load "add('c', 'lists', { bench, 'a', dataset = 5 })" end, "row 'a' is not on data set '5'")
  t.fails(function() load "add('c', 'lists', { bench, 'a', datset = 'code' })" end, "did you mean 'dataset'?")
end)

t.test("a factor says what its model's option of that name is", function()
  local rows = [[
    for point in lh.grid { { "window", 16, 32 }, { "kind", 1 } } do
      bench:row { point, model = model:with { window = %s }, task = task, train = train }
    end
    return bench]]
  t.equal(#run(start .. rows:format "point.window").rows, 2)
  t.fails(function() run(start .. rows:format "64") end,
    ":7: row \"16 1\": factor 'window' is 16, but that of its model is 64")
end)

t.test("a row that is called by a point is trained on the task and at the rate that its label says", function()
  local function rows(axis, fields)
    return #run(start .. ([[
      for point in lh.grid { { %s } } do
        bench:row(lh.merged({ point, model = model, task = task, train = train }, { %s }))
      end
      return bench]]):format(axis, fields)).rows
  end
  local rates = "'rate', 1e-3, 3e-3"
  t.equal(rows(rates, "train = train:with { rate = point.rate }"), 2)
  t.fails(function() rows(rates, "train = train:with { rate = 0.01 }") end,
    ":7: row \"0.001\": factor 'rate' is 0.001, but that of its train is 0.01: give it the point's, or call the axis "
      .. "otherwise")
  t.fails(function() rows("'optimizer', 'adam'", "") end,
    "factor 'optimizer' is adam, but that of its train is adafactor")
  t.fails(function() rows("'segment', 64, 128", "") end,
    "row \"128\": factor 'segment' is 128, but that of its task is 64")
  t.equal(rows("'segment', 64", ""), 1)
  t.equal(rows("'parameter_scale', true", ""), 1)
  t.fails(function() rows("'parameter_scale', false", "") end, "is false, but that of its train is true")
  t.fails(function()
    rows(rates, "train = train:with { rate = point.rate }, "
      .. "tune = lh.tune { rate = { 0.1, 0.2 }, steps = 1, by = 'valid_bits_per_token' }")
  end, "factor 'rate' is 0.001, but that of its train is what lh.tune finds")
  t.equal(rows("'steps', 1", "label = 'of its own'"), 1)
end)

t.test("what is done at evaluations needs some, and is refused at the row's line", function()
  for said, told in pairs {
    ["keep_best = true"] = "keep_best=true chooses among evaluations",
    ["patience = 3"] = "patience=3 counts evaluations",
    ["evaluate_test = true"] = "evaluate_test adds to evaluations" } do
    t.fails(function()
      run(start .. ([[
        bench:row { "a", model = model, task = task, train = train:with { %s } }
        return bench]]):format(said))
    end, ":6: row: train: " .. told)
  end
end)

t.test("a slip in a sample is told at its line", function()
  for slip, told in pairs {
    ["count = 0"] = "field 'count' must be a positive integer, got 0",
    ["context = 1.5"] = "field 'context' must be a positive integer, got 1.5",
    ["temperature = -1"] = "field 'temperature' is 0 or more, got -1",
    ["temperature = 0 / 0"] = "field 'temperature' is 0 or more, got" } do
    t.fails(function()
      run(start .. ([[
        bench:row { "a", model = model, task = task, train = train }
        local sample = { row = "a", tokens = "bytes", count = 1, context = 8, length = 4 }
        bench:sample(lh.merged(sample, { %s }))
        return bench]]):format(slip))
    end, ":8: sample: " .. told)
  end
end)

t.test("the text of a task says every option", function()
  local plain = lh.tasks.language_model { lh.data.text { "generate:books" }, segment = 64 }
  local named = lh.tasks.language_model { lh.data.text { "talk", field = "two words" },
    segment = 64 }
  t.contains(plain.text, "field=''")
  t.contains(named.text, "field='two words'")
  t.equal(named:with { segment = 32 }:option "field", "two words")
end)

t.test("a precision other than f32 belongs to the identity of a run", function()
  local plain, coarse = lh.train { steps = 3 }, lh.train { steps = 3, precision = "bf16" }
  t.equal(lh.train { steps = 3, precision = "f32" }.text, plain.text)
  t.contains(plain.text, "precision=f32")
  t.equal(plain:option "precision", "f32")
  t.contains(coarse.text, "precision=bf16")
end)

t.test("what a file of examples is told may be a table", function()
  local task = lh.tasks.scripted_tokens { "x.lua",
    parameters = { word = 3, kind = "a b", rate = 0.1, odd = true } }
  t.equal(task:option "parameters",
    'kind="a b" odd=true rate=0.10000000000000001 word=3')
  t.equal(task:with { batch = 2 }:option "parameters", task:option "parameters")
  t.equal(task:with { parameters = { word = 4 } }:option "parameters", "word=4")
  -- a text comes to the file as it is
  local file = os.tmpname()
  core.write_file(file, [[return { parameters = { kind = "" }, example = function() return { 0 }, { 0 }, { true } end,
    sizes = function(p) return { length = #p.kind, vocabulary = 2 + p.kind:byte(2) } end }]])
  for code = 1, 127 do
    local told = lh.tasks.scripted_tokens { file, parameters = { kind = "a" .. string.char(code) .. "b" } }
    local info = core.task_info(told.options)
    t.equal(info.vocabulary .. " " .. info.length, code + 2 .. " 3")
  end
  os.remove(file)
end)

t.test("a file of examples lies beside the script", function()
  local bench = run(start .. [[
    bench:row { "a", model = model, task = lh.tasks.scripted_tokens { "x/y.lua" }, train = train }
    bench:row { "b", model = model, task = lh.tasks.scripted_tokens { "/y.lua" }, train = train }
    return bench]])
  t.equal(bench.rows[1].task:option "file", scratch:match "^(.*)/" .. "/x/y.lua")
  t.equal(bench.rows[2].task:option "file", "/y.lua")
end)

-- A claim over one cell of a row ('a') with such fields.
local function of_cell(says, label)
  return ("bench:claim { 'x_p1', holds = lh.predicate.less(0, lh.predicate.cell('c', "
    .. "{ experiment = bench, row = '%s', %s })) }"):format(label or "a", says)
end

-- A row on books, before what else the line says.
local function data_row(label)
  return ("bench:row { '%s', model = model, task = task, train = train, dataset = 'books' } "):format(label)
end

local fitted = "over = { 'n' }, of = { m = 'mse' }"
local row = "bench:row { lh.grid { { 'a', '1' }, { 'n', 2 } }(), label = '1', model = model, "
  .. "task = task, train = train }"

-- Each mistake: what the sixth line says, and what the error must hold.
local mistakes = {
  { "lh.models.slide { windw = 3 }", "unknown option 'windw' (did you mean 'window'?)" },
  { "lh.models.slide { window = 2.5 }", "must be an integer" },
  { "lh.tasks.scripted_tokens { 3 }", "the first value is a file" },
  { "lh.tasks.scripted_vectors { 'x', parameters = { a = {} } }",
    "parameter 'a' must be a number, a flag or a text by name" },
  { "lh.models.slid {}", "no model 'slid' (did you mean 'slide'?)" },
  { "lh.modles.slide {}", "longhaul has no field 'modles'" },
  { "model:with { heds = 4 }", "did you mean 'heads'?" },
  { "lh.train { stpes = 3 }", "did you mean 'steps'?" },
  { "lh.train { optimizer = 'adma' }", "did you mean 'adam'?" },
  { "lh.train { precision = 'bf61' }", "did you mean 'bf16'?" },
  { "lh.data.text { 'books', tokenz = 'bytes' }", "text: unknown option 'tokenz'" },
  { "lh.data.text { 'books', name = 'latex' }", "text: the first value is the name: 'name' would be another" },
  { "lh.tasks.scripted_tokens { 'a.lua', file = 'b.lua' }", "the first value is the file: 'file' would be another" },
  { "lh.models.brt { recurrent_layers = { 1, layers = 2 } }", "option 'recurrent_layers' is a list of integers" },
  { "lh.tasks.language_model { 'books' }", "the first value is a corpus" },
  { "bench:row { 'a', model = model, task = task }", "field 'train' is missing" },
  { "bench:row { 'a', model = model, task = task, train = train, sedes = 2 }",
    "did you mean 'seeds'" },
  { "bench:row { 'a', model = model, task = task, train = train, seeds = 0 }", "positive integer" },
  { "bench:row { model = model, task = task, train = train }", "begins with its label" },
  { "bench:table { colums = {} }", "did you mean 'columns'" },
  { "bench:table { columns = { 'bits_per_tokn' } }", "did you mean 'bits_per_token'" },
  { "bench:table { name = 'runs', columns = { 'mse' } }", "table: 'runs' is what the program calls a file of its own" },
  { "bench:table { name = 'Timings', columns = { 'mse' } }", "table: 'Timings' is what the program" },
  { "bench:fit { name = 'curves', group = 'a', " .. fitted .. " }", "fit: 'curves' is what the program" },
  { "bench:table { name = '../mine/runs', columns = { 'mse' } }", "a table's name begins with a letter" },
  { "bench:plot { 'bars', y = 'mse', name = 'bars-only' }", "'bars-only' ends as the charts of --only do" },
  { "bench:table { name = 'best.small-cuda', columns = { 'mse' } }", "'best.small-cuda' ends as the views of a scale" },
  { "bench:table { columns = { 'mse' } }:table { columns = { 'mse' } }", "an earlier table is called 'table'" },
  { "bench:table { name = 'x', columns = { 'mse' } }:fit { name = 'X', group = 'a', " .. fitted .. " }",
    "fit: an earlier table is called 'X'" },
  { row .. ":fit { group = 'b', " .. fitted .. " }", "fit: row \"1\" has no factor 'b'" },
  { row .. ":fit { group = 'a', over = { 'c' }, of = { m = 'mse' } }", "fit: row \"1\" has no factor 'c'" },
  { row .. ":fit { group = 'a', over = { 'a' }, of = { m = 'mse' } }",
    "fit: factor 'a' of row \"1\" is '1', no number" },
  { row .. ":fit { group = 'a', " .. fitted .. ", crossing = '' }", "fit: field 'crossing': no row has '' as its a" },
  { row .. ":fit { group = 'a', " .. fitted .. ", crossing = '11' }",
    "fit: field 'crossing': no row has '11' as its a (did you mean '1'?)" },
  { "bench:fit { group = 'a', over = { 'n' }, of = { m = function(value) return value 'step_tim_ms' end } }",
    "fit: field 'of': no metric 'step_tim_ms' (did you mean 'step_time_ms'?)" },
  { "bench:fit { group = 'a', over = { 'n' }, of = { m = 3 } }", "field 'of': a metric or a function, not a number" },
  { "bench:table { columns = {} }", "table: field 'columns' is a list of at least one" },
  { "bench:table { columns = { a = 'mse' } }", "table: field 'columns' is a list" },
  { "bench:table { columns = { 'mse' }, baseline = {} }", "table: field 'baseline' is empty" },
  { "bench:fit { group = 'a', over = {}, of = { m = 'mse' } }", "fit: field 'over' is a list" },
  { "bench:fit { group = 'a', over = { 'n' }, of = {} }", "fit: field 'of' is empty" },
  { "bench:best_at {}", "best_at is empty" },
  { "bench:best_at { seconds = { first = 1 } }", "best_at: field 'seconds' is a list" },
  { "bench:plot { 'boxes', y = 'rsa_gate', of = {} }", "plot: field 'of' is a list" },
  { "bench:plot { 'bars', y = 'mse', name = 'a/b' }", "a plot's name begins with a letter" },
  { "bench:plot { 'bars', y = 'mse', name = 'loss' }", "'loss' is the chart of the losses" },
  { "bench:best_at { seconds = { 1 } }:best_at { seconds = { 2 } }", "there is one already" },
  { "bench:table { columns = { 'mse', 'relative_step_time' } }", "'relative_step_time' needs the field 'baseline'" },
  { "bench:plot { 'parteo', x = 'a', y = 'mse' }", "did you mean 'pareto'" },
  { "bench:plot { 'pareto', y = 'mse' }", "field 'x' is missing" },
  { "bench:claim { 'brt_p001' }", "field 'holds' is missing" },
  { of_cell "metric = 'bits_per_tokn', dataset = 'd'", "claim: cell 'c': no metric 'bits_per_tokn'" },
  { of_cell "metric = 'bits_per_token', datset = 'd'", "unknown field 'datset' (did you mean 'dataset'?)" },
  { "bench:claim { 'x_p1', holds = lh.predicate.less(0, lh.predicate.cell('c', { experiment = { runs = '../x' }, "
    .. "row = 'a', metric = 'mse', dataset = 'd' })) }", "cell 'c': field 'experiment' is no experiment" },
  { of_cell "metric = 'bits_per_token'", "cell 'c': field 'dataset' is missing, what each seed" },
  { of_cell "metric = 'bits_per_token', dataset = 'd'", "claim: cell 'c': no row is called 'a'" },
  { data_row "row" .. of_cell("metric = 'bits_per_token', dataset = 'books'", "rwo"),
    "cell 'c': no row is called 'rwo' (did you mean 'row'?)" },
  { data_row "row" .. of_cell("metric = 'bits_per_token', dataset = 'boks'", "row"),
    "cell 'c': row 'row' is not on data set 'boks' (did you mean 'books'?)" },
  { data_row "row" .. of_cell("metric = 'flops_per_token'", "other"), "cell 'c': no row is called 'other'" },
  { data_row "row" .. "bench:row { 'row', model = model, task = task, train = train, dataset = 'x' }"
    .. of_cell("metric = 'bits_per_token'", "row"), "cell 'c': field 'dataset' is missing, what each seed" },
  { of_cell "metric = 'wall_time_s'", "cell 'c': field 'dataset' is missing, what each seed" },
  { "lh.by_scale { smal = 1 }", "no scale 'smal'" },
  { "lh.by_scale { paper = 1 }", "nothing for scale 'smoke'" },
  { "lh.merged({}, 3)", "merged: argument 2 is no table" },
  { "lh.merged({}, nil, 3)", "merged: argument 3 is no table" },
  { "lh.experiment('x', { bogus = 1 })", "experiment: unknown field 'bogus'" },
  { "lh.experiment('x', 'runs')", "experiment takes a table" },
  { "lh.configure { scale = 'smal' }", "no scale 'smal' (did you mean 'small'?)" },
  { "lh.tune { rate = { 1, 2 }, by = 'valid_mse', steps = -1 }", "tune: steps must be a positive integer, not '-1'" },
  { "lh.tune { rate = { 1, 2 }, by = 'valid_mse', steps = 0 }", "not '0'" },
  { "lh.tune { rate = { 1, 2 }, by = 'valid_mse', steps = 2.5 }", "not '2.5'" },
  { "lh.tune { rate = { 1, 2 }, by = 'valid_mse', steps = '7' }", "positive integer" },
  { "lh.tune { rate = { 1, 2 }, by = 'valid_mse', halving = 1 }", "tune: halving is true or false" },
  { "lh.grid { window = { 32, 64 } }", "grid takes axes" },
  { "lh.grid {}", "grid takes axes" },
  { "lh.grid { { 'window', 32, nil, 64 } }", "an axis is a name and its values" },
  { "lh.grid { { 'window', 32 }, { 'window', 64 } }", "there are two axes 'window'" },
  { "bench:row { lh.grid { { 'gate', {} } }(), model = model, task = task, train = train }",
    "factor 'gate' is a number, a text or a flag, not a table" },
  { "bench:row { 'a', model = model, task = task, train = train, weights = { 'gpt2', parly = true } }",
    "did you mean 'partly'" },
  { "bench:table { columns = { 'mse' }, best = { mse = 'mni' } }", "'mse' is \"min\" or \"max\", not 'mni'" },
  { "bench:table { columns = { 'mse' }, best = { mes = 'min' } }", "did you mean 'mse'" },
  { "lh.data.first 'books'", "first takes the names of corpora" },
  { "lh.data.first { 'enwik8', {}, 'books' }", "first takes the names of corpora" },
  { "lh.by_scale 'x'", "by_scale takes a table" },
  { "model:with(5)", "with takes a table of options" },
  { "model.with { window = 4 }", "with is called with a colon, spec:with, not with a dot" },
  { "bench.table { columns = { 'mse' } }", "table is called with a colon, experiment:table, not with a dot" },
  { "bench.seeds(3)", "seeds is called with a colon" },
  { "lh.train { rate = { 0.1, 0.2 } }", "train: option 'rate' takes one value, not a list; lh.grid and lh.tune try" },
  { "lh.models.slide { window = { 8, 16 } }", "slide: option 'window' takes one value, not a list" },
  { "lh.models.slide { windw = { 0.5 } }", "unknown option 'windw' (did you mean 'window'?)" },
  { "bench:table { 'mse' }", "table: value 1 has no name; fields are columns" },
  { "lh.include 'nowhere.lua'", "include: there is no file" },
  { "bench:row { 'a', model = model, task = task, train = { steps = 3 } }",
    "row: field 'train' must be what lh.train { ... } gives" },
  -- what fails in a line of ours
  { "model:with(setmetatable({}, { __pairs = function() return 5 end }))", "attempt to call a number value" },
  { "lh.grid { 'window' }", "an axis is a name and its values" },
  -- a list of which a metatable makes no end
  { "lh.grid(setmetatable({}, { __index = function() return { 'a', 1 } end }))", "grid takes axes" },
  { "lh.grid { setmetatable({ 'a', 1 }, { __index = function(_, i) return i end }) }", "an axis is a name and its" },
  { "lh.tune { rate = setmetatable({ 1, 2 }, { __index = function(_, i) return i end }), by = 'valid_mse' }",
    "tune: 'rate' takes the values" },
  { "lh.predicate.each(setmetatable({ 1 }, { __index = function(_, i) return i end }), print)", "'each' takes a list" },
  -- what is no number, one value twice, what nobody could see
  { "lh.predicate.less(1, 0 / 0)", "a comparison is of terms and numbers, not of a number that is none (nan)" },
  { "lh.predicate.mean { 1, 0 / 0 }", "a term is made of terms and numbers, not of a number that is none (nan)" },
  { "lh.grid { { 'a', 1, 0 / 0 } }", "grid: axis 'a' has a value that is not a number (nan)" },
  { "lh.grid { { 'a', 1, 2, 1.0 } }", "grid: axis 'a' has the value 1 twice" },
  { "bench:row { 'a', model = model, task = task, train = train, values = { bits_per_byte = 1 } }",
    "row: value 'bits_per_byte' is no script's to give: it is what runs come to" },
  { "bench:row { 'a', model = model, task = task, train = train, values = { kaplan_flops_per_token = 0 / 0 } }",
    "row: value 'kaplan_flops_per_token' must be a number" },
  { "bench:row { 'a', model = model, task = task, train = train, reach = { loss_bits = 0 / 0 } }",
    "loss_bits must be a number" },
  { "bench:best_at { seconds = { 0 / 0 } }", "which is no finite number above 0" },
  { "bench:best_at { seconds = { math.huge } }", "has inf, which is no finite number above 0" },
  { "bench:row { '', model = model, task = task, train = train }", "row: a label is empty" },
  { "bench:row { ' \\t', model = model, task = task, train = train }", "row: a label is empty" },
  { "bench:row { 'a\\xff', model = model, task = task, train = train }", "row: a label is not UTF-8" },
  { "bench:row { 'a\\nb', model = model, task = task, train = train }", "row: a label holds a line end" },
  { "bench:row { 'a\\u{9b}2J', model = model, task = task, train = train }", "another control character" },
  { "bench:row { 'a', dataset = 'b\\tc', model = model, task = task, train = train }", "row: field 'dataset' holds a" },
  { "bench:row { lh.grid { { 'a', 'b\\r' } }(), model = model, task = task, train = train }", "row: a factor holds a" },
  { "bench:row { 'a', model = model, train = train, task = lh.tasks.language_model { "
    .. "lh.data.text { './a\\nb' }, segment = 64 } }",
    "row: the name of its data (field 'dataset' gives another) holds" },
  { "bench:row { 'a', dataset = '', model = model, task = task, train = train }", "row: field 'dataset' is empty" },
  { "bench:row { lh.grid { { 'a', '' } }(), model = model, task = task, train = train }", "row: a factor is empty" },
  { "bench:row { lh.grid { { '', 1 } }(), model = model, task = task, train = train }", "a factor's name is empty" },
  { "bench:claim { ' ', holds = lh.predicate.less(1, 2) }", "claim: its id is empty" },
  { "bench:claim { 'x', planned_seeds = 2, holds = lh.predicate.less(1, 2) }",
    "claim: field 'planned_seeds' is 2, not a whole number of at least 3 seeds" },
  { "bench:claim { 'x', planned_seeds = 3.5, holds = lh.predicate.less(1, 2) }", "field 'planned_seeds' is 3.5" },
  { "bench:claim { 'x', planned_seeds = 0/0, holds = lh.predicate.less(1, 2) }", "field 'planned_seeds' is " },
  { "lh.experiment 'a/b'", "an experiment's name" },
  { "print(windw)", "undefined global 'windw'" },
  { "bench:seed(3)", "attempt to call a nil value (method 'seed') (did you mean 'seeds'?)" },
  { "model:wiht { window = 4 }", "attempt to call a nil value (method 'wiht') (did you mean 'with'?)" },
  { "windw = 3", "assignment to undefined global 'windw'" },
}

for _, mistake in ipairs(mistakes) do
  t.test(mistake[1], function()
    local _, message = pcall(run, start .. mistake[1] .. "\nreturn bench")
    t.contains(message, scratch .. ":6: ")
    t.contains(message, mistake[2])
  end)
end

t.test("one baseline is enough for all tables of relative step times", function()
  local bench = run(start .. [[
    bench:row { "a", model = model, task = task, train = train }
    bench:table { name = "first", columns = { "relative_step_time" } }
    bench:table { name = "second", columns = { "accuracy" }, baseline = "a" }
    return bench]])
  t.equal(#bench.tables, 2)
end)

t.test("a row is there once", function()
  local row = "bench:row { 'a', model = model, task = task, train = train }\n"
  t.fails(function() run(start .. row .. row .. "return bench") end, "is there already, from "
    .. scratch .. ":6")
end)

t.test("a script must return its experiment", function()
  t.fails(function() run(start) end, "a script ends with `return`")
end)

t.test("random numbers are the same each time", function()
  local text = start .. "bench:seeds(math.random(1, 100000))\nreturn bench"
  t.equal(run(text).default_seeds, run(text).default_seeds)
end)

t.test("a script in the root folder looks for what lies in its folders", function()
  local loader = require "longhaul.loader"
  loader.begin "/script.lua"
  t.fails(function() loader.include_each "version" end, "/proc/version:1:") -- which is no Lua
end)

t.test("an option of the task stands before that of its data, however the table was made", function()
  local made = { tokens = "words:train:300", segment = 64, batch = 2 }
  made[1] = lh.data.text { "generate:books", tokens = "bytes", documents = 3 }
  local spec = lh.tasks.language_model(made)
  t.equal(("%s %s"):format(spec:option "tokens", spec:option "documents"), "words:train:300 3")
end)

t.test("the first corpus that is here is taken, else the last", function()
  t.equal(lh.data.first { "no-such-corpus", "books" }, "books")
end)

t.test("a table of options by name stands for options with its name in front", function()
  local spec = lh.models.slide { rsa = { kinds = { 0, 0, 0, 0, 1, 1 }, dilation = { 3, 6 },
    gate = -1 } }
  t.equal(table.concat(spec:option "rsa_kinds", " "), "0 0 0 0 1 1")
  t.equal(spec:spelled "rsa_dilation", "3,6")
  t.equal(spec:option "rsa_gate", -1.0)
  t.fails(function() lh.models.slide { rsa = { gates = 1 } } end, "did you mean 'rsa_gate'")
end)

t.test("an option of a group is changed by its own name, and by the group without the others", function()
  local spec = lh.models.slide { rsa = { kinds = { 0, 0, 0, 0, 1, 1 }, cutoff = 7, gate = -1 } }
  t.equal(spec:with({ rsa_gate = 2, rsa_cutoff = 8 }).text,
    lh.models.slide({ rsa = { kinds = { 0, 0, 0, 0, 1, 1 }, cutoff = 8, gate = 2 } }).text)
  t.equal(spec:with({ rsa = { gate = 3 } }).text, spec:with({ rsa_gate = 3 }).text)
  t.equal(spec:with({ rsa = { gate = 3 } }):option "rsa_cutoff", 7)
end)

t.test("an option that one table gives by its name and in a group is refused", function()
  t.fails(function() lh.models.slide { rsa_gate = 1, rsa = { gate = 2 } } end,
    "slide: option 'rsa_gate' is given twice, by its name and in a group")
end)

t.test("a table of options that holds itself is refused where no option's name begins so", function()
  local loop, deep = {}, {}
  loop.gate, loop.c = loop, loop
  local inner = deep
  for _ = 1, 1000000 do
    inner.c = {}
    inner = inner.c
  end
  local begin = os.clock()
  for _, values in ipairs { loop, deep } do
    t.fails(function() lh.models.lstm(values) end, "lstm: unknown option '")
    t.fails(function() lh.models.xl { rsa = values } end, "xl: unknown option 'rsa_")
    t.fails(function() lh.train { rate = values } end, "train: unknown option 'rate_")
  end
  t.check(os.clock() - begin < 1, "it is looked into for long")
end)

t.test("a grid runs its last axis fastest and keeps the order of axes", function()
  local labels = {}
  for point in lh.grid { { "window", 1, 2 }, { "gate", "a", "b" } } do
    labels[#labels + 1] = point.window .. point.gate
  end
  t.equal(table.concat(labels, " "), "1a 1b 2a 2b")
  local bench = run(start .. [[
    for point in lh.grid { { "window", 8, 16 }, { "kind", 1 } } do
      bench:row { point, model = model:with { window = point.window }, task = task, train = train }
    end
    bench:table { columns = { "bits_per_byte" }, baseline = { window = 16 } }
    return bench]])
  t.equal(bench.rows[2].label, "16 1")
  t.equal(bench:baseline(), "16 1")
end)

t.test("a float that is whole is called as an integer is, in labels and in groups", function()
  local bench = run(start .. [[
    for point in lh.grid { { "length", 5e4, 2 ^ 4 }, { "share", 0.5 } } do
      bench:row { point, model = model, task = task, train = train }
    end
    return bench]])
  t.equal(bench.rows[1].label, "50000 0.5")
  t.equal(bench.rows[2].label, "16 0.5")
  t.equal(parts.group(bench.rows[1], "length"), "50000")
  t.check(parts.has_all(bench.rows[1], { length = "50000" }), "it is not found by that text")
end)

t.test("trials of values that differ in the seventh digit are not called alike", function()
  local bench = run(start .. [[
    local tried = lh.tune { warmup = { 1000001, 1000002.0 }, by = "valid_bits_per_byte" }
    bench:row { "a", model = model, task = task, train = train, tune = tried }
    return bench]])
  t.equal(bench.trials.rows[1].label, "a warmup=1000001")
  t.equal(bench.trials.rows[2].label, "a warmup=1000002")
end)

t.test("what was declared stays what it is", function()
  local declared = start .. "bench:table { name = 'mine', columns = { 'mse' } }\n"
  for change, told in pairs {
    ["bench.tables[1].name = '../mine'"] = scratch .. ":6: table: a table's name begins with a letter",
    ["bench.name = '../../mine'"] = scratch .. ":7: 'name' of a longhaul.experiment cannot be changed",
    ["bench.runs = '../../mine'"] = "'runs' of a longhaul.experiment cannot be changed",
    ["bench.check = print"] = "'check' of a longhaul.experiment cannot be changed",
    ["bench.seeds = 3"] = "'seeds' of a longhaul.experiment cannot be changed",
    ["bench.sources[1] = { name = '../x', runs = '../x', sources = {} }"] = "a source is no experiment",
    ["bench.sources[1] = bench"] = "experiment 'test' is run before itself",
    ["model.window = 64"] = scratch .. ":7: a spec does not change: spec:with { window = ... }",
    ["model.text = 'none'"] = "a spec does not change",
  } do
    t.fails(function() run(declared .. change .. "\nreturn bench") end, told)
  end
end)

t.test("no factor has the name of a column that the program fills", function()
  local grid = [[
    for point in lh.grid { { "window", 8, 16 }, { %q, 3 } } do
      bench:row { point, model = model:with { window = point.window }, task = task, train = train }
    end
    return bench]]
  for _, name in ipairs { "kernels", "machine", "date", "seed", "task", "mse", "tuned", "reach",
    "layer_gate_spread" } do
    local is_own = name ~= "layer_gate_spread"
    local good, message = pcall(run, start .. grid:format(name))
    t.equal(good, not is_own)
    if is_own then t.contains(message, scratch .. ":7: row: no factor can be called '" .. name .. "'") end
  end
end)

t.test("a scale takes the nearest smaller value", function()
  t.equal(run(start .. "bench:seeds(lh.by_scale { smoke = 1, small = 5, paper = 9 }) return bench",
    "medium").default_seeds, 5)
end)

t.test("claims of a list share what is said once", function()
  local claims, claim = lh.claims { scale_changes = "narrow", note = "all" }
  claim("paper_p001", lh.predicate.less(1, 2))
  claim("paper_p002", lh.predicate.less(2, 3), { note = "own" })
  t.equal(#claims, 2)
  t.equal(claims[2][1], "paper_p002")
  t.equal(claims[1].scale_changes .. claims[2].scale_changes, "narrownarrow")
  t.equal(claims[1].note .. ", " .. claims[2].note, "all, own")
  t.equal(#lh.claims(), 0)
end)

t.test("of merged options the last stands", function()
  local first = { layers = 2, width = 8 }
  local all = lh.merged(first, { width = 16, heads = 4 })
  t.equal(all.layers, 2)
  t.equal(all.width, 16)
  t.equal(all.heads, 4)
  t.equal(first.width, 8)
  all = lh.merged(nil, first, nil, { width = 16 }, nil)
  t.equal(all.layers, 2)
  t.equal(all.width, 16)
end)

t.test("a baseline must be a row", function()
  local bench = run(start .. [[
    bench:table { columns = { "bits_per_byte" }, baseline = "nobody" }
    return bench]])
  t.fails(function() bench:baseline() end, "no row is the baseline 'nobody'")
  local grid = [[
    for point in lh.grid { { "rate", 1, 2 } } do
      bench:row { point, model = model, task = task, train = train:with { rate = point.rate } }
    end
    bench:table { columns = { "bits_per_byte" }, baseline = %s }
    return bench]]
  for baseline, told in pairs {
    ["{ rat = 1 }"] = "no factor 'rat' (did you mean 'rate'?)",
    ["{ rate = 3 }"] = "no row has all of its factors' values",
    ['"11"'] = "'11' (did you mean '1'?)",
  } do
    local grown = run(start .. grid:format(baseline))
    t.fails(function() grown:baseline() end, told)
  end
end)

t.test("an include is found from the file that names it, and run once", function()
  local core = require "longhaul.core"
  local folder = scratch .. ".d"
  core.make_folder(folder .. "/inner")
  core.write_file(folder .. "/inner/leaf.lua", "return { width = 16 }")
  core.write_file(folder .. "/inner/branch.lua",
    'return { leaf = require("longhaul").include "leaf.lua" }')
  assert(os.execute(("ln -s leaf.lua '%s/inner/link.lua'"):format(folder)))
  core.write_file(folder .. "/main.lua", [[
    local lh = require "longhaul"
    local branch, leaf = lh.include "inner/branch.lua", lh.include "inner/leaf.lua"
    assert(branch.leaf == leaf and leaf.width == 16)
    assert(lh.include "inner/../inner/leaf.lua" == leaf and lh.include "inner/link.lua" == leaf, "by whatever path")
    return lh.experiment "test"]])
  t.check(script.load(folder .. "/main.lua", { scale = "smoke" }) ~= nil, "it loads")
  t.fails(function() run [[require("longhaul").include "nowhere.lua"]] end, "nowhere.lua")
  core.write_file(folder .. "/inner/broken.lua", 'error "broken"')
  core.write_file(folder .. "/main.lua", [[
    local lh = require "longhaul"
    for _, name in ipairs { "missing", "broken", "broken" } do
      local _, message = pcall(lh.include, "inner/" .. name .. ".lua")
      assert(message:find(name, 1, true) and not message:find "includes itself", message)
    end
    assert(lh.include "inner/leaf.lua".width == 16)
    return lh.experiment "test"]])
  t.check(script.load(folder .. "/main.lua", { scale = "smoke" }) ~= nil, "failures that are caught")
  core.make_folder(folder .. "/other")
  core.make_folder(folder .. "/empty")
  core.write_file(folder .. "/other/leaf.lua", "return { width = 32 }")
  core.write_file(folder .. "/main.lua", [[
    local lh = require "longhaul"
    local leaves = lh.include_each "leaf.lua"
    assert(#leaves == 2 and leaves[1].width == 16 and leaves[2].width == 32)
    assert(leaves[1] == lh.include "inner/leaf.lua" and #lh.include_each "none.lua" == 0)
    return lh.experiment "test"]])
  t.check(script.load(folder .. "/main.lua", { scale = "smoke" }) ~= nil, "it loads")
  for _, name in ipairs { "inner/leaf.lua", "inner/link.lua", "inner/branch.lua", "inner/broken.lua",
    "other/leaf.lua", "main.lua" } do
    os.remove(folder .. "/" .. name)
  end
  os.remove(folder .. "/inner")
  os.remove(folder)
end)

os.remove(scratch)
t.finish()

-- The papers' numbers as readers see them: the split, the unit, the row. The values here were
-- copied from the papers' tables by hand.
local t = dofile "tests/test.lua"
local core = require "longhaul.core"
local kinds = require "longhaul.report.kinds"
local lh = require "longhaul"
local parts = require "longhaul.report.chart_parts"
local published = require "longhaul.report.published"
local results = require "longhaul.report.results"
local runs = dofile "tests/lua/runs.lua"
local script = require "longhaul.script"
local tables = require "longhaul.report.table"

local folder = os.tmpname()
os.remove(folder)
core.make_folder(folder)

t.test("validation and test are told apart in every paper's way of saying it", function()
  local gpt2 = published.table "gpt2_recurrent_table1"
  local first = "GPT-2 (small), 300 token window | Overlap 0"
  t.equal(gpt2.value(first, "valid_word_perplexity", "wikitext103"), 29.00)
  t.equal(gpt2.value(first, "word_perplexity", "wikitext103"), 30.47)
  t.equal(gpt2.value(first, "perplexity", "wikitext103"), nil)
  local stairs = published.table "staircase_table2"
  t.equal(stairs.value("staircase:r8", "valid_perplexity", "reddit"), 22.9)
  t.equal(stairs.value("staircase:r8", "perplexity", "reddit"), 22.6)
end)

t.test("percent, millions and other names become our units", function()
  local words = published.table "reformer_table2"
  t.near(words.value("Full Attention | LSH-8", "accuracy", "duplication"), 0.948, 1e-12)
  t.near(words.value("Full Attention | Full Attention", "accuracy", "duplication"), 1, 1e-12)
  t.near(published.table("rsa_table2").value("transformer", "accuracy_bin0", "parity"), 0.29, 1e-12)
  t.equal(published.table("brt_table2").value("Slide:13L:large", "parameters", ""), 327e6)
  t.equal(published.table("gpt2_recurrent_table1").value(
    "GPT-2 (small), 300 token window | Overlap 0",
    "kaplan_flops_per_token", "wikitext103"), 1.75e8)
end)

t.test("a paper's own rules name its rows and data sets, and stand with its experiments", function()
  local series, strings = published.table "rsa_table1", published.table "rsa_table2"
  t.equal(series.value("informer", "mse", "ETTh1 24"), 0.762)
  t.equal(series.value("informer", "mse", "ETTh1"), nil)
  t.equal(strings.value("transformer", "accuracy_bin0", "parity"), 0.29)
  t.equal(strings.value("transformer", "accuracy_bin1", "parity"), 0)
  local record = { paper = "../rsa", table = "1", model = "own", row = "Own", dataset = "ETTh1",
    metric = "mse", unit = "",
                   value = "1", std = "", note = "horizon=24" }
  -- no folder of experiments/ is called so
  t.equal(published.of({ record }).value("Own", "mse", "ETTh1"), 1)
end)

t.test("a deviation has the unit of the value beside it", function()
  local record = { paper = "rsa", table = "9", model = "own", row = "Own", dataset = "words",
    metric = "accuracy",
                   unit = "percent", value = "90", std = "4", note = "" }
  local words = published.of { record }
  t.near(words.value("Own", "accuracy", "words"), 0.9, 1e-12)
  t.near(words.spread("Own", "accuracy", "words"), 0.04, 1e-12)
end)

t.test("of several numbers under one name the first stays, as the table prints them", function()
  local function record(value, row, std)
    return { paper = "sun", table = "1", model = "own", row = row, dataset = "words",
      metric = "BLEU", unit = "", value = value,
             std = std, note = "" }
  end
  local words = published.of { record("20", "A", "1"), record("30", "A", "2"),
    record("40", "B", "3") }
  t.equal(words.value("A", "bleu", "words"), 20)
  t.equal(words.value("own", "bleu", "words"), 20)
  t.equal(words.value("B", "bleu", "words"), 40)
  t.equal(words.spread("own", "bleu", "words"), 1)
  t.equal((words.printed("A", "bleu", "words")), 20)
  t.equal(table.concat(words.rows, " "), "A") -- the slug is in the table once
end)

t.test("a table is read once", function()
  t.equal(published.table "brt_table1", published.table "brt_table1")
end)

t.test("a table shows what the paper prints of the data set that ours stands for", function()
  local bench = lh.experiment "aliases"
  bench:row {
    "Slide:13L", model = lh.models.slide { layers = 1, width = 16, heads = 2 },
    train = lh.train { steps = 5 }, dataset = "ours",
    task = lh.tasks.language_model { lh.data.text "generate:books", segment = 64, batch = 2 },
  }
  bench:table { columns = { "bits_per_token" }, published = "brt_table1",
    datasets = { ours = "github" } }
  local settings = { results = folder, scale = "small", device = "cpu" }
  local made = tables.build(bench, bench.tables[1], results.of(bench, settings))
  t.equal(#made.columns, 1)
  t.equal(made.columns[1].dataset, "ours")
  t.equal(made.rows[1].cells[1].published,
    published.table("brt_table1").value("Slide:13L", "bits_per_token", "github"))
  for _, row in ipairs(made.rows) do t.check(row.cells[1].published, row.label .. " is not printed for it") end
  made = tables.build(bench, bench.tables[1], results.of(bench, settings):selected { "Slide:13L" })
  t.equal(#made.rows, 1)
end)

t.test("a label may stand for another published row on each data set", function()
  local bench = lh.experiment "by-dataset"
  local function row(dataset, name)
    bench:row { "XL", dataset = dataset, published_row = name, train = lh.train { steps = 5 },
      model = lh.models.slide { layers = 1, width = 16, heads = 2 },
      task = lh.tasks.language_model { lh.data.text "generate:books", segment = 64, batch = 2 } }
  end
  row("pg19_bytes", "XL:512")
  row("arxiv", "XL:2048")
  row("github", "not printed")
  for i, dataset in ipairs { "pg19_bytes", "arxiv" } do
    runs.put(folder, bench, { label = "XL", dataset = dataset, bits_per_byte = 1, parameters = 100 * i,
      wall_time_s = 1 })
  end
  runs.put(folder, bench, { label = "XL", dataset = "arxiv", seed = 2, status = "diverged", error = "it did" })
  bench:table { columns = { "relative_step_time", "bits_per_byte", "parameters", "wall_time_s", "bits_per_token" },
    published = "brt_table1" }
  local settings = { results = folder, scale = "small", device = "cpu", seeds = 1 }
  local made = tables.build(bench, bench.tables[1], results.of(bench, settings))
  local printed = {}
  for _, record in ipairs(tables.records(made)) do
    printed[("%s %s %s"):format(record.row, record.metric, record.dataset)] = record
  end
  local byte, token = printed["XL bits_per_byte pg19_bytes"], printed["XL bits_per_token arxiv"]
  t.equal(byte.published, 1.01) -- of XL:512; XL:2048 has 0.990
  t.equal(byte.model, "xl:512")
  t.equal(token.published, 1.31) -- of XL:2048
  t.equal(token.model, "xl:2048")
  t.equal(token.status .. (token.note or ""), "missing") -- a value, which the seed that diverged is not the reason for
  t.equal(printed["XL bits_per_byte arxiv"], nil) -- the paper has the data set, without bytes
  t.equal(printed["XL parameters arxiv"].measured, 200)
  -- one number for all is of no row where they differ, and rows that are there are not shown again
  t.equal(printed["XL relative_step_time "], nil)
  t.equal(printed["XL wall_time_s "].model, "")
  t.equal(printed["XL:512 relative_step_time "], nil)
  t.equal(printed["XL:1024 relative_step_time "].published, 1.20)
end)

t.test("a row of the paper that is called as one of ours stands beside it under its slug", function()
  local bench = lh.experiment "called-alike"
  bench:row { "XL:512", dataset = "arxiv", published_row = "XL:2048", train = lh.train { steps = 5 },
    model = lh.models.slide { layers = 1, width = 16, heads = 2 },
    task = lh.tasks.language_model { lh.data.text "generate:books", segment = 64, batch = 2 } }
  bench:table { columns = { "bits_per_token" }, published = "brt_table1" }
  local made = tables.build(bench, bench.tables[1], results.of(bench, { results = folder, scale = "small",
    device = "cpu" }))
  local by_label, paper = {}, published.table "brt_table1"
  for _, row in ipairs(made.rows) do
    t.equal(by_label[row.label], nil, "two rows " .. row.label)
    by_label[row.label] = row.cells[1].published
  end
  t.equal(by_label["XL:512"], paper.value("XL:2048", "bits_per_token", "arxiv"))
  t.equal(by_label["xl:512"], paper.value("XL:512", "bits_per_token", "arxiv"))
end)

local text = [[
local lh = require "longhaul"
local bench = lh.experiment "beside"
local task = lh.tasks.language_model { lh.data.text { "generate:books" }, segment = 64, batch = 2 }
bench:row { "ROW", dataset = "DATA", model = lh.models.slide { layers = 1, width = 16, heads = 2 }, task = task, train = lh.train { steps = 5 } }
bench:table { columns = { COLUMNS }, published = "PAPER" MORE }
return bench
]]

-- A script with these words in place of those in capitals.
local function script_of(words)
  local filled = text:gsub("%u%u%u+", function(word) return words[word] end)
  core.write_file(folder .. "/beside.lua", filled)
  return folder .. "/beside.lua"
end

local good = { ROW = "Slide:13L", DATA = "pg19_bytes", COLUMNS = '"bits_per_byte"',
  PAPER = "brt_table1", MORE = "" }

local function load_with(changes)
  return script.load(script_of(setmetatable(changes, { __index = good })), { scale = "small" })
end

t.test("a table that stands beside nothing published fails at its line, with the nearest name", function()
  t.equal(load_with({}).name, "beside")
  t.fails(function() load_with { ROW = "Slide13L" } end,
    "beside.lua:5: table: no row is in the published table 'brt_table1': 'Slide13L' (did you mean 'Slide:13L'?)")
  t.fails(function() load_with { DATA = "pg19_byte" } end,
    "beside.lua:5: table: no data set is in the published table 'brt_table1': 'pg19_byte' (did you mean 'pg19_bytes'?)")
  t.fails(function() load_with { DATA = "x", MORE = ', datasets = { x = "arxv" }' } end,
    "'arxv' (did you mean 'arxiv'?)")
  t.fails(function() load_with { MORE = ', datasets = { other = "arxv" }' } end, -- of one among several
    "no data set is in the published table 'brt_table1': 'arxv' (did you mean 'arxiv'?)")
  t.fails(function() load_with { ROW = "nothing alike" } end, "which has: Feedback:fixed:skip")
  t.fails(function() load_with { PAPER = "brt_tabel1" } end,
    "beside.lua:5: table: no published values 'brt_tabel1'")
  t.fails(function() load_with { PAPER = "brt_tabel1" } end, "(did you mean 'brt_table1'?)")
end)

t.test("costs need no data set, and one that the paper has not may be said", function()
  t.equal(load_with({ DATA = "own", COLUMNS = '"relative_step_time"' }).name, "beside")
  t.equal(load_with({ DATA = "own", MORE = ', datasets = { own = "" }' }).name, "beside")
  t.equal(load_with({ DATA = "own", MORE = ', datasets = { own = "arxiv" }' }).name, "beside")
end)

t.test("a fit that stands beside no published formula fails at its line", function()
  local function load_fit(group, paper, measure)
    core.write_file(folder .. "/fit.lua", ([[
local lh = require "longhaul"
local bench = lh.experiment "fit"
local task = lh.tasks.language_model { lh.data.text { "generate:books" }, segment = 64, batch = 2 }
for point in lh.grid { { "attention", "%s" }, { "length", 16, 32 } } do
  bench:row { point, model = lh.models.slide { layers = 1, width = 16, heads = 2 }, task = task, train = lh.train { steps = 5 } }
end
bench:fit { group = "attention", over = { "length" }, of = { %s = "step_time_ms" }, published = "%s" }
return bench
]]):format(group, measure, paper))
    return script.load(folder .. "/fit.lua", { scale = "small" })
  end
  t.equal(load_fit("Memory-Efficient", "reformer_table1", "time").name, "fit")
  t.fails(function() load_fit("Memory-Eficient", "reformer_table1", "time") end,
    "fit.lua:7: fit: no group is in the published table 'reformer_table1': 'Memory-Eficient' (did "
      .. "you mean 'Memory-Efficient'?)")
  t.fails(function() load_fit("Memory-Efficient", "reformer_table1", "tim") end,
    "'tim' (did you mean 'time'?)")
  t.fails(function() load_fit("Memory-Efficient", "reformer_tabel1", "time") end,
    "fit.lua:7: fit: no published values")
end)

-- The tables of a paper, by the folder of its experiments.
local function tables_of(paper)
  local names = {}
  for _, file in ipairs(core.list_folder "results/published") do
    names[#names + 1] = file:match("^(" .. paper .. "_table%w+)%.csv$")
  end
  return names
end

-- The scripts of a paper's tables and figures at a scale.
local function experiments_of(paper, scale)
  local list = {}
  for _, file in ipairs(core.list_folder("experiments/" .. paper)) do
    if file:find "^table" or file:find "^figure" then
      list[#list + 1] = script.load(("experiments/%s/%s"):format(paper, file), { scale = scale })
    end
  end
  return list
end

-- Whether a plot is of a kind that draws published values, and not of ratios.
local function can_show(plot)
  for _, field in ipairs(kinds.find(plot[1]).fields) do
    if field == parts.published_field then return not plot.relative_to end
  end
  return false
end

-- How many of its points a table prints, wherever they lie.
local function count_printed(experiment, plot, name)
  local points = {}
  for i, row in ipairs(parts.rows_of({ experiment = experiment }, plot, plot.dataset or "")) do
    points[i] = { 1, 1, row = row }
  end
  local x, y = parts.axis(plot.x), parts.axis(plot.y)
  return #parts.published({ published = name }, points, x, y, {})
end

t.test("a plot names the published table that prints what it shows", function()
  local shown = 0
  for _, paper in ipairs(core.list_folder "experiments") do
    local names = core.is_folder("experiments/" .. paper) and tables_of(paper) or {}
    for _, experiment in ipairs(#names > 0 and experiments_of(paper, "small") or {}) do
      for _, plot in ipairs(experiment.plots) do
        local text = ("%s, %s"):format(experiment.name, plot.name or plot[1])
        for _, name in ipairs(can_show(plot) and names or {}) do
          local count = count_printed(experiment, plot, name)
          t.check(count == 0 or plot.published, ("%s: %s prints %d of its points"):format(text, name, count))
          t.check(count > 0 or plot.published ~= name, ("%s: %s prints none of its points"):format(text, name))
          shown = shown + (plot.published == name and count or 0)
        end
      end
    end
  end
  t.check(shown > 30, ("only %d points stand beside published ones"):format(shown))
end)

os.execute("rm -r '" .. folder .. "'")
t.finish()

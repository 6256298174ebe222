-- Tables and charts made from a runs.csv with known numbers.
local t = dofile "tests/test.lua"
local pareto = require "longhaul.report.charts.pareto"
local core = require "longhaul.core"
local csv = require "longhaul.run.csv"
local label = require "longhaul.report.label"
local lh = require "longhaul"
local markup = require "longhaul.report.markup"
local metrics = require "longhaul.run.metrics"
local results = require "longhaul.report.results"
local runs = dofile "tests/lua/runs.lua"
local tables = require "longhaul.report.table"
local terminal = require "longhaul.report.terminal"

local folder = os.tmpname()
os.remove(folder)
core.make_folder(folder)

lh.configure { scale = "small" }
local settings = { results = folder, scale = "small", device = "cpu" }
local bench = lh.experiment "brt-table1"
local corpus = lh.data.text { "generate:books" }
local task = lh.tasks.language_model { corpus, segment = 64, batch = 2 }
local train = lh.train { steps = 5 }
local slide = lh.models.slide { layers = 1, width = 16, heads = 2, window = 16 }
for _, name in ipairs { "Slide:13L", "Rec:fixed:skip", "Rec:lstm:dual", "own" } do
  bench:row { name, model = slide, task = task, train = train, seeds = 2, dataset = "pg19_bytes" }
end
bench:table {
  columns = { "bits_per_byte", "relative_step_time" }, baseline = "Slide:13L",
  published = "brt_table1",
}

local function put(label, seed, bits, more)
  local values = { label = label, seed = seed, bits_per_byte = bits, bits_per_token = bits }
  for key, value in pairs(more or {}) do values[key] = value end
  runs.put(folder, bench, values)
end

put("Slide:13L", 1, 2.0)
put("Slide:13L", 2, 2.2)
put("Rec:fixed:skip", 1, 1.9)
put("Rec:fixed:skip", 2, 2.1)
put("Rec:lstm:dual", 1, 2.3)
put("own", 1, nil, { status = "failed", error = "a.lua:1: no" })
runs.time(folder, bench, { round = "r1",
  times = { ["Slide:13L"] = 10, ["Rec:fixed:skip"] = 10.2, ["Rec:lstm:dual"] = 12 } })

local function cells()
  local by_row = {}
  local made = tables.build(bench, bench.tables[1], results.of(bench, settings))
  for _, record in ipairs(tables.records(made)) do
    by_row[record.row .. " " .. record.metric] = record
  end
  return by_row, made
end

t.test("a table of RSA has a data set at several horizons", function()
  local paper = require("longhaul.report.published").table "rsa_table1"
  t.equal(paper.value("rsa_informer", "mse", "ETTh1 168"), 0.753)
  t.equal(paper.value("transformer_xl", "mae", "Weather 24"), 0.411)
  t.equal(paper.value("informer", "mse", "ETTh1"), nil)
end)

t.test("a published deviation stands beside its value", function()
  local paper = require("longhaul.report.published").table "rsa_table4"
  t.equal(paper.spread("informer", "mse", "ETTh1 24"), 0.144)
  t.equal(require("longhaul.report.published").table("rsa_table1").spread("informer", "mse",
    "ETTh1 24"), nil)
  local text = tables.texts({ metric = "mse" },
    { published = 0.762, published_spread = 0.144, status = "missing" })
  t.equal(text, "0.762 ±0.144")
end)

t.test("the best of all evaluations stands beside what is published of the metric", function()
  local paper = require("longhaul.report.published").table "rsa_table2"
  t.equal(paper.value("transformer", "best_accuracy_bin0", "parity"), 0.29)
  t.equal(paper.value("transformer", "accuracy_bin0", "parity"), 0.29)
  t.check(paper.prints("best_accuracy_bin1", "d2") and not paper.prints("best_mse", "d2"),
    "what it prints")
end)

t.test("a cell has the mean, the published value and their difference", function()
  local cell = cells()["Rec:fixed:skip bits_per_byte"]
  t.near(cell.measured, 2.0, 1e-12)
  t.equal(cell.published, 0.952)
  t.near(cell.deviation, 2.0 - 0.952, 1e-12)
  t.equal(cell.seeds, 2)
  t.equal(cell.status, "done")
  t.equal(cell.model, "rec:fixed:skip")
  t.equal(cell.scale, "small")
end)

t.test("a status says what is amiss", function()
  local by_row = cells()
  t.equal(by_row["Rec:lstm:dual bits_per_byte"].status, "partial")
  t.equal(by_row["own bits_per_byte"].status, "failed")
  t.equal(by_row["XL:512 bits_per_byte"].status, "missing")
  t.equal(by_row["XL:512 bits_per_byte"].measured, nil)
end)

-- Rows that share a printed label, and seeds of which one is the best on validation.
local stairs = lh.experiment "staircase-table2"
for _, row in ipairs { { "Staircase, N=2", "staircase:r2" },
  { "Staircase, N=8", "staircase:r8" } } do
  stairs:row { row[1], slug = row[2], model = slide, task = task, train = train, seeds = 2,
    dataset = "reddit" }
end
stairs:table { columns = { "valid_perplexity", "perplexity" }, published = "staircase_table2",
  select = "best_valid" }
for seed, values in ipairs { { 30, 32 }, { 29, 33 } } do
  runs.put(folder, stairs, { label = "Staircase, N=8", seed = seed, valid_perplexity = values[1],
    perplexity = values[2] })
end

local function stairs_cells()
  local by_row = {}
  local made = tables.build(stairs, stairs.tables[1], results.of(stairs, settings))
  for _, record in ipairs(tables.records(made)) do
    by_row[record.row .. " " .. record.metric] = record
  end
  return by_row, made
end

t.test("rows that share a label in print are told apart by their slug", function()
  local by_row = stairs_cells()
  t.equal(by_row["Staircase, N=2 perplexity"].published, 24.8)
  t.equal(by_row["Staircase, N=8 perplexity"].published, 22.6)
  t.equal(by_row["Staircase, N=8 valid_perplexity"].published, 22.9)
  t.equal(by_row["Staircase, N=8 perplexity"].model, "staircase:r8")
  t.equal(by_row["staircase:r4 perplexity"].published, 23.4)
  t.equal(by_row["Staircase perplexity"], nil)
end)

t.test("what the paper prints of the validation split is not taken for the test split", function()
  local paper = require("longhaul.report.published").table "staircase_table1"
  t.equal(paper.value("Staircase", "valid_perplexity", "base_data"), 23.0)
  t.equal(paper.value("cached_staircase", "valid_perplexity", "base_data"), 27.8)
  t.equal(paper.value("Staircase", "perplexity", "base_data"), nil)
  t.equal(paper.prints("valid_perplexity", "base_data"), true)
  t.equal(paper.value("Staircase", "error_percent", "random_walk"), 0.1)
end)

t.test("the best seed on validation is shown, mean and spread beside it", function()
  local by_row, made = stairs_cells()
  local cell = by_row["Staircase, N=8 perplexity"]
  t.equal(cell.measured, 33)
  t.near(cell.mean, 32.5, 1e-12)
  t.near(cell.spread, math.sqrt(0.5), 1e-12)
  t.contains(markup.markdown(made), "33.00 (32.50 ±0.71)")
  t.contains(markup.markdown(made), "the seed with the best validation result")
end)

t.test("a cost has one column and the paper's value", function()
  local cell = cells()["Rec:fixed:skip relative_step_time"]
  t.equal(cell.dataset, "")
  t.equal(cell.published, 0.99)
  t.near(cell.measured, 1.02, 1e-12)
end)

t.test("runs with other options are stale, and not mixed in", function()
  put("own", 1, 9.0, { train_options = "steps=1", configuration = "of other options",
    run_id = runs.identity(bench, "own").run_id })
  local cell = cells()["own bits_per_byte"]
  t.equal(cell.status, "stale")
  put("own", 2, 1.0)
  t.near(cells()["own bits_per_byte"].measured, 1.0, 0)
  put("own", 2, nil, { status = "failed" })
end)

t.test("the printed table is aligned and fits", function()
  local _, made = cells()
  local text = terminal.format(made)
  t.contains(text, "2.000 ±0.141*")
  t.contains(text, "0.952")
  for line in text:gmatch "[^\n]+" do t.check(utf8.len(line) <= 100, "too wide: " .. line) end
end)

t.test("a wide table over several data sets has a part for each", function()
  local made = { title = "wide", scale = "small", columns = {},
    rows = { { label = "a", cells = {} }, { label = "b", cells = {} } } }
  for c, name in ipairs { "one", "two", "one", "two", "one", "two", "one", false } do
    made.columns[c] = { metric = "mse", dataset = name or nil }
    made.rows[1].cells[c] = { measured = c, seeds = 1, status = "done", reasons = {} }
    made.rows[2].cells[c] = { measured = name == "two" and 9 or nil, seeds = 1,
      status = name == "two" and "done" or "missing", reasons = {} }
  end
  local text = markup.markdown(made)
  t.contains(text, "## one\n\n| row | MSE | MSE | MSE | MSE |\n")
  t.contains(text, "| a | 1.000 | 3.000 | 5.000 | 7.000 |\n\n## two")
  t.contains(text, "| b | 9.000 | 9.000 | 9.000 |\n\n## of the model")
  for c = 1, 7 do made.columns[c].dataset = "one" end
  t.equal(markup.markdown(made):find("## ", 1, true), nil) -- over one it has none
  for c = 2, 6, 2 do made.columns[c].dataset = "two" end
  made.columns[8].dataset = ""
  t.contains(markup.markdown(made), "## without a name\n")
  t.contains(markup.html(made), "<caption><span>two: measured here</span></caption>")
  made.columns[8], made.rows[1].cells[8], made.rows[2].cells[8] = nil, nil, nil
  t.contains(markup.markdown(made), "| row | one, MSE | two, MSE |")
  for name, shown in pairs { terminal = terminal.format(made), html = markup.html(made), latex = markup.latex(made) } do
    t.equal(shown:gsub("measured here", ""):find("here ", 1, true), nil, name)
    t.equal(shown:find(">here<", 1, true), nil, name)
  end
  for line in markup.latex(made):match("\\end{tabular}\n(.*)"):gmatch "[^\n]+" do t.equal(line:sub(1, 2), "% ") end
end)

t.test("markup escapes what would be markup", function()
  local _, made = cells()
  made.rows[1].label, made.rows[1].cells[1].published_spread = "a|b<c>&d_e", 0.25
  t.contains(markup.markdown(made), "a\\|b")
  t.contains(markup.html(made), "a|b&lt;c&gt;&amp;d_e")
  t.contains(markup.latex(made), "d\\_e")
  t.contains(markup.latex(made), " $\\pm$0.250 & ") -- the paper's
end)

t.test("numbers are written for readers", function()
  t.equal(metrics.text("bits_per_token", 1.23456), "1.235")
  t.equal(metrics.text("parameters", 151e6), "151M")
  t.equal(metrics.difference("relative_step_time", 0.1), "+0.10")
  t.equal(metrics.text("mse", nil), "")
end)

t.test("the front holds what nothing else beats", function()
  local front = pareto.front({ { 2, 5 }, { 1, 6 }, { 3, 5.5 }, { 4, 1 }, { 1, 7 } }, "min")
  t.equal(#front, 3)
  t.equal(front[1][2], 6)
  t.equal(front[3][1], 4)
  t.equal(#pareto.front({ { 1, 1 }, { 2, 2 }, { 3, 0 } }, "max"), 2)
  -- where more of x is better, as of tokens/s, the front begins at the other end
  local fast = pareto.front({ { 10, 3 }, { 30, 5 }, { 20, 4 }, { 15, 6 } }, "min", "max")
  t.equal(#fast, 3)
  for i, x in ipairs { 30, 20, 10 } do t.equal(fast[i][1], x) end
  local known = pareto.front({ { 1, 9 }, { 2, 1, doubtful = true }, { 3, 5 } }, "min")
  t.equal(#known, 2)
  t.equal(known[2][1], 3)
end)

t.test("labels do not cover each other", function()
  local points = {}
  for i = 1, 6 do points[i] = { 300 + 4 * i, 300 + 3 * i, "Rec:fixed:skip" } end
  local places = label.place(points, 800, 500)
  local function left_of(place) return place[1] - (place[3] + 1) / 2 * label.width(points[1][3]) end
  for i = 1, #places do
    for k = i + 1, #places do
      local apart = math.abs(places[i][2] - places[k][2]) >= 10
        or math.abs(left_of(places[i]) - left_of(places[k])) >= 90
      t.check(apart, ("labels %d and %d lie on each other"):format(i, k))
    end
  end
end)

t.test("every published table can be read", function()
  local published = require "longhaul.report.published"
  for _, name in ipairs(core.list_folder "results/published") do
    if name:match "_table%d%.csv$" then
      t.equal(type(published.table(name).rows), "table")
    end
  end
  t.equal(published.table("brt_table2").value("Slide:13L:large", "parameters", ""), 327e6)
  t.near(published.table("brt_table2").value("Slide:13L:large", "word_perplexity", "pg19_tokens"),
    34.8, 1e-9)
end)

t.test("accuracies in bins by length are metrics of their own", function()
  local published = require "longhaul.report.published"
  local paper = published.table("rsa_table2")
  t.near(paper.value("rsa_transformer:caseII", "accuracy_bin1", "parity"), 0.53, 1e-9)
  t.near(paper.value("transformer", "accuracy_bin0", "tomita3"), 0.89, 1e-9)
end)

-- Times of 3 n^2 b and memory of 5 n + 8 parameters: what the fit must find.
local grown = lh.experiment "reformer-table1"
for _, axes in ipairs { { { 1, 2, 4 }, { 1 } }, { { 1 }, { 2, 3 } } } do
  for point in lh.grid {
    { "variant", "LSH Attention" }, { "length", table.unpack(axes[1]) },
    { "batch", table.unpack(axes[2]) },
  } do
    local n, b = point.length, point.batch
    local name = ("%d %d"):format(n, b)
    grown:row { point, label = name, model = slide, task = task, train = train, dataset = "costs" }
    runs.put(folder, grown, { label = name, peak_memory_bytes = 5 * n + 80, parameters = 10 })
    runs.time(folder, grown, { round = "r", times = { [name] = 3 * n ^ 2 * b } })
  end
end

t.test("exponents are fitted to rows that differ in one factor", function()
  local exponents = require "longhaul.report.exponents"
  local options = {
    group = "variant", over = { "length", "batch" }, published = "reformer_table1", of = {
      time = "step_time_ms",
      memory = function(value) return value "peak_memory_bytes" - 8 * value "parameters" end,
      nothing = function(value) return 0 * value "step_time_ms" end,
      share = function(value) return 1 / (value "step_time_ms" - 3) end, -- infinite of the first row
    },
  }
  grown:fit(options)
  local found = {}
  for _, r in ipairs(exponents.records(grown, options, results.of(grown, settings))) do
    found[r.measure .. " " .. r.over] = r
  end
  t.equal(found["time length"].exponent, "2.000")
  t.equal(found["time length"].points, 3)
  t.equal(found["time batch"].exponent, "1.000")
  t.equal(found["memory length"].exponent, "1.000")
  t.equal(found["memory batch"].exponent, "0.000")
  t.equal(found["nothing length"], nil) -- what is 0 has no logarithm
  t.equal(found["share length"].points, 2) -- nor has what is infinite: 1/9 and 1/45 are left
  t.equal(found["share length"].exponent, "-2.322")
  t.equal(found["time length"].published, "max(bn_hld_k, bn_hn_rl(4l/n_c)^2)")
  t.fails(function()
    grown:fit { group = "variant", over = { "length" }, of = { time = "step_tim_ms" } }
  end, "did you mean 'step_time_ms'?")
end)

t.test("an exponent has the standard error of its slope, from three points on", function()
  local exponents = require "longhaul.report.exponents"
  -- in logarithms (0, 0), (1, 2), (2, 3): the line 1/6 + 1.5 x leaves -1/6, 1/3, -1/6
  local e = math.exp(1)
  local slope, standard_error = exponents.slope { { 1, 1 }, { e, e ^ 2 }, { e ^ 2, e ^ 3 } }
  t.near(slope, 1.5, 1e-12)
  t.near(standard_error, math.sqrt(1 / 6 / 2), 1e-12)
  slope, standard_error = exponents.slope { { 1, 1 }, { 2, 8 } }
  t.near(slope, 3, 1e-12)
  t.equal(standard_error, nil)
  local written = exponents.write(grown, grown.fits[1], results.of(grown, settings), folder)
  local first = csv.read(written[1])[1]
  t.equal(first.exponent, "1.000")
  t.equal(first.standard_error, "0.000")
  t.contains(core.read_file(written[2]), "| memory | length | costs, batch 1 | 1.000 ±0.000 | 3 |")
  grown:fit { group = "variant", over = { "length" }, of = { time = "step_time_ms" }, name = "times" }
  local second = exponents.write(grown, grown.fits[2], results.of(grown, settings), folder)
  t.equal(second[1], folder .. "/times.csv")
  t.equal(csv.read(written[1])[1].measure, first.measure)
  local piped = { group = "variant", over = { "length" }, of = { ["a|b"] = "step_time_ms" }, name = "piped" }
  t.contains(core.read_file(exponents.write(grown, piped, results.of(grown, settings), folder)[2]),
    "| LSH Attention | a\\|b | length |")
end)

-- Kind a is 100 / n with one head and 5 with two, kind b 4.1 on books and next to nothing on latex.
t.test("rows that differ in more than the axis are not fitted together, nor do curves of others cross", function()
  local exponents = require "longhaul.report.exponents"
  local mixed = lh.experiment "mixed"
  for _, dataset in ipairs { "books", "latex" } do
    for point in lh.grid { { "kind", "a", "b" }, { "length", 16, 32, 64 }, { "heads", 1, 2 } } do
      local name = ("%s %d %d"):format(point.kind, point.length, point.heads)
      if dataset == "books" or point.kind == "b" or point.heads == 1 then
        mixed:row { point, label = name, model = slide:with { heads = point.heads }, task = task,
          train = train, dataset = dataset }
        local value = point.kind == "b" and (dataset == "books" and 4.1 or 1e-3)
          or point.heads == 2 and 5 or 100 / point.length
        runs.put(folder, mixed, { label = name, dataset = dataset, perplexity = value })
      end
    end
  end
  local options = { group = "kind", over = { "length" }, of = { error = "perplexity" }, crossing = "b" }
  local found = results.of(mixed, settings)
  local record = exponents.records(mixed, options, found)[1]
  t.equal(record.exponent, "-1.000")
  t.equal(record.points, 3)
  t.equal(record.held, "books, heads 1")
  t.equal(table.concat({ record.below, record.below_from, record.below_rounds }, " "), "b 25")
  t.equal(exponents.crossings(mixed, options, found)[1],
    "a: less error than b from length 25 on (books, heads 1).")
end)

t.test("a crossing is of the rows that both groups have, though one has more of others", function()
  local exponents = require "longhaul.report.exponents"
  local shared = lh.experiment "shared-set"
  for point in lh.grid { { "kind", "a", "b" }, { "heads", 1, 2 }, { "length", 16, 32, 64 } } do
    if point.heads == 1 and point.length < 64 or point.kind == "a" and point.heads == 2 then
      shared:row { point, model = slide:with { heads = point.heads }, task = task, train = train, dataset = "costs" }
      runs.put(folder, shared, { label = shared.rows[#shared.rows].label,
        perplexity = point.kind == "a" and 100 / point.length or 4.1 })
    end
  end
  local options = { group = "kind", over = { "length" }, of = { error = "perplexity" }, crossing = "b" }
  t.equal(exponents.crossings(shared, options, results.of(shared, settings))[1],
    "a: less error than b from length 25 on (costs, heads 1).")
end)

t.test("groups that are numbers or flags cross each other, too", function()
  local exponents = require "longhaul.report.exponents"
  for i, kinds in ipairs { { 1, 2 }, { true, false } } do
    local typed = lh.experiment("typed" .. i)
    for point in lh.grid { { "kind", table.unpack(kinds) }, { "length", 16, 32 } } do
      typed:row { point, model = slide, task = task, train = train, dataset = "costs" }
      local value = point.kind == kinds[1] and 200 / point.length or 7
      runs.put(folder, typed, { label = typed.rows[#typed.rows].label, perplexity = value })
    end
    local options = { group = "kind", over = { "length" }, of = { error = "perplexity" },
      crossing = tostring(kinds[2]) }
    typed:fit(options):check()
    local written = exponents.write(typed, options, results.of(typed, settings), folder .. "/typed" .. i)
    t.equal(csv.read(written[1])[1].row, tostring(kinds[1]))
    t.contains(core.read_file(written[2]),
      ("- %s: less error than %s from length 29 on."):format(kinds[1], kinds[2]))
  end
end)

t.test("what a measure lacks is left out, what is wrong with it is told at the fit's line", function()
  local exponents = require "longhaul.report.exponents"
  local found = results.of(grown, settings)
  local function fitted(measure)
    return exponents.records(grown, { group = "variant", over = { "length" }, of = { odd = measure },
      line = "mine.lua:7" }, found)
  end
  t.equal(#fitted(function(value) return value "perplexity" + 1 end), 0)
  t.equal(#fitted(function(value) return value "perplexity" end), 0)
  t.fails(function() fitted(function(value) return value "perplexity" + value "perplexitee" end) end,
    "mine.lua:7: fit: measure 'odd': no metric 'perplexitee' (did you mean 'perplexity'?)")
  t.fails(function() fitted(function(value) return value "parameters" + nil end) end, "arithmetic on a nil value")
  t.fails(function() fitted(function(value) return value "parameters" > 1 end) end, "gives no number")
end)

t.test("a crossing tells what was measured of both, and where on an axis of fractions", function()
  local exponents = require "longhaul.report.exponents"
  local shares = lh.experiment "shares"
  for point in lh.grid { { "kind", "a", "b", "apart", "above" }, { "share", 0.05, 0.1, 0.2, 0.8, 0.9 } } do
    if (point.kind == "apart") == (point.share > 0.5) then
      shares:row { point, model = slide, task = task, train = train, dataset = "costs" }
      local values = { a = 0.1 / point.share, b = 1.5, apart = 1, above = 3 }
      runs.put(folder, shares, { label = shares.rows[#shares.rows].label, perplexity = values[point.kind] })
    end
  end
  local options = { group = "kind", over = { "share" }, of = { error = "perplexity" }, crossing = "b" }
  t.equal(table.concat(exponents.crossings(shares, options, results.of(shares, settings)), " "),
    "a: less error than b from share 0.0667 on. "
    .. "above: at no share less error than b, as far as both were measured.")
end)

t.test("exponents and crossings of runs that are not today's are named", function()
  local exponents = require "longhaul.report.exponents"
  local old = lh.experiment "old-fits"
  for point in lh.grid { { "kind", "a", "b" }, { "length", 16, 32, 64 } } do
    local name = ("%s %d"):format(point.kind, point.length)
    old:row { point, label = name, model = slide, task = task, train = train, dataset = "costs" }
    runs.put(folder, old, { label = name, perplexity = (point.kind == "b" and 200 or 100) / point.length,
      configuration = name == "b 32" and "of other options" or nil })
  end
  local options = { group = "kind", over = { "length" }, of = { error = "perplexity" }, crossing = "b" }
  old:fit(options)
  local written = exponents.write(old, options, results.of(old, settings), folder .. "/old-fits")
  local said = {}
  for i, r in ipairs(csv.read(written[1])) do said[i] = ("%s %s"):format(r.row, r.status) end
  t.equal(table.concat(said, "; "), "a done; b stale")
  local text = core.read_file(written[2])
  t.contains(text, "Some exponents are of runs that are not today's (status in the CSV file): b.")
  t.contains(text, "(with runs that are not today's: stale).")
end)

t.test("exponents and crossings of a busy machine's times, and of several rounds, are marked", function()
  local exponents = require "longhaul.report.exponents"
  local timed = lh.experiment "timed-apart"
  for point in lh.grid { { "kind", "a", "b" }, { "length", 16, 32, 64 } } do
    local name = ("%s %d"):format(point.kind, point.length)
    timed:row { point, label = name, model = slide, task = task, train = train, dataset = "costs" }
    runs.put(folder, timed, { label = name, perplexity = 100 / point.length })
    local busy = point.kind == "b" and point.length == 16 and "yes" or "no" -- one is enough
    runs.time(folder, timed, { round = "r" .. name, times = { [name] = point.length }, busy = busy,
      load = 1.5 })
  end
  local options = { group = "kind", over = { "length" }, crossing = "b",
    of = { time = "step_time_ms", both = function(value) return value "step_time_ms" + value "perplexity" end,
      error = "perplexity" } }
  timed:fit(options)
  local written = exponents.write(timed, options, results.of(timed, settings), folder .. "/timed-apart")
  local said = {}
  for i, r in ipairs(csv.read(written[1])) do
    said[i] = ("%s %s %s %s"):format(r.row, r.measure, r.status, r.rounds)
  end
  t.equal(table.concat(said, "; "), "a both done several; a error done ; a time done several; "
    .. "b both busy several; b error done ; b time busy several")
  t.equal(csv.read(written[1])[1].below_from, "none")
  local text = core.read_file(written[2])
  t.contains(text, "| b | time | length | costs | 1.000 ±0.000\\~ | 3 |")
  t.contains(text, "- \\~: with times of a busy machine.\n- Some exponents are of times of several rounds")
  t.contains(text, "a: at no length less time than b, as far as both were measured "
    .. "(by times of a busy machine; of several rounds).")
  for _, kind in ipairs { "a", "b" } do -- idle now, a round for each kind
    local times = {}
    for _, length in ipairs { 16, 32, 64 } do
      times[("%s %d"):format(kind, length)] = kind == "a" and length / 4 or 20
    end
    runs.time(folder, timed, { round = "of " .. kind, times = times, date = "2026-01-02T00:00:00Z" })
  end
  local found = results.of(timed, settings)
  local records = exponents.records(timed, options, found)
  t.equal(#exponents.notes(records), 0)
  local time = records[3] -- of a
  t.equal(table.concat({ time.measure, time.below, time.below_from, time.below_rounds }, " "), "time b 16 several")
  t.equal(records[4].below, nil)
  t.equal(table.concat(exponents.crossings(timed, options, found)):match "a: less time.*",
    "a: less time than b from length 16 on, the first that was measured (of several rounds).")
end)

t.test("a curve is below another from where their lines cross in logarithms", function()
  local exponents = require "longhaul.report.exponents"
  -- x^2 against 16 x, which it meets at 16
  local steep, flat = { { 64, 4096 }, { 4, 16 }, { 256, 65536 } },
    { { 4, 64 }, { 64, 1024 }, { 256, 4096 } }
  local x, first = exponents.crossing(flat, steep)
  t.near(x, 16, 1e-9)
  t.equal(first, 64)
  t.equal(exponents.crossing(steep, flat), false)
  -- between points of the other one, and below it from the first on
  x, first = exponents.crossing({ { 128, 1000 }, { 200, 1500 } }, steep)
  t.equal(x, 128)
  t.equal(first, 128)
  -- nothing in common
  t.equal(exponents.crossing({ { 1, 1 } }, steep), nil)
end)

t.test("lines cross between points of the other one alone, too", function()
  local exponents = require "longhaul.report.exponents"
  local function ends() return { { 1, 2 }, { 100, 2 } } end
  -- the base falls to a twentieth of them at 10, and meets them again on the way to 100
  local x, first = exponents.crossing(ends(), { { 1, 1 }, { 10, 0.1 }, { 100, 3 } })
  t.near(x, 10 * 10 ^ (math.log(20) / math.log(30)), 1e-9)
  t.equal(first, 100)
  x, first = exponents.crossing(ends(), { { 1, 1 }, { 10, 50 }, { 100, 1 } })
  t.check(x == false and first == 10, "below at 10, not at 100")
  x, first = exponents.crossing(ends(), { { 1, 1 }, { 10, 0.5 }, { 100, 1 } })
  t.check(x == false and first == nil, "below nowhere")
  -- below at once, above, and below again: the last time counts
  x, first = exponents.crossing({ { 1, 1 }, { 10, 4 }, { 100, 1 } }, ends())
  t.near(x, 10 ^ 1.5, 1e-9)
  t.equal(first, 1)
  -- between its second and third point the base is 1 at 100
  x = exponents.crossing({ { 1, 20 }, { 10, 20 }, { 100, 0.5 } }, { { 1, 10 }, { 10, 10 }, { 1000, 0.1 } })
  t.near(x, 10 ^ 1.5, 1e-9)
  local humped = lh.experiment "humped"
  local errors = { a = { [1] = 2, [100] = 2 }, b = { [1] = 1, [10] = 50, [100] = 1 } }
  for point in lh.grid { { "kind", "a", "b" }, { "length", 1, 10, 100 } } do
    local name, perplexity = ("%s %d"):format(point.kind, point.length), errors[point.kind][point.length]
    humped:row { point, label = name, model = slide, task = task, train = train, dataset = "costs" }
    if perplexity then runs.put(folder, humped, { label = name, perplexity = perplexity }) end
  end
  local options = { group = "kind", over = { "length" }, of = { error = "perplexity" }, crossing = "b" }
  t.equal(exponents.crossings(humped, options, results.of(humped, settings))[1],
    "a: less error than b at some length, but not at the last that was measured of both.")
end)

os.execute("rm -r '" .. folder .. "'")
t.finish()

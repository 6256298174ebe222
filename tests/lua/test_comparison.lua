-- The comparison's numbers: means over seeds and data sets, what is best, what ties with it by
-- paired differences, what it costs, and which rows are no candidates.
local t = dofile "tests/test.lua"
local runs = dofile "tests/lua/runs.lua"
local comparison = require "longhaul.report.comparison"
local comparison_markup = require "longhaul.report.comparison_markup"
local core = require "longhaul.core"
local lh = require "longhaul"
local paired = require "longhaul.report.paired"
local results = require "longhaul.report.results"
local statistics = require "longhaul.report.statistics"
local table_files = require "longhaul.report.table_files"
local tables = require "longhaul.report.table"

local folder = os.tmpname()
os.remove(folder)
core.make_folder(folder)
lh.configure { scale = "small" }
local settings = { results = folder, scale = "small", device = "cpu" }

-- Bits by row, data set and seed. B is better than A by a tenth at every seed; C is as good as B but
-- for noise; D lost the seed that did worst; E lacks a data set.
local bits = {
  A = { one = { 2.1, 3.1, 4.1 }, two = { 1.1, 2.1, 3.1 } },
  B = { one = { 2.0, 3.0, 4.0 }, two = { 1.0, 2.0, 3.0 } },
  C = { one = { 2.1, 3.0, 4.0 }, two = { 1.0, 1.9, 3.1 } },
  D = { one = { 0.5, 0.5, 0.4 }, two = { 0.5, 0.5 } },
  E = { one = { 0.25, 0.25, 0.25 } },
}

local function bench_of(name, columns, datasets)
  local bench = lh.experiment(name)
  local task = lh.tasks.language_model { lh.data.text { "generate:books" }, segment = 64, batch = 2 }
  for width, label in ipairs { "A", "B", "C", "D", "E", "F" } do
    for _, dataset in ipairs(datasets) do
      bench:row { label, dataset = dataset, seeds = 3, task = task, train = lh.train { steps = 5 },
        model = lh.models.slide { layers = 1, width = 16 * width, heads = 2, window = 16 } }
    end
  end
  bench:table { columns = columns }
  return bench
end

local function write_table(bench)
  for _, options in ipairs(bench.tables) do
    table_files.write(tables.build(bench, options, results.of(bench, settings)),
      folder .. "/" .. bench.name)
  end
end

local language = bench_of("compare-language", { "step_time_ms", "bits_per_byte", "perplexity" },
  { "one", "two" })
for _, label in ipairs { "A", "B", "C", "D", "E" } do
  for _, dataset in ipairs { "one", "two" } do
    for seed, value in ipairs(bits[label][dataset] or {}) do
      runs.put(folder, language, { label = label, dataset = dataset, seed = seed, bits_per_byte = value,
        perplexity = 2 ^ value, parameters = 1000, step = 6 - seed,
        peak_memory_bytes = seed * 2 ^ (dataset == "one" and 21 or 20),
        machine = "a machine", data = "some data" })
    end
  end
end
for i, dataset in ipairs { "one", "two" } do
  runs.time(folder, language, { round = dataset, dataset = dataset, times = { A = 10 * i, B = 100 } })
end
write_table(language)

-- More is better; what learns nothing has one seed, and beats or loses to every seed of the others.
local copy = bench_of("compare-copy", { "accuracy" }, { "words" })
for seed, offset in ipairs { -0.02, 0, 0.02 } do
  runs.put(folder, copy, { label = "A", seed = seed, accuracy = 0.8 + offset, parameters = 1000 })
  runs.put(folder, copy, { label = "C", seed = seed, accuracy = 0.9 + offset, parameters = 1000 })
  runs.put(folder, copy, { label = "F", seed = seed, accuracy = 0.9 + offset, parameters = 1000 })
end
runs.put(folder, copy, { label = "B", seed = 1, accuracy = 0.83, parameters = 0 })
runs.put(folder, copy, { label = "D", seed = 1, status = "diverged", error = "a loss that is not finite" })
write_table(copy)

local function cells_of(made, metric)
  local found = {}
  for c, column in ipairs(made.columns) do
    for _, row in ipairs(column.metric == metric and made.rows or {}) do
      found[row.label] = row.cells[c]
    end
  end
  return found
end

local made = comparison.read(folder)[1]

t.test("a column is the first quality of the experiment's table, over its data sets", function()
  t.equal(#made.columns, 2)
  t.equal(made.columns[1].metric, "bits_per_byte")
  t.equal(table.concat(made.columns[1].datasets, " "), "one two")
  t.equal(made.columns[2].metric, "accuracy")
end)

t.test("values are means over data sets, then over seeds; so is their spread", function()
  local cells = cells_of(made, "bits_per_byte")
  t.near(cells.A.value, 2.6, 1e-12)
  t.near(cells.A.spread, 1, 1e-12)
  t.equal(cells.A.seeds, 3)
  t.equal(cells.D.seeds, 2) -- those of both data sets
  t.equal(cells.E.value, nil)
  t.equal(cells.E.status, "done on 1 of 2 data sets")
end)

t.test("the best is of those with all seeds; a tie is not told from it seed by seed", function()
  local cells = cells_of(made, "bits_per_byte")
  t.check(cells.B.best, "the best")
  -- seeds differ by far more than rows: unpaired, A would tie too
  t.check(not cells.A.tie, "A is worse at every seed")
  t.check(cells.C.tie and not cells.C.best, "C is B but for noise")
  t.check(not cells.D.best and not cells.D.tie, "D lacks a seed")
end)

t.test("more is better where the metric says so, and what learns nothing needs one seed", function()
  local cells = cells_of(made, "accuracy")
  t.check(cells.C.best, "the greatest accuracy")
  t.check(cells.F.tie, "the same in every seed")
  t.check(not cells.B.best and not cells.B.tie, "below the best by more than the noise")
  t.check(not cells.A.tie, "a tenth below")
  t.equal(cells.D.status, "diverged")
  t.equal(cells.E.status, "")
end)

-- Three differences, t of whose mean has this two-sided p-value.
local function differences_of(p_value)
  local mean, sd = math.sqrt(2) * (1 - p_value) / math.sqrt(p_value * (2 - p_value)), math.sqrt(3)
  return { mean - sd, mean, mean + sd }
end

-- Which of rows with these p-values are told from the best: "yes no".
local function told(p_values)
  local rows, words = {}, {}
  for i, p_value in ipairs(p_values) do rows[i] = differences_of(p_value) end
  for i, apart in ipairs(statistics.told_apart(rows)) do words[i] = apart and "yes" or "no" end
  return table.concat(words, " ")
end

t.test("one row is told from the best where the two-sided p-value is below 0.05", function()
  t.equal(told { 0.049 }, "yes")
  t.equal(told { 0.051 }, "no")
end)

t.test("several rows are at a false discovery rate of 0.05, by Benjamini and Hochberg", function()
  t.equal(told { 0.049, 0.9 }, "no no")
  t.equal(told { 0.024, 0.9 }, "yes no")
  t.equal(told { 0.04, 0.049 }, "yes yes")
  t.equal(told { 0.9, 0.029, 0.009, 0.041, 0.019 }, "no yes yes no yes")
  t.equal(told {}, "")
end)

t.test("rows of too few seeds have no test, and do not count among those that have", function()
  local apart = statistics.told_apart { {}, differences_of(0.04), { 1, 1 }, {} }
  for i, wanted in ipairs { false, true, false, false } do t.equal(apart[i], wanted) end
end)

-- A table of rows with one mean and three seeds each, as differences from the best of them.
local function equal_rows(count)
  local rows, best = {}, nil
  for i = 1, count do
    rows[i] = {}
    for seed = 1, 3 do
      rows[i][seed] = math.sqrt(-2 * math.log(1 - math.random())) * math.cos(2 * math.pi * math.random())
    end
    if not best or statistics.of(rows[i]) < statistics.of(best) then best = rows[i] end
  end
  local differences = {}
  for _, row in ipairs(rows) do
    if row ~= best then differences[#differences + 1] = statistics.paired(row, best) end
  end
  return differences
end

t.test("of 22 equal rows one in a hundred is told from the best of them", function()
  math.randomseed(1)
  local told, tables_made = 0, 2000
  for _ = 1, tables_made do
    for _, apart in ipairs(statistics.told_apart(equal_rows(22))) do told = told + (apart and 1 or 0) end
  end
  t.near(told / (21 * tables_made), 0.0085, 0.0025)
end)

t.test("what cannot be compared is not told apart: a seed or two, or what is no number", function()
  local few = statistics.told_apart { {}, { 1 }, { 1, 1 }, { 0 / 0, 1, 1 }, { 0, 0, 0 }, { 1, 1, 1 } }
  for i, apart in ipairs { false, false, false, false, false, true } do t.equal(few[i], apart) end
end)

t.test("costs: times are means over data sets, memory is the most", function()
  local cells = cells_of(made, "bits_per_byte")
  t.equal(cells.A.step_time_ms, 15)
  t.equal(cells.B.step_time_ms, 100)
  t.equal(cells.C.step_time_ms, nil)
  t.equal(cells.A.peak_memory_bytes, 3 * 2 ^ 21)
end)

t.test("times of several rounds are told, with their column", function()
  local function note() return table.concat(comparison_markup.notes(comparison.read(folder)[1]), "\n") end
  t.check(not note():find("several rounds", 1, true), "a round for each data set is none of several")
  runs.time(folder, language, { round = "later", dataset = "two", date = "2026-01-02T00:00:00Z",
    times = { C = 20 } })
  runs.time(folder, language, { round = "crowded", dataset = "one", times = { C = 10 }, busy = "yes", load = 1 })
  t.equal(cells_of(comparison.read(folder)[1], "bits_per_byte").C.busy, true) -- on one of its data sets
  t.contains(note(), "several rounds, between which the machine may have changed: language")
end)

t.test("by data set each has its own best", function()
  local split = comparison.by_dataset(made)
  t.equal(#split.columns, 3)
  local first = split.rows[5].cells[1]
  t.equal(split.rows[5].label, "E")
  t.near(first.value, 0.25, 0)
  t.check(first.best, "E is best where it was run")
end)

t.test("how far each is from the best: paired differences over the seeds that both have", function()
  local cells = cells_of(made, "bits_per_byte")
  t.equal(cells.B.behind, nil)
  local text = comparison_markup.behind(made)
  local mean, err = statistics.mean_error(cells.C.behind)
  t.near(mean, cells.C.value - cells.B.value, 1e-12)
  t.contains(text, ("| C | ≈ %s | best |\n"):format(paired.text("bits_per_byte", cells.C.behind)))
  t.contains(text, ("%+.3f ± %.3f"):format(mean, err))
  t.contains(text, "| A | +0.100 ± 0.000 | ")
  t.contains(text, "| B | best | -0.070 ± 0.012 |\n") -- what learns nothing, beside every seed
  t.contains(text, "| D |  |  |\n") -- of fewer seeds, and diverged
  t.equal(comparison_markup.behind(nil), comparison_markup.nothing .. "\n")
  local html = comparison_markup.html_behind(made, "all")
  t.contains(html, '<td class="group best" data-value="0">best</td>')
  t.contains(html, ('<td class="group" data-value="%.14g">'):format(mean))
  t.contains(html, '<td class="group" data-value=""></td>')
end)

t.test("as Markdown: marks, costs, what stands for it and what is not run", function()
  local text = comparison_markup.markdown(made)
  t.contains(text, "language<br>bits/byte, mean of 2 data sets")
  t.contains(text, "| B | **2.500 ±1.000**<br>100 ms | 0.830 |\n")
  t.contains(text, "| C | ≈ 2.517 ±1.002 | **0.900 ±0.020** |\n")
  t.contains(text, "≈: not told from it by paired t tests over seeds, two-sided, of all rows of the column")
  t.contains(text, "| D | 0.500 ±0.000 (2 of 3 seeds) | diverged |\n")
  t.contains(text, "Data: some data. Measured on a machine")
  t.contains(text, "Not run yet: context, recall, state tracking, length, series.")
  t.equal(comparison_markup.markdown(nil), comparison_markup.nothing .. "\n")
end)

t.test("above the page's table stands what was compared, how large, on what machine, with what data", function()
  local lead = comparison_markup.lead(made)
  t.contains(lead, "Compared are 6 rows on 2 kinds of task, at scale small on cpu with 3 seeds. Data: some data")
  t.contains(lead, "Measured on a machine")
  local sizes = comparison.sizes(made, "compare-language")
  t.equal(#sizes.parameters, 1)
  t.equal(sizes.parameters[1], 1000)
  t.equal(table.concat(sizes.steps, " "), "5")
  local path = folder .. "/report.html"
  local text = core.read_file(require("longhaul.report.html").write(folder, path))
  t.contains(text, "and sub-words (about 1K parameters; 5 steps)")
  t.contains(text, "comes twice (about 1K parameters)</li>")
  local lead_at, table_at = text:find("Compared are 6 rows", 1, true), text:find('class="data matrix"', 1, true)
  t.check(lead_at < table_at, "above the table")
  t.contains(text, "How far each is from the best, seed by seed")
  os.remove(path)
end)

t.test("the page says why a cell is empty, and sorts it last", function()
  local cells = cells_of(made, "accuracy")
  t.equal(cells.E.absent, "not run")
  t.equal(cells.D.absent, nil)
  local text = comparison_markup.html(made, "all")
  t.contains(text, '<td class="group absent" data-value="">not run</td>')
  t.contains(text, '<td class="group">diverged</td>')
  local legend = table.concat(comparison_markup.legend(made), "\n")
  t.contains(legend, "Some rows take part in language alone: E; in copying alone: F.")
  t.contains(legend, "bold is the best mean of a column: the greatest accuracy; the least bits/byte.")
end)

t.test("the page explains a tie without the name of a test first", function()
  local legend = table.concat(comparison_markup.legend(made), "\n")
  t.contains(legend, "compared seed by seed")
  t.contains(legend, "So a row with a worse mean can tie")
  local text = comparison_markup.html(made, "all")
  t.contains(text, '<td class="group" data-value="2.5166666666667">≈ 2.517 ±1.002</td>')
end)

t.test("costs stand in a table of their own", function()
  t.check(not comparison_markup.html(made, "all"):find("ms a step", 1, true), "not beside each quality")
  t.contains(comparison_markup.html_with_costs(made, "all"), '<td class="cost" data-value="100.0">100</td>')
end)

t.test("the heading tells data that the embedded generator made", function()
  local at = folder .. "/generated"
  local function heading(...)
    for i, data in ipairs { ... } do
      runs.put(at, language, { label = "A", dataset = i == 1 and "one" or "two", seed = 1, bits_per_byte = 2,
        parameters = 1000, data = data })
    end
    runs.put(at, language, { label = "B", dataset = "one", bits_per_byte = 2, data = "one (3 documents)" })
    for _, options in ipairs(language.tables) do
      local found = results.of(language, { results = at, scale = "small", device = "cpu" })
      table_files.write(tables.build(language, options, found), at .. "/compare-language")
    end
    local text = comparison_markup.markdown(comparison.read(at)[1])
    os.execute("rm -r '" .. at .. "'")
    return text
  end
  t.contains(heading("embedded generator (books)", "two (3 documents)"), "mean of 2 data sets (1 generated) |")
  t.contains(heading("embedded generator (books)", "two (embedded generator)"), "mean of 2 data sets (generated) |")
  t.contains(heading("one (3 documents)", "two (3 documents)"), "mean of 2 data sets |")
end)

t.test("short, as in the README: means and marks", function()
  local text = comparison_markup.short(made)
  t.contains(text, "|  | language<br>bits/byte | copying<br>accuracy |\n| --- | --: | --: |\n")
  t.contains(text, "| B | **2.500** | 0.830 |\n| C | ≈ 2.517 | **0.900** |\n| D | 0.500 | diverged |\n")
  t.equal(comparison_markup.short(nil), comparison_markup.nothing .. "\n")
end)

t.test("of a metric without a better end nothing is best, and all seeds have to have it", function()
  local context = bench_of("compare-context", { "context_tokens" }, { "books" })
  for seed = 1, 3 do
    runs.put(folder, context, { label = "A", seed = seed, context_tokens = 4, parameters = 1000 })
    runs.put(folder, context, { label = "B", seed = seed, parameters = 1000,
      context_tokens = seed == 3 and 436 or nil })
  end
  write_table(context)
  local cells = cells_of(comparison.read(folder)[1], "context_tokens")
  t.equal(cells.A.value, 4)
  t.check(not cells.A.best and not cells.A.tie, "far is not better than near")
  t.equal(cells.B.value, nil)
  t.equal(cells.B.status, "")
  t.equal(cells.B.absent, "a value in 1 of 3 seeds")
  t.check(not comparison_markup.short(comparison.read(folder)[1]):find("context", 1, true), "short: what has a best")
  core.remove_file(folder .. "/compare-context/runs.csv")
end)

t.test("what is told from the best alone ties with it where more rows are compared", function()
  core.remove_file(folder .. "/compare-copy/runs.csv")
  local function tie_of_b(others)
    local by_row = { C = 0.9, B = 0.85 }
    for _, label in ipairs(others) do by_row[label] = 0.9 end
    for label, accuracy in pairs(by_row) do
      for seed, offset in ipairs { -0.02, 0, 0.02 } do
        -- B's differences: t = 4.3, p = 0.049
        runs.put(folder, copy, { label = label, seed = seed, parameters = 1000,
          accuracy = accuracy + (label == "B" and 0 or offset) })
      end
    end
    write_table(copy)
    return cells_of(comparison.read(folder)[1], "accuracy").B.tie
  end
  t.equal(tie_of_b {}, false)
  t.equal(tie_of_b { "D", "E", "F" }, true)
end)

t.test("fewer than three seeds make no ties", function()
  core.remove_file(folder .. "/compare-copy/runs.csv")
  for seed = 1, 2 do
    runs.put(folder, copy, { label = "A", seed = seed, accuracy = 0.5, parameters = 1000 })
    runs.put(folder, copy, { label = "B", seed = seed, accuracy = 0.5 - seed / 100, parameters = 1000 })
  end
  write_table(copy)
  local few = comparison.read(folder)[1]
  local cells = cells_of(few, "accuracy")
  t.check(cells.A.best and not cells.B.tie, "only the best mean is marked")
  t.contains(comparison_markup.markdown(few), "Fewer than 3 seeds tell no difference from chance.")
end)

t.test("what a seed of diverged is no candidate, however many seeds others have, and says so", function()
  core.remove_file(folder .. "/compare-copy/runs.csv")
  for seed = 1, 3 do
    local lost = seed == 3
    runs.put(folder, copy, { label = "A", seed = seed, accuracy = 1, parameters = 1000,
      status = lost and "diverged" or "done", error = lost and "diverged: |loss| 1e9" or nil })
    if not lost then runs.put(folder, copy, { label = "B", seed = seed, accuracy = 0.9, parameters = 1000 }) end
  end
  write_table(copy)
  local survivors = comparison.read(folder)[1]
  local cells = cells_of(survivors, "accuracy")
  t.check(not cells.A.best and not cells.A.tie, "A is of the seeds that lived")
  t.check(cells.B.best, "the best of those that lack nothing")
  t.contains(comparison_markup.markdown(survivors), "1.000 ±0.000 (seed 3 diverged: \\|loss\\| 1e9)")
end)

t.test("the largest scale comes first, smoke of another run last", function()
  lh.configure { scale = "smoke" }
  runs.put(folder, copy, { label = "A", seed = 1, scale = "smoke", accuracy = 0.125, parameters = 1000 })
  local all = comparison.read(folder)
  t.equal(#all, 2)
  t.equal(all[1].scale, "small")
  t.equal(all[2].scale, "smoke")
  t.equal(cells_of(all[2], "accuracy").A.value, 0.125)
end)

t.test("data sets are those of a scale's own table, whichever was made last", function()
  local smoke = bench_of("compare-language", { "bits_per_byte" }, { "one" })
  runs.put(folder, smoke, { label = "A", seed = 1, scale = "smoke", bits_per_byte = 5 })
  table_files.write(tables.build(smoke, smoke.tables[1], results.of(smoke, { results = folder, scale = "smoke",
    device = "cpu" })), folder .. "/compare-language")
  local all = comparison.read(folder)
  t.equal(table.concat(all[1].columns[1].datasets, " "), "one two")
  t.equal(table.concat(all[2].columns[1].datasets, " "), "one")
  runs.put(folder, copy, { label = "A", device = "cuda", parameters = 1000 }) -- no accuracy
  t.equal(#comparison.read(folder), 2)
end)

os.execute("rm -r '" .. folder .. "'")
t.finish()

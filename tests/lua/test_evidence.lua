-- The measured side of claims: the cells of every predicate are rows of the experiments, read from
-- their columns; the published tables, laid out as runs, give the published verdicts; claims
-- without a published predicate turn both ways.
local t = dofile "tests/test.lua"
local claims = require "longhaul.report.claims"
local copies = dofile "tests/lua/copies.lua"
local core = require "longhaul.core"
local csv = require "longhaul.run.csv"
local evidence = require "longhaul.report.evidence"
local identity = require "longhaul.run.identity"
local metrics = require "longhaul.run.metrics"
local script = require "longhaul.script"
local store = require "longhaul.run.store"

-- What a row is today asks for its data, which are not the matter here: the runs below count as
-- older ones.
identity.of = function() error "no data in this test" end

local function settings_of(folder) return { scale = "paper", results = folder, device = "cpu" } end

local bench = script.load("experiments/claims.lua", settings_of "results")
-- `cells` are of the published predicates, `beside` of what their sentences ask.
local by_id, cells, beside = {}, {}, {}
for _, claim in ipairs(bench.claims) do
  by_id[claim[1]] = claim
  for predicate, list in pairs { [claim.holds] = cells, [claim.asks or false] = beside } do
    if predicate then
      predicate:each_cell(function(cell, text)
        list[#list + 1] = { cell = cell, text = text, claim = claim[1] }
      end)
    end
  end
end

local nowhere = evidence.measured(settings_of "results")

t.test("every cell of every predicate is a row of an experiment at full scale", function()
  t.check(#cells > 1900 and #beside > 200, ("only %d and %d"):format(#cells, #beside))
  for _, list in ipairs { cells, beside } do
    for _, one in ipairs(list) do t.check(nowhere:label(one.cell), one.claim .. ": " .. one.text) end
  end
end)

-- ---- folders of runs ----

local function new_folder()
  local folder = os.tmpname()
  os.remove(folder)
  core.make_folder(folder)
  return folder
end

-- The data sets of a cell's row: its own, or, for a cost of all, all that the row has.
local function datasets_of(cell, label)
  if cell.dataset then return { cell.dataset } end
  local list = {}
  for _, row in ipairs(cell.experiment.rows) do
    if row.label == label then list[#list + 1] = row.dataset end
  end
  return list
end

local function add_value(rows, cell, label, dataset, value)
  local key = label .. "\n" .. dataset
  if not rows[key] then
    rows[key] = { row = label, dataset = dataset, values = {} }
    rows[#rows + 1] = rows[key]
  end
  rows[key].values[cell.metric] = value
end

-- What a folder is to hold, by experiment: every row of the cells and its values by column.
local function layout(value_of)
  local experiments = {}
  for _, one in ipairs(cells) do
    local cell, value = one.cell, value_of(one)
    local label, name = nowhere:label(cell), cell.experiment.runs
    experiments[name] = experiments[name] or {}
    for _, dataset in ipairs(value and datasets_of(cell, label) or {}) do
      add_value(experiments[name], cell, label, dataset, value)
    end
  end
  return experiments
end

local function run_of(row, seed)
  local run = { run_id = row.row .. row.dataset .. seed, configuration = row.row .. row.dataset,
    row = row.row,
    dataset = row.dataset, seed = seed, scale = "paper", device = "cpu", status = "done",
      date = "2026-01-01T00:00:00Z", identity = identity.version }
  for metric, value in pairs(row.values) do
    if metric ~= "relative_step_time" then run[metric] = value end -- the rounds tell it
  end
  return run
end

-- A step takes 100 ms of what a relative step time is.
local function time_of(row)
  local ms = row.values.step_time_ms or 100 * row.values.relative_step_time
  return { round = "r1", configuration = row.row .. row.dataset, row = row.row,
    dataset = row.dataset, scale = "paper",
    device = "cpu", step_time_ms = ms, busy = "no", date = "2026-01-01T00:00:00Z" }
end

-- Writes them, with as many seeds: four equal values have exactly their mean.
local function write(experiments, seeds)
  local folder = new_folder()
  for name, rows in pairs(experiments) do
    local runs, times = {}, {}
    for _, row in ipairs(rows) do
      for seed = 1, seeds do runs[#runs + 1] = run_of(row, seed) end
      if row.values.step_time_ms or row.values.relative_step_time then
        times[#times + 1] = time_of(row)
      end
    end
    local into = store.open(folder, name)
    into:update(function(all) table.move(runs, 1, #runs, #all + 1, all) end)
    if #times > 0 then into:add_timings(times) end
  end
  return folder
end

-- The published values of a copy as runs.
local function published_folder(copy)
  local printed = copies.source(copies.values(copy))
  return write(layout(function(one)
    local value = printed:mean(one.cell)
    return value and value * printed:unit(one.cell)
  end), 4)
end

local golden = {}
for _, line in ipairs((csv.read "tests/golden/predicates.csv")) do
  golden[line.claim_id] = line.outcomes
end

-- Relative step times that are printed: a copy may move that of the baseline, which is 1 of any
-- run.
local relative = {}
for _, one in ipairs(cells) do
  relative[one.claim] = relative[one.claim] or one.text:find "^BST%(" ~= nil
end

local function check_published(copy)
  local source, compared = evidence.measured(settings_of(published_folder(copy))), 0
  for id, outcomes in pairs(golden) do
    local wanted = outcomes:sub(copy + 1, copy + 1) == "1"
    local found = by_id[id].holds:judge(source)
    if copy == 0 or not relative[id] then
      t.check(found.outcome == wanted,
        ("%s on copy %d: %s, expected %s"):format(id, copy, found.outcome, wanted))
      -- printed numbers that are equal are equal in every seed, which decides nothing
      local tie = found.reason and found.closest.margin == 0
      t.check(found.verdict == (wanted and "holds" or tie and "undecided" or "fails"),
        ("%s on copy %d: %s"):format(id, copy, found.reason))
      compared = compared + 1
    end
  end
  t.equal(compared, copy == 0 and 86 or 80)
end

t.test("the published tables as runs give the published verdicts",
  function() check_published(0) end)

t.test("so do tables with other numbers", function()
  for _, copy in ipairs { 7, 14, 21, 28, 3, 10 } do check_published(copy) end
end)

-- ---- columns ----

-- The column of runs.csv that a cell is read from, in the paper's unit: what it is divided by.
local columns = {
  ["B(rec:fixed:skip, pg19_bytes)"] = "bits_per_byte",
  ["B(rec:fixed:skip, arxiv)"] = "bits_per_token",
  ["B(slide:13l, pg19_tokens)"] = "bits_per_token", ["BRT2(rec:fixed:skip:large, perplexity)"] =
    "word_perplexity",
  ["BRT2(rec:fixed:skip:large, params_millions)"] = "parameters 1e6",
  ["S1(staircase, random_walk)"] = "error_percent", ["S1(lstm, enwik8)"] = "bits_per_byte",
  ["S1(staircase, reddit)"] = "perplexity", ["S1(staircase, base_data)"] = "valid_perplexity",
  ["S2(staircase:r8, test)"] = "perplexity", ["S3G(staircase:r2:f64)"] = "valid_perplexity",
  ["S3T(staircase:r2:f64)"] = "step_time_ms",
  ["GP(1, recurrent, 5, val)"] = "valid_word_perplexity",
  ["GP(2, small, 50, test)"] = "word_perplexity",
  ["GP(2, recurrent, 0, flops)"] = "flops_per_token",
  ["GP(2, small, 200, flops)"] = "kaplan_flops_per_token", ["RF2(LSH-4, LSH-8)"] = "accuracy 0.01",
  ["BLEU(vaswani2017:base)"] = "bleu", ["R(rsa_xl, Weather, 336, mae)"] = "mae",
  ["R(informer, ETTm1, 96, mse)"] = "mse",
  ["R2(rsa_transformer:caseII, parity, 0)"] = "accuracy_bin0",
  ["R2(transformer, parity, 1)"] = "accuracy_bin1",
  ["R3(rsa_codet5_small, devign)"] = "accuracy 0.01", ["R3(rsa_xl, text8)"] = "bits_per_byte",
  ["R3(rsa_xl, wikitext103)"] = "perplexity", ["R6(2, -, 48)"] = "mse",
  ["R7(codet5_small)"] = "layout_parameters",
  ["gate(rsa_codet5_small, devign)"] = "rsa_gate",
}

-- Every column of every run has a number of its own.
local function numbered_folder()
  local number, experiments = {}, layout(function() return 1 end)
  for i, name in ipairs(metrics.names()) do number[name] = 1000 + i end
  for _, rows in pairs(experiments) do
    for _, row in ipairs(rows) do row.values = number end
  end
  return write(experiments, 1), number
end

t.test("cells are read from the columns that the paper's numbers stand for", function()
  local folder, number = numbered_folder()
  local source, met = evidence.measured(settings_of(folder)), {}
  for _, one in ipairs(cells) do
    local name, factor = (columns[one.text] or ""):match "^(%S+) ?(.*)$"
    if name and not (one.text == "GP(2, recurrent, 0, flops)"
      and one.cell.metric == "kaplan_flops_per_token") then
      met[one.text] = true
      t.near(source:mean(one.cell), number[name] / (tonumber(factor) or 1), 1e-9)
    end
  end
  for text in pairs(columns) do t.check(met[text], text .. " is in no predicate") end
end)

t.test("step times are compared within a round", function()
  local folder = published_folder(0)
  local claim = by_id.staircase_p036
  t.equal(claim.holds:judge(evidence.measured(settings_of(folder))).verdict, "holds")
  store.at(folder, "staircase-table3"):add_timings { {
    round = "r2", configuration = "Staircase, N = 2, C = 128reddit", row = "x", dataset = "reddit",
    scale = "paper",
    device = "cpu", step_time_ms = 1, busy = "no", date = "2026-02-01T00:00:00Z",
  } }
  local found = claim.holds:judge(evidence.measured(settings_of(folder)))
  t.equal(found.verdict, "undecided")
  t.equal(found.outcome, true)
  t.equal(found.reason, "not timed side by side")
end)

t.test("a weaker form over horizons, each timed in rounds of its own, can be decided", function()
  local folder = new_folder()
  local times, experiment = {}, nil
  by_id.rsa_p064.holds:each_cell(function(cell)
    experiment = cell.experiment
    for round = 1, 3 do
      local row = { row = nowhere:label(cell), dataset = cell.dataset,
        values = { step_time_ms = cell.row:find ", no REM$" and 90 or 100 + round } }
      local time = time_of(row)
      time.round, time.date = cell.dataset .. round, ("2026-01-0%dT00:00:00Z"):format(round)
      times[#times + 1] = time
    end
  end)
  local into, runs = store.open(folder, experiment.runs), {}
  for i = 1, #times, 3 do
    runs[#runs + 1] = run_of({ row = times[i].row, dataset = times[i].dataset, values = {} }, 1)
  end
  into:update(function(all) table.move(runs, 1, #runs, #all + 1, all) end)
  into:add_timings(times)
  local source = evidence.measured(settings_of(folder))
  t.equal(by_id.rsa_p064.holds:judge(source).verdict, "holds")
  local found = by_id.rsa_p064.direction:judge(source)
  t.equal(found.verdict, "holds", found.reason)
end)

-- ---- what is not there ----

t.test("an empty folder leaves all undecided but what cannot fail, and says what was not run", function()
  local records = claims.judge_all(bench, settings_of(new_folder()))
  t.equal(#records, #bench.claims)
  local count = {}
  for _, record in ipairs(records) do
    count[record.verdict] = (count[record.verdict] or 0) + 1
    t.check(record.verdict ~= "undecided"
      or record.note:find("has not been run at scale paper", 1, true), record.claim)
    local printed = golden[record.claim]
      and (golden[record.claim]:sub(1, 1) == "1" and "holds" or "does not hold") or ""
    t.equal(record.published, printed)
  end
  t.equal(count.undecided + count.untested, #records)
  t.equal(count.untested, 8)
end)

t.test("values of other scales and devices are not read, and seeds are in the paper's unit", function()
  local folder, cell = published_folder(0), nil
  for _, one in ipairs(cells) do
    if one.text == "RF2(LSH-4, LSH-1)" then cell = one.cell end
  end
  local source = evidence.measured(settings_of(folder))
  t.near(source:seeds(cell)["1"], source:mean(cell), 1e-9)
  for _, other in ipairs { { scale = "gpu", device = "cpu" },
    { scale = "paper", device = "cuda" } } do
    t.equal(evidence.measured { scale = other.scale, device = other.device,
      results = folder }:mean(cell), nil)
  end
end)

t.test("a mean that a diverged seed is missing from decides nothing", function()
  local folder, cell = published_folder(0), nil
  for _, one in ipairs(cells) do
    if one.text == "S1(staircase, enwik8)" then cell = one.cell end
  end
  local claim = by_id.staircase_p029 -- of that cell
  local function judge() return claim.holds:judge(evidence.measured(settings_of(folder))) end
  t.equal(judge().verdict, "holds")
  store.at(folder, "staircase-table1"):update(function(rows)
    for _, row in ipairs(rows) do
      local is_it = row.row == nowhere:label(cell) and row.dataset == cell.dataset
      if is_it and row.seed == "4" then row.status, row.error = "diverged", "diverged: loss 1e9" end
    end
  end)
  t.equal(judge().outcome, true)
  t.equal(judge().verdict, "undecided")
  t.contains(judge().reason, "seed 4 diverged: loss 1e9")
end)

t.test("runs of other options or other data are doubted", function()
  local cell, said = by_id.staircase_p024 and cells[1].cell, nil
  local source = evidence.measured(settings_of "results")
  source.results = function() return { datasets = {}, status = function() return said,
    "why" end } end
  local one = setmetatable({ dataset = "any" }, { __index = cell })
  function source.label() return "row" end
  for status, doubted in pairs { stale = true, ["other data"] = true, done = false,
    partial = false } do
    said = status
    t.equal(source:doubt(one), doubted and "why" or nil, status)
  end
end)

-- A source whose rows are called as their cells are; `found` stands for the results of every experiment.
local function source_of(found)
  local source = evidence.measured(settings_of "results")
  function source.label(_, cell) return cell.row end
  function source.results() return found end
  source.printed = { unit = function() return 100 end }
  return source
end

local function cell_of(row, metric, dataset)
  return { row = row, metric = metric, dataset = dataset, experiment = {} }
end

t.test("cells are held against each other past one that has no round, and by the names of data sets", function()
  local rounds, has = { a = "1", b = "2" }, { a = "books", b = "lists", c = "books" }
  local source = source_of {
    datasets = { "books", "lists" }, round = function(_, label) return rounds[label] end,
    value = function(_, label, _, dataset) return has[label] == dataset and 1 or nil end,
    group = function() return { done = {}, reasons = { "seed 1 diverged" } } end,
    by_round = function() return { r1 = 250 } end,
  }
  local function apart(metric, dataset, ...)
    local list = {}
    for i, row in ipairs { ... } do list[i] = cell_of(row, metric, dataset) end
    return source:apart(list)
  end
  t.equal(apart("step_time_ms", "books", "a", "untimed", "b"), "not timed side by side")
  t.equal(apart("step_time_ms", "books", "a", "untimed"), nil)
  t.equal(apart("bits_per_byte", "books", "a", "b"), nil, "a quality is of no round")
  t.equal(apart("parameters", nil, "a", "b"), nil, "what a model is made of is no mean over data sets")
  local a, b = cell_of("a", "step_time_ms", "books"), cell_of("b", "step_time_ms", "lists")
  t.equal(source:apart { a, b }, "not timed side by side")
  t.equal(source:apart({ a, b }, true), nil, "rounds are compared one by one")
  t.equal(apart("bits_per_byte", nil, "a", "b"), "not measured on the same data sets")
  t.equal(apart("bits_per_byte", nil, "a", "c"), nil, "where no seed ended well there is no mean that lacks one")
  t.near(source:rounds(cell_of("a", "step_time_ms", "books")).r1, 2.5, 1e-12)
  t.equal(source:most(cell_of("a", "error_percent", "books")), 1) -- 100 % in a unit of 100
end)

t.test("rows that were not run, or with fewer seeds, are named", function()
  local folder = write(layout(function(one)
    local here = one.cell.experiment.runs == "staircase-table2" and one.cell.row ~= "staircase:r4"
    return here and evidence.printed():mean(one.cell) or nil
  end), 2)
  local source = evidence.measured(settings_of(folder))
  local steps = by_id.staircase_p024.holds:judge(source)
  t.equal(steps.verdict, "undecided")
  t.equal(steps.lacking[1][1], "S2(staircase:r4, test)")
  t.equal(steps.lacking[1][2], "not run")
  local gain = by_id.staircase_p025.holds:judge(source)
  t.equal(gain.outcome, true)
  t.contains(gain.reason, "2 seeds")
end)

t.finish()

-- The comparison: at each scale each row of a data set meets the budget that the script states and
-- has the trials, sequences and tokens a step of the others, and the last season, which has nothing
-- to learn, runs like any model.
local t = dofile "tests/test.lua"
local core = require "longhaul.core"
local csv = require "longhaul.run.csv"
local identity = require "longhaul.run.identity"
local runner = require "longhaul.run.runner"
local script = require "longhaul.script"

local baselines = { DLinear = true, NLinear = true, ["Last season"] = true }

local function parameters_of(row)
  local info = identity.task_info(row.task)
  return core.describe(row.model.options, info, info.length).total
end

-- Sequences of a step and their tokens.
local function step_of(row)
  local info = identity.task_info(row.task)
  return ("%d x %d"):format(info.rows, info.length * row.train:option "segments_per_step")
end

local function check_rows(bench, least)
  local budgets, steps, trials, compared = {}, {}, nil, 0
  for _, row in ipairs(bench.rows) do
    if not baselines[row.label] and not row.from then
      local budget = budgets[row.dataset] or parameters_of(row)
      budgets[row.dataset], trials = budget, trials or #row.trials
      -- two models that are each within 3 % of the budget
      t.check(math.abs(parameters_of(row) / budget - 1) < 0.062, row.label)
      t.equal(#row.trials, trials)
      steps[row.dataset] = steps[row.dataset] or step_of(row)
      t.equal(step_of(row), steps[row.dataset])
      compared = compared + 1
    end
  end
  t.check(compared >= least, ("%d rows"):format(compared))
end

-- Architectures that read tokens, and the data sets that a scale has where small has fewer.
local architectures = 22

for _, scale in ipairs { "smoke", "small", "medium" } do
  local function sets(all, small) return architectures * (scale == "small" and small or all) end

  t.test("language at " .. scale, function()
    check_rows(script.load("experiments/compare/language.lua", { scale = scale }), sets(4, 4))
  end)
  t.test("tracking at " .. scale, function()
    check_rows(script.load("experiments/compare/tracking.lua", { scale = scale }), sets(8, 8))
  end)
  t.test("copying at " .. scale, function()
    check_rows(script.load("experiments/compare/copy.lua", { scale = scale }), sets(3, 2))
  end)
  t.test("recall at " .. scale, function()
    check_rows(script.load("experiments/compare/recall.lua", { scale = scale }), sets(2, 2))
  end)
  t.test("context at " .. scale, function()
    check_rows(script.load("experiments/compare/context.lua", { scale = scale }), sets(3, 2))
  end)
  t.test("length at " .. scale, function()
    local bench = script.load("experiments/compare/length.lua", { scale = scale })
    check_rows(bench, architectures)
    t.equal(#bench.rows, 4 * architectures)
    for i = architectures + 1, #bench.rows do
      t.equal(bench.rows[i].from.row, bench.rows[(i - 1) % architectures + 1])
      t.equal(bench.rows[i].train:option "steps", 0)
    end
    -- a segment that no document fills would be paid for and not used
    for _, row in ipairs(bench.rows) do
      t.check(row.task:option "segment" <= row.task:option "split_bytes", row.label)
    end
    t.check(#script.load("experiments/compare/length_costs.lua", { scale = scale }).rows >= 2 * architectures)
  end)
  t.test("series at " .. scale, function()
    check_rows(script.load("experiments/compare/series.lua", { scale = scale }),
      sets(1, 4 * 2) + 2 * (scale == "small" and 8 or 1))
  end)
end

-- The other scripts open generated books and series at these scales, for seconds each.
for _, scale in ipairs { "gpu", "paper" } do
  t.test("copying and recall at " .. scale, function()
    check_rows(script.load("experiments/compare/copy.lua", { scale = scale }), architectures * 3)
    check_rows(script.load("experiments/compare/recall.lua", { scale = scale }), architectures * 2)
  end)
end

t.test("a chart against memory has a place for every architecture, those without a carried state, too", function()
  for _, name in ipairs { "language", "copy", "recall" } do
    local bench, charts = script.load(("experiments/compare/%s.lua"):format(name), { scale = "smoke" }), 0
    for _, plot in ipairs(bench.plots) do
      if plot[1] == "pareto" and plot.x[1] == "held_bytes" then charts = charts + 1 end
    end
    t.equal(charts, 1)
    for _, row in ipairs(bench.rows) do t.check(row.values.held_bytes > 0, name .. ": " .. row.label) end
  end
end)

t.test("a trial of tracking has on every data set the score that decides", function()
  local folder = os.tmpname()
  os.remove(folder)
  local bench = script.load("experiments/compare/tracking.lua", { scale = "smoke" })
  runner.run(bench.trials, { scale = "smoke", device = "cpu", results = folder, no_timing = true,
    only = { "LSTM" } })
  local runs, by, count = csv.by(csv.read(folder .. "/compare-tracking-trials/runs.csv"), "dataset"),
    {}, 0
  for _, row in ipairs(bench.rows) do by[row.dataset] = row.tune.by end
  for dataset, column in pairs(by) do
    t.check(tonumber(runs[dataset][column]), ("%s: %s"):format(dataset, column))
    count = count + 1
  end
  t.equal(count, 8)
  os.execute("rm -r '" .. folder .. "'")
end)

t.test("the last season", function()
  local folder = os.tmpname()
  os.remove(folder)
  local bench = script.load("experiments/compare/series.lua", { scale = "smoke" })
  local failed = runner.run(bench, { scale = "smoke", device = "cpu", results = folder,
    no_timing = true, only = { "Last season" } })
  local runs = (csv.read(folder .. "/compare-series/runs.csv"))
  t.equal(failed, 0)
  t.equal(#runs, 1)
  t.equal(runs[1].parameters, "0")
  t.equal(runs[1].status, "done")
  -- standardised values: a forecast of zeros has about 1
  t.check(tonumber(runs[1].mse) < 0.6, "days are like each other")
  core.remove_file(folder .. "/compare-series/runs.csv")
end)

t.finish()

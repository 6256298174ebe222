-- Tuning: every row has the same trials, the best one on the validation split decides, and nothing is
-- run or shown as tuned before its trials have ended.
local t = dofile "tests/test.lua"
local chart = require "longhaul.report.chart"
local core = require "longhaul.core"
local csv = require "longhaul.run.csv"
local identity = require "longhaul.run.identity"
local lh = require "longhaul"
local results = require "longhaul.report.results"
local plan = require "longhaul.run.plan"
local ranks = require "longhaul.run.ranks"
local runner = require "longhaul.run.runner"
local store = require "longhaul.run.store"
local tables = require "longhaul.report.table"
local timing = require "longhaul.run.timing"
local training = require "longhaul.run.training"
local tuning = require "longhaul.run.tuning"

local task = lh.tasks.language_model {
  lh.data.text { "books", documents = 20, document_bytes = 512, limit_eval_bytes = 256 }, segment = 32,
  batch = 2 }
local function slide(width)
  return lh.models.slide { layers = 1, width = width, heads = 2, window = 8, dropout = 0 }
end
local function trained(steps) return lh.train { steps = steps, optimizer = "adam", rate = 1e-3, warmup = 1 } end

local function sweep(name, tune)
  local bench = lh.experiment(name)
  for _, width in ipairs { 8, 16 } do
    bench:row { "width " .. width, model = slide(width), task = task, train = trained(6), seeds = 2, tune = tune }
  end
  bench:table { columns = { "bits_per_token" } }
  return bench
end

local function settings_in(folder)
  return { results = folder, scale = "smoke", device = "cpu", no_timing = true }
end

local function scratch()
  local folder = os.tmpname()
  os.remove(folder)
  return folder
end

-- Puts down runs of the rows of an experiment of trials as if they had run; `scores` are columns by
-- place, "diverged" or nil for none.
local function pretend_round(trials, settings, name, scores, seed)
  local found = store.open(settings.results, trials.runs)
  for place, row in ipairs(trials.rows) do
    local made = identity.of { experiment = trials.runs, row = row, seed = seed or 1, scale = "smoke",
      device = "cpu" }
    local score = scores[place]
    if score then
      found:put({ run_id = made.run_id, configuration = made.configuration, identity = identity.version,
        experiment = trials.runs, row = row.label, dataset = row.dataset, seed = seed or 1, date = "2026-01-01",
        scale = "smoke", device = "cpu",
        status = tonumber(score) and "done" or score, [name] = tonumber(score),
        -- the test split would choose the opposite
        bits_per_token = tonumber(score) and 10 - score }, {})
    end
  end
end

local function pretend(bench, ...) pretend_round(bench.trials, ...) end

local rates = lh.tune { rate = { 1e-3, 3e-3, 1e-2 }, steps = 3, by = "valid_bits_per_token" }

t.test("trials", function()
  local bench = sweep("tuned", rates)
  t.equal(#bench.trials.rows, 6)
  t.equal(bench.trials.name, "tuned-trials")
  t.equal(bench.trials.rows[2].label, "width 8 rate=0.003")
  t.equal(bench.trials.rows[2].train:option "steps", 3)
  t.equal(bench.trials.rows[2].train:option "rate", 3e-3)
  t.equal(bench.trials.rows[2].train:option "warmup", 1)
  local settings = settings_in(scratch())
  settings.seeds = 5
  t.equal(#plan.of(bench.trials, settings), 6)
  settings.only = { "width 16" }
  t.equal(#plan.of(bench.trials, settings), 3)
end)

t.test("several options: every combination; a number has edges, a word none", function()
  local bench, settings, scores = sweep("words", lh.tune { optimizer = { "adam", "sgd" }, warmup = { 1, 2, 3 },
    rate = { 1e-3, 3e-3 }, by = "valid_bits_per_token" }), settings_in(scratch()), {}
  t.equal(bench.trials.rows[3].label, "width 8 optimizer=adam rate=0.001 warmup=3")
  t.equal(bench.trials.rows[3].train:option "steps", 6)
  for i = 1, 24 do scores[i] = (i == 7 or i == 16) and 1 or 5 end
  pretend(bench, settings, "valid_bits_per_token", scores)
  tuning.settle(bench, settings)
  t.equal(bench.rows[1].train:option "optimizer", "sgd")
  t.contains(tuning.sentence(bench.rows), "Highest rate: width 16. Lowest rate: width 8. Lowest warmup: width 8; ")
end)

t.test("the least validation loss decides, not the test split", function()
  local bench, settings = sweep("tuned", rates), settings_in(scratch())
  pretend(bench, settings, "valid_bits_per_token", { 3, 2, 4, 5, "diverged", 1 })
  tuning.settle(bench, settings)
  t.equal(bench.rows[1].train:option "rate", 3e-3)
  t.equal(bench.rows[1].train:option "steps", 6)
  t.equal(bench.rows[2].train:option "rate", 1e-2)
  t.equal(tuning.sentence(bench.rows), "Chosen by valid_bits_per_token among 3 trials a row: width 8 rate=0.003; "
    .. "width 16 rate=0.01. At the edge of what was tried, beyond which better may lie: 1 of 2 rows. "
    .. "Highest rate: width 16.")
end)

t.test("a trial that failed is not among those that a row had, one that diverged is", function()
  local bench, settings = sweep("lost", rates), settings_in(scratch())
  pretend(bench, settings, "valid_bits_per_token", { 3, "failed", 4, 5, "diverged", 1 })
  tuning.settle(bench, settings)
  t.contains(tuning.sentence(bench.rows), "Chosen by valid_bits_per_token among 2 of 3 trials a row (1 failed): "
    .. "width 8 rate=0.001. Chosen by valid_bits_per_token among 3 trials a row: width 16 rate=0.01.")
end)

t.test("what a trial comes to that failed before counts until its row is run", function()
  local bench, settings = sweep("retried", rates), settings_in(scratch())
  local function chosen(scores, look)
    pretend(bench, settings, "valid_bits_per_token", scores)
    look(bench, settings)
    local row = bench.rows[1]
    return ("%s %s %d failed"):format(row.untuned or row.tuned.text, row.train:option "rate", row.failed_trials)
  end
  t.equal(chosen({ 3, "failed", 4, 5, 4, 1 }, plan.of), "rate=0.001 0.001 1 failed")
  t.equal(chosen({ nil, 2 }, plan.of), "rate=0.003 0.003 0 failed")
  t.equal(chosen({ "failed", "failed" }, plan.of), "rate=0.01 0.01 2 failed")
  t.equal(chosen({ nil, nil, "failed" }, plan.of), "none of its 3 trials ended well (3 failed) 0.01 3 failed")
  t.equal(chosen({ 3, 2, 4 }, plan.agreed), "rate=0.003 0.003 0 failed")
  t.equal(chosen({ 1 }, plan.of), "rate=0.003 0.003 0 failed")
end)

t.test("trials of several seeds: the best mean decides, of those that lost no seed", function()
  local two = lh.tune { rate = { 1e-3, 3e-3, 1e-2 }, steps = 3, by = "valid_bits_per_token", seeds = 2 }
  local bench, settings = sweep("twice", two), settings_in(scratch())
  t.equal(#plan.of(bench.trials, settings), 12)
  pretend(bench, settings, "valid_bits_per_token", { 3, 2, 5, 1, 4, 5 })
  tuning.settle(bench, settings)
  t.equal(bench.rows[1].untuned, "0 of its 3 trials have ended")
  pretend(bench, settings, "valid_bits_per_token", { 3, 5, 6, "diverged", 4, 5 }, 2)
  tuning.settle(bench, settings)
  t.equal(bench.rows[1].train:option "rate", 1e-3)
  t.equal(bench.rows[2].train:option "rate", 3e-3)
  t.contains(tuning.sentence(bench.rows), "among 3 trials a row, each the mean of 2 seeds: width 8 rate=0.001; ")
  local lost, own = sweep("half", two), settings_in(scratch()) -- failed with its first seed, not its second
  pretend(lost, own, "valid_bits_per_token", { "failed", 2, 5, 1, 4, 5 })
  pretend(lost, own, "valid_bits_per_token", { 1, 2, 5, 1, 4, 5 }, 2)
  tuning.settle(lost, own)
  t.contains(tuning.sentence(lost.rows), "among 2 of 3 trials a row (1 failed), each the mean of 2 seeds: width 8 ")
  t.equal(identity.of { experiment = "a", row = sweep("a", rates).trials.rows[1], seed = 1, scale = "smoke",
    device = "cpu" }.run_id, identity.of { experiment = "a", row = sweep("a", two).trials.rows[1], seed = 1,
    scale = "smoke", device = "cpu" }.run_id, "the first seed is what it was")
end)

t.test("of trials that did as well the first decides, at the edge if it is the least", function()
  local bench, settings = sweep("equal", rates), settings_in(scratch())
  pretend(bench, settings, "valid_bits_per_token", { 3, 3, 3, 5, 4, 4 })
  tuning.settle(bench, settings)
  t.equal(bench.rows[1].train:option "rate" .. table.concat(bench.rows[1].tuned.edges), "0.001Lowest rate")
  t.equal(bench.rows[2].train:option "rate" .. table.concat(bench.rows[2].tuned.edges), "0.003")
end)

t.test("rows of unlike choices are told apart", function()
  local bench, settings = lh.experiment "unlike", settings_in(scratch())
  local two = lh.tune { rate = { 1e-3, 3e-3 }, by = "valid_bits_per_token" }
  for i, tune in ipairs { rates, two, lh.tune { rate = { 2e-3, 6e-3, 2e-2 }, by = "valid_bits_per_token" } } do
    bench:row { "width " .. 8 * i, model = slide(8 * i), task = task, train = trained(6), tune = tune }
  end
  pretend(bench, settings, "valid_bits_per_token", { 3, 2, 4, 5, 4, 3, 2, 4 })
  tuning.settle(bench, settings)
  t.equal(tuning.sentence(bench.rows), "Chosen by valid_bits_per_token among 3 trials a row: width 8 rate=0.003; "
    .. "width 24 rate=0.006. Chosen by valid_bits_per_token among 2 trials a row: width 16 rate=0.003. "
    .. "At the edge of what was tried, beyond which better may lie: 1 of 3 rows. Highest rate: width 16.")
end)

t.test("a score is better when it is greater", function()
  local bench, settings = sweep("tuned", lh.tune { rate = { 1e-3, 3e-3 }, by = "valid_accuracy" }),
    settings_in(scratch())
  pretend(bench, settings, "valid_accuracy", { 3, 2, 1, 4 })
  tuning.settle(bench, settings)
  t.equal(bench.rows[1].train:option "rate", 1e-3)
  t.equal(bench.rows[2].train:option "rate", 3e-3)
end)

t.test("a baseline that is not tuned is not timed with the options that it began with", function()
  local bench, settings = sweep("tuned", rates), settings_in(scratch())
  pretend(bench, settings, "valid_bits_per_token", { "failed", "failed", "failed", 5, 4, 3 })
  plan.of(bench, settings)
  t.equal(bench.rows[1].untuned, "none of its 3 trials ended well (3 failed)")
  local labels = {}
  for i, run in ipairs(plan.first(bench, { "width 8", "width 16" }, settings)) do labels[i] = run.row.label end
  t.equal(table.concat(labels, ", "), "width 16")
end)

t.test("a row waits for all of its trials", function()
  local bench, settings = sweep("tuned", rates), settings_in(scratch())
  pretend(bench, settings, "valid_bits_per_token", { 3, 2, nil, 5, 4, 3 })
  tuning.settle(bench, settings)
  t.equal(bench.rows[1].tuned, nil)
  t.equal(bench.rows[1].untuned, "2 of its 3 trials have ended")
  t.equal(bench.rows[1].train:option "rate", 1e-3)
  t.equal(bench.rows[2].train:option "rate", 1e-2)
end)

t.test("trials of which none ended well decide nothing", function()
  local bench, settings = sweep("tuned", rates), settings_in(scratch())
  pretend(bench, settings, "valid_bits_per_token", { "diverged", "failed", "diverged", 5, 4, 3 })
  tuning.settle(bench, settings)
  t.equal(bench.rows[1].untuned, "none of its 3 trials ended well (2 diverged, 1 failed)")
  t.contains(tuning.sentence(bench.rows), "1 of 1 rows. Highest rate: width 16. Not tuned and so not "
    .. "run: width 8 (books): none of its 3 trials ended well (2 diverged, 1 failed).")
  t.equal(tuning.sentence(sweep("plain").rows), nil)
end)

t.test("trials whose data are not on this machine are not known to have ended", function()
  local bench = lh.experiment "nowhere"
  bench:row { "a", model = slide(8), train = trained(6), tune = rates,
    task = lh.tasks.language_model { lh.data.text { "files:nowhere" }, segment = 32, batch = 2 } }
  plan.of(bench, settings_in(scratch()))
  t.contains(bench.rows[1].untuned,
    "nobody can tell its trials without their data: task language_model: no data 'files:nowhere'")
end)

t.test("from the trials to the table", function()
  local folder = scratch()
  local settings = settings_in(folder)
  local bench = sweep("tuned", rates)
  local failed = runner.run(bench, settings)
  t.equal(failed, 0)
  local trials = (csv.read(folder .. "/tuned-trials/runs.csv"))
  local runs = (csv.read(folder .. "/tuned/runs.csv"))
  t.equal(#trials, 6)
  t.equal(#runs, 4)
  local best
  for _, trial in ipairs(trials) do
    t.equal(trial.step, "3")
    t.equal(trial.bits_per_token, "") -- nobody reads the test split for a trial
    if trial.row:find "^width 8 " and (not best
      or tonumber(trial.valid_bits_per_token) < tonumber(best.valid_bits_per_token)) then
      best = trial
    end
  end
  for _, run in ipairs(runs) do
    t.check(tonumber(run.bits_per_token))
    if run.row == "width 8" then
      t.equal(run.tuned, "rate=" .. ("%g"):format(best.rate))
      t.contains(run.train_options, "rate=" .. best.rate)
    end
  end
  local again = sweep("tuned", rates)
  local made = tables.build(again, again.tables[1], results.of(again, settings))
  t.equal(made.rows[1].cells[1].status, "done")
  t.contains(table.concat(tables.notes(made), "\n"), "Chosen by valid_bits_per_token among 3 trials a row")
  core.remove_file(folder .. "/tuned-trials/runs.csv")
  core.remove_file(folder .. "/tuned/runs.csv")
end)

-- Runs `bench` while another process has the last of its trials, which ends as the first row trains: how often
-- each row and seed was trained, and what is timed in each pass.
local function run_beside(bench, settings, scores)
  local trial = identity.of { experiment = bench.trials.runs, row = bench.trials.rows[#scores], seed = 1,
    scale = "smoke", device = "cpu" }
  local lock, train, measure, trained_now, timed = core.lock, training.run, timing.measure, {}, {}
  core.lock = function(path, ...) return not path:find(trial.run_id, 1, true) and lock(path, ...) or nil end
  training.run = function(run, ...)
    local key = ("%s %d"):format(run.row.label, run.seed)
    trained_now[key] = (trained_now[key] or 0) + 1
    local last = {}
    last[#scores] = scores[#scores]
    if not next(timed) then pretend(bench, settings, "valid_bits_per_token", last) end
    return train(run, ...)
  end
  timing.measure = function(runs, _, how)
    timed[#timed + 1] = {}
    for _, run in ipairs(runs) do table.insert(timed[#timed], run.row.label .. (how.force and " anew" or "")) end
  end
  local good, message = pcall(runner.run, bench, settings)
  core.lock, training.run, timing.measure = lock, train, measure
  t.equal(good, true, message)
  return trained_now, timed
end

t.test("--force trains no row twice where a plan is run again for those that waited", function()
  local bench, settings = sweep("forced", rates), settings_in(scratch())
  pretend(bench, settings, "valid_bits_per_token", { 3, 2, 4, 3, 2 })
  settings.force, settings.no_timing = true, false
  local trained_now, timed = run_beside(bench, settings, { 3, 2, 4, 3, 2, 1 })
  for _, key in ipairs { "width 8 1", "width 8 2", "width 16 1", "width 16 2" } do
    t.equal(trained_now[key], 1, key)
  end
  t.equal(#timed, 1)
  t.equal(table.concat(timed[1], ", "), "width 8 anew, width 16 anew")
end)

-- ---- the chart ----

-- The chart of an experiment's trials, made unasked: its curves, marks of what was chosen, and itself.
local function chart_of(bench, settings)
  for _, made in ipairs(chart.values(bench, settings, results.of(bench, settings))) do
    if made.name == "trials" then
      t.equal(made.failure, nil)
      return made.blocks[1][2], made.blocks[2][2][1], made
    end
  end
end

local function point_text(point) return ("%g %g"):format(point[1], point[2]) end

local function points_text(points)
  local texts = {}
  for i, point in ipairs(points) do texts[i] = point_text(point) end
  return table.concat(texts, ", ")
end

t.test("the chart of trials: scores over rates, the chosen one marked, what has none is counted", function()
  local bench, settings = sweep("charted", rates), settings_in(scratch())
  pretend(bench, settings, "valid_bits_per_token", { 3, 2, 4, 5, "diverged", 1 })
  local curves, marks, made = chart_of(bench, settings)
  t.equal(points_text(curves[1]), "0.001 3, 0.003 2, 0.01 4")
  t.equal(points_text(curves[2]), "0.001 5, 0.01 1")
  t.equal(point_text(marks[1]) .. ", " .. point_text(marks[2]), "0.003 2, 0.01 1")
  t.equal(marks[2][3], 2)
  t.equal(made.x_title, "rate (circle: chosen; 1 trial without a score)")
  t.contains(table.concat(made.after, "\n"), "set logscale x")
  t.contains(made.source, "1 seed")
  t.equal(chart_of(sweep "plain", settings), nil)
end)

t.test("a trial that lost a seed has no score in the chart", function()
  local two = lh.tune { rate = { 1e-3, 3e-3 }, by = "valid_bits_per_token", seeds = 2 }
  local bench, settings = sweep("charted-twice", two), settings_in(scratch())
  pretend(bench, settings, "valid_bits_per_token", { 3, 2, 4, 1 })
  pretend(bench, settings, "valid_bits_per_token", { 4, 3, 5, "diverged" }, 2)
  local curves, _, made = chart_of(bench, settings)
  t.equal(points_text(curves[1]), "0.001 3.5, 0.003 2.5")
  t.equal(points_text(curves[2]), "0.001 4.5")
  t.contains(made.x_title, "1 trial without a score")
end)

-- ---- what starts from a tuned row ----

-- A row that is tuned, and one of no steps that starts from it, of the same or another experiment.
local function chained(name)
  local own = lh.experiment(name)
  own:row { "base", model = slide(8), task = task, train = trained(6), tune = rates }
  local other = lh.experiment(name .. "-after")
  other:row { "after", model = slide(8), task = task, train = lh.train { steps = 0 }, from = { own, "base" } }
  return own, other
end

t.test("what starts from another experiment's tuned row starts from it as it was tuned", function()
  local own, other = chained "chained"
  local settings = settings_in(scratch())
  local names = {}
  for i, each in ipairs(plan.all(other)) do names[i] = each.name end
  t.equal(table.concat(names, " "), "chained-trials chained-after")
  t.equal(plan.needs(other)[1], own.trials)
  t.equal(plan.of(other, settings)[1].row.untuned, 'it starts from "base" (books): 0 of its 3 trials have ended')
  local before = identity.of(plan.of(other, settings)[1]).starts_from
  t.equal(runner.run(other, settings), 0)
  local base = store.at(settings.results, "chained"):rows()[1]
  local after = store.at(settings.results, "chained-after"):rows()[1]
  t.contains(base.tuned, "rate=")
  t.equal(after.bits_per_token, base.bits_per_token)
  t.equal(after.starts_from, base.configuration)
  t.check(after.starts_from ~= before, "the run that is not tuned")
  local again, reader = chained "chained"
  t.check(not again.rows[1].tuned)
  t.equal(results.of(reader, settings):status("after", "books"), "done")
  t.check(again.rows[1].tuned)
end)

t.test("a source that is not tuned is refused, and waited for while its trials are not all there", function()
  local own, other = chained "waiting"
  local settings = settings_in(scratch())
  local run = { experiment = "waiting-after", row = other.rows[1], seed = 1, scale = "smoke", device = "cpu" }
  t.fails(function() identity.of(run) end, 'row "after" starts from "base", which is not tuned')
  pretend(own, settings, "valid_bits_per_token", { "failed", "failed", "failed" })
  settings.only = { "after" }
  t.equal(runner.run(other, settings), 1)
  t.equal(#store.at(settings.results, "waiting-after"):rows(), 0)
  t.equal(other.rows[1].untuned, 'it starts from "base" (books): none of its 3 trials ended well (3 failed)')
end)

t.test("trials that start from a tuned row begin once that has its options", function()
  local bench, settings = lh.experiment "twice", settings_in(scratch())
  bench:row { "base", model = slide(8), task = task, train = trained(6), tune = rates }
  bench:row { "tail", model = slide(8), task = task, train = trained(2), tune = rates, from = "base" }
  t.equal(runner.run(bench, settings), 0)
  local runs = store.at(settings.results, "twice"):rows()
  t.equal(#runs, 2)
  local trials, starts = store.at(settings.results, "twice-trials"):rows(), 0
  t.equal(#trials, 6)
  for _, trial in ipairs(trials) do
    if trial.row:find "^tail" then
      t.equal(trial.starts_from, runs[1].configuration)
      starts = starts + 1
    end
  end
  t.equal(starts, 3)
  t.contains(runs[1].tuned, "rate=")
end)

t.test("to wait for trials is not to fail: --fail-fast goes on, rounds of halving are gone back to", function()
  local bench, settings = lh.experiment "later", settings_in(scratch())
  settings.fail_fast = true
  local halves = lh.tune { rate = { 1e-3, 2e-3, 3e-3, 1e-2 }, steps = 2, halving = true, by = "valid_bits_per_token" }
  bench:row { "base", model = slide(8), task = task, train = trained(6), tune = halves }
  bench:row { "tail", model = slide(8), task = task, train = trained(2), tune = halves, from = "base" }
  local failed, interrupted = runner.run(bench, settings)
  t.equal(failed, 0)
  t.check(not interrupted)
  t.equal(#store.at(settings.results, "later-trials-round1"):rows(), 8)
  t.equal(#store.at(settings.results, "later-trials"):rows(), 4)
  t.equal(#store.at(settings.results, "later"):rows(), 2)
end)

t.test("a row whose trials all ended without a score has failed: --fail-fast stops there", function()
  local bench, settings = sweep("hopeless", rates), settings_in(scratch())
  bench:row { "tail", model = slide(8), task = task, train = trained(2), from = "width 8" }
  pretend(bench, settings, "valid_bits_per_token", { "diverged", "diverged", "diverged", 2, 1, 3 })
  settings.fail_fast = true
  local failed, interrupted = runner.run(bench, settings)
  t.equal(failed, 3)
  t.check(interrupted)
  t.equal(#store.at(settings.results, "hopeless"):rows(), 0)
  settings.fail_fast = false
  local stderr, said = io.stderr, {}
  io.stderr = { write = function(_, ...) table.insert(said, table.concat { ... }) end }
  local good, message = pcall(function() failed, interrupted = runner.run(bench, settings) end)
  io.stderr = stderr
  t.equal(good, true, message)
  local text, count = table.concat(said), 0
  t.contains(text, "[1/5] width 8 books seed 1 and 1 more  is not tuned: none of its 3 trials")
  for _ in text:gmatch "is not tuned" do count = count + 1 end
  t.equal(count, 2)
  t.equal(failed, 3)
  t.check(not interrupted)
  t.equal(#store.at(settings.results, "hopeless"):rows(), 2)
end)

-- ---- ranks ----

t.test("what rank 0 finds of trials decides for all ranks", function()
  local own, other = chained "ranked"
  own:row { "slow", model = slide(16), task = task, train = trained(6), tune = rates }
  local settings = settings_in(scratch())
  pretend(own, settings, "valid_bits_per_token", { 3, 2, 4, 3, 2 })
  local first, decide, shared = ranks.first, ranks.decide, nil
  ranks.decide = function(of_rank_0)
    shared = of_rank_0()
    return shared
  end
  local function labels(runs)
    local texts = {}
    for i, run in ipairs(runs) do
      texts[i] = ("%s %s %s"):format(run.row.label, run.row.train.text, tostring(run.row.untuned ~= nil))
    end
    return table.concat(texts, "\n")
  end
  local on_first, after_on_first = labels(plan.agreed(own, settings)), labels(plan.agreed(other, settings))
  -- another process ends the last trial before rank 1 looks
  pretend_round(own.trials, settings, "valid_bits_per_token", { nil, nil, nil, nil, nil, 1 })
  local again, reader = chained "ranked"
  again:row { "slow", model = slide(16), task = task, train = trained(6), tune = rates }
  ranks.first, ranks.decide = false, function() return "2 waits" end
  local on_second = labels(plan.agreed(again, settings))
  ranks.decide = function() return shared end
  local after_on_second = labels(plan.agreed(reader, settings))
  ranks.first, ranks.decide = first, decide
  t.equal(on_second, on_first)
  t.contains(on_second, "slow")
  t.equal(again.rows[1].train:option "rate", 3e-3)
  t.check(again.rows[2].untuned, "rank 1 reads for itself")
  t.equal(after_on_second, after_on_first)
end)

-- ---- halving ----

-- One row with six choices in three rounds: 6, 3 and 2 trials.
local function halved(name)
  local bench = lh.experiment(name)
  bench:row { "width 8", model = slide(8), task = task, train = trained(16), seeds = 2,
    tune = lh.tune { rate = { 1e-3, 3e-3, 1e-2 }, warmup = { 1, 2 }, steps = 8, halving = true,
      by = "valid_bits_per_token" } }
  bench:table { columns = { "bits_per_token" } }
  local last = bench.trials
  return bench, { last.trials.trials, last.trials, last }
end

t.test("rounds: half of the trials, twice the steps", function()
  local bench, rounds = halved "halved"
  local names, counts, steps = {}, {}, {}
  for i, round in ipairs(rounds) do
    names[i], counts[i], steps[i] = round.name, #round.rows, round.rows[1].train:option "steps"
  end
  t.equal(table.concat(names, " "), "halved-trials-round1 halved-trials-round2 halved-trials")
  t.equal(table.concat(counts, " "), "6 3 2")
  t.equal(table.concat(steps, " "), "2 4 8")
  t.equal(rounds[2].rows[3].label, "width 8 round 2 place 3")
  t.equal(#bench.sources, 1)
  t.equal(lh.tune { rate = { 1, 2 }, by = "valid_bits_per_token", halving = true }.rounds, 1)
end)

t.test("the better half goes on, and its best trains", function()
  local bench, rounds = halved "halved"
  local settings, by = settings_in(scratch()), "valid_bits_per_token"
  t.equal(#plan.of(rounds[2], settings), 3)
  t.equal(rounds[2].rows[1].untuned, "0 of its 6 trials have ended")
  pretend_round(rounds[1], settings, by, { 6, 3, 5, 1, 4, 2 })
  tuning.settle(rounds[2], settings)
  local texts = {}
  for i, row in ipairs(rounds[2].rows) do texts[i] = row.tuned.text end
  t.equal(table.concat(texts, "; "), "rate=0.003 warmup=2; rate=0.01 warmup=2; rate=0.001 warmup=2")
  t.equal(rounds[2].rows[2].train:option "rate", 1e-2)
  t.equal(rounds[2].rows[2].train:option "steps", 4)
  tuning.settle(bench, settings)
  t.equal(bench.rows[1].untuned, "0 of its 2 trials have ended")
  -- more steps turn the order round
  pretend_round(rounds[2], settings, by, { 3, 2, 1 })
  tuning.settle(rounds[3], settings)
  pretend_round(rounds[3], settings, by, { 1, 2 })
  tuning.settle(bench, settings)
  t.equal(bench.rows[1].train:option "rate", 1e-3)
  t.equal(bench.rows[1].train:option "warmup", 2)
  t.equal(bench.rows[1].train:option "steps", 16)
  t.contains(tuning.sentence(bench.rows),
    "among 6 trials a row, halved in 3 rounds: width 8 rate=0.001 warmup=2. At the edge")
end)

t.test("of rounds the chart shows the first, the best of those with a rate", function()
  local bench, rounds = halved "halved"
  local settings, by = settings_in(scratch()), "valid_bits_per_token"
  pretend_round(rounds[1], settings, by, { 6, 3, 5, 1, 4, 2 })
  local curves, _, made = chart_of(bench, settings)
  t.equal(points_text(curves[1]), "0.001 3, 0.003 1, 0.01 2")
  t.contains(made.title, "by rate, first of 3 rounds")
  t.equal(made.x_title, "rate (circle: chosen)")
end)

t.test("trials that failed in any round are counted once", function()
  local bench, rounds = halved "halved"
  local settings, by = settings_in(scratch()), "valid_bits_per_token"
  pretend_round(rounds[1], settings, by, { 6, "failed", 5, 1, 4, 2 })
  tuning.settle(rounds[2], settings)
  pretend_round(rounds[2], settings, by, { 3, "failed", 1 })
  tuning.settle(rounds[3], settings)
  pretend_round(rounds[3], settings, by, { 1, 2 })
  tuning.settle(bench, settings)
  t.contains(tuning.sentence(bench.rows), "among 4 of 6 trials a row (2 failed), halved in 3 rounds: width 8")
end)

t.test("what diverged has no place in the next round", function()
  local bench, rounds = halved "halved"
  local settings, by, bad = settings_in(scratch()), "valid_bits_per_token", "diverged"
  pretend_round(rounds[1], settings, by, { bad, bad, 5, bad, bad, bad })
  t.equal(#plan.of(rounds[2], settings), 1)
  pretend_round(rounds[2], settings, by, { 5 })
  t.equal(#plan.of(rounds[3], settings), 1)
  pretend_round(rounds[3], settings, by, { 4 })
  tuning.settle(bench, settings)
  t.equal(bench.rows[1].tuned.text, "rate=0.003 warmup=1")
end)

t.test("rounds are run one after the other", function()
  local settings = settings_in(scratch())
  local bench, rounds = halved "halved"
  t.equal(runner.run(bench, settings), 0)
  for i, count in ipairs { 6, 3, 2 } do
    local runs = (csv.read(("%s/%s/runs.csv"):format(settings.results, rounds[i].name)))
    t.equal(#runs, count)
    t.equal(runs[1].step, ("%d"):format(2 ^ i))
  end
  local runs = (csv.read(settings.results .. "/halved/runs.csv"))
  t.equal(#runs, 2)
  t.contains(runs[1].tuned, "rate=")
end)

t.test("runs whose trials are not beside them are stale for that reason", function()
  local bench, settings = sweep("parted", rates), settings_in(scratch())
  pretend(bench, settings, "valid_bits_per_token", { 3, 2, 4, 3, 2, 1 })
  runner.run(bench, settings)
  core.remove_file(settings.results .. "/parted-trials/runs.csv")
  local status, why = results.of(sweep("parted", rates), settings):status("width 8", "books")
  t.equal(status, "stale")
  t.equal(why, "not tuned here, where 0 of its 3 trials have ended")
  -- the options that the script begins with, which one trial has, are no better known
  pretend(bench, settings, "valid_bits_per_token", { 1, 2, 4, 3, 2, 1 })
  runner.run(sweep("parted", rates), settings)
  core.remove_file(settings.results .. "/parted-trials/runs.csv")
  t.equal(results.of(sweep("parted", rates), settings):status("width 8", "books"), "stale")
end)

t.test("an option that training does not have, and a metric that the task never gives", function()
  t.fails(function() sweep("tuned", lh.tune { rat = { 1, 2 }, by = "valid_bits_per_token" }) end, "rate")
  t.fails(function() sweep("tuned", lh.tune { rate = { 1, 2 }, by = "valid_mse" }) end,
    "row: tune: task language_model predicts tokens, and 'valid_mse' is of vectors")
  t.fails(function() lh.tune { rate = { 1, 2 }, by = "valid_bleu" } end, "no metric 'valid_bleu'")
end)

t.finish()

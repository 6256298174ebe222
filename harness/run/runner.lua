-- Runs an experiment: every row and seed once, finished runs never again, interrupted ones from
-- their checkpoint; then step times by the protocol (all rows interleaved in one process); then
-- tables, charts and claims.
local context = require "longhaul.run.context"
local core = require "longhaul.core"
local data = require "longhaul.run.data"
local divergence = require "longhaul.run.divergence"
local estimate = require "longhaul.run.estimate"
local finished = require "longhaul.run.finished"
local forecast = require "longhaul.run.forecast"
local identity = require "longhaul.run.identity"
local jobs = require "longhaul.run.jobs"
local metrics = require "longhaul.run.metrics"
local progress = require "longhaul.run.progress"
local quantity = require "longhaul.run.quantity"
local provenance = require "longhaul.run.provenance"
local quote = require "longhaul.run.quote"
local ranks = require "longhaul.run.ranks"
local reach = require "longhaul.run.reach"
local selection = require "longhaul.run.selection"
local store = require "longhaul.run.store"
local timing = require "longhaul.run.timing"
local tuning = require "longhaul.run.tuning"

local runner = {}

-- What the runs of a row have in common: all but the seed.
local function shared_of(experiment, row, settings)
  local shared = { experiment = experiment.runs, row = row, scale = settings.scale,
    device = settings.device, slug = experiment:slug(row) }
  shared.shared, shared.__index = shared, shared
  return shared
end

local function new_run(shared, seed) return setmetatable({ seed = seed }, shared) end

--- The runs of an experiment, seed by seed so that a whole table appears early; rows whose trials
--- have ended have the options that did best there. A run has its `seed`, and what those of its row
--- have in common, which is `run.shared`.
function runner.plan(experiment, settings)
  tuning.settle(experiment, settings)
  local runs, rows, seeds, most = {}, {}, {}, 0
  local function seeds_of(row)
    if row.tried_for then return row.seeds end
    return settings.seeds or row.seeds or experiment.default_seeds
  end
  for _, row in ipairs(experiment.rows) do
    local meant = row.tried_for or row
    if selection.means(settings.only, meant.label, meant.dataset) and not row.left_out then
      local place = #rows + 1
      rows[place], seeds[place] = shared_of(experiment, row, settings), seeds_of(row)
      most = math.max(most, seeds[place])
    end
  end
  for seed = 1, most do
    for i, shared in ipairs(rows) do
      if seed <= seeds[i] then runs[#runs + 1] = new_run(shared, seed) end
    end
  end
  return runs
end

local function new_session(run)
  return core.session {
    model = run.row.model.options, task = run.row.task.options, train = run.row.train.options,
    seed = run.seed, device = run.device,
  }
end

-- The columns that are known before a run starts.
local function new_record(run, machine)
  local row = run.row
  local record = {
    run_id = run.id, configuration = run.identity.configuration, identity = identity.version,
    data_digest = run.identity.data_digest, starts_from = run.identity.starts_from,
    experiment = run.experiment, row = row.label, dataset = row.dataset, model = run.slug,
    class = row.model.name,
    task = row.task.name, data = identity.task_info(row.task).data, seed = run.seed,
    scale = run.scale, device = run.device, precision = row.train:option "precision",
    ranks = ranks.size,
    version = identity.class_version(row.model.name),
    model_options = row.model.text, task_options = row.task.text, train_options = row.train.text,
  }
  record.tuned = row.tuned and row.tuned.text
  for name, value in pairs(row.values or {}) do record[name] = value end
  for _, factor in ipairs(row.factors or {}) do
    if record[factor[1]] == nil then record[factor[1]] = factor[2] end
  end
  return provenance.fill(record, machine)
end

-- Columns of runs.csv that are the script's.
local function own_columns(row)
  local names = {}
  for i, factor in ipairs(row.factors or {}) do names[i] = factor[1] end
  for name in pairs(row.values or {}) do names[#names + 1] = name end
  if row.reach then names[#names + 1] = "reach" end
  if row.tuned then names[#names + 1] = "tuned" end
  return names
end

-- A session with the weights that the run starts from.
local function begin_session(run)
  local session = new_session(run)
  local weights = run.row.weights
  if weights then session:load_weights(data.weights(weights.name), weights.partly) end
  if run.start then session:load_weights(run.start.path, run.start.class ~= run.row.model.name) end
  return session
end

-- A session that goes on from the run's checkpoint when there is one; a checkpoint that cannot be
-- read (an older format, a damaged disk) is named and left behind.
local function open_session(run, results)
  local session, snapshot = ranks.together(begin_session, run), results:checkpoint(run.id)
  if not ranks.exists(snapshot) then return session end
  local good, message = pcall(ranks.together, session.restore, session, snapshot)
  if good then return session end
  io.stderr:write(("starting again: %s\n"):format(message))
  session:close()
  return ranks.together(begin_session, run)
end

-- The gates of the model's recurrence encodings by name, and the names in order.
local function gates_of(session)
  local gates, names = {}, {}
  for name, value in pairs(session:probe()) do
    if name:find "_rsa_gate$" then
      gates[name] = value
      names[#names + 1] = name
    end
  end
  table.sort(names)
  return gates, names
end

-- The curve's columns beside those of every run: gates, and what is watched of the test split.
local function own_curve_columns(run, gates)
  local columns = table.move(gates, 1, #gates, 1, {})
  if not run.row.train:option "evaluate_test" then return columns end
  local watched = metrics.watched_columns()
  return table.move(watched, 1, #watched, #columns + 1, columns)
end

-- Trains the session to its end and writes its curve; false when it was interrupted.
local function train_watched(run, results, session, shown)
  local points = results:read_curve(run.id, session:info().step)
  local _, gates = gates_of(session)
  local add, file = results:extend_curve(run.id, points, own_curve_columns(run, gates))
  local _ <close> = file
  local keeps_best = run.row.train:option "keep_best" ~= "false"
  return session:train(results:checkpoint(run.id), function(p)
    if keeps_best and p.is_best then session:save_weights(results:best_weights(run.id)) end
    local point = #gates > 0 and gates_of(session) or {}
    point.step, point.tokens, point.time_s = p.step, p.tokens, p.seconds
    point.rate, point.gradient_norm = p.rate, p.gradient_norm
    metrics.fill_point(point, p)
    add(point)
    shown:show(p)
    run.tokens_per_second = p.tokens_per_second or run.tokens_per_second
  end, function(...) shown:evaluating(...) end)
end

-- The same on every rank; with early stopping the session ends with its best weights.
local function train(run, results, session, shown)
  local best = results:best_weights(run.id)
  local complete
  if ranks.first then
    complete = train_watched(run, results, session, shown)
  else
    complete = session:train(results:checkpoint(run.id))
  end
  local keeps_best = run.row.train:option "keep_best" ~= "false"
  if complete and keeps_best and ranks.exists(best) then
    ranks.together(session.load_weights, session, best)
  end
  return complete
end

-- How far back the model looks, where the row asks for it: false when it was interrupted.
local function measure_context(run, session)
  local wanted = run.row.context
  if not wanted then return {} end
  return session:context(wanted.length, wanted.passages) or false
end

-- Keeps what the model says of itself and what was measured of its context, sorted by name, and the
-- mean gate of its recurrence encodings.
local function keep_probes(run, results, session, record, points)
  local list, sum = context.probes(points), 0
  record.context_tokens = context.tokens(points)
  for name, value in pairs(session:probe()) do list[#list + 1] = { name = name, value = value } end
  if #list == 0 then return end
  table.sort(list, function(a, b) return a.name < b.name end)
  results:write_probes(run.id, list)
  local gates, names = gates_of(session)
  for _, name in ipairs(names) do sum = sum + gates[name] end
  if #names > 0 then record.rsa_gate = sum / #names end
end

-- The last point of a curve of a run that ends with its last weights.
local function last_point(run, curve)
  local point = curve[#curve]
  if not point or run.row.train:option "keep_best" ~= "false" then return nil end
  local function number(text) return tonumber(text) or (text == "inf" and math.huge) or nil end
  return { loss_bits = number(point.loss_bits), mse = number(point.mse),
    gradient_norm = number(point.gradient_norm) }
end

-- A finished run whose row of the script has come to name another loss is looked through again.
local function renew_reach(run, results, id)
  local points = results:read_curve(id, math.huge)
  results:update(function(rows)
    for _, row in ipairs(rows) do
      if row.run_id == id then reach.fill(row, run.row.reach, points) end
    end
  end, own_columns(run.row))
end

local function finish(run, results, session, record, shown)
  local hear = shown and function(...) shown:evaluating(...) end or nil
  local valid = session:evaluate("valid", hear)
  local test = valid and session:evaluate("test", hear)
  if not test then return false end
  if not ranks.first then return true end
  local info = session:info()
  metrics.fill_record(record, "test", test)
  metrics.fill_record(record, "valid", valid)
  local curve = results:read_curve(run.id, info.step)
  record.error = divergence.reason {
    step = info.step, valid = valid, test = test,
    vocabulary = identity.task_info(run.row.task).vocabulary,
    last = last_point(run, curve),
  }
  record.status, record.step = record.error and "diverged" or "done", info.step
  metrics.fill_from(record, "model", info)
  record.peak_memory_bytes, record.wall_time_s = info.peak_memory_bytes, info.seconds
  record.inference_memory_bytes = session:inference_memory()
  record.tokens_per_second = run.tokens_per_second
  local points = measure_context(run, session)
  if not points then return false end
  keep_probes(run, results, session, record, points)
  metrics.fill_record(record, "watched", metrics.best_of_curve(curve))
  reach.fill(record, run.row.reach, curve)
  if run.row.keep_weights then session:save_weights(results:weights(run.id)) end
  results:put(record, own_columns(run.row))
  core.remove_file(results:checkpoint(run.id))
  core.remove_file(results:best_weights(run.id))
  return true
end

-- One run; "done", "failed" or "interrupted", on every rank what rank 0 says. What fails on one
-- rank alone ends the program there, and the others find it gone.
local function execute(run, results, machine, shown)
  local record, trained = new_record(run, machine), false
  local good, outcome = pcall(function()
    local session <close> = open_session(run, results)
    if not train(run, results, session, shown) then return "interrupted" end
    trained = true
    return finish(run, results, session, record, shown) and "done" or "interrupted"
  end)
  if not good and ranks.size > 1 and (trained or ranks.lost()) then error(outcome, 0) end
  if not ranks.first then return ranks.decide() end
  if good and outcome == "done" then
    local score = record.mse and ("MSE %.4f"):format(record.mse)
      or ("%.4f bits/token"):format(record.bits_per_token or 0 / 0)
    shown:finish(("%s  %s parameters  %s%s"):format(score, quantity.amount(record.parameters),
      quantity.duration(record.wall_time_s), record.error and "  " .. record.error or ""))
  elseif not good then
    record.status, record.error = "failed", ("%s: row \"%s\": %s"):format(run.row.line,
      run.row.label, outcome)
    results:put(record, own_columns(run.row))
    shown:finish("failed: " .. record.error)
    outcome = "failed"
  else
    shown:leave()
  end
  return ranks.decide(function() return outcome end)
end

-- ---- the whole ----

local function title_of(run, place)
  return quote.line(("[%s] %s %s seed %d"):format(place, run.row.label, run.row.dataset, run.seed))
end

local function open_store(settings, experiment)
  local results = store.under(settings, experiment)
  return ranks.first and results:prepare() or results
end

local run_one

-- Runs what the run starts from, if that is not there yet; the outcome, and where the weights are.
local function run_source(run, sweep)
  local source = identity.source_of(run)
  source.identity = identity.of(source)
  source.id = source.identity.run_id
  local own = setmetatable({
    results = open_store(sweep.settings, source.experiment),
    settings = setmetatable({ force = false, wait = true }, { __index = sweep.settings }),
  }, { __index = sweep })
  local outcome = run_one(source, own, title_of(source, "source"))
  return outcome, { path = own.results:weights(source.id), class = source.row.model.name }
end

-- Runs one entry of the plan unless it is finished or another process has it (`wait`: until that is
-- done); "done", "skipped", "failed" or "interrupted".
function run_one(run, sweep, title)
  local results, settings = sweep.results, sweep.settings
  if run.row.untuned then
    sweep.board:say(("%s  is not tuned: %s"):format(title, run.row.untuned))
    return "failed"
  end
  if ranks.first then data.tell(identity.task_info(run.row.task).data) end
  local lock_file = results:checkpoint(run.id) .. ".lock"
  local lock <close> = ranks.first and core.lock(lock_file, not settings.wait) or nil
  local verdict = ranks.decide(function()
    if lock and (settings.force or not finished.is_done(run, results)) then
      return "run"
    end
    if lock then core.remove_file(lock_file) else sweep.board:say(title
      .. "  is run by another process") end
    return "skipped"
  end)
  if verdict == "skipped" then return verdict end
  if run.row.from then
    local outcome
    outcome, run.start = run_source(run, sweep)
    if not ranks.exists(run.start.path) then return outcome == "skipped" and "failed" or outcome end
  end
  if settings.force and ranks.first then core.remove_file(results:checkpoint(run.id)) end
  local shown = ranks.first and progress.new(title, sweep.board, run, sweep.forecast)
  local outcome = execute(run, results, sweep.machine, shown)
  if outcome == "done" and ranks.first then core.remove_file(lock_file) end
  return outcome
end

-- ---- what is ahead ----

-- The stores of an experiment and of those that its charts show, the nearest first.
local function stores_of(experiment, settings, list)
  list = list or {}
  list[#list + 1] = store.under(settings, experiment.runs)
  for _, source in ipairs(experiment.sources) do stores_of(source, settings, list) end
  return list
end

local function fill_estimates(experiment, runs, settings, machine, probing)
  estimate.fill(runs, { machine = machine, device = settings.device,
    stores = stores_of(experiment, settings), open = probing and new_session or nil })
end

-- The runs that are not refused, each with its identity; the others say why.
local function identified(runs)
  local by_row, good = {}, {}
  for _, run in ipairs(runs) do
    if by_row[run.row] == nil and not run.refusal then
      local fine, message = pcall(identity.of, run)
      by_row[run.row] = fine and "" or tostring(message)
    end
    run.refusal = run.refusal or by_row[run.row] ~= "" and by_row[run.row] or nil
    if not run.refusal then good[#good + 1] = run end
  end
  for _, run in ipairs(good) do
    if not run.identity then identity.fill(run.shared) end
    run.id = identity.id(run)
  end
  return good
end

-- runner.outlook, with probes or without.
local function look_ahead(experiment, settings, probing)
  local runs, results = runner.plan(experiment, settings), store.under(settings, experiment.runs)
  fill_estimates(experiment, runs, settings, core.machine(), probing)
  local seconds, ahead, timed = 0, {}, {}
  for _, run in ipairs(identified(runs)) do
    local record, is_over = results:find(run.id), finished.is_done(run, results)
    run.state = core.exists(results:checkpoint(run.id)) and "begun"
      or not record and "new" or record.status
    if not is_over then
      seconds, ahead[run.row.dataset] = seconds + run.expected.seconds, true
    end
  end
  for _, run in ipairs(runs) do
    if ahead[run.row.dataset] and run.expected then timed[#timed + 1] = run end
  end
  if not settings.no_timing then seconds = seconds + estimate.timing(timed, settings.scale) end
  return runs, seconds
end

--- The plan of an experiment with what is known of it before it is run: each run has `expected` or
--- `refusal` (estimate.fill) and, unless it is refused, `id` and `state`: "done", "diverged",
--- "failed", "begun" (it has a checkpoint) or "new". Then the seconds that are ahead, step times
--- included (without, where settings has no_timing). Nothing of it is run; a probe's costs are kept
--- in the cache folder.
function runner.outlook(experiment, settings) return look_ahead(experiment, settings, true) end

--- The same without a probe: nothing is computed or kept.
function runner.progress(experiment, settings) return look_ahead(experiment, settings, false) end

-- What is ahead once the sources of an experiment have been run, by what is known without a probe:
-- { runs =, seconds = }.
local function ahead_of(experiment, settings)
  local later = settings.later or { runs = 0, seconds = 0 }
  local runs, seconds = look_ahead(experiment, settings, false)
  local left = later.runs
  for _, run in ipairs(runs) do
    if run.state and not finished.is_over(run.state) then left = left + 1 end
  end
  return { runs = left, seconds = later.seconds + seconds }
end

-- Runs the experiments whose rows this one's charts show, without timing.
local function run_sources(experiment, settings)
  local failed = 0
  for _, source in ipairs(experiment.sources) do
    local gentle = setmetatable({ force = false, no_timing = true, source = source.name,
      later = ranks.first and ahead_of(experiment, settings) or nil }, { __index = settings })
    if #runner.plan(source, gentle) > 0 then
      local more, interrupted = runner.run(source, gentle)
      failed = failed + more
      if interrupted then return failed, true end
    end
  end
  return failed, false
end

-- The first runs of the rows with these labels, label by label.
local function runs_of(experiment, labels, settings)
  local runs = {}
  for _, label in ipairs(labels) do
    for _, row in ipairs(experiment.rows) do
      if row.label == label then
        local shared = shared_of(experiment, row, settings)
        identity.fill(shared)
        runs[#runs + 1] = new_run(shared, 1)
      end
    end
  end
  return runs
end

-- Of the runs of a plan those at `places` that are still to be run, each with its place and id;
-- rank 0 has read the results.
local function left_of(runs, places, results, settings)
  local text = ranks.decide(function()
    local left, known, by_configuration = {}, {}, results:by_configuration()
    for _, i in ipairs(places) do
      local run = runs[i]
      local shared, seed = run.shared, run.seed
      local seeds = known[shared]
        or finished.seeds(shared, by_configuration[shared.identity.configuration] or {}, results)
      known[shared] = seeds
      if settings.force or not seeds.done[seed] then
        left[#left + 1] = i
      elseif seeds.renew[seed] then
        renew_reach(run, results, seeds.renew[seed])
      end
    end
    return table.concat(left, " ")
  end)
  local left = {}
  for place in text:gmatch "%d+" do
    local run = runs[tonumber(place)]
    run.place, run.id, left[#left + 1] = tonumber(place), identity.id(run), run
  end
  return left
end

-- What finished runs of the configurations of `left` took on this machine: seconds and bytes by
-- configuration.
local function measured_before(left, sweep)
  local seconds, bytes = {}, {}
  for _, run in ipairs(ranks.first and left or {}) do
    local id = run.identity.configuration
    local record = sweep.results:last_done(id, sweep.machine.cpu)
    if record then
      seconds[id], bytes[id] = tonumber(record.wall_time_s),
        jobs.need_of(tonumber(record.peak_memory_bytes))
    end
  end
  return seconds, bytes
end

-- One run after the other: what became of each, and whether all were asked to stop.
local function in_turn(left, sweep)
  local outcomes = {}
  for _, run in ipairs(left) do
    sweep.forecast:begin(run)
    outcomes[run] = run_one(run, sweep, title_of(run, run.place .. "/" .. sweep.planned))
    sweep.forecast:finish(run, outcomes[run] == "done")
    local stops = outcomes[run] == "interrupted"
      or outcomes[run] == "failed" and sweep.settings.fail_fast
    if stops then return outcomes, true end
  end
  return outcomes, false
end

-- Each in a process of its own.
local function side_by_side(left, sweep, needs)
  local waiting, settings = {}, sweep.settings
  for i, run in ipairs(left) do
    local source = identity.source_of(run)
    waiting[i] = {
      run = run, title = title_of(run, run.place .. "/" .. sweep.planned), after = source
        and identity.of(source).run_id,
    }
  end
  return jobs.run {
    waiting = waiting, most = settings.jobs ~= "auto" and settings.jobs
      or nil, threads = sweep.machine.threads,
    words = function(entry, threads) return settings.words(threads, entry.run.place,
      settings.source) end,
    needs = needs, board = sweep.board, forecast = sweep.forecast,
    fail_fast = settings.fail_fast,
  }
end

-- The places of the plan that are meant, whose runs get their identities.
local function places_of(runs, settings)
  if #runs == 0 then
    error(("no row contains '%s'"):format(table.concat(settings.only or {}, "', nor '")), 0)
  end
  if settings.task and settings.task > #runs then
    error(("task %d, but the plan has %d runs"):format(settings.task, #runs), 0)
  end
  local places = {}
  for i, run in ipairs(runs) do
    if not settings.task or settings.task == i then
      places[#places + 1] = i
      if not run.identity then identity.fill(run.shared) end
    end
  end
  return places
end

-- What a plan will take, as far as that is known before its first run has ended.
local function say_expected(left, board)
  local seconds, bytes, guessed = 0, 0, 0
  for _, run in ipairs(left) do
    local expected = run.expected or { seconds = 0 }
    seconds, bytes = seconds + expected.seconds, math.max(bytes, expected.bytes or 0)
    if expected.by == "FLOPs" then guessed = guessed + 1 end
  end
  board:say(("%d runs to go, about %s one after the other%s%s"):format(#left,
    quantity.duration(seconds), bytes > 0 and (", at most %.0f MiB"):format(bytes / 2 ^ 20) or "",
    guessed > 0 and (" (%d told by FLOPs alone: dry-run knows more)"):format(guessed) or ""))
end

-- What is not finished of a plan is run: what became of each run, and whether all were asked to
-- stop.
local function run_plan(runs, sweep)
  local settings = sweep.settings
  local left = left_of(runs, places_of(runs, settings), sweep.results, settings)
  local seconds, bytes = measured_before(left, sweep)
  sweep.planned = #runs
  local watched = ranks.first and not settings.task and #left > 1
  if watched then fill_estimates(sweep.experiment, left, settings, sweep.machine, false) end
  sweep.forecast = forecast.new(#runs, left, seconds, settings.later)
  sweep.board = progress.board(not settings.task and function() return sweep.forecast:text() end
    or nil)
  if watched then say_expected(left, sweep.board) end
  if settings.jobs and #left > 1 then return side_by_side(left, sweep, bytes) end
  return in_turn(left, sweep)
end

--- Runs what is not finished, what its charts need first. Returns how many runs failed, and whether
--- it was interrupted. `settings`: scale, seeds, device, only, results, sandbox, force, no_timing,
--- fail_fast (a run that fails stops the others); task (of the plan, that one alone); jobs (side by
--- side, "auto": as many as fill the threads) and words(threads, task, source), the command line of
--- one of these.
function runner.run(experiment, settings)
  local failed, interrupted = 0, false
  if not settings.task then failed, interrupted = run_sources(experiment, settings) end
  if #experiment.rows == 0 or interrupted then return failed, interrupted end
  local baselines = experiment:baselines()
  local sweep = { settings = settings, experiment = experiment, results = open_store(settings, experiment.runs),
    machine = core.machine() }
  local runs, timed, is_timed = runner.plan(experiment, settings), {}, {}
  local outcomes, stopped = run_plan(runs, sweep)
  interrupted = stopped
  for _, run in ipairs(runs) do
    local outcome, shared = outcomes[run], run.shared
    interrupted = interrupted or outcome == "interrupted"
    if outcome == "failed" then
      failed = failed + 1
    elseif not is_timed[shared] then
      timed[#timed + 1], is_timed[shared] = run, true
    end
  end
  if not settings.no_timing and not settings.task and not interrupted then
    timing.measure(timed, sweep.results, {
      scale = settings.scale, force = settings.force, open = new_session, machine = sweep.machine,
      bases = runs_of(experiment, baselines, settings),
    })
  end
  return failed, interrupted
end

return runner

-- Runs an experiment: every row and seed once, finished runs never again, interrupted ones from
-- their checkpoint; then step times by the protocol (all rows interleaved in one process); then
-- tables, charts and claims.
local core = require "longhaul.core"
local finished = require "longhaul.run.finished"
local forecast = require "longhaul.run.forecast"
local identity = require "longhaul.run.identity"
local jobs = require "longhaul.run.jobs"
local lost = require "longhaul.run.lost"
local outlook = require "longhaul.run.outlook"
local plan = require "longhaul.run.plan"
local plugins = require "longhaul.run.plugins"
local progress = require "longhaul.run.progress"
local provenance = require "longhaul.run.provenance"
local quantity = require "longhaul.run.quantity"
local quote = require "longhaul.run.quote"
local ranks = require "longhaul.run.ranks"
local rates = require "longhaul.run.rates"
local renamed = require "longhaul.run.renamed"
local stand_in = require "longhaul.run.stand_in"
local store = require "longhaul.run.store"
local timing = require "longhaul.run.timing"
local training = require "longhaul.run.training"

local runner = {}

-- ---- the whole ----

local function title_of(run, place)
  return quote.line(("[%s] %s %s seed %d"):format(place, run.row.label, run.row.dataset, run.seed))
end

-- With its place in the plan, by which --run finds it.
local function numbered(run) return title_of(run, run.place .. "/" .. run.planned) end

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

-- On rank 0 the lock of a run, nil while another process has it; `waits`: until that is done. The other
-- ranks hear every second that there is nothing new: whoever says nothing for long is taken for lost.
local function lock_of(path, waits)
  while true do
    local lock = ranks.first and core.lock(path, true) or nil
    local over = ranks.decide(function() return (lock or not waits) and "yes" or "no" end) == "yes"
    if over then return lock end
    core.sleep(1)
  end
end

-- Runs one entry of the plan unless it is finished or another process has it (`wait`: until that is
-- done); "done", "skipped", "failed" or "interrupted".
function run_one(run, sweep, title)
  local results, settings = sweep.results, sweep.settings
  if ranks.first then stand_in.tell(identity.task_info(run.row.task), run.row.task) end
  local lock_file = results:checkpoint(run.id) .. ".lock"
  local lock <close> = lock_of(lock_file, settings.wait)
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
  if settings.force and ranks.first then results:begin_forced(run.id, progress.is_worker) end
  local shown = ranks.first and progress.new(title, sweep.board, run, sweep.forecast)
  local outcome = training.run(run, results, sweep.machine, shown)
  if outcome == "done" and ranks.first then core.remove_file(lock_file) end
  return outcome
end

local function new_plan(experiment, settings)
  return { experiment = experiment, settings = settings, failed = 0, waiting = {}, timed = {}, trained = {} }
end

-- The plans of an experiment and of those that are run before it, { experiment =, settings =, failed =,
-- waiting = runs that wait for trials, timed = a run of each row that can be timed, trained = ids of what this
-- command has trained } in their order: step times are taken of its own rows alone.
local function plans_of(experiment, settings)
  local plans = {}
  for i, each in ipairs(plan.all(experiment)) do
    local gentle = setmetatable({ force = false, no_timing = true, source = each.name },
      { __index = settings })
    plans[i] = new_plan(each, each == experiment and settings or gentle)
  end
  return plans
end

-- What is ahead behind the plan at `place`, by what is known without a probe: { runs =, seconds = }.
local function ahead_of(plans, place)
  local left, seconds = 0, 0
  for i = place + 1, #plans do
    local runs, _, together = outlook.known(plans[i].experiment, plans[i].settings)
    for _, run in ipairs(runs) do
      if run.state and not finished.is_over(run.state) then left = left + 1 end
    end
    seconds = seconds + together
  end
  return { runs = left, seconds = seconds }
end

-- Of the runs of a plan those at `places` that are still to be run, each with its place and id;
-- rank 0 has read the results. What was trained in an earlier pass of this command is forced no more.
local function left_of(runs, places, sweep)
  local results, settings = sweep.results, sweep.settings
  local text = ranks.decide(function()
    local left, done, known, by_configuration = {}, {}, {}, results:by_configuration()
    for _, i in ipairs(places) do
      local run = runs[i]
      local shared, seed = run.shared, run.seed
      local seeds = known[shared]
        or finished.seeds(shared, by_configuration[shared.identity.configuration] or {}, results)
      known[shared] = seeds
      local is_forced = settings.force and not sweep.trained[identity.id(run)]
      if is_forced or not seeds.done[seed] then
        left[#left + 1] = i
      else
        done[#done + 1] = seeds.done[seed]
        if seeds.renew[seed] then training.renew_reach(run, results, seeds.renew[seed]) end
      end
    end
    local rebuilt = plugins.sentence(done)
    if rebuilt then io.stderr:write("note: ", rebuilt, "\n") end
    return table.concat(left, " ")
  end)
  local left = {}
  for place in text:gmatch "%d+" do
    local run = runs[tonumber(place)]
    run.place, run.planned, run.id, left[#left + 1] = tonumber(place), #runs, identity.id(run), run
  end
  return left
end

-- What finished runs of the configurations of `left` took on this machine: seconds and bytes by
-- configuration.
local function measured_before(left, sweep)
  local seconds, bytes = {}, {}
  for _, run in ipairs(ranks.first and left or {}) do
    local id = run.identity.configuration
    local record = sweep.results:last_done(id, provenance.here(sweep.machine, run.device))
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
    outcomes[run] = run_one(run, sweep, numbered(run))
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
    if settings.force then sweep.results:forget_forced(run.id) end
    local source = identity.source_of(run)
    waiting[i] = {
      run = run, title = numbered(run), after = source and identity.of(source).run_id,
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

-- Gives what runs share its identity, on every rank or on none.
local function identify(run, fail_fast)
  if run.identity or run.refusal then return end
  local good = plan.identify(run.shared)
  if core.any_rank(not good) and good then run.shared.refusal = "refused on another rank" end
  if run.refusal and fail_fast then error(plan.refusal_of(run), 0) end
end

-- The places of the plan that are meant, whose runs get their identities; then the runs that are
-- meant and refused. A number beyond the plan may be that of a trial that is left out: who made an
-- array of tasks could not know how many would be.
local function places_of(runs, settings, left_out)
  if settings.number and settings.number > #runs + left_out then
    error(("run %d, but the plan has %d runs"):format(settings.number, #runs), 0)
  elseif settings.number and settings.number > #runs and ranks.first then
    io.stderr:write(("run %d is left out: too few trials of the round before ended well\n"):format(settings.number))
  end
  local places, refused = {}, {}
  for i, run in ipairs(runs) do
    if not settings.number or settings.number == i then
      identify(run, settings.fail_fast)
      table.insert(run.refusal and refused or places, run.refusal and run or i)
    end
  end
  for _, text in ipairs(ranks.first and plan.refusals(refused) or {}) do
    io.stderr:write(("refused: %s\n"):format(text))
  end
  return places, refused
end

-- What a plan will take, as far as that is known before its first run has ended.
local function say_expected(left, board, settings)
  local bytes, guessed = 0, 0
  for _, run in ipairs(left) do
    local expected = run.expected or {}
    bytes = math.max(bytes, expected.bytes or 0)
    if expected.by == "FLOPs" then guessed = guessed + 1 end
  end
  local seconds = outlook.seconds(left, settings)
  board:say(("%d of %d runs to go, about %s %s%s%s"):format(#left, left[1].planned, quantity.duration(seconds),
    settings.jobs and "side by side" or "one after the other",
    bytes > 0 and (", at most %.0f MiB"):format(bytes / 2 ^ 20) or "",
    guessed > 0 and (" (%d told by FLOPs alone: dry-run knows more)"):format(guessed) or ""))
end

-- On rank 0 why runs are not begun whose rows are not tuned, once for the seeds of a row.
local function say_untuned(runs)
  local seeds, first = {}, {}
  for _, run in ipairs(ranks.first and runs or {}) do
    if not seeds[run.row] then first[#first + 1] = run end
    seeds[run.row] = (seeds[run.row] or 0) + 1
  end
  for _, run in ipairs(first) do
    local more = seeds[run.row] > 1 and (" and %d more"):format(seeds[run.row] - 1) or ""
    io.stderr:write(("%s%s  is not tuned: %s\n"):format(numbered(run), more, run.row.untuned))
  end
end

-- Whether the trials of a row, or of what it starts from, have all ended and none of them well.
local function is_hopeless(row)
  return row.verdict == "none" or row.from ~= nil and is_hopeless(row.from.row)
end

-- Of the runs that are left those that can begin, what becomes of the others (those whose trials have
-- not all ended wait), and whether one of them has failed.
local function ready_of(left)
  local ready, outcomes, hopeless = {}, {}, {}
  for _, run in ipairs(left) do
    local list = not run.row.untuned and ready or is_hopeless(run.row) and hopeless or nil
    if list then list[#list + 1] = run end
    if list ~= ready then outcomes[run] = list and "failed" or "waiting" end
  end
  say_untuned(hopeless)
  return ready, outcomes, #hopeless > 0
end

-- On rank 0 what is to be remarked on the rows of runs before they are trained.
local function say_notes(left, sweep)
  if not ranks.first or sweep.settings.number then return end
  for _, texts in ipairs { rates.notes(left), renamed.notes(left, sweep.experiment, sweep.results),
    { lost.note(left, sweep.results) } } do
    for _, text in ipairs(texts) do sweep.board:say("note: " .. text) end
  end
end

-- What is not finished of a plan is run: what became of each run, and whether all were asked to
-- stop.
local function run_plan(runs, sweep)
  local settings = sweep.settings
  local places, refused = places_of(runs, settings, sweep.left_out)
  local left = left_of(runs, places, sweep)
  local seconds, bytes = measured_before(left, sweep)
  local watched = ranks.first and not settings.number and #left > 1
  if watched then outlook.expect(sweep.experiment, left, settings) end
  sweep.forecast = forecast.new(#runs, left, seconds, sweep.later)
  sweep.board = progress.board(not settings.number and function() return sweep.forecast:text() end
    or nil)
  if watched then say_expected(left, sweep.board, settings) end
  say_notes(left, sweep)
  local ready, outcomes, has_failed = ready_of(left)
  for _, run in ipairs(refused) do outcomes[run] = "failed" end
  if has_failed and settings.fail_fast then return outcomes, true end
  local run_all = settings.jobs and #ready > 1 and side_by_side or in_turn
  local ended, stopped = run_all(ready, sweep, bytes)
  for run, outcome in pairs(ended) do outcomes[run] = outcome end
  return outcomes, stopped
end

-- Runs the rows of a plan; `later`: what is ahead behind them. Whether all were interrupted; the plan is
-- told how many `failed`, which wait for trials and which can be timed.
local function run_rows(each, later)
  local experiment, settings = each.experiment, each.settings
  each.failed, each.waiting, each.timed = 0, {}, {}
  if #experiment.rows == 0 then return false end
  local sweep = { settings = settings, experiment = experiment, results = open_store(settings, experiment.runs),
    machine = core.machine(), later = later, trained = each.trained }
  local runs, left_out = plan.agreed(experiment, settings)
  local is_timed = {}
  sweep.left_out = left_out
  local outcomes, interrupted = run_plan(runs, sweep)
  for _, run in ipairs(runs) do
    local outcome, shared = outcomes[run], run.shared
    interrupted = interrupted or outcome == "interrupted"
    if outcome == "done" then each.trained[run.id] = true end
    if outcome == "failed" then
      each.failed = each.failed + 1
    elseif outcome == "waiting" then
      table.insert(each.waiting, run)
    elseif not is_timed[shared] then
      is_timed[shared] = true
      table.insert(each.timed, run)
    end
  end
  return interrupted
end

-- Takes the step times of a plan that has been run.
local function time_rows(each)
  local experiment, settings = each.experiment, each.settings
  if settings.no_timing or #experiment.rows == 0 then return end
  timing.measure(each.timed, open_store(settings, experiment.runs), {
    scale = settings.scale, force = settings.force, rounds = settings.rounds or 1,
    open = plan.session, machine = core.machine(),
    bases = plan.first(experiment, experiment:baselines(), settings),
  })
end

-- Runs the plan at `place`, unless none of its rows is meant; whether all were interrupted.
local function run_place(plans, place)
  local each = plans[place]
  if place < #plans and #plan.agreed(each.experiment, each.settings) == 0 then return false end
  local later = ranks.first and place < #plans and ahead_of(plans, place) or nil
  return run_rows(each, later)
end

-- Whether runs of a plan waited for trials that have ended since.
local function some_begin(each)
  if #each.waiting > 0 then plan.agreed(each.experiment, each.settings) end
  for _, run in ipairs(each.waiting) do
    if not run.row.untuned then return true end
  end
  return false
end

-- The place behind that of the plan which was run last: a trial may start from a row that other trials of
-- its plan, or of later rounds, decide, and a plan is then run again.
local function next_place(plans, place)
  for i = 1, place do
    if some_begin(plans[i]) then return i end
  end
  return place + 1
end

-- What nothing is left to wait for has failed; how many runs.
local function give_up(waiting)
  say_untuned(waiting)
  return #waiting
end

--- Runs what is not finished, what its charts need first. Returns how many runs failed, and whether
--- it was interrupted. `settings`: scale, seeds, device, only, results, sandbox, force, no_timing,
--- fail_fast (a run that fails stops the others); number (in the plan, of the one run to do); jobs (side by
--- side, "auto": as many as fill the threads) and words(threads, number, source), the command line of
--- one of these.
function runner.run(experiment, settings)
  if settings.number then
    local each = new_plan(experiment, settings)
    local interrupted = run_rows(each)
    return each.failed + give_up(each.waiting), interrupted
  end
  local crowded = ranks.first and jobs.note(core.machine(), settings.jobs)
  if crowded then io.stderr:write("note: ", crowded, "\n") end
  local plans, place, interrupted, failed = plans_of(experiment, settings), 1, false, 0
  while place <= #plans and not interrupted do
    interrupted = run_place(plans, place)
    place = not interrupted and next_place(plans, place) or place
  end
  if not interrupted then time_rows(plans[#plans]) end
  for _, each in ipairs(plans) do
    failed = failed + each.failed + (interrupted and 0 or give_up(each.waiting))
  end
  return failed, interrupted
end

return runner

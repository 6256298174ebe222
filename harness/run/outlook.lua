-- What a plan will take, and what of it is done, before any of it is run.
local core = require "longhaul.core"
local estimate = require "longhaul.run.estimate"
local extension = require "longhaul.run.extension"
local finished = require "longhaul.run.finished"
local identity = require "longhaul.run.identity"
local jobs = require "longhaul.run.jobs"
local plan = require "longhaul.run.plan"
local store = require "longhaul.run.store"

local outlook = {}

-- The stores of an experiment and of those that are run before it, the nearest first.
local function stores_of(experiment, settings)
  local all, list = plan.all(experiment), {}
  for i = #all, 1, -1 do list[#list + 1] = store.under(settings, all[i].runs) end
  return list
end

--- Gives runs of an experiment what is expected of them (estimate.fill) on the threads that
--- `settings.jobs` leaves to each; `open` makes the session of a probe, nil: nothing is measured.
function outlook.expect(experiment, runs, settings, open)
  local machine = core.machine()
  estimate.fill(runs, {
    machine = machine, device = settings.device, stores = stores_of(experiment, settings),
    open = open,
    threads = function(row) return (jobs.lanes(row, settings.jobs, machine.threads, #runs)) end,
  })
end

--- The runs that are not refused, each with its identity; the others say why.
function outlook.identified(runs)
  local good = {}
  for _, run in ipairs(runs) do
    if not run.refusal and plan.identify(run.shared) then
      run.id = identity.id(run)
      good[#good + 1] = run
    end
  end
  return good
end

--- Seconds until runs with what is expected of them (nil where nothing is) have been trained, as many
--- side by side as `settings.jobs` says; then the seconds of all of them together.
function outlook.seconds(runs, settings)
  local side_by_side, together, longest, threads = 0, 0, 0, core.machine().threads
  for _, run in ipairs(runs) do
    local seconds = run.expected and run.expected.seconds or 0
    local _, lanes = jobs.lanes(run.row, settings.jobs, threads, #runs)
    side_by_side, together = side_by_side + seconds / lanes, together + seconds
    longest = math.max(longest, seconds)
  end
  return math.max(side_by_side, longest), together
end

-- The steps that a run need not take: its own until it was interrupted, or those of the shorter one that it goes
-- on from.
local function steps_behind(run, results)
  if run.starts_over then return 0 end
  if run.state == "begun" then return (results:last_point(run.id) or {}).step or 0 end
  return (extension.of(run, results) or {}).steps or 0
end

local function take_off_steps(run, results)
  local whole, steps = run.expected, run.expected and steps_behind(run, results) or 0
  if steps == 0 then return end
  run.expected = setmetatable({ seconds = whole.seconds - steps * whole.step_s }, { __index = whole })
end

local function state_of(run, results, is_done)
  local record = results:find(run.id)
  if is_done then return record.status end
  if core.exists(results:checkpoint(run.id)) then return "begun" end
  if not record then return "new" end
  return finished.is_over(record.status) and "weights gone" or record.status
end

local function look_ahead(experiment, settings, open)
  local runs, results = plan.of(experiment, settings), store.under(settings, experiment.runs)
  outlook.expect(experiment, runs, settings, open)
  local left, ahead, timed = {}, {}, {}
  for _, run in ipairs(outlook.identified(runs)) do
    local is_done = finished.is_done(run, results)
    run.state, run.record = state_of(run, results, is_done), results:find(run.id)
    if not is_done then
      take_off_steps(run, results)
      left[#left + 1], ahead[run.row.dataset] = run, true
    end
  end
  for _, run in ipairs(runs) do
    if ahead[run.row.dataset] and run.expected then timed[#timed + 1] = run end
  end
  local seconds, together = outlook.seconds(left, settings)
  local timing = settings.no_timing and 0 or estimate.timing(timed, settings.scale)
  return runs, seconds + timing, together + timing
end

--- The plan of an experiment with what is known of it before it is run: each run has `expected` or
--- `refusal` (estimate.fill) and, unless it is refused, `id`, `record` (its row of runs.csv) and
--- `state`: "done", "diverged", "failed", "begun" (it has a checkpoint), "weights gone" (it is run
--- again, since others start from its weights) or "new". Then the seconds that are ahead, step times
--- included (without, where settings has no_timing), and those of all runs together, which is more
--- where they go on side by side. Nothing of it is run; a probe's costs are kept in the cache folder.
function outlook.of(experiment, settings) return look_ahead(experiment, settings, plan.session) end

--- The same without a probe: nothing is computed or kept.
function outlook.known(experiment, settings) return look_ahead(experiment, settings) end

return outlook

-- The plan of an experiment: which runs it has, and the session that each trains.
local context = require "longhaul.run.context"
local core = require "longhaul.core"
local identity = require "longhaul.run.identity"
local row_notes = require "longhaul.run.row_notes"
local selection = require "longhaul.run.selection"
local tokenizer = require "longhaul.run.tokenizer"
local tuning = require "longhaul.run.tuning"

local plan = {}

-- What a row starts from, what that starts from, and so on: { { experiment =, row = } ... }.
local function chain_of(row)
  local list, from = {}, row.from
  while from do list[#list + 1], from = from, from.row.from end
  return list
end

--- The experiments without which the rows of one cannot be trained: its trials, those with whose
--- weights its rows begin, and the trials of these.
function plan.needs(experiment)
  local list, seen = {}, { [experiment] = true }
  local function add(other)
    if other and not seen[other] then list[#list + 1], seen[other] = other, true end
  end
  add(experiment.trials)
  for _, row in ipairs(experiment.rows) do
    for _, from in ipairs(chain_of(row)) do
      add(from.row.tune and from.experiment.trials)
      add(from.experiment)
    end
  end
  return list
end

--- The experiments that a run of this one runs, each once and behind what it needs: those whose rows
--- its charts show, the rounds of trials, also of rows of others that its rows start from, what these
--- need in their turn; itself at last.
function plan.all(experiment)
  local meant, seen, list = {}, {}, {}
  local function mean(each)
    if meant[each] then return end
    meant[each] = true
    for _, source in ipairs(each.sources) do mean(source) end
    for _, row in ipairs(each.rows) do
      for _, from in ipairs(chain_of(row)) do
        if from.row.tune then mean(from.experiment.trials) end
      end
    end
  end
  local function add(each)
    if seen[each] then return end
    seen[each] = true
    for _, other in ipairs(plan.needs(each)) do add(other) end
    for _, other in ipairs(each.sources) do add(other) end
    if meant[each] then list[#list + 1] = each end
  end
  mean(experiment)
  add(experiment)
  return list
end

--- How often the rounds of an experiment's trials are to be run one after the other until all its rows
--- are tuned, where it is settled: a trial may start from a tuned row of the experiment itself.
function plan.passes(experiment)
  local most = 1
  for _, row in ipairs(experiment.rows) do
    local count = row.tune and 1 or 0
    for _, from in ipairs(chain_of(row)) do
      local waits = from.experiment == experiment and from.row.tune and from.row.untuned
      count = count + (waits and 1 or 0)
    end
    most = math.max(most, count)
  end
  return most
end

-- What the runs of a row have in common: all but the seed.
local function shared_of(experiment, row, settings)
  local shared = { experiment = experiment.runs, row = row, scale = settings.scale,
    keeps_checkpoint = settings.keep_checkpoints, starts_over = settings.force,
    device = settings.device, slug = experiment:slug(row), given_seeds = settings.seeds }
  shared.shared, shared.__index = shared, shared
  return shared
end

local function new_run(shared, seed) return setmetatable({ seed = seed }, shared) end

-- The runs of an experiment whose rows are settled.
local function runs_of(experiment, settings)
  local runs, rows, seeds, most, left_out = {}, {}, {}, 0, 0
  local function seeds_of(row)
    if row.tried_for then return row.seeds end
    return settings.seeds or row.seeds or experiment.default_seeds
  end
  for _, row in ipairs(experiment.rows) do
    local meant = row.tried_for or row
    local is_meant = selection.means(settings.only, meant.label, meant.dataset)
    if is_meant and row.left_out then
      left_out = left_out + seeds_of(row)
    elseif is_meant then
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
  return runs, left_out
end

--- The runs of an experiment, seed by seed so that a whole table appears early; rows whose trials
--- have ended have the options that did best there. A run has its `seed`, and what those of its row
--- have in common, which is `run.shared`. Then how many more there were before trials left them out.
function plan.of(experiment, settings)
  tuning.settle(experiment, settings)
  return runs_of(experiment, settings)
end

--- The same where ranks train together: the same runs on each.
function plan.agreed(experiment, settings)
  tuning.agree(experiment, settings)
  return runs_of(experiment, settings)
end

-- What a row's training would be in vain without, too.
local function fill(shared)
  identity.fill(shared)
  local row = shared.row
  local info = identity.task_info(row.task)
  tokenizer.check_samples(row, info)
  if row.context then context.check(row.context, row.task.name, info) end
end

--- Gives what the runs of a row share its `identity`, for which its data are opened; false where
--- these cannot be, or lack what its samples need, and `refusal` says why.
function plan.identify(shared)
  if shared.identity or shared.refusal then return not shared.refusal end
  local good, message = pcall(fill, shared)
  if not good then shared.refusal = tostring(message) end
  return good
end

--- The sentence that a run which is refused ends in.
function plan.refusal_of(run) return row_notes.text(run.row, run.refusal) end

--- The same of several runs, those of one line that are refused for one reason together.
function plan.refusals(runs)
  return row_notes.all(runs, function(run) return { run.refusal } end)
end

--- The first runs of the rows with these labels, label by label, with their identities, unless they
--- are refused, or are not trained since their trials have not told with which options.
function plan.first(experiment, labels, settings)
  local runs = {}
  for _, label in ipairs(labels) do
    for _, row in ipairs(experiment.rows) do
      if row.label == label and not row.untuned and not row.left_out then
        local shared = shared_of(experiment, row, settings)
        if plan.identify(shared) then runs[#runs + 1] = new_run(shared, 1) end
      end
    end
  end
  return runs
end

--- A new session for a run: give it back with `close`.
function plan.session(run)
  return core.session {
    model = run.row.model.options, task = run.row.task.options, train = run.row.train.options,
    seed = run.seed, device = run.device,
  }
end

return plan

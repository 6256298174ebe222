-- lh.tune: the grid of training options that every row of a comparison tries, and the trials that
-- it makes of a row; longhaul.run.tuning decides by what they ended with. With `halving` the trials
-- are made in rounds: all choices for a fraction of the steps, the better half of them for twice as
-- many, and so on until two are left for the last round (successive halving, Jamieson and Talwalkar
-- 2016, each trial from the start).
local class = require "longhaul.run.class"
local factors = require "longhaul.run.factors"
local lists = require "longhaul.run.lists"
local metrics = require "longhaul.run.metrics"
local spec = require "longhaul.spec"

local tune = {}

local grids = class.new("longhaul.tune", {})

--- Whether a value was made by lh.tune.
tune.is = grids.is

local function check_by(by)
  local refusal = type(by) ~= "string" and "field 'by' names a metric of the validation split"
    or metrics.refusal(by)
  if not refusal and not (by:find "^valid_" and metrics.better(by)) then
    refusal = ("'%s' is no loss or score of the validation split; valid_bits_per_token is one"):format(by)
  end
  if refusal then spec.fail("tune: " .. refusal) end
end

local function check_axis(name, values)
  if not lists.is(values, 2) then
    spec.fail(("tune: '%s' takes the values that are tried, as in { 1e-3, 3e-3 }"):format(name))
  end
  local seen = {}
  for _, value in ipairs(values) do
    local text = factors.text(value)
    -- the better half of the trials could be one trial twice
    if seen[text] then spec.fail(("tune: '%s' tries %s twice"):format(name, text)) end
    seen[text] = true
  end
end

-- The fields that are no training option.
local own = { by = true, steps = true, halving = true, seeds = true }

local function check_own(options)
  local halving = options.halving
  for _, name in ipairs { "steps", "seeds" } do
    local count = options[name]
    if count ~= nil and (math.type(count) == nil or (math.tointeger(count) or 0) < 1) then
      spec.fail(("tune: %s must be a positive integer, not '%s'"):format(name, tostring(count)))
    end
  end
  if halving ~= nil and type(halving) ~= "boolean" then spec.fail "tune: halving is true or false" end
end

--- Used by lh.tune: `by`, a column of the validation split; `steps` of a trial (nil: those of the
--- row); `seeds` of a trial (nil: one); `halving`, in rounds; every other field is a training option with the
--- values that are tried.
function tune.new(options)
  if type(options) ~= "table" then spec.fail "tune takes a table, as in { rate = { 1e-3, 3e-3 } }" end
  check_by(options.by)
  check_own(options)
  local made = { by = options.by, steps = math.tointeger(options.steps), names = {}, axes = {} }
  made.seeds = math.tointeger(options.seeds) or 1
  for name, values in pairs(options) do
    if not own[name] then
      check_axis(name, values)
      made.names[#made.names + 1], made.axes[name] = name, values
    end
  end
  if #made.names == 0 then spec.fail "tune: nothing is tried; rate = { 1e-3, 3e-3 } tries two rates" end
  table.sort(made.names, function(a, b) return tostring(a) < tostring(b) end)
  made.choices, made.rounds = 1, 1
  for _, values in pairs(made.axes) do made.choices = made.choices * #values end
  while options.halving and made.choices > 2 ^ made.rounds do made.rounds = made.rounds + 1 end
  return grids.make(made)
end

-- "rate=0.003 warmup=10".
local function text_of(grid, values)
  local words = {}
  for i, name in ipairs(grid.names) do
    words[i] = ("%s=%s"):format(name, factors.text(values[name]))
  end
  return table.concat(words, " ")
end

-- Every combination of what is tried.
local function choices(grid)
  local list = { {} }
  for _, name in ipairs(grid.names) do
    local longer = {}
    for _, begun in ipairs(list) do
      for _, value in ipairs(grid.axes[name]) do
        local values = { [name] = value }
        for other, chosen in pairs(begun) do values[other] = chosen end
        longer[#longer + 1] = values
      end
    end
    list = longer
  end
  return list
end

-- The steps of a trial in a round.
local function steps_in(grid, row, round)
  local steps = grid.steps or row.train:option "steps"
  return math.max(1, steps >> (grid.rounds - round))
end

-- A trial of a row, without its options.
local function new_trial(grid, row, name)
  return {
    label = row.label .. " " .. name, dataset = row.dataset, model = row.model, task = row.task,
    weights = row.weights, from = row.from, line = row.line, tried_for = row, seeds = grid.seeds,
  }
end

--- The rows of a row's trials in the first round, in the order of the values that are tried.
function tune.trials(grid, row)
  local list = {}
  for i, values in ipairs(choices(grid)) do
    local tried, changes = {}, { steps = steps_in(grid, row, 1) }
    for k, name in ipairs(grid.names) do
      tried[k] = { name, values[name] }
      changes[name] = values[name]
    end
    local text = text_of(grid, values)
    local trial = new_trial(grid, row, text)
    trial.train, trial.factors = row.train:with(changes), tried
    trial.tried = { text = text, values = values }
    list[i] = trial
  end
  return list
end

--- The rows of a later round: the first has the options of the best trial of the round before,
--- `trials`, the second those of the second.
function tune.survivors(grid, row, round, trials)
  local list = {}
  for place = 1, math.ceil(grid.choices / 2 ^ (round - 1)) do
    local trial = new_trial(grid, row, ("round %d place %d"):format(round, place))
    trial.train = row.train:with { steps = steps_in(grid, row, round) }
    trial.tune, trial.trials, trial.place = grid, trials, place
    list[place] = trial
  end
  return list
end

return tune

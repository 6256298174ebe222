-- lh.tune: the grid of training options that every row of a comparison tries, and the trials that
-- it makes of a row; longhaul.run.tuning decides by what they ended with.
local metrics = require "longhaul.run.metrics"
local spec = require "longhaul.spec"

local tune = {}

local Tune = {}
Tune.__index = Tune
Tune.__name = "longhaul.tune"

--- Whether a value was made by lh.tune.
function tune.is(value) return getmetatable(value) == Tune end

local function check_by(by)
  local refusal = type(by) ~= "string" and "field 'by' names a metric of the validation split"
    or metrics.refusal(by)
  if not refusal and not (by:find "^valid_" and metrics.better(by)) then
    refusal = ("'%s' is no loss or score of the validation split; valid_bits_per_token is one"):format(by)
  end
  if refusal then spec.fail("tune: " .. refusal) end
end

local function check_axis(name, values)
  if type(values) ~= "table" or #values < 2 then
    spec.fail(("tune: '%s' takes the values that are tried, as in { 1e-3, 3e-3 }"):format(name))
  end
end

--- Used by lh.tune: `by`, a column of the validation split; `steps` of a trial (nil: those of the
--- row); every other field is a training option with the values that are tried.
function tune.new(options)
  if type(options) ~= "table" then spec.fail "tune takes a table, as in { rate = { 1e-3, 3e-3 } }" end
  check_by(options.by)
  local made = { by = options.by, steps = options.steps, names = {}, axes = {} }
  for name, values in pairs(options) do
    if name ~= "by" and name ~= "steps" then
      check_axis(name, values)
      made.names[#made.names + 1], made.axes[name] = name, values
    end
  end
  if #made.names == 0 then spec.fail "tune: nothing is tried; rate = { 1e-3, 3e-3 } tries two rates" end
  table.sort(made.names, function(a, b) return tostring(a) < tostring(b) end)
  return setmetatable(made, Tune)
end

-- "rate=0.003 warmup=10".
local function text_of(grid, values)
  local words = {}
  for i, name in ipairs(grid.names) do
    words[i] = ("%s=%s"):format(name, type(values[name]) == "number" and ("%g"):format(values[name])
      or tostring(values[name]))
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

--- The rows of a row's trials, in the order of the values that are tried.
function tune.trials(grid, row)
  local list = {}
  for i, values in ipairs(choices(grid)) do
    local factors, changes = {}, { steps = grid.steps }
    for k, name in ipairs(grid.names) do
      factors[k] = { name, values[name] }
      changes[name] = values[name]
    end
    local tried = text_of(grid, values)
    list[i] = {
      label = row.label .. " " .. tried, dataset = row.dataset, model = row.model,
      task = row.task, train = row.train:with(changes), weights = row.weights, from = row.from,
      line = row.line, tried_for = row, values_tried = values, tried = tried, factors = factors, seeds = 1,
    }
  end
  return list
end

return tune

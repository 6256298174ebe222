-- The scale that an experiment is run at, which the command line decides before a script is read.
local core = require "longhaul.core"
local lists = require "longhaul.run.lists"
local spec = require "longhaul.spec"

local scale = {}

--- From the fewest steps to the published hyper-parameters.
scale.names = require "longhaul.run.scales"

--- The option of a command that takes one.
scale.option = { "scale=", "smoke, small (default), study, medium, gpu or paper", "SCALE",
  words = scale.names }

local current = "small"

local function check(name)
  if lists.has(scale.names, name) then return end
  spec.fail(("no scale '%s'%s"):format(tostring(name),
    core.did_you_mean(tostring(name), scale.names)))
end

--- Sets the current one; nil leaves it.
function scale.set(name)
  if name ~= nil then check(name) end
  current = name or current
end

--- The current one.
function scale.get() return current end

--- The choice for the current scale, { smoke = 10, small = 1000 }: a scale that is not named takes
--- the nearest smaller one that is.
function scale.choose(choices)
  if type(choices) ~= "table" then
    spec.fail "by_scale takes a table, as in { smoke = 10, small = 1000 }"
  end
  for name in pairs(choices) do check(name) end
  local chosen
  for _, name in ipairs(scale.names) do
    if choices[name] ~= nil then chosen = choices[name] end
    if name == current then break end
  end
  if chosen == nil then
    spec.fail(("by_scale has nothing for scale '%s' or below"):format(current))
  end
  return chosen
end

return scale

-- lh.grid: the points of a sweep, and the factors that they give to rows.
local checks = require "longhaul.checks"
local factors = require "longhaul.run.factors"
local lists = require "longhaul.run.lists"
local spec = require "longhaul.spec"
local store = require "longhaul.run.store"

local grid = {}

-- 1 and 1.0 are one value; texts and numbers that are written alike make rows of one label, which are refused.
local function check_values(axis)
  local seen = {}
  for i = 2, #axis do
    local value = axis[i]
    if value ~= value then spec.fail(("grid: axis '%s' has a value that is not a number (nan)"):format(axis[1])) end
    if seen[value] then spec.fail(("grid: axis '%s' has the value %s twice"):format(axis[1], factors.text(value))) end
    seen[value] = true
  end
end

local function check_axes(axes)
  if not lists.is(axes, 1) then spec.fail "grid takes axes, as in { { \"window\", 32, 64 } }" end
  local seen = {}
  for _, axis in ipairs(axes) do
    if not lists.is(axis, 2) or type(axis[1]) ~= "string" then
      spec.fail("grid: an axis is a name and its values, as in { \"window\", 32, 64 }")
    end
    if seen[axis[1]] then spec.fail(("grid: there are two axes '%s'"):format(axis[1])) end
    seen[axis[1]] = true
    check_values(axis)
  end
end

--- Used by lh.grid: an iterator over all combinations, the last axis running fastest.
function grid.points(axes)
  check_axes(axes)
  local points = { {} }
  for _, axis in ipairs(axes) do
    local longer = {}
    for _, point in ipairs(points) do
      for i = 2, #axis do
        local copy = {}
        for key, value in pairs(point) do copy[key] = value end
        copy[axis[1]] = axis[i]
        longer[#longer + 1] = copy
      end
    end
    points = longer
  end
  local axes_in_order = {}
  for i, axis in ipairs(axes) do axes_in_order[i] = axis[1] end
  local index = 0
  return function()
    index = index + 1
    local point = points[index]
    if not point then return nil end
    return setmetatable(point, { axes = axes_in_order })
  end
end

-- A factor is a column of runs.csv beside those that the program fills.
local function check_factor(name, value)
  if store.is_own_column(name) then
    spec.fail(("row: no factor can be called '%s': runs.csv has a column of that name; rename the axis of lh.grid")
      :format(name))
  end
  if type(value) == "table" or type(value) == "function" then
    spec.fail(("row: factor '%s' is a number, a text or a flag, not a %s"):format(name, type(value)))
  end
  checks.text("row: a factor's name", name)
  checks.text("row: a factor", value)
end

--- The factors of a row that begins with this point, { name, value } in the order of the axes; before
--- them "64 lstm:dual", what it is called where it does not say.
function grid.factors(point)
  local meta = getmetatable(point)
  if not meta or not meta.axes then
    spec.fail("a row begins with its label or with a point of lh.grid")
  end
  local words, list = {}, {}
  for i, axis in ipairs(meta.axes) do
    check_factor(axis, point[axis])
    words[i] = factors.text(point[axis])
    list[i] = { axis, point[axis] }
  end
  return table.concat(words, " "), list
end

return grid

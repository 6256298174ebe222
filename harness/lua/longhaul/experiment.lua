-- An experiment: rows to run, and the tables, charts and claims that are views of their results.
local spec = require "longhaul.spec"

local experiment = {}

---@class longhaul.experiment
local Experiment = {}
Experiment.__index = Experiment
Experiment.__name = "longhaul.experiment"

local row_fields = { "model", "task", "train", "seeds", "dataset", "label" }

--- Used by lh.experiment.
function experiment.new(name, scale)
  if type(name) ~= "string" or not name:match("^[%w_.-]+$") then
    spec.fail("an experiment's name is made of letters, digits, '-', '_' and '.'")
  end
  local made = { name = name, scale = scale, rows = {}, tables = {}, plots = {}, claims = {}, default_seeds = 1 }
  return setmetatable(made, Experiment)
end

function experiment.is(value) return getmetatable(value) == Experiment end

-- "64 lstm:dual" from a point of lh.grid, its factors in the order of the axes.
local function label_of(point)
  local meta = getmetatable(point)
  if not meta or not meta.axes then spec.fail("a row begins with its label or with a point of lh.grid") end
  local words = {}
  for i, axis in ipairs(meta.axes) do words[i] = tostring(point[axis]) end
  return table.concat(words, " "), meta.axes
end

local function check_fields(row)
  for key in pairs(row) do
    local known = key == 1
    for _, name in ipairs(row_fields) do known = known or name == key end
    if not known then
      local nearest = require("longhaul.core").nearest(tostring(key), row_fields)
      spec.fail(("row: unknown field '%s'%s"):format(key, nearest and (" (did you mean '%s'?)"):format(nearest) or ""))
    end
  end
  for _, kind in ipairs { "model", "task", "train" } do
    if not spec.is(row[kind], kind) then spec.fail(("row: field '%s' must be a %s"):format(kind, kind)) end
  end
end

--- Adds a row: `bench:row { "Rec:fixed:skip", model = ..., task = ..., train = ..., seeds = 3, dataset = "books" }`. The first
--- value is the label, or a point of lh.grid whose factors become columns.
function Experiment:row(row)
  check_fields(row)
  local first, factors = row[1], nil
  local label = row.label
  if type(first) == "table" then
    local made, axes = label_of(first)
    label = label or made
    factors = {}
    for i, axis in ipairs(axes) do factors[i] = { axis, first[axis] } end
  else
    label = label or first
  end
  if type(label) ~= "string" then spec.fail("a row begins with its label or with a point of lh.grid") end
  local info = debug.getinfo(2, "Sl")
  self.rows[#self.rows + 1] = {
    label = label,
    dataset = row.dataset or row.task:option("name") or "",
    model = row.model,
    task = row.task,
    train = row.train,
    seeds = row.seeds,
    factors = factors,
    line = ("%s:%d"):format(info.short_src, info.currentline),
  }
  return self
end

--- How many seeds rows have that do not say so themselves.
function Experiment:seeds(count)
  self.default_seeds = count
  return self
end

--- Declares a table: `bench:table { columns = { "bits_per_token", "relative_step_time" }, baseline = "Slide:13L",
--- published = "brt_table1", best = { bits_per_token = "min" } }`.
function Experiment:table(options)
  self.tables[#self.tables + 1] = options
  return self
end

--- Declares a chart: `bench:plot { "pareto", x = "step_time_ms", y = "bits_per_token" }`; kinds: lines, pareto, bars.
function Experiment:plot(options)
  self.plots[#self.plots + 1] = options
  return self
end

--- Declares a claim that the results are held against; see report/claims.lua.
function Experiment:claim(claim)
  self.claims[#self.claims + 1] = claim
  return self
end

return experiment

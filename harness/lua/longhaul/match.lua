-- Models of equal size: the widths of a model, and where they do not suffice its depth, that meet
-- a budget of parameters, of FLOPs per token or of a step's time on this machine.
local core = require "longhaul.core"
local lists = require "longhaul.run.lists"
local spec = require "longhaul.spec"
local step_match = require "longhaul.run.step_match"

local match = {}

--- How far from its budget a model may lie.
match.tolerance = 0.03

local widest = 65536

-- A step's time differs by more than that from one measurement to the next.
local tolerance_of_time = 0.1

-- The models that met a budget, { model =, count = }, by its name and number: what is compared with them.
local met = {}

--- Forgets the models of another script.
function match.forget() met = {} end

--- What a budget can be of, and what core.describe calls it.
match.budgets = { parameters = "total", flops_per_token = "flops_per_token" }

-- The widths of axial positions go on adding up to the width.
local function divided(widths, width)
  local sum, made, left = 0, {}, width
  for _, part in ipairs(widths) do sum = sum + part end
  for i = 1, #widths - 1 do
    made[i] = widths[i] * width // sum
    left = left - made[i]
  end
  made[#widths] = left
  return made
end

-- The options of `model` at another width: sizes that it states in numbers grow in proportion,
-- those it leaves to the width (0) follow by themselves.
local function at_width(model, width)
  local changes, ratio = { width = width }, width / model:option "width"
  for _, name in ipairs { "hidden", "head_width" } do
    local size = model:option(name)
    if size and size > 0 then changes[name] = math.max(2, 2 * math.floor(size * ratio / 2 + 0.5)) end
  end
  local positions = model:option "position_widths"
  if type(positions) == "table" and #positions > 0 then
    changes.position_widths = divided(positions, width)
  end
  return changes
end

-- The largest whole n of 1 to `most` at which `cost(n)`, which grows, is at most `budget`; 0 where
-- none is.
local function largest(cost, budget, most)
  local good, bad = 0, 1
  while bad <= most and cost(bad) <= budget do good, bad = bad, 2 * bad end
  bad = math.min(bad, most + 1)
  while bad - good > 1 do
    local middle = (good + bad) // 2
    if cost(middle) <= budget then good = middle else bad = middle end
  end
  return good
end

-- A search: `count(model)` says what is counted, of which model, and the best that was seen.
local Search = {}
Search.__index = Search

-- Of a budget beyond all that floats tell apart every size is as far away; the largest is the nearest.
function Search:is_larger(found) return found < self.budget and found > self.best.found end

-- What the model costs with these changes; a size that it refuses costs too much.
function Search:cost(changes)
  local good, found = pcall(function() return self.count(self.model:with(changes)) end)
  if not good then
    self.refusal = found
    return math.huge
  end
  self.seen[#self.seen + 1] = found
  local distance = math.abs(found / self.budget - 1)
  if not self.best or distance < self.best.error or distance == self.best.error and self:is_larger(found) then
    self.best = { error = distance, changes = changes, found = found }
  end
  return found
end

function Search:is_met() return self.best and self.best.error <= self.tolerance end

-- Between a width that is too small and the next: a wider feed-forward network.
function Search:hidden(base)
  local from = base.hidden or self.model:option "hidden"
  if from == 0 then from = 4 * base.width end
  largest(function(more)
    local changes = { hidden = from + 2 * more }
    for name, value in pairs(base) do
      if name ~= "hidden" then changes[name] = value end
    end
    return self:cost(changes)
  end, self.budget, from // 2)
end

-- The widths around the budget at this depth, in steps of `unit`.
function Search:widths(layers, unit)
  local function changes_at(n)
    local changes = at_width(self.model, n * unit)
    changes.layers = layers
    return changes
  end
  local n = largest(function(n) return self:cost(changes_at(n)) end, self.budget, widest // unit)
  if n > 0 and not self:is_met() and self.model:option "hidden" then self:hidden(changes_at(n)) end
end

-- By what a width divides. A size of heads that is stated is free of it, unless there are as many
-- heads as it fits in; these stay so many.
local function heads_of(model)
  local size, heads = model:option "head_width" or 0, model:option "heads"
  if size == 0 then return heads or 1 end
  return heads and 1 or math.max(1, model:option "width" // size)
end

-- A head's size stays even, as rotations and sines ask; a model that has no feed-forward network to
-- widen may take an odd one.
function Search:depth(layers)
  local heads = heads_of(self.model)
  self:widths(layers, 2 * heads)
  if not self:is_met() and not self.model:option "hidden" then self:widths(layers, heads) end
end

-- Other depths, the nearest first, while none of those before meets the budget.
function Search:depths()
  local layers = self.model:option "layers"
  if not layers then return end
  for distance = 1, layers do
    for _, depth in ipairs { layers + distance, layers - distance } do
      if self:is_met() then return end
      if depth > 0 then self:depth(depth) end
    end
  end
end

local function budget_of(options)
  local name, budget
  for _, other in ipairs { "parameters", "flops_per_token", "step_time_ms" } do
    if options[other] then
      if name then
        spec.fail "match: one budget at a time, parameters, flops_per_token or step_time_ms"
      end
      name, budget = other, options[other]
    end
  end
  if not name then spec.fail "match: a budget is needed, as in { model, task = task, parameters = 1e6 }" end
  if not (budget > 0 and budget < math.huge) then
    spec.fail(("match: field '%s' must be a number above 0, not %g"):format(name, budget))
  end
  return name, budget
end

-- What a search for the size of a model comes to.
local function searched(model, budget, tolerance, count)
  local search = setmetatable({ model = model, count = count, budget = budget, tolerance = tolerance, seen = {} },
    Search)
  search:depth()
  if not search:is_met() then search:depths() end
  return search
end

-- The nearest sizes of a model that another budget is looked for among.
local most_sizes = 12

-- The sizes that a search saw, each once, the nearest to its budget first.
local function nearest_sizes(search)
  local function distance(size) return math.abs(size / search.budget - 1) end
  local sizes = lists.set(search.seen).list
  table.sort(sizes, function(a, b)
    if distance(a) ~= distance(b) then return distance(a) < distance(b) end
    return a > b
  end)
  return table.move(sizes, 1, most_sizes, 1, {})
end

local function all_meet(before, budget)
  for _, other in ipairs(before) do
    if not searched(other.model, budget, match.tolerance, other.count):is_met() then return false end
  end
  return true
end

-- What to say in place of a budget that a model misses: one that those which had it before meet as well, or for
-- which model it is.
local function advice(search, name, before)
  local others = #before == 0 and "" or (", which the model%s before it meet%s, too"):format(#before > 1 and "s" or "",
    #before == 1 and "s" or "")
  for _, size in ipairs(#before > 0 and nearest_sizes(search) or { search.best.found }) do
    if all_meet(before, size) then return ("say %s = %.6g%s"):format(name, size, others) end
  end
  return ("%s = %.6g is its nearest, which some model before it misses: say a larger one, which more of them meet")
    :format(name, search.best.found)
end

-- The changes that bring `count(model)` to the budget, which has a name, and what it is then; `before`: { model =,
-- count = } ... that met the same.
local function found_by(model, name, budget, tolerance, count, before)
  local search = searched(model, budget, tolerance, count)
  local best = search.best
  if not best then
    spec.fail(("match: %s has no size that it takes: %s"):format(model.name, search.refusal))
  end
  if not search:is_met() then
    spec.fail(("match: %s comes no nearer to %.6g than %.6g, with width = %d: %s"):format(model.name,
      budget, best.found, best.changes.width, advice(search, name, before)))
  end
  return best.changes, best.found
end

local function text_of(changes)
  local words = {}
  for name, value in pairs(changes) do
    words[#words + 1] = ("%s=%s"):format(name, type(value) == "table" and table.concat(value, ",")
      or math.tointeger(value))
  end
  table.sort(words)
  return table.concat(words, " ")
end

-- What fits a time is looked for once on a machine.
local function at_step_time(model, options, budget)
  local train = options.train or spec.make("train", "train", {})
  local text = step_match.changes(model, options.task, train, budget, function()
    io.stderr:write(("match: which width of %s takes %g ms a step is measured, once on this machine\n")
      :format(model.name, budget))
    local changes, found = found_by(model, "step_time_ms", budget, tolerance_of_time, function(candidate)
      return step_match.cost(candidate, options.task, train)
    end, {})
    return text_of(changes), found
  end)
  local changes = {}
  for name, value in text:gmatch "([%w_]+)=(%S+)" do changes[name] = value end
  return model:with(changes)
end

--- The model with the width that meets a budget within 3 %, or a step's time within 10 %; with
--- another depth where no width does. `info` is what core.task_info says of the task.
function match.model(model, info, options)
  local name, budget = budget_of(options)
  if not model:option "width" then
    spec.fail(("match: %s has no option 'width', whose value could be looked for"):format(model.name))
  end
  if name == "step_time_ms" then return at_step_time(model, options, budget) end
  local function count(candidate) return core.describe(candidate.options, info, info.length)[match.budgets[name]] end
  local key = ("%s %.17g"):format(name, budget)
  local before = met[key] or {}
  local changes = found_by(model, name, budget, match.tolerance, count, before)
  before[#before + 1], met[key] = { model = model, count = count }, before
  return model:with(changes)
end

return match

-- Loss curves: the training loss of every row over the steps, the mean over its seeds. It is
-- drawn unasked (chart.lua).
local core = require "longhaul.core"
local curves = require "longhaul.report.curves"
local metrics = require "longhaul.run.metrics"
local parts = require "longhaul.report.chart_parts"

local loss = {
  says = "a column of the curves over the steps, or over what they cost, one curve per row, the mean over its seeds",
  fields = {
    { "y", "string", "a column of the curves; default: the training loss" },
    { "x", "string", "what they run over: step (default), seconds (steps at the time that one takes "
      .. "on the idle machine) or flops" },
  },
}

-- What is wrong with a column that no curve has; nil where nothing is. What layers say of
-- themselves, "layer_1_rsa_gate", is the models' own.
local function column_refusal(name)
  if name == nil or name:match "^layer_%d+_" then return nil end
  local names, watched = metrics.curve_columns(), metrics.watched_columns()
  table.move(watched, 1, #watched, #names + 1, names)
  for _, known in ipairs(names) do
    if name == known then return nil end
  end
  return ("field 'y': no column '%s' in a curve%s"):format(name, core.did_you_mean(name, names))
end

-- The training loss over the steps is drawn unasked, and called "loss".
function loss.check(plot)
  if plot.x ~= nil and not curves.titles[plot.x] then
    return ("a loss runs over step, seconds or flops, not '%s'"):format(tostring(plot.x))
  end
  local refusal = column_refusal(plot.y)
  if refusal then return refusal end
  local is_own = (plot.x or "step") ~= "step" or plot.y ~= nil
  return is_own and (plot.name or "loss") == "loss" and "a loss of its own needs a name of its own"
    or nil
end

-- Where the first of the seeds ends: behind it the mean would be that of those that are left.
local function last_step(seeds)
  local last = math.huge
  for _, seed in ipairs(seeds) do
    if #seed > 0 then last = math.min(last, seed[#seed].step) end
  end
  return last
end

-- Mean over seeds at each step, then over a short window so that curves can be told apart.
local function mean_curve(view, row, seeds, over)
  local sums, steps, curve = {}, {}, {}
  local unit = curves.per_step(view.results, row, seeds, over)
  if not unit then return curve end
  for _, seed in ipairs(seeds) do
    for _, point in ipairs(seed) do
      local entry = sums[point.step] or { 0, 0 }
      sums[point.step] = { entry[1] + point.value, entry[2] + 1 }
    end
  end
  local last = last_step(seeds)
  for step in pairs(sums) do
    if step <= last then steps[#steps + 1] = step end
  end
  table.sort(steps)
  local window = math.max(0, #steps // 50)
  for i, step in ipairs(steps) do
    local total, count = 0, 0
    for k = math.max(1, i - window), math.min(#steps, i + window) do
      total, count = total + sums[steps[k]][1] / sums[steps[k]][2], count + 1
    end
    curve[i] = { step * unit, total / count, n = 2 }
  end
  return curve
end

-- The steep beginning would press everything else flat: the axis ends where a tenth is done.
local function shown_range(lines)
  local low, high = math.huge, -math.huge
  for _, curve in ipairs(lines) do
    for i, point in ipairs(curve) do
      low = math.min(low, point[2])
      if i > #curve // 10 then high = math.max(high, point[2]) end
    end
  end
  local room = math.max(0.02 * (high - low), 1e-3)
  return { low = low - room, high = high + room }
end

-- The curves of a row's seeds, and what they are of.
local function seeds_of(view, row, y)
  local group = view.results:group(row.label, row.dataset)
  if y then return curves.of(view.store, group, y), metrics.curve_title(y) end
  return curves.training_loss(view.store, group)
end

function loss.metrics(plot) return plot.x == "seconds" and { "step_time_ms" } or {} end

-- What runs without a curve over `x` lack.
function loss.shows(plot)
  if plot.x == "seconds" then return "step_time_ms of an idle machine" end
  if not plot.y then return "loss" end
  return plot.y .. (plot.y:find "^valid" and " along their curves, which train { evaluate_every = N } gives" or "")
end

function loss.draw(view, plot, dataset)
  local lines, names, unit, over = {}, {}, nil, plot.x or "step"
  for _, row in ipairs(parts.rows_of(view, plot, dataset)) do
    local seeds, own_unit = seeds_of(view, row, plot.y)
    local curve = mean_curve(view, row, seeds, over)
    if #curve > 1 then
      lines[#lines + 1], unit = curve, unit or own_unit
      names[#names + 1] = row.label
    end
  end
  if #lines == 0 then return nil end
  local what = plot.y and unit or "training loss"
  local made = parts.new("lines", parts.title(view, plot, what, dataset), curves.titles[over], unit)
  local x = { room = 0, log = over ~= "step" } -- rows differ in cost by factors
  parts.add_curves(made, lines, names, { x = x, y = shown_range(lines) })
  return made
end

return loss

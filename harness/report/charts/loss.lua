-- Loss curves: the training loss of every row over the steps, the mean over its seeds in a band of them. It is
-- drawn unasked (chart.lua).
local core = require "longhaul.core"
local curves = require "longhaul.report.curves"
local lists = require "longhaul.run.lists"
local metrics = require "longhaul.run.metrics"
local parts = require "longhaul.report.chart_parts"

local loss = {
  of_curve = true,
  says = "a column of the curves over the steps, or over what they cost, one curve per row, the mean over its seeds in "
    .. "a band from the least to the most of them",
  fields = {
    { "y", "string or table", "a column of the curves; { name, log = true } is logarithmic",
      default = "the training loss" },
    { "x", "string or table", "what they run over: step, seconds (steps at the time that one takes on the idle "
      .. "machine) or flops. The last two are logarithmic; { name, log = true or false } says it", default = "step" },
  },
}

-- What is wrong with a column that no curve has; nil where nothing is. What layers say of
-- themselves, "layer_1_rsa_gate", is the models' own.
local function column_refusal(name)
  if name == nil or name:match "^layer_%d+_" then return nil end
  local names, watched = metrics.curve_columns(), metrics.watched_columns()
  table.move(watched, 1, #watched, #names + 1, names)
  if lists.has(names, name) then return nil end
  return ("field 'y': no column '%s' in a curve%s"):format(name, core.did_you_mean(name, names))
end

-- What a plot runs over, and whether logarithmically: rows differ in cost by factors.
local function over_of(plot)
  local name, log = parts.axis(plot.x)
  local is_said = type(plot.x) == "table" and plot.x.log ~= nil
  name = name or "step"
  return name, is_said and log or not is_said and name ~= "step"
end

-- The training loss over the steps is drawn unasked, and called "loss".
function loss.check(plot)
  local over, y = over_of(plot), parts.axis(plot.y)
  if not curves.titles[over] then
    return ("a loss runs over step, seconds or flops, not '%s'"):format(tostring(over))
  end
  if plot.y ~= nil and y == nil then return "field 'y' begins with the name of a column" end
  local refusal = column_refusal(y)
  if refusal then return refusal end
  local is_own = (plot.x or "step") ~= "step" or plot.y ~= nil
  return is_own and (plot.name or "loss") == "loss" and "a loss of its own needs a name of its own"
    or nil
end

-- By step the mean, the least and the most over the seeds that have points, where all of these have one: at the last
-- step of one that patience ended, say, the mean would be its own.
local function spread_by_step(seeds)
  local by_step, count = {}, 0
  for _, seed in ipairs(seeds) do
    count = count + (#seed > 0 and 1 or 0)
    for _, point in ipairs(seed) do
      local entry = by_step[point.step] or { sum = 0, count = 0, low = math.huge, high = -math.huge }
      entry.sum, entry.count = entry.sum + point.value, entry.count + 1
      entry.low, entry.high = math.min(entry.low, point.value), math.max(entry.high, point.value)
      by_step[point.step] = entry
    end
  end
  for step, entry in pairs(by_step) do
    by_step[step] = entry.count == count and { entry.sum / count, entry.low, entry.high } or nil
  end
  return by_step
end

-- The means of a point's numbers and of those of its neighbours within a window, so that curves can be told apart.
local function smoothed(points, i, window)
  local sums, first, last = { 0, 0, 0 }, math.max(1, i - window), math.min(#points, i + window)
  for k = first, last do
    for n = 1, 3 do sums[n] = sums[n] + points[k][n] / (last - first + 1) end
  end
  return table.unpack(sums)
end

-- { x, mean, low, high } by step, over a short window.
local function mean_curve(view, row, seeds, over)
  local points, curve = {}, {}
  local unit = curves.per_step(view.results, row, seeds, over)
  if not unit then return curve end
  local by_step = spread_by_step(seeds)
  local steps = lists.keys(by_step)
  for i, step in ipairs(steps) do points[i] = by_step[step] end
  local window = math.max(0, #steps // 50)
  for i, step in ipairs(steps) do curve[i] = { step * unit, smoothed(points, i, window) } end
  return curve
end

-- Those points that logarithmic axes have a place for; a band that has none ends at the mean.
local function with_place(curve, x_log, y_log)
  local kept = {}
  for _, point in ipairs(curve) do
    if parts.has_place(point[1], x_log) and parts.has_place(point[2], y_log) then
      if not parts.has_place(point[3], y_log) then point[3] = point[2] end
      kept[#kept + 1] = point
    end
  end
  return kept
end

-- The steep beginning would press everything else flat: the axis ends where a tenth is done. A logarithmic one shows
-- all.
local function shown_axis(lines, log)
  if log then return { log = true, room = 0.05 } end
  local low, high = math.huge, -math.huge
  for _, curve in ipairs(lines) do
    for i, point in ipairs(curve) do
      low = math.min(low, point[3])
      if i > #curve // 10 then high = math.max(high, point[4]) end
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

function loss.metrics(plot) return over_of(plot) == "seconds" and { "step_time_ms" } or {} end

-- What runs without a curve over `x` lack.
function loss.shows(plot)
  local y = parts.axis(plot.y)
  if over_of(plot) == "seconds" then return "step_time_ms of an idle machine" end
  if not y then return "loss" end
  return y .. (y:find "^valid" and " along their curves, which train { evaluate_every = N } gives" or "")
end

-- Curves of more than the colours of style.gp have marks, so many each.
local colours, marks_of_curve = 8, 6

local function longest(lines)
  local most = marks_of_curve
  for _, curve in ipairs(lines) do most = math.max(most, #curve) end
  return most
end

function loss.draw(view, plot, dataset)
  local over, x_log = over_of(plot)
  local y, y_log = parts.axis(plot.y)
  local lines, names, unit, most_seeds = {}, {}, nil, 0
  for _, row in ipairs(parts.rows_of(view, plot, dataset)) do
    local seeds, own_unit = seeds_of(view, row, y)
    local curve = with_place(mean_curve(view, row, seeds, over), x_log, y_log)
    if #curve > 1 then
      lines[#lines + 1], unit = curve, unit or own_unit
      names[#names + 1] = row.label
      most_seeds = math.max(most_seeds, #seeds)
    end
  end
  if #lines == 0 then return nil end
  local what = ("%s by %s"):format(y and unit or "training loss", curves.titles[over])
  local made = parts.new("lines", parts.title(view, plot, what, dataset), curves.titles[over], unit)
  local has_band = most_seeds > 1
  parts.add_curves(made, lines, names, { band = has_band, marks = #lines > colours,
    mark_every = longest(lines) // marks_of_curve, x = { room = 0, log = x_log },
    y = shown_axis(lines, y_log) })
  if has_band then made.x_title = made.x_title .. " (band: from the least to the most of the seeds)" end
  return made
end

return loss

-- Loss curves: the training loss of every row over the steps, the mean over its seeds. Every
-- experiment has this chart.
local metrics = require "longhaul.run.metrics"
local parts = require "longhaul.report.chart_parts"

local loss = {
  says = "a column of the curves over the steps, one curve per row, the mean over its seeds",
  fields = { { "y", "string", "a column of the curves; default: the training loss" } },
}

local function add_curve(sums, points, name)
  for _, point in ipairs(points) do
    local step, value = tonumber(point.step), tonumber(point[name])
    if value then
      local entry = sums[step] or { 0, 0 }
      sums[step] = { entry[1] + value, entry[2] + 1 }
    end
  end
end

-- Mean over seeds at each step, then over a short window so that curves can be told apart.
local function mean_curve(view, row, name)
  local group, sums, steps = view.results:group(row.label, row.dataset), {}, {}
  for _, run in ipairs(group and group.done or {}) do
    add_curve(sums, view.store:read_curve(run.run_id, math.huge), name)
  end
  for step in pairs(sums) do steps[#steps + 1] = step end
  table.sort(steps)
  local window, curve = math.max(0, #steps // 50), {}
  for i, step in ipairs(steps) do
    local total, count = 0, 0
    for k = math.max(1, i - window), math.min(#steps, i + window) do
      total, count = total + sums[steps[k]][1] / sums[steps[k]][2], count + 1
    end
    curve[i] = { step, total / count, n = 2 }
  end
  return curve
end

-- The steep beginning would press everything else flat: the axis ends where a tenth is done.
local function range(curves)
  local low, high = math.huge, -math.huge
  for _, curve in ipairs(curves) do
    for i, point in ipairs(curve) do
      low = math.min(low, point[2])
      if i > #curve // 10 then high = math.max(high, point[2]) end
    end
  end
  local room = math.max(0.02 * (high - low), 1e-3)
  return ("set yrange [%.6g:%.6g]"):format(low - room, high + room)
end

-- The training loss of a row: bits per token, or squared errors where there are no bits.
local function curve_of(view, row, y)
  local curve = mean_curve(view, row, y or "loss_bits")
  if y then return curve, metrics.curve_title(y) end
  if #curve > 0 then return curve, "bits/token" end
  return mean_curve(view, row, "mse"), "MSE"
end

function loss.shows(plot) return plot.y or "loss" end

function loss.draw(view, plot, dataset)
  local curves, names, unit = {}, {}, nil
  for _, row in ipairs(parts.rows_of(view, plot, dataset)) do
    local curve, own_unit = curve_of(view, row, plot.y)
    unit = unit or own_unit
    if #curve > 1 then
      curves[#curves + 1] = curve
      names[#names + 1] = row.label
    end
  end
  if #curves == 0 then return nil end
  local made = parts.new("lines", parts.title(view, plot, "training loss", dataset), "step", unit)
  parts.add_curves(made, curves, names, { marks = false })
  made.after = { range(curves) }
  return made
end

return loss

-- One bar per row from zero, with its spread over seeds and its value.
local axis = require "longhaul.report.axis"
local metrics = require "longhaul.run.metrics"
local parts = require "longhaul.report.chart_parts"
local quote = require "longhaul.run.quote"

local bars = {
  says = "a bar per row from zero, with its spread and value",
  fields = { { "y", "string or table", "a metric", needed = true }, parts.published_field },
  check = parts.check_metric,
}

-- The axis from zero to the highest of values or bars.
local function axis_to(limit, y)
  return axis.over({ 0, limit }, { metric = y, low = 0, high = parts.upper_limit(1.15, limit) })
end

-- Names of rows as ticks, and where the plot begins beside them, as a part of the canvas.
local function ticks_of(points)
  local labels, left = {}, 0.1
  for i, point in ipairs(points) do
    local text, width = parts.shortened(point.row.label, 0.45)
    labels[i], left = quote.tic(text), math.max(left, width + 0.03)
  end
  return labels, left
end

-- { place, value, row = } of each row that has a value, and its bar { place, value, low, high }.
local function bars_of(view, plot, dataset, y)
  local points, list = {}, {}
  for _, row in ipairs(parts.rows_of(view, plot, dataset)) do
    local value, spread = view.results:value(row.label, y, dataset)
    if value then
      local place = #list + 1
      points[place] = { place, value, row = row }
      list[place] = { place, value, parts.below(value, spread or 0),
        parts.above(value, spread or 0, y) }
    end
  end
  return points, list
end

function bars.draw(view, plot, dataset)
  local y, limit = parts.axis(plot.y), 0
  local points, list = bars_of(view, plot, dataset, y)
  if #list == 0 then return nil end
  for _, bar in ipairs(list) do limit = math.max(limit, bar[4]) end
  local marks, beyond = parts.published(plot, points, "", y, { y = axis_to(limit, y) })
  for _, mark in ipairs(marks) do limit = math.max(limit, mark[2]) end
  local shown = axis_to(limit, y)
  for i, bar in ipairs(list) do
    bar[5] = axis.text(y, shown, bar[2]) .. parts.busy_mark(view.results, points[i].row, { y })
    bar[6] = bar[4]
  end
  for _, mark in ipairs(marks) do
    local bar = list[mark[3]]
    bar[6] = math.max(bar[6], mark[2])
  end
  local labels, left = ticks_of(points)
  local made = parts.new("bars", parts.title(view, plot, metrics.quantity(y), dataset), y, "")
  parts.set_axes(made, shown)
  made.x_title = made.x_title .. parts.published_text(marks, beyond)
  made.blocks = { { "bars", { list } }, parts.block("published", marks, 3) }
  made.settings = { { "rows", #list }, { "labels", labels }, { "left", left },
    { "published", #marks } }
  return made
end

return bars

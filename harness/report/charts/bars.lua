-- One bar per row from zero, with its spread over seeds and its value.
local axis = require "longhaul.report.axis"
local metrics = require "longhaul.run.metrics"
local parts = require "longhaul.report.chart_parts"
local quote = require "longhaul.run.quote"

local bars = {
  says = "a bar per row from zero, with its spread and value",
  fields = { { "y", "string or table", "a metric" }, parts.published_field },
  check = parts.check_metric,
}

-- The axis from zero to the highest of values or bars.
local function axis_to(limit, y)
  return axis.over({ 0, limit }, { metric = y, low = 0, high = parts.upper_limit(1.15, limit) })
end

function bars.draw(view, plot, dataset)
  local y = parts.axis(plot.y)
  local list, labels, points, limit = {}, {}, {}, 0
  for _, row in ipairs(parts.rows_of(view, plot, dataset)) do
    local value, spread = view.results:value(row.label, y, dataset)
    if value then
      spread = spread or 0
      labels[#labels + 1] = quote.tic(row.label)
      local high = parts.above(value, spread, y)
      list[#list + 1] = { #labels, value, parts.below(value, spread), high, metrics.text(y, value),
        high }
      points[#points + 1] = { #labels, value, row = row }
      limit = math.max(limit, high)
    end
  end
  if #list == 0 then return nil end
  local marks, beyond = parts.published(plot, points, "", y, { y = axis_to(limit, y) })
  for _, mark in ipairs(marks) do
    local bar = list[mark[3]]
    bar[6], limit = math.max(bar[6], mark[2]), math.max(limit, mark[2])
  end
  local made = parts.new("bars", parts.title(view, plot, metrics.quantity(y), dataset), y, "")
  parts.set_axes(made, axis_to(limit, y))
  made.x_title = made.x_title .. parts.published_text(marks, beyond)
  made.blocks = { { "bars", { list } }, { "published", { #marks > 0 and marks or { { n = 3 } } } } }
  made.settings = { { "rows", #list }, { "labels", labels }, { "published", #marks } }
  return made
end

return bars
